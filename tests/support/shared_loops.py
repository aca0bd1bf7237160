"""Loops of the kinds that people want to run in threads, and what makes their arguments.

Nests with conditions, several reductions, places of extrema, histograms, prefix sums, stencils in
place, arguments that overlap, lists. (Those that end early, fail or warn: `shared_loops_that_end`.)
No float sum is rounded, so that their order does not matter.
"""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.lib.stride_tricks import as_strided, sliding_window_view

__all__ = ["CASES", "Make", "called_with", "matrix", "places", "quarters", "shifted", "twice"]

Make: TypeAlias = Callable[[int], tuple[Any, ...]]
CASES: dict[Callable[..., Any], tuple[Make, ...]] = {}
"""The programs, and what makes their arguments for a size."""


def called_with(*makes: Make) -> Callable[[Any], Any]:
    """Adds a function to `CASES`."""
    def add(function: Any) -> Any:
        CASES[function] = makes
        return function

    return add


def quarters(n: int, seed: int = 0) -> np.ndarray:
    """Small multiples of a quarter."""
    return np.random.default_rng([n, seed]).integers(-16, 17, n) * 0.25


def places(n: int, end: int = 0, seed: int = 0) -> np.ndarray:
    """Integers below `end`; below `n` without it."""
    return np.random.default_rng([n, seed]).integers(0, end or max(n, 1), n)


def matrix(n: int) -> np.ndarray:
    return quarters((n // 9 + 1) * 11).reshape(-1, 11)


def twice(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return x, x


def shifted(x: np.ndarray, by: int) -> tuple[np.ndarray, np.ndarray]:
    """Two views of one array, the second one `by` elements behind the first."""
    n = len(x) - abs(by)
    return x[max(-by, 0) :][:n], x[max(by, 0) :][:n]


DISTANCES = (1, 2, 8, 63, 64, 100, 128, -1, -8, -64, -100, 0)
MOVED = [lambda n, d=d: (quarters(n + 400), n, d) for d in DISTANCES]


@called_with(lambda n: (matrix(n), np.zeros((n // 9 + 1, 11))))
def nest_if(m, out2):
    for i in range(m.shape[0]):
        for j in range(m.shape[1]):
            if m[i, j] > 0:
                if i % 2 == 0:
                    out2[i, j] = m[i, j] * 2
                elif j % 3 == 1:
                    out2[i, j] = -m[i, j]
                else:
                    out2[i, j] += 1
            else:
                out2[i, j] = i - j


@called_with(lambda n: (quarters(n), quarters(n, 1)))
def several_reductions(x, y):
    s, p, c, lo, hi, sq = 0.0, 0.0, 0, math.inf, -math.inf, 0.0
    for i in range(len(x)):
        s += x[i]
        sq += x[i] * x[i]
        if y[i] > 0:
            p += y[i]
            c += 1
        lo = min(lo, x[i])
        if x[i] > hi:
            hi = x[i]
    return s, p, c, lo, hi, sq


@called_with(lambda n: (quarters(n),), lambda n: (np.append(quarters(n), np.nan),))
def ties(x):
    lo, at, hi, ah, last = math.inf, -1, -math.inf, -1, -1
    for i in range(len(x)):
        if x[i] < lo:
            lo, at = x[i], i
    for i in range(len(x)):
        if x[i] >= hi:
            hi, ah = x[i], i
    for i in range(len(x)):
        if x[i] == 1:
            last = i
    return lo, at, hi, ah, last, int(np.argmax(x)) if len(x) else 0


@called_with(lambda n: (places(n, 50),))
def second_best(k):
    a, b = -1, -1
    for v in k:
        if v > a:
            a, b = v, a
        elif v > b:
            b = v
    return a, b


@called_with(lambda n: (places(n, 50), quarters(n)))
def max_by_other(k, x):
    best, val = -1, 0.0
    for i in range(len(k)):
        if k[i] > best:
            best = k[i]
            val = x[i]
    return best, val


@called_with(lambda n: (quarters(n),))
def run_lengths(x):
    best, cur = 0, 0
    for v in x:
        cur = cur + 1 if v > 0 else 0
        best = max(best, cur)
    return best


@called_with(lambda n: (quarters(n),))
def sign_changes(x):
    c, prev = 0, 0.0
    for v in x:
        if v * prev < 0:
            c += 1
        prev = v
    return c, prev


@called_with(
    lambda n: (places(n, 9), np.zeros(9, np.int64)),
    lambda n: (places(n, 9), np.full(9, 250, np.uint8)),
    lambda n: (places(n, 9), np.full(9, 2**31 - 20, np.int32)),
    lambda n: (places(n, 9) - 9, np.zeros(9, np.int64)),
    lambda n: (places(n, 9), np.zeros(8, np.int64)),
    lambda n: (places(n, 9), [2**63 - 20] * 9),
    lambda n: (places(n, 9) - 9, [0] * 9),
    lambda n: (places(n, 9), [0] * 8),
    lambda n: (places(n, 9), as_strided(np.zeros(9, np.int64), (9,), (0,))),
)
def count(k, t):
    for v in k:
        t[v] += 1


@called_with(
    lambda n: (places(n, 9), np.zeros((3, 3), np.int64)),
    lambda n: (places(n, 9), np.zeros((2, 3), np.int64)),
    lambda n: (places(n, 9), np.full((3, 3), 2**31 - 9, np.int32).T),
)
def count2(k, t):
    for v in k:
        t[v // 3, v % 3] += 1


@called_with(
    lambda n: (places(n, 9), places(n, 5, 2), np.zeros(9, np.int64), np.full(5, 7)),
    lambda n: (places(n, 9), places(n, 5, 2), *([np.zeros(9, np.int64)] * 2)),
    lambda n: (places(n, 9), places(n, 7, 2), np.zeros(9, np.int64), np.full(5, 7)),
)
def count_two(k, more, a, b):
    for i in range(len(k)):
        a[k[i]] += 1
        b[more[i]] -= 1


@called_with(lambda n: (places(n, 5), np.zeros(9, np.int64)))
def count_three_places(k, t):
    for v in k:
        t[v] += 1
        t[v + 1] += 2
        t[8 - v] -= 1


@called_with(lambda n: (places(n, 9), np.zeros(9, np.int64)))
def count_read(k, t):
    for v in k:
        t[v] += 1
        if t[v] > 5:
            t[v] = 0


@called_with(lambda n: (places(n), quarters(n), np.zeros(n)))
def hist_max(k, x, out):
    for i in range(len(k)):
        out[k[i]] = max(out[k[i]], x[i])


@called_with(lambda n: (places(n, 9),))
def list_hist(k):
    h = [0] * 9
    for i in range(len(k)):
        h[k[i]] += i
    g = [2**62] * 3
    for i in range(len(k)):
        g[k[i] % 3] += 2**60
    return h, g


@called_with(lambda n: (places(n), np.zeros(n, np.int64)))
def prefix_excl(k, c):
    s = 3
    for i in range(len(k)):
        c[i] = s
        s += k[i] if k[i] % 2 else 0


@called_with(lambda n: (places(n),))
def prefix_inplace(k):
    for i in range(1, len(k)):
        k[i] += k[i - 1]


@called_with(lambda n: (quarters(n), np.zeros(n)))
def prefix_max(x, out):
    m = -math.inf
    for i in range(len(x)):
        m = max(m, x[i])
        out[i] = m


@called_with(
    lambda n: (places(n), np.zeros(n, np.int64)),
    lambda n: twice(places(n)),
    lambda n: shifted(places(n + 1), 1),
    lambda n: shifted(places(n + 1), -1),
    lambda n: (places(n), as_strided(np.zeros(1, np.int64), (n,), (0,))),
)
def totals_alias(k, c):
    s = 0
    for i in range(len(k)):
        s += k[i]
        c[i] = s
    return s


@called_with(
    lambda n: (places(n), places(n, 7), np.zeros(n, np.int64)),
    lambda n: (places(n), places(n, 6) + 1, np.zeros(n, np.int64)),
)
def totals_raise(k, d, c):
    s = 0
    for i in range(len(k)):
        s += k[i] // int(d[i])
        c[i] = s
    return s


@called_with(
    lambda n: (places(n, 2**60),),
    lambda n: (places(n, 2**60) * (1 - 2 * (np.arange(n) % 2)),),
)
def running_overflow(k):
    s, out = 0, np.zeros(len(k))
    for i in range(len(k)):
        s += int(k[i])
        out[i] = s
    return s, out


@called_with(
    lambda n: (places(n, 2**60),),
    lambda n: (places(n, 2**60) * (1 - 2 * (np.arange(n) % 2)),),
    lambda n: (places(n, 5),),
)
def checked_two(k):
    s, t, c = 0, 0, 0
    for i in range(len(k)):
        s += int(k[i])
        if k[i] % 2:
            t -= int(k[i])
            c += 1
    return s, t, c


@called_with(lambda n: (places(n, 2**60),))
def checked_nest(k):
    s = 0
    for i in range(len(k)):
        for j in range(3):
            s += int(k[i]) * (j - 1)
    return s


@called_with(
    lambda n: (quarters(n), np.zeros(n)),
    lambda n: twice(quarters(n)),
    lambda n: (quarters(n), np.zeros(n, np.int8)),
)
def compact_alias(x, out):
    k = 5
    for i in range(len(x) - 5):
        if x[i] > 0:
            out[k] = x[i] + 1
            k += 1
    return k


@called_with(lambda n: (quarters(n),))
def compact_inplace(x):
    k = 0
    for i in range(len(x)):
        if x[i] > 0:
            x[k] = x[i]
            k += 1
    return k


@called_with(lambda n: (quarters(n), np.zeros(2 * n)), lambda n: (quarters(n), np.zeros(n // 2)))
def out_twice(x, out):
    k = 0
    for i in range(len(x)):
        if x[i] > 0:
            out[k] = x[i]
            out[k + 1] = i
            k += 2
    return k


@called_with(*MOVED)
def offset(x, n, d):
    for i in range(200, 200 + n):
        x[i] = x[i + d] + 1


@called_with(*MOVED)
def offset_two(x, n, d):
    for i in range(200, 200 + n):
        x[i] = i
        x[i + d] = -i
    return x.sum()


@called_with(lambda n: (quarters(2 * n),))
def double_place(x):
    for i in range(len(x) // 2):
        x[2 * i] = x[i] + 1


@called_with(lambda n: (quarters(n),))
def reverse_place(x):
    n = len(x)
    for i in range(n):
        x[n - 1 - i] = x[i] + 1


@called_with(lambda n: (quarters(n), places(n), quarters(n, 3)))
def scatter_last_wins(x, k, out):
    for i in range(len(k)):
        out[k[i]] = x[i]


@called_with(
    lambda n: (quarters(n), as_strided(np.zeros(3), (n,), (0,))),
    lambda n: (quarters(n), sliding_window_view(np.zeros(n + 4), 4, writeable=True)[:n, 0]),
    lambda n: (np.broadcast_to(np.float64(2), (n,)), np.zeros(n)),
    lambda n: (quarters(n), np.broadcast_to(np.float64(2), (n,))),
    lambda n: twice(quarters(n)),
    lambda n: (quarters(n), np.zeros(n, np.float16)),
    lambda n: (quarters(n), np.zeros(n, np.bool_)),
    lambda n: shifted(quarters(n + 1), 1),
    lambda n: shifted(quarters(n + 70), 70),
    lambda n: shifted(quarters(n + 70), -70),
    lambda n: (quarters(n), [0.0] * n),
    lambda n: (quarters(n), np.zeros(max(n - 1, 0))),
)
def store(x, out):
    for i in range(len(x)):
        out[i] = x[i] * 2


@called_with(
    lambda n: (matrix(n), sliding_window_view(np.zeros(n // 9 + 11), 11, writeable=True)),
    lambda n: (matrix(n), np.zeros((n // 9 + 1, 11))),
    lambda n: (matrix(n), as_strided(np.zeros(n // 9 + 1), (n // 9 + 1, 11), (8, 0))),
)
def store2(m, out):
    for i in range(m.shape[0]):
        for j in range(m.shape[1]):
            out[i, j] = m[i, j] + i * j


@called_with(lambda n: (matrix(n),))
def row_before(m):
    for i in range(1, m.shape[0]):
        m[i, :] = m[i - 1, :] + 1
    for j in range(1, m.shape[1]):
        m[:, j] += m[:, j - 1]


def changing(n: int, sign: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """A field with zeros of one sign and two NaNs, and what a sweep writes to."""
    m = matrix(n) * (np.arange(11) > 4) * sign
    m[len(m) // 2, 3::5] = np.nan
    return m, m.copy()


@called_with(lambda n: (matrix(n), matrix(n)), changing, lambda n: changing(n, -1.0))
def largest_change(t, new):
    rounds, most = 0, -0.0
    while rounds < 3:
        change = -0.0
        for i in range(1, t.shape[0] - 1):
            for j in range(1, t.shape[1] - 1):
                new[i, j] = 0.25 * (t[i - 1, j] + t[i + 1, j] + t[i, j - 1] + t[i, j + 1])
                change = max(change, abs(new[i, j] - t[i, j]))
        for i in range(1, t.shape[0] - 1):
            for j in range(1, t.shape[1] - 1):
                t[i, j] = new[i, j]
        rounds, most = rounds + 1, min(most, change)
    return rounds, most, change


@called_with(lambda n: (matrix(n), matrix(n)), changing)
def largest_change_of_arrays(t, new):
    rounds, change = 0, 1.0
    while change > 0.01 and rounds < 3:
        new[1:-1, 1:-1] = 0.25 * (t[:-2, 1:-1] + t[2:, 1:-1] + t[1:-1, :-2] + t[1:-1, 2:])
        change = np.max(np.abs(new - t))
        t[:, :] = new
        rounds += 1
    return rounds, change


@called_with(lambda n: (matrix(n), matrix(n)))
def sum_of_changes(t, new):
    change, count = 0.0, 0
    for i in range(1, t.shape[0] - 1):
        for j in range(1, t.shape[1] - 1):
            new[i, j] = 0.25 * (t[i - 1, j] + t[i + 1, j] + t[i, j - 1] + t[i, j + 1])
            change += (new[i, j] - t[i, j]) ** 2
            count += new[i, j] > 0
    for i in range(1, t.shape[0] - 1):
        for j in range(1, t.shape[1] - 1):
            t[i, j] = new[i, j]
    return change, count
