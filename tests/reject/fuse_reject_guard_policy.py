import numpy as np

from transpile import fuse


@fuse
def ratios(a, b, out, safe):
    for i in range(len(a)):
        out[i] = a[i] / b[i]
    with np.errstate(divide="ignore"):
        for i in range(len(a)):
            safe[i] = a[i] / b[i]

ratios(np.ones(8), np.ones(8), np.zeros(8), np.zeros(8))
