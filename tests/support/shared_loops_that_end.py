"""Loops for threads that end early, raise exceptions or warn in some chunk, or draw numbers."""
# ruff: noqa: B007 (programs as people write them)
from __future__ import annotations

import math
import random

import numpy as np
from shared_loops import CASES, called_with, matrix, places, quarters, shifted, twice

__all__ = ["CASES"]


def faulty(n: int, *faults: tuple[float, float, float]) -> tuple[np.ndarray, ...]:
    """Ones; at some places, told by where in the array they are, other numbers: of both arrays."""
    x, y = np.ones(n), np.ones(n)
    for at, of_x, of_y in faults:
        if n:
            x[int(at * (n - 1))], y[int(at * (n - 1))] = of_x, of_y
    return x, y, np.zeros(n)


FAULTS: tuple[tuple[tuple[float, float, float], ...], ...] = (
    (), ((1, 1, 0),), ((0.2, 0, 0), (0.9, 1, 0)), ((0.9, 0, 0), (0.2, 1, 0)),
    ((0.5, 1e300, 1e-300), (0.1, 0, 0)), ((0.3, 1e-300, 1e300), (0.7, 0, 0)), ((1, -1, 0),),
    ((0.5, 1e300, -1),), ((0.4, 5, 1), (0.6, 1, 0)),
)
"""Divisions by zero, invalid ones, overflows and underflows, alone and before others; roots of
negative numbers; a hit of a search before a division by zero.
"""
FAULTY = [lambda n, f=faults: faulty(n, *f) for faults in FAULTS]
FAULTY_PAIRS = [lambda n, f=faults: faulty(n, *f)[:2] for faults in FAULTS]


@called_with(
    lambda n: (places(n, 2**40), np.zeros(n, np.int32)),
    lambda n: (np.arange(n), np.zeros(n, np.int8)),
)
def store_overflow(k, out):
    for i in range(len(k)):
        out[i] = int(k[i])


@called_with(lambda n: (places(n, 2**30).astype(np.int32), np.zeros(n, np.int32)))
def wrap_warn(k, out):
    for i in range(len(k)):
        out[i] = k[i] * np.int32(7)


@called_with(*FAULTY)
def warns(x, y, out):
    for i in range(len(x)):
        out[i] = x[i] / y[i]


@called_with(*FAULTY)
def warn_and_raise(x, y, out):
    for i in range(len(x)):
        out[i] = np.float64(1) / y[i]
        y[i] = math.sqrt(x[i])


@called_with(*FAULTY)
def warn_fold(x, y, out):
    m = -math.inf
    c = 0
    for i in range(len(x)):
        v = np.sqrt(x[i]) / y[i]
        if v > m:
            m = v
        c += v > 0
    return m, c


@called_with(*FAULTY_PAIRS)
def warn_search(x, y):
    for i in range(len(x)):
        if x[i] / y[i] > 3:
            return i
    return -1


@called_with(*FAULTY)
def cond_raise(x, y, out):
    for i in range(len(x)):
        out[i] += 1
        if x[i] != 1:
            out[i] = math.log(x[i]) / float(y[i])
        out[i] += 1


@called_with(*FAULTY_PAIRS)
def warn_appends(x, y):
    out = []
    for i in range(len(x)):
        v = np.float64(x[i]) / y[i]
        if v != 1:
            out.append(v)
    return out


@called_with(
    lambda n: (places(n, 9) + (np.arange(n) != n * 2 // 3), [1] * n),
    lambda n: (places(n, 9) + 1, [1] * n),
)
def list_raise(k, more):
    for i in range(len(k)):
        more[i] = 10 // int(k[i])


@called_with(lambda n: (places(n, 9) + (np.arange(n) != n * 2 // 3), [1] * n))
def list_append_raise(k, more):
    for i in range(len(k)):
        more.append(10 // int(k[i]))
        more[i] += 1
    return len(more)


@called_with(
    lambda n: (places(n, 9) + 1, np.zeros(n)),
    lambda n: (places(n, 9), np.zeros(n)),
    lambda n: (places(n, n + 2), np.zeros(n)),
)
def raise_in_inner(k, out):
    for i in range(len(k)):
        for j in range(i % 4):
            out[i] += 10 // int(k[i]) + k[k[i]]


@called_with(lambda n: (places(n, 9) + 1, np.zeros(n)), lambda n: (places(n, 9), np.zeros(n)))
def raise_two_kinds(k, out):
    for i in range(len(k)):
        out[i] = i
        if k[i] == 0:
            if i % 2:
                raise ValueError(f"at {i}")
            out[len(k) + 5] = 1


@called_with(lambda n: (quarters(n), np.zeros(3 * n + 3)))
def thrice(x, out):
    for i in range(len(x)):
        out[3 * i] = x[i]
        out[3 * i + 1] = 1
        out[3 * i + 2] = 2
        out[3 * i + 3] = 3


@called_with(lambda n: (quarters(n),))
def neighbours(x):
    y = np.zeros(len(x) + 2)
    for i in range(len(x)):
        y[i] += x[i]
        y[i + 1] += x[i]
        y[i + 2] -= x[i]
    return y


@called_with(lambda n: (quarters(n),))
def bits(x):
    a, b = x > 0, x < 2
    c = np.zeros(len(x), np.bool_)
    for i in range(len(x)):
        c[i] = a[i] != b[i]
        if i % 3 == 0:
            c[i // 3] = True
    return c, a & b, (a | c).sum()


@called_with(
    lambda n: (quarters(n), np.random.default_rng(3)),
    lambda n: (quarters(n), random.Random(3)),
)
def drawn(x, g):
    s = 0.0
    for i in range(len(x)):
        x[i] += g.random()
        if x[i] > 2:
            s = g.random()
    return s


@called_with(
    lambda n: (matrix(n),),
    lambda n: (np.asfortranarray(matrix(n)),),
    lambda n: (matrix(n)[::-1, ::-2],),
)
def nest_stats(m):
    s, c, lo, at = 0.0, 0, math.inf, (0, 0)
    rows = np.zeros(m.shape[0])
    cols = np.zeros(m.shape[1])
    for i in range(m.shape[0]):
        for j in range(m.shape[1]):
            v = m[i, j]
            s += v
            rows[i] += v
            cols[j] += v
            if v > 1:
                c += 1
            if v < lo:
                lo, at = v, (i, j)
    return s, c, lo, at, rows, cols


@called_with(lambda n: (matrix(n),))
def longest_row(m):
    best, at = -1, -1
    for i in range(m.shape[0]):
        k = 0
        while k < m.shape[1] and m[i, k] < 3:
            k += 1
        if k > best:
            best, at = k, i
    return best, at


@called_with(lambda n: (matrix(n), np.zeros(n // 9 + 1)))
def row_sum_early(m, out):
    for i in range(m.shape[0]):
        s = 0.0
        for j in range(m.shape[1]):
            if m[i, j] == 4:
                break
            s += m[i, j]
        else:
            s = -1.0
        if s > 14:
            return i
        out[i] = s
    return -1


@called_with(
    lambda n: (matrix(n), np.zeros((n // 9 + 1, 11))),
    lambda n: (matrix(n) + (np.arange(11) == 5), np.zeros((n // 9 + 1, 11))),
)
def early_return_nest(m, out2):
    for i in range(m.shape[0]):
        for j in range(m.shape[1]):
            if m[i, j] == 5.0:
                return i * 1000 + j
            out2[i, j] = m[i, j]
    return -1


@called_with(lambda n: (matrix(n),))
def find_in_rows(m):
    r = np.full(m.shape[0], -1)
    for i in range(m.shape[0]):
        for j in range(m.shape[1]):
            if m[i, j] > 3:
                r[i] = j
                break
    return r


@called_with(lambda n: (places(n, 30),), lambda n: (places(n, 30) - 3,))
def append_filter_nested(k):
    out, place = [], []
    for i in range(len(k)):
        if k[i] % 3 == 0:
            out.append(int(k[i]))
            if k[i] % 2 == 0:
                place.append(i)
                out.append(-1)
    return out, place, len(out)


@called_with(
    lambda n: (quarters(n), quarters(n, 1), quarters(n, 2)),
    lambda n: (*twice(quarters(n)), quarters(n, 1)),
    lambda n: (*shifted(quarters(n + 1), 1), quarters(n)),
)
def whole(x, y, z):
    z[:] = x + y
    x -= z
    y[1:] = z[:-1] * 2
    return (x * y).max(initial=0), x.argmin() if len(x) else 0


@called_with(lambda n: (quarters(n),))
def stencil_inplace(x):
    for i in range(1, len(x) - 1):
        x[i] = (x[i - 1] + x[i + 1]) * 0.5


@called_with(lambda n: (matrix(n),))
def red_black(m):
    for i in range(1, m.shape[0] - 1):
        for j in range(1 + i % 2, m.shape[1] - 1, 2):
            m[i, j] = 0.25 * (m[i - 1, j] + m[i + 1, j] + m[i, j - 1] + m[i, j + 1])


@called_with(lambda n: (places(n), np.zeros(n, np.int64)))
def collatz(k, c):
    for i in range(len(k)):
        v = int(k[i]) + 1
        n = 0
        while v > 1:
            v = v // 2 if v % 2 == 0 else 3 * v + 1
            n += 1
        c[i] = n


@called_with(lambda n: (quarters(n), np.zeros(n)))
def convergence(x, out):
    for it in range(6):
        d = 0.0
        for i in range(1, len(x) - 1):
            out[i] = (x[i - 1] + x[i + 1]) * 0.5
            d = max(d, abs(out[i] - x[i]))
        for i in range(1, len(x) - 1):
            x[i] = out[i]
        if d < 0.5:
            return it
    return d


@called_with(
    lambda n: (quarters(n), places(n), np.zeros(n)),
    lambda n: (quarters(n), places(n, n + 3), np.zeros(n)),
    lambda n: (quarters(n), -places(n) - 2, np.zeros(n)),
)
def gather_if(x, k, out):
    for i in range(len(k)):
        if k[i] % 2 == 0:
            out[i] = x[k[i]]
        else:
            out[i] -= 1


@called_with(lambda n: (places(n // 30 * 35 + 35, 9).reshape(-1, 5, 7),))
def cube(a):
    out = np.zeros(a.shape[:2])
    c = 0
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            for k in range(a.shape[2]):
                out[i, j] = max(out[i, j], a[i, j, k])
                if a[i, j, k] == 3:
                    c += 1
                    break
    return out, c, a.sum(axis=(0, 2)), a.max(axis=1)


@called_with(lambda n: (quarters(n), np.zeros(n)))
def last_value(x, out):
    t = 0.0
    for i in range(len(x)):
        if x[i] > 0:
            t = x[i]
        out[i] = 1.0
    return t, i
