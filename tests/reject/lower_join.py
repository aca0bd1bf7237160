import numpy as np

from transpile import fuse


@fuse
def pick(x, flags, out):
    for i in range(len(x)):
        if flags[i]:
            v = x[i]
        else:
            v = 0
        out[i] = v / 2

pick(np.ones(8, dtype=np.float32), np.ones(8, dtype=bool), np.zeros(8))
