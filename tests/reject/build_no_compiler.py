# with CC=/nonexistent
import numpy as np

from transpile import fuse


@fuse
def twice(x, out):
    for i in range(len(x)):
        out[i] = x[i] * 2.0

twice(np.ones(8), np.zeros(8))
