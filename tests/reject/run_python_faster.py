# with TRANSPILE_SELECT=time
import numpy as np

from transpile import fuse


@fuse
def contains(xs, v):
    for x in xs:
        if x == v:
            return True
    return False

numbers = list(range(100_000))
for _ in range(100):
    contains(numbers, 0)
