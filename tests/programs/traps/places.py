"""Index and range."""
# ruff: noqa: B007, B905 (as people write them)
from __future__ import annotations

import numpy as np

from .given import case, floats, ints, of
from .trap import trap

F, Z, N = floats(7), ints(7), floats(0)
SOME = (case(F), case(Z), case(floats(1, np.float32)), case(N), case(ints(3, np.uint8)))


@trap("x[-1]", *SOME)
def last(x):
    return x[-1]


@trap("x[i-1] at i = 0 reads the last element", case(F, floats(7)), case(Z, ints(7)), case(N, N))
def before(x, y):
    for i in range(len(x)):
        y[i] = x[i - 1]


@trap("x[i-1] at i = 0 reads the last element", case(F, 0), case(F, 2), case(F, 7),
      case(F, 9), case(F, -8))
def far_before(x, k):
    s = 0.0
    for i in range(len(x)):
        s += x[i - k]
    return s


@trap("x[-n-1] raises", case(F, 3), case(F, -7), case(F, -8), case(F, 6), case(F, 7),
      case(N, 0), case(N, -1))
def anywhere(x, k):
    x[k] = 3
    return x[k]


@trap("x[-n-1] raises", case(F, floats(7)), case(F, floats(5)), case(F, N), case(floats(2), F))
def one_too_many(x, y):
    for i in range(len(x)):
        y[i] = x[i] * 2
    return y


@trap("n-1 with an unsigned zero", case(F, np.uint64(3)), case(F, np.uint64(0)),
      case(F, np.uint8(0)))
def below(x, n):
    k = n - 1
    for i in range(len(x)):
        x[i] = x[i] + (k > 3)
    return x


@trap("slices clip", case(F, 2, 5), case(F, -3, 99), case(F, 5, 2), case(F, -99, -2), case(N, 1, 4))
def part(x, a, b):
    s = 0.0
    for v in x[a:b]:
        s += v
    return s


@trap("slices clip", case(F, 2), case(F, 99), case(F, -99), case(F, 0), case(N, 0))
def both_parts(x, k):
    return x[:k].sum() - x[k:].sum()


@trap("X[:0] = v writes nothing", case(F, 0, 1.0), case(F, 3, 1.0), case(F, -2, np.float32(2)))
def filled(x, k, v):
    x[:k] = v


@trap("x[3::-1] has four elements", case(F, 3), case(F, 0), case(F, 99), case(F, -1), case(N, 3))
def backwards(x, k):
    out = np.zeros(len(x))
    n = 0
    for v in x[k::-1]:
        out[n] = v
        n += 1
    return out, n


@trap("x[3::-1] has four elements", case(F), case(Z), case(N))
def by_two_backwards(x):
    return x[::-2] + x[::-2]


@trap("range bounds are frozen", case(F, 4), case(F, 0), case(F, -1))
def frozen(x, n):
    k = 0
    for i in range(n):
        n = n + 1
        k += i
    return k, n


@trap("reassigning i does not alter the iteration", case(Z), case(ints(1)), case(ints(0)))
def reassigned(x):
    s = 0
    for i in range(len(x)):
        s += x[i]
        i = i * 2
        s += i
    return s


@trap("the loop variable survives", case(F), case(floats(1)))
def survives(x):
    s = 0.0
    for i in range(len(x)):
        s += x[i]
    return s, i


@trap("and is unbound after zero trips", case(F), case(N), case(floats(1)))
def unbound(x):
    for i in range(1, len(x)):
        x[i] += 1
    return i


@trap("and is unbound after zero trips", case(F), case(N))
def last_of_elements(x):
    for v in x:
        pass
    return v


@trap("for … else", case(F, 0.0), case(F, 99.0), case(N, 1.0))
def found(x, t):
    for i in range(len(x)):
        if x[i] > t:
            k = i
            break
    else:
        k = -1
    return k


@trap("iteration sees later mutation", case(F), case(Z), case(N))
def mutated(x):
    s = 0.0
    for i, v in enumerate(x):
        s += v
        x[-1] = i
    return s


@trap("rows of a 2-D array are views", case(lambda: floats(12)().reshape(3, 4)))
def rows(x):
    for row in x:
        row[0] = 9.0
    return x


@trap("rows of a 2-D array are views", case(lambda: floats(12)().reshape(3, 4), 1))
def one_row(x, k):
    row = x[k]
    row[1:] = row[0]
    return x[k, 2]


@trap("fancy += counts duplicates once but a loop counts all",
      case(ints(4), of(1, 1, 3, 1)), case(ints(4), of(1, 9)), case(ints(4), of(-1, -1)))
def counted(h, at):
    for i in range(len(at)):
        h[at[i]] += 1
    return h


@trap("fancy += counts duplicates once but a loop counts all",
      case(ints(4), of(1, 1, 3, 1)), case(ints(4), of(1, 9)), compiled=False)
def counted_once(h, at):
    h[at] += 1
    return h


@trap("len of 0-d raises", case(F), case(lambda: np.array(3.0)), case(3.0), compiled=True)
def length(x):
    return len(x)


@trap("x[True] adds an axis", case(F, 1), case(F, True), case(F, False), case(F, np.True_))
def by_bool(x, k):
    return x[k]


@trap("zip stops at the shortest", case(F, floats(4)), case(floats(2), F), case(F, N))
def paired(x, y):
    s = 0.0
    for a, b in zip(x, y):
        s += a * b
    return s


@trap("sizes", case(lambda: np.ones((2, 3)), 1), case(lambda: np.ones((2, 3)), 2), case(F, 1))
def other_axis(x, k):
    s = 0.0
    for i in range(x.shape[1]):
        s += x[k, i]
    return s


@trap("range steps", case(0, 9, 2), case(9, 0, -3), case(0, 9, -1), case(3, 3, 1), case(1, 5, 0))
def steps(a, b, c):
    k = 0
    for i in range(a, b, c):
        k = 10 * k + i
    return k


@trap("a float is no index", case(F, 2), case(F, 2.0), case(F, np.int8(-2)), case(F, np.float64(1)))
def by_number(x, k):
    return x[k]


BEYOND = (case(floats(4), lambda: np.array([1, -4, 3])),
          case(floats(4), lambda: np.array([1, 2, 7])),
          case(floats(4), lambda: np.array([2, -5])), case(floats(4), lambda: np.array([9])))


@trap("index arrays are looked at before the first element is written", *BEYOND)
def put(x, p):
    x[p] = 0.5


@trap("index arrays are looked at before the first element is written", *BEYOND)
def put_after_others(x, p):
    x[0] = 5.0
    x[p] = x[0]
    x[p[::-1]] = np.arange(len(p))


@trap("index arrays are looked at before the first element is written", *BEYOND)
def put_where_found(x, p):
    x[0] = p[0]
    found = np.flatnonzero(p != 1) + p[0]
    for k in range(3):
        x[found] = k
    return x


@trap("what is chosen is all there before the first element is written", *BEYOND)
def copied_from(x, p):
    y = x
    y[: len(p)] = np.sqrt(np.arange(4.0))[p] * 2


TAKEN = (case(floats(4), lambda: np.array([1, -4, 3]), floats(3)),
         case(floats(4), lambda: np.array([1, 2, 7]), floats(3)),
         case(floats(4), lambda: np.array([2, -5, 0]), floats(3)))


@trap("what is chosen is all there before the first element is written", *TAKEN)
def taken_out(x, p, y):
    y[:] = x[p]
    np.add(x[p], 1, out=y)


@trap("what is chosen is all there before the first element is written", *TAKEN)
def taken_where(x, p, y):
    for _ in range(2):
        y[1:] = np.where(p > 0, x[p], 0.5)[1:]
    y[x[p] > 0] = 5
