import numpy as np

from transpile import fuse


@fuse
def add(x, y, out):
    for i in range(len(x)):
        out[i] = x[i] + y[i]

with np.errstate(over="raise"):
    try:
        add(np.full(5, 1e308), np.full(5, 1e308), np.zeros(5))
    except FloatingPointError:
        pass
