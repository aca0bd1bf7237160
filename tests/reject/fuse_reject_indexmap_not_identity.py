import numpy as np

from transpile import fuse


@fuse
def halve(a, t, out):
    n = len(a) // 2
    for i in range(n):
        t[2 * i] = a[i] * 2.0
    for i in range(n):
        out[i] = t[i]

halve(np.ones(8), np.zeros(8), np.zeros(8))
