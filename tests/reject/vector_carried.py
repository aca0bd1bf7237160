import numpy as np

from transpile import fuse


@fuse
def smooth(x, out):
    level = 0.0
    for i in range(len(x)):
        level = 0.9 * level + 0.1 * x[i]
        out[i] = level

smooth(np.ones(8), np.zeros(8))
