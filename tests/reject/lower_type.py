import numpy as np

from transpile import fuse


@fuse
def double(x, out):
    for i in range(len(x)):
        out[i] = x[i] * 2

double(np.array([1, 2], dtype=object), np.zeros(2))
