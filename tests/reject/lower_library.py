import numpy as np

from transpile import fuse


@fuse
def solved(X, y):
    for i in range(len(y)):
        y[i] = y[i] * 2.0
    return np.linalg.solve(X, y)

solved(np.eye(3), np.ones(3))
