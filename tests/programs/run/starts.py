"""Programs whose names are Python's numbers before a loop, and NumPy's from its first turn on."""
from __future__ import annotations

import numpy as np

from .programs import F32, F64, one, program, real, whole

F16 = np.float16


@program(
    ulps=64,
    f32=one(real, F32, 1.0, 2.0), i8=one(whole, np.int8, 1, 9), f64=one(real, F64, 1.0, 2.0),
)
def averaged(x):
    s = 0.1
    for v in x:
        s = s * 0.9 + v
    return s


@program(f32=one(real, F32), f16=one(real, F16))
def decayed(x):
    s = 0.1
    for v in x:
        s = (s - v) * 0.9
    return s


@program(f32=one(real, F32), f16=one(real, F16))
def filtered(x):
    out = np.zeros_like(x)
    x1 = x2 = y1 = y2 = 0.0
    for i in range(len(x)):
        y = 0.2 * x[i] + 0.3 * x1 + 0.2 * x2 - 0.1 * y1 - -y2 * 0.05
        x1, x2, y1, y2 = x[i], x1, y, y1
        out[i] = y
    return out


@program(i32=one(whole, np.int32), u8=one(whole, np.uint8))
def mixed(x):
    s = 7
    for v in x:
        s = s * 3 % 13 + v // 2
    return s


@program(f32=one(real, F32), f16=one(real, F16))
def one_or_other(x):
    last, s = 0.0, 0.3
    for v in x:
        last = v if v > 0.25 else 0.1
        s = s - last * 0.7 + (v if v < 0 else 0.1)
    return last, s, last * 0.9


@program(f32=one(real, F32), f64=one(real, F64))
def latest(x):
    last = 0.0
    for v in x:
        if v > 0.25:
            last = v
            continue
        last = 0.1
    return last


@program(f32=one(real, F32), i16=one(whole, np.int16))
def stopped(x):
    s = 0.1
    for v in x:
        if s > 3:
            break
        s = v + s * 0.75
    return s


@program(f32=one(real, F32))
def until(x):
    s, i = 1, 0
    while i < len(x) and s < 9:
        s = s / 3 + abs(x[i])
        i += 1
    return s, i


@program(ulps=64, f32=lambda n, rng: (real(4 * n, rng, F32, 1.0, 2.0).reshape(4, n),))
def averaged_rows(x):
    out = np.empty_like(x)
    for i in range(x.shape[0]):
        s = 0.1
        for j in range(x.shape[1]):
            s = s * 0.9 + x[i, j]
            out[i, j] = s
    return out
