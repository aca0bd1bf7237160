import numpy as np

from transpile import fuse


@fuse(verify=1.0)
def total(x):
    s = 0.0
    for v in x:
        s += v
    return s

total(np.tile([1e16, 1.0, -1e16], 100))
