import numpy as np

from transpile import fuse


@fuse
def totals(a, out):
    for i in range(len(a)):
        out[i] = a[i] * 2.0
    out[0] = 7.0
    for i in range(len(a)):
        out[i] = out[i] + 1.0

totals(np.ones(8), np.zeros(8))
