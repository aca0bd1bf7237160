import numpy as np

from transpile import fuse


@fuse
def relax(a, b):
    for i in range(2):
        for j in range(2):
            for k in range(2):
                for m in range(2):
                    for n in range(2):
                        for p in range(2):
                            for q in range(2):
                                a[0] = b[0] * 0.5
                                a, b = b, a
    return a[0]

relax(np.ones(8), np.ones(8))
