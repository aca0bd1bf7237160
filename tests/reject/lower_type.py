import numpy as np

from transpile import fuse


@fuse
def double(x, out):
    for i in range(len(x)):
        out[i] = x[i] * 2

double(bytearray([1, 2]), np.zeros(2))
