import numpy as np

from transpile import fuse


@fuse
def steps(x, out, n):
    for i in range(len(x)):
        out[i] = x[i] + i // n

try:
    steps(np.ones(8), np.zeros(8), 0)
except ZeroDivisionError:
    pass
