"""Lengths of arrays and lists that are made here: computed, tried, or those of other arrays."""

from __future__ import annotations

import numpy as np

from .given import case, floats, ints, of
from .trap import trap

F, Z, N = floats(9), ints(9), floats(0)
COUNTS = lambda: np.array([3, 0, 5, 3, 1])  # noqa: E731
HUGE = lambda: np.array([1 << 40, 2])  # noqa: E731
BELOW = lambda: np.array([-1, 2])  # noqa: E731


@trap("what an array is filled with is read at its place", case(F, 20), case(Z, 3), case(N, 3))
def filled_late(x, n):
    x[0] = 7
    u = np.full(n, x[0])
    w = np.full_like(x, x[0] + 1)
    for i in range(n):
        u[i] += i
    return u, w


@trap("a length is read at its place", case(COUNTS), case(F), case(floats(9, np.float32)),
      case(N), case(lambda: np.zeros(2, np.uint8)), compiled=False)
def made_late(x):
    x[0] = 7
    u = np.zeros(int(x[0]))
    for i in range(len(u)):
        u[i] = i
    return u


@trap("a length is an element", case(COUNTS), case(HUGE), case(BELOW), case(N))
def counted_out(x):
    u = np.zeros(int(x[0]) + 1, np.int32)
    for i in range(len(u)):
        u[i] += i
    return u, len(u)


@trap("a length is the greatest element", case(COUNTS), case(BELOW), case(ints(0)), case(HUGE),
      case(lambda: np.array([255, 3], np.uint8)), case(lambda: np.array([True, False])))
def places_counted(x):
    n = x.max() + 1
    u = np.zeros(n, np.int64)
    for v in x:
        u[v] += 1
    total = 0
    for i in range(len(u)):
        total += u[i] * i
    return u, total


@trap("a length is the greatest element", case(COUNTS, ints(9)), case(BELOW, ints(9)),
      case(ints(0), ints(9)), case(lambda: np.array([255, 3], np.uint8), ints(9)))
def counted_in_rows(x, out):
    for i in range(len(x)):
        seen = np.bincount(x[i:])
        out[i] = seen[-1] + len(seen)
    return out


@trap("an array is cut to no more than it has", case(COUNTS), case(HUGE), case(BELOW), case(N),
      case(lambda: np.array([600])))
def cut_short(x):
    u = np.zeros(5)
    u.resize(int(x[0]), refcheck=False)
    for i in range(len(u)):
        u[i] = 1.0
    return u


@trap("a range as long as an element", case(ints(9), lambda: np.arange(9) % 5), case(Z, HUGE),
      case(Z, BELOW), case(N, COUNTS), case(Z, lambda: np.arange(9, dtype=np.int8)),
      case(Z, lambda: np.array([2**63 - 1, 0, -2**63, 5, 1, 1, 1, 1, 1])))
def around_each(out, k):
    for i in range(len(out)):
        u = np.exp(np.arange(-k[i], k[i] + 1) * 0.0) * 2.0
        out[i] = u[0] + len(u)
    return out


@trap("a length that a loop computes", case(floats(40)), case(floats(90)), case(BELOW), case(N),
      case(lambda: -floats(9)()))
def longer_and_longer(x):
    n, total = 1, 0.0
    for i in range(len(x)):
        n = (n * 7 + int(x[i])) % 9001
        u = np.zeros(n)
        for j in range(n):
            u[j] += j
        if n > 2:
            total += np.sqrt(u[1:]).max()
        x[i] = u.sum()
    return n, total


@trap("a length that a loop computes", case(floats(9), 9), case(floats(9), -1), case(floats(30), 1),
      case(floats(9), 1 << 58))
def below_nothing(x, n):
    for i in range(len(x)):
        n = n - int(x[i]) % 3
        u = np.ones((n, 2))
        u[:, 1] = x[i]
        x[i] = u.sum()
    return n


@trap("a length that a loop computes", case(Z), case(lambda: ints(900)() % 7), case(ints(0)),
      compiled=False)
def grown_twice(x):
    seen = np.empty(2, x.dtype)
    n = 0
    for i in range(len(x)):
        found = False
        for k in range(n):
            if seen[k] == x[i]:
                found = True
        if not found:
            if n == len(seen):
                more = np.empty(2 * len(seen), x.dtype)
                more[:n] = seen[:n]
                seen = more
            seen[n] = x[i]
            n += 1
    total = 0
    for k in range(n):
        total = total * 3 + seen[k]
    return n, total


@trap("lists behind a way out", case(Z), case(ints(0)), case(of(3, 3, 3)), case(of(1.5, 2.5)))
def places_of_change(x):
    if len(x) == 0:
        return np.empty(0, np.uint64), 0
    at, by = [], []
    last = x[0]
    for i in range(1, len(x)):
        if x[i] != last:
            by.append(i - len(at))
            at.append(i)
            last = x[i]
    return np.array(at, dtype=np.uint64), np.array(by, dtype=np.int8)


@trap("lists behind a way out", case(of(1, 300)), case(lambda: np.arange(300)), case(ints(0)))
def ints_that_do_not_fit(x):
    if len(x) == 0:
        return x
    out = []
    for i in range(len(x)):
        if i != 3:
            k = -i if i == 5 else i
            out.append(k)
    return np.array(out, dtype=np.uint8)


@trap("arrays one after the other", case(F, floats(4)), case(F, Z), case(N, F),
      case(F, lambda: floats(12)().reshape(3, 4)))
def each_in_turn(x, y):
    total, n = 0.0, 0
    for u in (x, y):
        for v in u:
            if v == 2.5:
                break
            total += v
        n += len(u)
        u[0] = n
        for w in [y, x]:
            total += w[0] + u[-1]
    return total, u


def _steps_back(x):
    i, steps = len(x) - 1, []
    while i > 0:
        steps.append((i, x[i]))
        i -= 1 if x[i] > 0 else 2
    steps.append((0, 0.5))
    return steps[::-1]


@trap("slices of lists that are returned", case(F), case(Z), case(N), case(of(-1.0, 2.5)))
def turned_at_the_end(x):
    total = 0.0
    for v in x:
        total += v
    return _steps_back(x), total


@trap("slices of lists that are returned", case(F), case(Z), case(N), case(of(-1.0, 2.5)),
      compiled=False)
def cut_at_the_end(x):
    out = []
    for i in range(len(x)):
        if x[i] > 0:
            k = i + 1
            out.append((i, k))
    return out[1:-1], out[::2], out


@trap("signs one after the other, until one will do", case(1.5, 4), case(1, 0), case(0.1, 9),
      case(-2.5, 3))
def exponent(x, n):
    found = 0
    for k in range(n):
        for sign in [1, -1]:
            if np.abs(np.round(np.log2(np.abs(x) / 3.0 ** (k * sign)))) < 1.0:
                return k * sign
        for d in (2, 3, 5):
            if k % d == 1:
                found += d
                break
        k += 1
    return found, k
