import numpy as np

from transpile import fuse


@fuse
def add(x, y, out):
    for i in range(len(x)):
        out[i] = x[i] + y[i]

x = np.arange(9.0)
add(x[:-1], x[:-1], x[1:])
