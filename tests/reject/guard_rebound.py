import numpy as np

from transpile import fuse


root = np.sqrt

@fuse
def roots(x, out):
    for i in range(len(x)):
        out[i] = root(x[i])

roots(np.ones(5), np.zeros(5))
root = np.cbrt
roots(np.ones(5), np.zeros(5))
