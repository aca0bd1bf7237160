"""Integers."""

from __future__ import annotations

from typing import Any

import numpy as np

from .given import case, floats, ints, of
from .trap import trap

Z, N = ints(7), ints(0)
WIDTHS = (np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64)


def ends(dtype: Any) -> Any:
    """The least and the largest, and what is near."""
    info = np.iinfo(dtype)
    return of(info.max, info.min, info.max - 1, 1, 0, info.max // 2, 3, dtype=dtype)


EACH = tuple(case(ends(d)) for d in WIDTHS)
TWO = tuple(case(ends(d), lambda d=d: ends(d)()[::-1].copy()) for d in WIDTHS)


@trap("array ints wrap silently", *TWO)
def products(x, y):
    out = np.empty_like(x)
    for i in range(len(x)):
        out[i] = x[i] * y[i] + x[i]
    return out


@trap("array ints wrap silently", *EACH)
def wrapped_whole(x):
    return x * x - 1


@trap("int/int is float", *TWO)
def quotients(x, y):
    out = np.empty(len(x))
    for i in range(len(x)):
        out[i] = x[i] / y[i]
    return out


@trap("// floors and % follows the divisor", case(Z, 3), case(Z, -3), case(Z, 0), case(Z, 2**40))
def floored(x, k):
    a, b = x // k, x % k
    return a, b


@trap("// floors and % follows the divisor", *TWO)
def each_floored(x, y):
    out = np.empty((2, len(x)), x.dtype)
    for i in range(len(x)):
        out[0, i] = x[i] // y[i]
        out[1, i] = x[i] % y[i]
    return out


@trap("//0 (Python raises, NumPy 0 and a warning)", case(7, 2), case(7, 0), case(-7, 2),
      case(0, -3))
def pythons(a, b):
    s = 0
    for i in range(3):
        s += (a + i) // b + (a + i) % b
    return s


@trap("INT_MIN // -1", case(lambda: ends(np.int64)(), -1),
      case(lambda: ends(np.int8)(), np.int8(-1)))
def negated_by_division(x, k):
    return x // k


@trap("abs(int8(-128))", *EACH)
def absolute(x):
    out = x.copy()
    for i in range(len(x)):
        out[i] = abs(x[i])
    return out


@trap("int array ** negative raises", case(Z, 2), case(Z, 0), case(Z, -1), case(Z, 0.5),
      case(N, -1))
def powers(x, k):
    return x**k


@trap("int array ** negative raises", case(3, 4), case(2, -1), case(0, 0), case(0, -1),
      case(10, 30), compiled=False)
def pythons_power(a, k):
    return a**k


@trap("shifts by >= width give 0", case(Z, 3), case(Z, 64), case(Z, 99), case(Z, -1),
      case(ends(np.uint8), 8), case(ends(np.int8), 7))
def shifted(x, k):
    return x << k, x >> k


@trap("shifts by >= width give 0", case(5, 3), case(5, 70), case(-5, 70), case(5, -1),
      case(0, 99), compiled=False)
def pythons_shift(a, k):
    return a << k, a >> k


@trap("uint64 + int64 is float64", case(ends(np.uint64), ends(np.int64)),
      case(ints(3, np.uint64), ints(3)))
def mixed(x, y):
    out = np.zeros(len(x))
    for i in range(len(x)):
        out[i] = x[i] + y[i]
    return out


@trap("uint64 against -1 compares mathematically", case(ends(np.uint64), ends(np.int64)),
      compiled=False)
def compared(x, y):
    n = 0
    for i in range(len(x)):
        if x[i] > y[i]:
            n += 1
        if x[i] > -1:
            n += 10
    return n


@trap("sum(uint8) accumulates in uint64", case(ends(np.uint8)), case(ends(np.int8)),
      case(ends(np.int32)), case(of(True, True)), case(N), case(lambda: np.array([], np.uint8)))
def summed(x):
    return x.sum(), np.sum(x), np.prod(x), np.cumsum(x)


@trap("but a hand-written loop does not", *EACH)
def by_hand(x):
    s = x[0]
    for i in range(1, len(x)):
        s += x[i]
    return s


@trap("but a hand-written loop does not", case(ends(np.uint8)),
      case(lambda: np.array([], np.uint8)))
def from_pythons(x):
    s = 0
    for v in x:
        s += v
    return s


@trap("bool + bool is or in arrays and 2 in Python", case(of(True, False), of(True, True)))
def bools(x, y):
    return x + y, x * y, x & ~y, x ^ y


@trap("bool + bool is or in arrays and 2 in Python", case(True, True), case(False, True))
def pythons_bools(a, b):
    return a + b, a & b, a - b, -a


@trap("bool - bool raises", case(of(1, 2), of(3, 4)), case(of(True), of(False)))
def less(x, y):
    return x - y


@trap("uint8 + 1 is uint8 and wraps", *EACH)
def plus_one(x):
    out = x.copy()
    for i in range(len(x)):
        out[i] = x[i] + 1
    return out


@trap("uint8 + 256 raises", case(Z, 256), case(ints(3, np.uint8), 255),
      case(ints(3, np.uint8), 256),
      case(ints(3, np.int8), -129), case(ints(0, np.uint8), 300), case(ints(3, np.uint8), -1))
def plus(x, k):
    return x + k


@trap("float32 array * 2.0 is float32", case(floats(5, np.float32), 2.0),
      case(floats(5, np.float32), np.float64(2)), case(Z, 2.0), case(ints(3, np.int8), 0.5))
def scaled(x, k):
    return x * k


@trap("Python ints are unbounded", case(3, 5), case(2**40, 9), case(-(2**62), 3), case(7, 60))
def unbounded(a, n):
    s = 1
    for _ in range(n):
        s = s * a + 1
    return s


@trap("Python ints are unbounded", case(Z, 1), case(Z, 2**63), case(Z, -(2**70)), case(N, 2**64))
def too_large(x, k):
    n = 0
    for v in x:
        if v < k:
            n += 1
    return n


@trap("stores wrap or raise", case(ints(3, np.uint8), 7), case(ints(3, np.uint8), 256),
      case(ints(3, np.int8), -128), case(ints(3, np.int8), 128), case(Z, 2.7),
      case(Z, np.float64("nan")))
def stored(x, v):
    for i in range(len(x)):
        x[i] = v
    return x


@trap("int_array += 0.5 raises", case(floats(3), 0.5), case(Z, 0.5),
      case(ints(3, np.uint8), 1), case(Z, True))
def raised(x, v):
    x += v
    return x


@trap("negation of the unsigned", *EACH)
def negated(x):
    out = np.zeros(len(x), np.int64)
    for i in range(len(x)):
        out[i] = -x[i]
    return out, ~x
