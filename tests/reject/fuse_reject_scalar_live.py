import numpy as np

from transpile import fuse


@fuse
def share(x, out):
    total = 0.0
    for i in range(len(x)):
        total += x[i]
    for i in range(len(x)):
        out[i] = x[i] / total

share(np.ones(8), np.zeros(8))
