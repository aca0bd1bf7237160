import numpy as np

from transpile import fuse


@fuse
def decay(x, out):
    for i in range(1, len(x)):
        out[i] = out[i - 1] * 0.5 + x[i]

decay(np.ones(8), np.zeros(8))
