"""Lists and tuples: given, global, shared, mixed, changed."""
# ruff: noqa: B905, PERF401, PERF402, RUF007 (programs as people write them)
from __future__ import annotations

import numpy as np

from .given import case, floats
from .trap import trap

NAN = float("nan")
TABLE = [0.5, -0.0, 2.0]
MIXED = [1, 2.5, 3]
SHARED = [[1.0, 2.0, 3.0]] * 2


@trap("a list keeps its items' types", case(lambda: [1.5, -0.0, NAN, 2.5]),
      case(lambda: [1.5, 2, 3.0]), case(lambda: [True, False, True]), case(list),
      case(lambda: [np.float64(1.5), 2.0]), case(lambda: [1, 2, 1 << 70]), case(lambda: [1, True]))
def total(x):
    s = 0.0
    for v in x:
        s = s + v
    return s, len(x)


@trap("a list is changed in place, item by item", case(lambda: [1.5, -0.0, NAN, 2.5], 2.0),
      case(lambda: [1.5, 0.0, 0.0], -0.0), case(lambda: [1, 2, 3], 2.0), case(lambda: [1, 2], 2),
      case(lambda: (1.0, 2.0), 2.0), case(lambda: tuple([1.0] * 20), 2.0))
def scaled(x, k):
    for i in range(len(x)):
        x[i] = x[i] * k
    return x


@trap("an exception leaves the items before it changed", case(lambda: [1.0, 0.5, 2.0], 3),
      case(lambda: [1.0, 0.5, 2.0], 4), case(lambda: [1.0, 0.0, 2.0], 3), case(list, 1))
def inverted(x, n):
    for i in range(n):
        x[i] = 1.0 / x[i]


def twice() -> tuple[list[float], list[float]]:
    x = [1.0, 2.0, 3.0, 4.0]
    return x, x


@trap("two names of one list", case(lambda: [1.0, 2.0, 3.0, 4.0], lambda: [0.0] * 4), twice)
def shifted(x, y):
    for i in range(1, len(x)):
        y[i] = x[i - 1] + 1.0
    return y


@trap("rows may be one list", case(lambda: [[1.0, 2.0], [3.0, 4.0]]),
      case(lambda: [[1.0, 2.0]] * 3), case(lambda: [[1.0], [3.0, 4.0]]),
      case(lambda: [[1.0, 2.0], (3.0, 4.0)]), case(lambda: [[1.0, 2.0], [3, 4.0]]),
      case(lambda: [[]]), case(lambda: [(1.0, 2.0)]))
def stepped(m):
    for i in range(len(m)):
        for j in range(len(m[i])):
            m[i][j] = m[i][j] * 2.0
    return m


@trap("a list is no array", case(lambda: [1.0, 2.0, 3.0], floats(3)))
def indexed(x, y):
    s = 0.0
    for i in range(len(x)):
        s += x[i] + x[-1] * y[i]
    return s


@trap("a list is no array", case(lambda: [1.0, 2.0, 3.0]), compiled=False)
def repeated(x):
    out = []
    for v in x * 2:
        out.append(v)
    return out + x


@trap("a list is no array", case(lambda: [[1.0, 2.0], [3.0, 4.0]]), compiled=False)
def by_two(m):
    s = 0.0
    for i in range(len(m)):
        s += m[i, 0]
    return s


@trap("a slice of a list is a copy", case(lambda: [1.0, 2.0, 3.0, 4.0]), compiled=False)
def sliced(x):
    y = x[1:]
    for i in range(len(y)):
        y[i] = 7.0
    return x, y


@trap("iteration sees later mutation", case(lambda: [1.0, 2.0, 3.0, 4.0]))
def seen_later(x):
    s = 0.0
    for v in x:
        x[-1] = v
        s += v
    return s


@trap("iteration sees later mutation", case(lambda: [1.0, 2.0, 3.0]), compiled=False)
def grown_under_way(x):
    s = 0.0
    for v in x:
        s += v
        if len(x) < 6:
            x.append(v * 2)
    return s, x


@trap("globals are read at each call", case(floats(5), lambda: TABLE.__setitem__(0, 0.5)))
def tabled(x, _):
    s = 0.0
    for i in range(len(x)):
        s += TABLE[i % 3] * x[i]
    TABLE[0] += 1.0
    return s


@trap("globals are read at each call", case(floats(5)), compiled=False)
def mixed(x):
    s = 0.0
    for i in range(len(x)):
        s += MIXED[i % 3] * x[i]
    return s


@trap("rows may be one list", case(floats(3)), compiled=False)
def shared(x):
    SHARED[0][2] = 3.0
    for i in range(len(x)):
        SHARED[0][i] = x[i] + SHARED[1][i]
    return float(SHARED[1][2])


@trap("what pops of nothing raises", case(floats(4), 3), case(floats(4), 0), case(floats(4), 9))
def popped(x, n):
    out = []
    for v in x:
        out.append(v)
    for k in range(n):
        x[k % 4] = out.pop()
    return out, x


@trap("a list has room for as many as are put into it", case(9000), case(3), case(40000))
def long(n):
    kept = [0]
    k = 0
    while k < n:
        kept.append(kept[-1] + k % 7)
        k += 1
    return len(kept), kept[-1], kept[n // 2]


@trap("a name bound in one branch only", case(1), case(0), compiled=False)
def perhaps(n):
    if n > 0:
        out = []
    for k in range(3):
        out.append(k)
        n += out[-1]
    return out


@trap("two names of one list", case(3), compiled=False)
def named_twice(n):
    out = [1]
    other = out
    for k in range(n):
        out.append(k)
        n += out[-1]
    return other, out


@trap("two names of one list", case(3), compiled=False)
def returned_twice(n):
    out = [1]
    for k in range(n):
        out.append(k + out[-1])
    return out, out


@trap("what is taken apart has so many items", case(lambda: np.ones((3, 2))),
      case(lambda: np.ones((3, 3))), case(lambda: np.ones((0, 3))), case(lambda: [(1.0, 2.0)]),
      case(lambda: [(1.0, 2.0), (3.0, 4.0, 5.0)]), case(lambda: [(1.0,)]))
def apart(x):
    s = 0.0
    for a, b in x:
        s += a * 2.0 + b
    return s


@trap("two names of one list", case(3), case(0))
def either_way(n):
    out = [1]
    for k in range(n):
        out.append(k + out[-1])
    if n < 2:
        return out
    out.append(7)
    return out


@trap("what pops of nothing raises", case(lambda: [1, 2, 3], 1), case(lambda: [1, 2, 3], 0))
def popped_first(x, n):
    out = [n]
    if n == 0:
        out.clear()
    k = out.pop() + n
    for i in range(len(x)):
        out.append(i)
        out.append(out[i % 2])
    return out, k


@trap("a slice of a list is a copy, its rows are not", case(lambda: [1.0, 2.0, 3.0, 4.0], list),
      case(lambda: [1.0], list), twice, compiled=False)
def copied_first(x, y):
    s = 0.0
    for v in x[1:]:
        x[-1] = 9.0
        s += v
    for a, b in zip(x, x[1:]):
        x[0] = b
        s += a * b
    kept = x[:2]
    x[0] = 7.0
    for v in kept:
        s += v
    a = [0.0] * len(x)
    for v in a[1:]:
        a[-1] = 100.0
        s += v
    for v in y[1:]:
        s -= v
    return s


@trap("rows in a slice are those of the list", case(lambda: [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]),
      case(lambda: [[1.0, 2.0]] * 3), case(lambda: [[1.0]]), compiled=False)
def rows_shared(m):
    s = 0.0
    for row in m[1:]:
        row[0] = row[0] + 1.0
        for v in row[1:]:
            s += v + m[0][0]
    for row in m:
        for v in row[:2]:
            m[0][1] = s
            s += v
    return s, m


@trap("lists that are made of others are new", case(lambda: [1.0, 2.0, NAN], 2),
      case(lambda: [1, 2, 3], 0), case(list, 3), case(lambda: [1, 2.5], 1), compiled=False)
def made(x, n):
    a = x[:]
    b = list(range(n))
    s = 0
    for i in range(len(a)):
        a[i] = a[i] * 2
        s = s + x[i]
    for i in range(n):
        b[i] = b[i] + 1
    c = b
    for i in range(n):
        b = [i, *c[1:]]
    return a, b, c, s


@trap("what is equal to itself is found, and a NaN that is the same", case(lambda: [1.0, NAN], 1.0),
      case(lambda: [1.0, NAN], NAN), case(lambda: [float("nan")], NAN), case(lambda: [1, 2], 2.0),
      case(lambda: [0.0, True], -0.0), case(list, 0), case(lambda: [1.5], np.float64(1.5)),
      case(lambda: [1 << 60], float(1 << 60)), compiled=False)
def looked_for(x, v):
    k = 0
    for i in range(3):
        k += x.count(v) + i
    if v in x:
        k += 10 * x.index(v)
    return k, v not in x, x.index(v)


@trap("names that change places keep their lists", lambda: (4,), lambda: (1,), lambda: (0,),
      compiled=False)
def in_turn(n):
    a, b = [1] * n, [2] * n
    kept = a
    for i in range(n):
        a[i] = i
        a, b = b, a
    c = a
    for i in range(n):
        c[i] = c[i] + 7
    return a, b, kept, kept is a, c is a


@trap("what is set in a list that was built keeps its type", lambda: (4, 7.5), lambda: (4, 3),
      lambda: (2, np.float64(0.5)), compiled=False)
def set_later(n, v):
    a, b = [], []
    for i in range(n):
        a.append(i)
    for i in range(n):
        b.append(i * 0.5)
    c = b
    a[0] = v
    c[1] = v
    b[0] = 3.0
    return a, b, c is b


@trap("a list of ints that gets floats keeps what is still an int", case(floats(9), 4),
      case(lambda: np.float32([0.5, -1.5, NAN]), 5), case(floats(3), 9),
      case(lambda: [1.5], 3),
      case(lambda: np.array([1 << 62, 5]), 3), case(floats(4), 0))
def binned(x, n):
    acc, last, seen = [0] * n, [1] * n, [0] * n
    for i in range(len(x)):
        acc[i % n] += x[i]
        last[i % n] = x[i]
        seen[i % n] += 1
    acc[0] = acc[-1]
    return acc, last, seen, [v / 2 for v in acc]


@trap("an int in such a list stays exact", case(floats(3), -7), case(floats(3), 1 << 53),
      case(floats(3), (1 << 53) + 1), case(lambda: np.float32([1.5]), (1 << 24) + 1))
def counted_beside(x, k):
    acc = [0] * 6
    for i in range(len(x)):
        acc[i] += x[i]
        acc[i + 3] = k + i
    return acc


@trap("a list of ints gets what may be of no type yet", case(floats(9), 1), case(floats(9), 0),
      case(lambda: -np.ones(3), 1))
def filled_with_the_last(x, k):
    s = None
    for v in x:
        if v > 0:
            s = v
    last = [0] * 3
    for i in range(3):
        last[i] = s if k > 0 else x[0]
    return last
