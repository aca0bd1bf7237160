import numpy as np

from transpile import fuse


@fuse(background=True, cache=False)
def twice(x):
    return [v * 2.0 for v in x]

twice(np.ones(8))
