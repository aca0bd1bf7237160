import numpy as np

from transpile import fuse


import math

@fuse
def roots(x, out):
    for i in range(len(x)):
        out[i] = math.sqrt(x[i])

try:
    roots(np.array([1.0, -1.0]), np.zeros(2))
except ValueError:
    pass
