import numpy as np

from transpile import fuse


@fuse
def turned(z, w):
    return z * w

turned(np.ones(8, dtype=complex), np.ones(8, dtype=complex))
