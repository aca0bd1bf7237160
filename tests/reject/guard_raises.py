import numpy as np

from transpile import fuse


@fuse
def largest(x):
    return max(v * 2.0 for v in x)

try:
    largest(np.zeros(0))
except ValueError:
    pass
