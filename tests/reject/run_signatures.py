import numpy as np

from transpile import fuse


@fuse(on_reject="silent")
def count(a, b, word):
    n = 0
    for c in word:
        n += c.isdigit()
    return n

kinds = (int, float, bool, np.int8, np.int16, np.int32, np.int64, np.float32, np.float64)
for kind in kinds:
    for other in kinds:
        count(kind(1), other(1), "word")
