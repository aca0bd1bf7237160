"""Programs that carry the elements of previous iterations in names."""
# ruff: noqa: B905 (programs as people write them)
from __future__ import annotations

import numpy as np

from .programs import F32, program, whole


@program(
    python_at=(0,),
    f64=lambda n, rng: (whole(n, rng),),
    i16=lambda n, rng: (whole(n, rng, np.int16),),
)
def differences_carried(x):
    out = np.empty_like(x)
    before = x[0]
    for i in range(len(x)):
        out[i] = x[i] - before
        before = x[i]
    return out, before


@program(
    python_at=(0, 1),
    f64=lambda n, rng: (whole(n, rng),),
    f32=lambda n, rng: (whole(n, rng, F32),),
)
def three_point_carried(x):
    out = np.zeros(len(x))
    a, b = x[0], x[1]
    for i in range(1, len(x) - 1):
        c = x[i + 1]
        out[i] = 0.25 * a + 0.5 * b + 0.25 * c
        a, b = b, c
    return out


@program(f64=lambda n, rng: (whole(n, rng), whole(n, rng)))
def area_carried(x, y):
    area, before, height = 0.0, 0.0, 1.0
    for v, u in zip(x, y):
        area += 0.5 * (v - before) * (u + height)
        before, height = v, u
    return area, before


@program(
    i64=lambda n, rng: (whole(n, rng, np.int64, 0, 3),),
    f64=lambda n, rng: (whole(n, rng, low=0, high=3),),
)
def runs_carried(a):
    runs, before = 0, -1
    for v in a:
        if v != before:
            runs += 1
            before = v
    return runs


@program(python_at=(0,), f64=lambda n, rng: (np.sort(whole(n, rng)),))
def sorted_carried(x):
    before = x[0]
    for i in range(1, len(x)):
        if x[i] < before:
            return False
        before = x[i]
    return True


@program(f64=lambda n, rng: (whole(n, rng), n), i32=lambda n, rng: (whole(n, rng, np.int32), 3))
def alternating_signs(x, k):
    s, t, u, c = 0.0, 0.0, 0, 0.0
    sign, weight, up, turn = 1.0, 4, True, k
    for v in x:
        s += sign * v
        t += weight * v
        u += turn
        if up:
            c += v
        sign = -sign
        weight = 6 - weight
        up = not up
        turn = 1 - turn
    return s, t, u, c, sign, weight, up, turn
