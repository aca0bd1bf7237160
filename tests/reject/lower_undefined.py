import numpy as np

from transpile import fuse


@fuse
def total(x):
    s = 0.0
    for i in range(len(x)):
        s += x[i] * FACTOR
    return s

try:
    total(np.ones(3))
except NameError:
    pass
