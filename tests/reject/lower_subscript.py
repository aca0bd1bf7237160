import numpy as np

from transpile import fuse


@fuse
def peaks(x, out):
    for i in range(len(out)):
        out[i] = max(x[i:i + 3])

peaks(np.ones(10), np.zeros(8))
