"""Programs of whole numbers whose loops end when these say so."""
from __future__ import annotations

import numpy as np

from .programs import integers, one, program

FEW = (0, 1, 2, 9, 33)


@program(sizes=FEW, i64=one(integers, np.int64), u16=one(integers, np.uint16))
def powers_by_squaring(x):
    out = np.zeros(len(x), np.int64)
    for i in range(len(x)):
        b, e, r = int(x[i]) % 1009, 37, 1
        while e:
            if e & 1:
                r = r * b % 1009
            b = b * b % 1009
            e >>= 1
        out[i] = r
    return out
