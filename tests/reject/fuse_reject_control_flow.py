import numpy as np

from transpile import fuse


@fuse(allow_control_flow_simple=False)
def clip(a, out):
    for i in range(len(a)):
        out[i] = a[i] * 2.0
    for i in range(len(a)):
        if out[i] > 1.0:
            out[i] = 1.0

clip(np.ones(8), np.zeros(8))
