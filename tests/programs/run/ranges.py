"""Programs with ranges that are held, asked and walked, Python's and NumPy's."""
# ruff: noqa: B007, B905 (programs as people write them)
from __future__ import annotations

import numpy as np

from .programs import Make, program, whole


def sized(n: int, rng: np.random.Generator) -> tuple[np.ndarray, int]:
    return whole(n, rng), n


def numbered(dtype: type = np.float64) -> Make:
    return lambda n, rng: (whole(n, rng, dtype), np.empty(n, dtype), n)


@program(f64=sized, ulps=4)
def under_a_name(x, n):
    r = range(1, n, 2)
    s = 0.0
    for i in r:
        s += x[i]
    n = 2
    for i in reversed(r):
        s = s * 0.5 + x[i]
    return s, len(r), n


@program(f64=sized)
def asked(x, n):
    odd = range(1, n - 1, 2)
    c = 0
    for i in range(n):
        if i in odd or i not in range(n // 2) or i in range(n, 3, -3):
            c += i
    return c


@program(f64=numbered(), f32=numbered(np.float32))
def numpy_range(x, out, n):
    for i in np.arange(n):
        out[i] = x[i] * 2


@program(f64=numbered(), i32=numbered(np.int32))
def numpy_range_with_steps(x, out, n):
    for i in range(n):
        out[i] = 0
    for i in np.arange(n - 1, 0, -3):
        out[i] = x[i]
    for v, i in zip(x, np.arange(2, n)):
        out[i] += v


@program(int=lambda n, rng: (n, n * 2**51))
def numpy_ints_wrap(n, start):
    s = 0
    for v in np.arange(start, start + n, 5):
        s += v * v
    return s


@program(int=lambda n, rng: (n,))
def the_last_of_a_numpy_range(n):
    v = -1
    for v in np.arange(n):
        pass
    return v
