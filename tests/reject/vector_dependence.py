import numpy as np

from transpile import fuse


@fuse
def decay(x, out):
    for i in range(2, len(x)):
        out[i] = out[i - 2] * 0.5 + x[i]

decay(np.ones(8), np.zeros(8))
