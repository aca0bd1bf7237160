# with TRANSPILE_SELECT=time
import numpy as np

from transpile import fuse


def scaling(factor):
    @fuse
    def scaled(xs):
        return [factor * v for v in xs]
    return scaled

for k in range(20):
    scaled = scaling(float(k))
    scaled([1.0, 2.0])
