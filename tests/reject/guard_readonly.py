import numpy as np

from transpile import fuse


@fuse
def add(x, y, out):
    for i in range(len(x)):
        out[i] = x[i] + y[i]

out = np.zeros(5)
out.flags.writeable = False
try:
    add(np.ones(5), np.ones(5), out)
except ValueError:
    pass
