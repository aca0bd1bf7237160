import numpy as np

from transpile import fuse


@fuse
def last(x):
    for v in x:
        doubled = v * 2.0
    return doubled

try:
    last(np.zeros(0))
except UnboundLocalError:
    pass
