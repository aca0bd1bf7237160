import numpy as np

from transpile import fuse


@fuse
def trace(x, out):
    for i in range(len(out)):
        out[i] = x[i, i]

trace(np.ones((8, 8)), np.zeros(8))
