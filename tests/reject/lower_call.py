import numpy as np

from transpile import fuse


def helper(v):
    return hash(v)

@fuse
def apply(x, out):
    for i in range(len(x)):
        out[i] = helper(x[i])

apply(np.ones(8), np.zeros(8))
