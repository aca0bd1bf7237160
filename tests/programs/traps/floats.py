"""Floats."""

from __future__ import annotations

import math

import numpy as np

from .given import case, floats, ints, of, special
from .trap import trap

F, N, S = floats(9), floats(0), special()
S4, S2 = special(np.float32), special(np.float16)
NAN, INF = float("nan"), float("inf")
BACK = lambda: special()()[::-1].copy()  # noqa: E731 (a maker like the others)


@trap("element reads are NumPy scalars, so x[i] / 0.0 is inf with a warning",
      case(S, 0.0), case(S, -0.0), case(S4, 0.0), case(S, 3), case(S, 0))
def divided(x, k):
    out = np.empty_like(x)
    for i in range(len(x)):
        out[i] = x[i] / k
    return out


@trap("Python's division raises", case(1.0, 2.0), case(1.0, 0.0), case(0, 0), case(INF, INF),
      case(1e308, 1e-10))
def pythons(a, b):
    return a / b + 1.0


@trap("elementwise arithmetic is bit-identical", case(S, BACK), case(S4, S4), case(S2, S2))
def arithmetic(x, y):
    out = np.empty_like(x)
    for i in range(len(x)):
        out[i] = x[i] * y[i] + x[i] - y[i]
    return out


@trap("no double rounding", case(S4, S4), case(floats(9, np.float32), S4))
def narrow(x, y):
    out = np.empty_like(x)
    for i in range(len(x)):
        out[i] = x[i] / y[i] + x[i] * 0.1
    return out


@trap("% with inf and -0.0", case(S, BACK), case(S4, S4))
def remainders(x, y):
    out = np.empty_like(x)
    for i in range(len(x)):
        out[i] = x[i] % y[i]
    return out


@trap("// of floats", case(S, BACK), case(S4, S4))
def floored(x, y):
    out = np.empty_like(x)
    for i in range(len(x)):
        out[i] = x[i] // y[i]
    return out


@trap("% with inf and -0.0", case(7.5, 2.0), case(-7.5, 2.0), case(1.0, INF), case(-1.0, INF),
      case(0.0, -3.0), case(1.0, 0.0), case(INF, 2.0))
def pythons_remainder(a, b):
    return a % b, a // b


@trap("x**0.5 special cases", case(S, 0.5), case(S, 2), case(S, -1.0), case(S, 1.0 / 3.0),
      near=1e-15)
def powers(x, k):
    out = np.empty_like(x)
    for i in range(len(x)):
        out[i] = x[i] ** k
    return out


@trap("(-8.0)**(1/3) is complex in Python", case(8.0, 0.5), case(-8.0, 1 / 3), case(0.0, -1.0),
      case(2.0, 5000.0), case(-2.0, 3), near=1e-15)
def pythons_power(a, b):
    return a**b


@trap("builtin min/max keep the first on a NaN", case(S), case(S4), case(of(NAN, 1.0)),
      case(of(1.0, NAN)),
      case(of(0.0, -0.0)), case(of(-0.0, 0.0)))
def extrema(x):
    a = b = x[0]
    for v in x:
        a = min(a, v)
        b = max(v, b)
    return a, b


@trap("builtin min/max keep the first on a NaN", case(1.0, NAN), case(NAN, 1.0),
      case(0.0, -0.0), case(1, 1.0))
def pythons_extrema(a, b):
    return min(a, b), max(a, b)


@trap("np.minimum propagates it", case(S, BACK), case(S4, S4))
def propagated(x, y):
    return np.minimum(x, y), np.maximum(x, y)


@trap("ties and signed zeros", case(of(0.0, -0.0, 0.0)), case(of(-0.0, 0.0)), case(S), case(N))
def least(x):
    return np.min(x), x.max()


@trap("argmax: first NaN wins, then first maximum", case(S), case(of(1.0, 3.0, 3.0)),
      case(of(NAN, INF)), case(N))
def where_largest(x):
    return np.argmax(x), np.argmin(x)


@trap("argmax by hand", case(S), case(of(1.0, 3.0, 3.0)), case(of(NAN, INF)))
def where_by_hand(x):
    k = 0
    for i in range(1, len(x)):
        if x[i] > x[k]:
            k = i
    return k


@trap("max([]) raises", case(F), case(N), case(ints(0)))
def largest(x):
    return max(x)


@trap("max([]) raises", case(F), case(N))
def largest_of(x):
    return max(v * 2 for v in x), min([v for v in x])


@trap("round is banker's", case(S), case(of(0.5, 1.5, 2.5, -0.5)), case(S4), compiled=False)
def rounded(x):
    out = np.empty_like(x)
    for i in range(len(x)):
        out[i] = np.round(x[i])
    return out, np.rint(x)


@trap("round is banker's", case(2.5), case(-0.5), case(1e300), case(INF), case(NAN), case(7))
def pythons_round(a):
    return round(a)


@trap("math.* raises where np.* gives NaN", case(of(1.0, 4.0)), case(of(1.0, -4.0)), case(S))
def pythons_root(x):
    out = np.zeros(len(x))
    for i in range(len(x)):
        out[i] = math.sqrt(x[i])
    return out


@trap("math.* raises where np.* gives NaN", case(of(1.0, 4.0)), case(of(1.0, -4.0)), case(S),
      near=1e-15)
def numpys_log(x):
    out = np.zeros(len(x))
    for i in range(len(x)):
        out[i] = np.log(x[i])
    return out


@trap("math.* raises where np.* gives NaN", case(of(1.0, 4.0)), case(of(1.0, 0.0)),
      case(of(-1.0)), near=1e-15)
def pythons_log(x):
    s = 0.0
    for v in x:
        s = max(s, math.log(v))
    return s


@trap("math.* raises where np.* gives NaN", case(of(1.0, 4.0)), case(of(1.0, 1000.0)), near=1e-15)
def pythons_exp(x):
    out = np.zeros(len(x))
    for i in range(len(x)):
        out[i] = math.exp(x[i])
    return out


@trap("NumPy's own sum is pairwise and a loop is not", case(F), case(floats(1000)), case(N),
      case(S))
def two_sums(x):
    s = 0.0
    for v in x:
        s += v
    return s, x.sum(), np.mean(x)


@trap("sums of float32", case(floats(9, np.float32)), case(S4), case(floats(0, np.float32)))
def narrow_sum(x):
    s = 0.0
    for v in x:
        s += v
    return s


@trap("type by trip count: s = 0", case(F), case(N), case(floats(3, np.float32)),
      case(ints(3)), case(ints(0)))
def from_zero(x):
    s = 0
    for i in range(len(x)):
        s += x[i]
    return s


@trap("comparisons with NaN", case(S, BACK), case(S4, S4))
def comparisons(x, y):
    n = 0
    for i in range(len(x)):
        n += (x[i] < y[i]) + 2 * (x[i] != y[i]) + 4 * (not x[i] >= y[i])
    return n


@trap("float to int", case(F), case(S), case(of(1e300)), case(of(NAN)))
def whole(x):
    out = np.zeros(len(x), np.int64)
    for i in range(len(x)):
        out[i] = int(x[i])
    return out


@trap("float to int", case(F), case(S), case(S4))
def cast(x):
    return x.astype(np.int32)


@trap("signs of zeros", case(S), case(S4))
def signs(x):
    return np.sign(x), np.copysign(1.0, x), -x, abs(x), x * 0


@trap("subnormals stay", case(of(5e-324, 1e-310, -1e-320)), case(of(1e-45, dtype=np.float32)))
def tiny(x):
    out = np.empty_like(x)
    for i in range(len(x)):
        out[i] = x[i] * 0.5 + x[i]
    return out


@trap("tuples take what is identical for equal, even a NaN", case(F, F), case(S, BACK))
def identical(x, y):
    same = [0, 0, 0]
    for i in range(len(x)):
        u, v = x[i], y[i]
        pair = (v, i)
        same[0] += (u, i) == pair
        same[1] += (v, i) == pair
        same[2] += (v, i, 0) > pair
    return same[0], same[1], same[2]


@trap("an assignment to no element converts all the same", case(floats(9, np.float32), 1.0),
      case(floats(9, np.float32), 1e300), case(floats(9, np.float16), 1e5), case(floats(9), 1e300))
def put_nowhere(x, a):
    x[20:] = a
    x[:2] = 0.5
    return x


@trap("the middle of what has an order", case(lambda: floats(40)().reshape(5, 8)),
      case(lambda: special()().reshape(3, 4)), case(lambda: np.array([[0.0, -0.0], [-0.0, 0.0]])),
      case(lambda: np.zeros((2, 0))), case(lambda: np.array([[np.inf, -np.inf], [1.0, np.inf]])),
      case(lambda: np.array([[-0.0], [2.0]], np.float32)), case(lambda: np.full((2, 2), 1e308)),
      case(lambda: np.array([[255, 255, 1, 1], [3, 2, 1, 0]], np.uint8)),
      case(lambda: np.array([[2**63 - 1, 2**63 - 1], [-2**63, 0]])))
def middles(x):
    out = []
    for i in range(len(x)):
        middle = np.median(x[i])
        out.append(middle)
    return np.array(out), np.median(x[0, 1:])


@trap("what nobody needs warns all the same", case(F, 3), case(F, 0), case(S, 3), case(S4, 2))
def started_over(x, k):
    for i in range(len(x)):
        a = x[-1] / i
        b = x[i] * 1e200
        for _ in range(k):
            a = 2.5
        for j in range(k):
            b = j
        a *= 2
        b *= 2
    return k
