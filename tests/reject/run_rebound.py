import numpy as np

from transpile import fuse


@fuse(on_reject="silent")
def weighted(x):
    s = 0.0
    for v in x:
        s += v * WEIGHTS[0] + WEIGHTS[1]
    return s

for k in range(20):
    WEIGHTS = (k, 1.0)
    weighted(np.arange(4.0))
