import numpy as np

from transpile import fuse


@fuse
def ends(a, b, out, tail):
    for i in range(len(a)):
        out[i] = a[i] * 2.0
    for i in range(len(b)):
        tail[i] = b[i] + 1.0

ends(np.ones(8), np.ones(9), np.zeros(8), np.zeros(9))
