import numpy as np

from transpile import fuse


@fuse
def twice(x)
    return [v * 2.0 for v in x]
