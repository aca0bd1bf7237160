import numpy as np

from transpile import fuse


@fuse
def scale(x, out, k):
    for i in range(len(x)):
        out[i] = x[i] + k * i

scale(np.ones(8), np.zeros(8), 2 ** 62)
