"""What types decide is evaluated all the same; a bool is no place; a name may be another array."""

from __future__ import annotations

import math
import warnings

import numpy as np

from .given import case, floats, ints, of, special
from .trap import trap

X, N = floats(3), floats(0)
M = lambda: floats(12)().reshape(3, 4)  # noqa: E731 (a maker like the others)
BOOLS = of(True, False, True)


@trap("isinstance evaluates", case(X), case(N))
def first_is_float(x):
    s = 0
    if isinstance(x[0], float):
        for v in x:
            s += v
    return s


@trap("is None evaluates", case(floats(4), 3), case(X, 3), case(N, 1))
def next_is_something(x, n):
    c = 0
    for i in range(n):
        if x[i + 1] is not None:
            c += 1
    return c


@trap("is None evaluates", case(5), case(0))
def popped_is_something(n):
    st = []
    for i in range(n):
        st += [i]
    if st.pop() is not None:
        n = 1
    return n, st


@trap("a name without a value raises", case(0), case(5), compiled=False)
def asked_before_it_is_bound(n):
    s = 0
    for _ in range(n):
        if z is None:  # noqa: F821 (that it is bound below is the trap)
            s += 1
        z = 1  # noqa: F841
    return s


@trap("type evaluates", case(floats(12)), case(X), case(N))
def class_of_the_tenth(x):
    T = type(x[9])
    s = T(0)
    for v in x:
        s += v
    return s


@trap("type evaluates", case(X), case(N))
def zero_of_the_first(x):
    s = type(x[0])(0)
    for v in x:
        s += v
    return s


@trap(".dtype evaluates", case(floats(12)), case(X))
def dtype_of_the_tenth(x):
    s = 0.0
    for v in x:
        s += v
    return s, x[9].dtype == np.float64


@trap(".ndim evaluates", case(M, 3), case(M, 5))
def rows_are_vectors(m, n):
    c = 0
    for i in range(n):
        if m[i].ndim == 1 and m[i, 0] is not None:
            c += 1
    return c


@trap("assert evaluates", case(floats(12)), case(X))
def asserted(x):
    s = 0
    assert isinstance(x[9], float)
    for _ in x:
        s += 1
    return s


@trap("a comprehension evaluates", case(floats(5)), case(X))
def listed(x):
    return [isinstance(x[i], float) for i in range(5)], [1 for i in range(5) if x[i] is not None]


@trap("any evaluates", case(floats(5)), case(X))
def any_is_none(x):
    return any(x[i] is None for i in range(5))


@trap("a test of a while evaluates", case(X), compiled=False)
def until_it_raises(x):
    i = 0
    while x[i] is not None:
        i += 1
    return i


@trap("a conditional expression evaluates its test", case(floats(5), 1), case(floats(5), 3))
def chosen(x, k):
    s = 0.0
    for i in range(3):
        s += x[i] if x[i + k] is not None else 0
    return s


@trap("// 0 raises, whatever is asked of it", case(1), case(3))
def quotients_are_ints(n):
    c = 0
    for i in range(n):
        if isinstance(1 // (i - 1), int):
            c += 1
    return c


@trap("math raises, whatever is asked of it", case(of(1.0, 4.0)), case(of(4.0, -1.0)))
def roots_are_something(x):
    c = 0
    for v in x:
        if math.sqrt(v) is not None:
            c += 1
    return c


@trap("int of NaN raises, whatever is asked of it", case(of(1.0, 2.5)), case(of(1.0, np.nan)))
def ints_are_ints(x):
    c = 0
    for v in x:
        if isinstance(int(v), int):
            c += 1
    return c


@trap("/ 0 warns, whatever is asked of it", case(X), compiled=False)
def quotients_are_something(x):
    c = 0
    for v in x:
        if (v / 0) is not None:
            c += 1
    return c


@trap("x[True] adds an axis", case(BOOLS), compiled=False)
def places_turn_bools(x):
    i = 0
    for _ in range(3):
        i = x[i]
    return i


@trap("x[True] adds an axis", case(BOOLS, X), compiled=False)
def elements_at_bools(b, x):
    i, s = 0, 0.0
    for k in range(2):
        s += x[i]
        i = b[k]
    return s


@trap("x[True] = v sets all", case(BOOLS, X), compiled=False)
def stored_at_bools(b, x):
    for k in range(3):
        i = b[k] if k else 1
        x[i] = 5


@trap("x[1.0] raises", case(X), compiled=False)
def places_turn_floats(x):
    i, s = 0, 0.0
    for k in range(3):
        s += x[i]
        i = x[k]
    return s


@trap("a name that may be the other array", case(X, floats(3), 0), case(X, floats(3), 2))
def added_to_one_or_the_other(x, y, k):
    for _ in range(k):
        x = y
    x[1:] += y[:-1]
    return x


@trap("a name that may be the other array", case(X, floats(3), 0), case(X, floats(3), 2))
def moved_into_one_or_the_other(x, y, k):
    if k:
        x = y
    x[1:] = y[:-1] * 2
    return x


@trap("a name that may be the other array", case(of(5, 6, 7), of(2, 0, 1), 0),
      case(of(0, 2, 1), of(2, 0, 1), 1), compiled=False)
def spread_by_one_or_the_other(x, k, n):
    if n:
        x = k
    x[k] = k + 1
    return x


@trap("a name without a value raises", case(ints(6), 3, True), case(ints(6), 3, False))
def swapped_before_it_is_bound(x, n, c):
    s2 = n % 2
    if c:
        s1 = (n < x[0]) if x[0] != -3 else x[0]
    for _ in range(1, n):
        s2 *= x[n]
        for _j in range(n - 1, -1, -1):
            s2, s1 = s1, x[-1]
    return s1, s2


@trap("a warning with a stack level is the caller's", case(X, 1), case(special(), 1), case(N, 1),
      case(lambda: [1.0, -2.0], 1), case(X, 2), case(special(), 2), compiled=False)
def warns_its_caller(x, level):
    s = 0.0
    for v in x:
        if v != v or v < 0:
            warnings.warn("below zero", RuntimeWarning, level)
        s += v
    warnings.warn(f"{len(x)} items", DeprecationWarning, stacklevel=2)
    return s
