import numpy as np

from transpile import fuse


@fuse
def copy(x, out):
    for i in range(len(x)):
        out[i] = x[i]

try:
    copy(np.ones(8), np.zeros(7))
except IndexError:
    pass
