import numpy as np

from transpile import fuse


@fuse
def grow(x, out):
    level = 0.5
    for i in range(len(x)):
        level = x[i] * level * (1.0 - level)
        out[i] = level

grow(np.ones(8), np.zeros(8))
