"""Programs on numbers in sequence: arange, linspace, and arrays that NumPy fills beforehand."""
from __future__ import annotations

import numpy as np

from .arrays import PROGRAMS
from .programs import F32, program, real, whole

__all__ = ["PROGRAMS"]


@program(
    into=PROGRAMS, sizes=(0, 1, 3, 9, 17),
    f64=lambda n, rng: (whole(n, rng), n), f32=lambda n, rng: (whole(n, rng, F32), n),
)
def numbers(x, n):
    k = np.arange(n)
    return k, x * np.arange(len(x)), np.sum(np.arange(2, n, 3) ** 2), np.arange(n, 0, -1) + x * 2


@program(into=PROGRAMS, sizes=(2, 3, 9, 17), f64=lambda n, rng: (real(n, rng), n))
def spaced(x, n):
    y, z = np.linspace(-2.5, 1, n), np.linspace(0, x[0], num=n, endpoint=False)
    plane = y[:, None] * np.linspace(0.1, 0.7, 3)
    return y + z * x, plane, np.linspace(3, 5), np.arange(n)[::-1] * z


@program(into=PROGRAMS, sizes=(0, 1, 4, 9), f64=lambda n, rng: (whole(n * n, rng).reshape(n, n), n))
def filled_beforehand(X, n):
    t = np.eye(n)
    t += X
    u = np.arange(0.1, 2.0, 0.3) * 3
    return t @ np.tri(n, n, 1), np.identity(2), u, np.arange(n, dtype=np.float32) + 1, np.zeros(3)


@program(into=PROGRAMS, sizes=(1, 3, 9, 17), f64=lambda n, rng: (whole(n, rng),))
def doubles_above(x):
    last, total = 0.0, 0.0
    for v in x:
        if v > 0 and (w := v * 2) > 1:
            total += w
    return [last := y for v in x if (y := v * 2) > 1], y, last, total
