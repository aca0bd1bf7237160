import numpy as np

from transpile import fuse


@fuse
def mirror(a, t, out):
    n = len(a)
    for i in range(n):
        t[i] = a[i] * 2.0
    for i in range(n):
        out[i] = t[n - 1 - i]

mirror(np.ones(8), np.zeros(8), np.zeros(8))
