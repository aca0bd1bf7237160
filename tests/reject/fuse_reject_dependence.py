import numpy as np

from transpile import fuse


@fuse
def smooth(a, t, out):
    for i in range(len(a) - 1):
        t[i] = a[i] * 0.5
    for i in range(len(a) - 1):
        out[i] = t[i + 1] - t[i]

smooth(np.ones(8), np.zeros(8), np.zeros(8))
