import numpy as np

from transpile import fuse


@fuse
def picked(x, k, out):
    out[:] = x[k]

picked(np.ones(10), np.array([3, 1, 3]), np.zeros(3))
