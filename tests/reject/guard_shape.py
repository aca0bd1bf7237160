import numpy as np

from transpile import fuse


@fuse
def add(x, y):
    return x + y

add(np.ones(5), np.ones(1))
