import numpy as np

from transpile import fuse


@fuse
def relative(x, y, out):
    for i in range(len(x)):
        out[i] = (x[i] - y[i]) / y[i]

relative(np.ones(2), np.array([0.0, np.inf]), np.zeros(2))
