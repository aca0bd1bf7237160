import numpy as np

from transpile import fuse


@fuse
def add(x, y, out):
    for i in range(len(x)):
        out[i] = x[i] + y[i]

raw = np.zeros(41, dtype=np.uint8)[1:].view(np.float64)
add(raw, raw, np.zeros(5))
