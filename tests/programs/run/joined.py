"""Programs in which the type of a name or value depends on the data, or it may be None."""
# ruff: noqa: SIM108 (programs as people write them)
from __future__ import annotations

import math
from typing import Any

import numpy as np

from .programs import F32, F64, Make, Rng, one, program, real, two, whole

SOME = (0, 1, 2, 9, 33)
"""Sizes of programs that have no vectors to fill."""


def like(*dtypes: Any) -> dict[str, Make]:
    """One array of each of these dtypes."""
    return {np.dtype(t).name: one(whole, t) for t in dtypes}


def beside(*pairs: tuple[Any, Any]) -> dict[str, Make]:
    """Two arrays of these dtypes."""

    def make(a: Any, b: Any) -> Make:
        return lambda n, rng: (whole(n, rng, a), whole(n, rng, b))

    return {f"{np.dtype(a).name}_{np.dtype(b).name}": make(a, b) for a, b in pairs}


UNEQUAL = beside((F32, F64))
OTHERS = beside((F64, F32), (np.int64, F64), (np.int8, F32))


@program(**like(F64, np.uint8), long=True)
@program(**like(F32, np.int64), sizes=SOME)
def above_zero(x):
    s = 0.0
    for i in range(len(x)):
        s += max(0, x[i])
    return s


@program(**like(F64, np.int32), long=True)
@program(**like(F32), sizes=(0, 1, 9, 33))
def doubled_or_one(x):
    out = np.zeros(len(x))
    for i in range(len(x)):
        v = x[i] if x[i] > 0 else 0
        out[i] = v * 2 + 1
    return out


@program(**like(np.int16), sizes=SOME, long=True)
@program(**like(F32), sizes=SOME)
def halved_or_none_at_all(x):
    out = np.zeros(len(x))
    for i in range(len(x)):
        if x[i] > 2:
            v = x[i]
        elif x[i] < -2:
            v = i
        else:
            v = 0.25
        out[i] = v / 3 - v
    return out


@program(**OTHERS, long=True)
@program(**UNEQUAL, sizes=SOME)
def first_or_second(x, y):
    s = 0.0
    for i in range(len(x)):
        v = x[i] if x[i] > y[i] else y[i]
        s += v * 2
    return s


@program(**OTHERS, sizes=SOME, long=True)
@program(**UNEQUAL, sizes=SOME)
def last_of_either(x, y):
    v = 7
    for i in range(len(x)):
        if x[i] > 0:
            v = x[i]
        elif y[i] > 0:
            v = y[i]
    return v


@program(**like(F32, np.uint8), f64_real=one(real), long=True)
@program(**like(F64, np.int64), sizes=SOME)
def least(x):
    best = None
    for v in x:
        if best is None or v < best:
            best = v
    return best


@program(**like(np.int32), sizes=SOME, long=True)
@program(**like(F64), sizes=SOME)
def least_and_its_place(x):
    best = at = None
    for i in range(len(x)):
        if best is None or x[i] < best:
            best, at = x[i], i
    return best, at


@program(**like(np.int32), sizes=SOME, long=True)
@program(**like(F64), sizes=SOME)
def bounds(x):
    lo = hi = None
    for v in x:
        if lo is None:
            lo = hi = v
        else:
            if v < lo:
                lo = v
            if v > hi:
                hi = v
    return [lo, hi]


@program(**like(F32), sizes=SOME, long=True)
@program(**like(F64), sizes=SOME, long=True)
def rises(x):
    before = None
    k = 0
    for v in x:
        if before is not None and v > before:
            k += 1
        before = v
    return k, before


@program(**like(np.int64), sizes=SOME, long=True)
@program(**like(F64), sizes=SOME)
def first_above(x):
    at = None
    for i in range(len(x)):
        if x[i] > 4:
            at = i
            break
    if at is None:
        return -1.5
    return at + 1


@program(**like(F64), sizes=SOME, long=True)
def none_or_its_double(x):
    last = None
    for v in x:
        if v > 6:
            last = v
    return 0 if last is None else last * 2


@program(int=lambda n, rng: (n,), float=lambda n, rng: (n * 0.5,), sizes=SOME)
def int_that_turns_float(n):
    s = 0
    for i in range(int(n)):
        if i % 3 == 2:
            s = s + 0.5
        else:
            s = s + 1
    return s


@program(**like(np.int64), sizes=SOME, long=True)
@program(**like(F64), sizes=SOME, long=True)
def flag_that_turns_int(x):
    found = False
    for v in x:
        if v > 7:
            found = 2
        elif v < -7:
            found = -0.5
    return found


@program(**like(np.int64), sizes=SOME, long=True)
@program(**like(F32), sizes=SOME)
def reset(x):
    run, best = 0, 0
    for i in range(len(x)):
        if x[i] > 0:
            run = run + x[i] / 2
        else:
            run = i
        if run > best:
            best = run
    return best, run


def two_numbers(a: Any, b: Any) -> Make:
    return lambda n, rng: (a, b) if n % 2 else (b, a)


NUMBERS = {"int_float": two_numbers(3, 2.5), "f32_float": two_numbers(F32(1.5), 2.5)}
MORE = {
    "ints": two_numbers(3, 5), "bool_int": two_numbers(True, 2), "tie": two_numbers(2, 2.0),
    "zero_float": two_numbers(0, 2.5), "nan": two_numbers(math.nan, 1),
    "f64_int": two_numbers(F64(-0.0), 0), "i8_float": two_numbers(np.int8(3), 0.5),
}


@program(**MORE, sizes=(1, 2), long=True)
@program(**NUMBERS, sizes=(1, 2))
def extremes(a, b):
    return min(a, b), max(a, b), max(b, a, 1), min(b, 1.0, a)


@program(**MORE, sizes=(1, 2), long=True)
@program(**NUMBERS, sizes=(1, 2))
def by_their_truth(a, b):
    return a or b, a and b, (a or b) * 2, (a and b) / 4, not (a and b)


@program(**MORE, sizes=(1, 2), long=True)
@program(**NUMBERS, sizes=(1, 2))
def chosen_and_used(a, b):
    c = a if a > b else b
    d = c if c != 1 else -a
    return c, -c, c + c, c * d, c - 1, abs(d), c < d, +c == d, float(c), bool(d), 0 < c <= d + 1


@program(**MORE, sizes=(1, 2), long=True)
@program(**NUMBERS, sizes=(1, 2))
def parameter_bound_in_a_branch(a, b):
    if a > 1:
        a = b
    elif b > 2:
        b = 0.5
    return a, b, a + b


@program(f32=two(whole, F32), sizes=SOME, long=True)
@program(f64=two(whole), sizes=SOME)
def tallied(x, y):
    k, mean = 0, None
    for i in range(len(x)):
        if x[i] < y[i]:
            k += 1
            mean = x[i] if mean is None else mean + (x[i] - mean) / 2
    return k, mean


def rows(n: int, rng: Rng) -> tuple[np.ndarray, np.ndarray]:
    return whole(4 * n, rng).reshape(n, 4), np.zeros(n)


@program(f64=rows, sizes=SOME)
def least_of_each_row(m, out):
    for i in range(m.shape[0]):
        low = None
        for j in range(m.shape[1]):
            if m[i, j] > 0 and (low is None or m[i, j] < low):
                low = m[i, j]
        out[i] = -1 if low is None else low
    return out


@program(f64=one(whole), sizes=SOME, long=True)
def stepping(x):
    k, h = 0, 1
    while k < len(x):
        if x[k] > 0:
            h = h * 0.5
        k += 1
    return h


@program(f64=one(whole), sizes=(0, 1, 2, 9), python_at=(1,))
def places_by_none(x):
    at = None
    for i in range(len(x)):
        if i > 0:
            at = i - 1
    return 0.0 if len(x) == 0 else x[at] + 1
