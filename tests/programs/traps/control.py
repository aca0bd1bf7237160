"""Control."""
# ruff: noqa: B905 (as people write them)
from __future__ import annotations

import random

import numpy as np

from .given import case, floats, ints, of, special
from .trap import trap

F, Z, N = floats(9), ints(9), floats(0)


def noted(value, to):
    """Prints that it is asked."""
    print(to, value)
    return value


@trap("chained comparisons evaluate once", case(F, 0.0, 2.0), case(special(), -1.0, 1.5))
def between(x, a, b):
    n = 0
    for v in x:
        if a <= v < b:
            n += 1
    return n


@trap("chained comparisons evaluate once", case(F), case(N), compiled=False)
def asked_once(x):
    n = 0
    for v in x:
        if 0 < noted(v, "x") < 2:
            n += 1
    return n


@trap("and/or return values", case(0.0, 2), case(3, 0.0), case(0, 0), case(True, 5),
      case(np.float64(0), 1), compiled=False)
def values(a, b):
    return a and b, a or b, not a


@trap("and never evaluates a faulting right side", case(F, 3), case(F, 9), case(F, -10), case(N, 0))
def guarded(x, k):
    return 0 <= k < len(x) and x[k] > 0


@trap("and never evaluates a faulting right side", case(Z, ints(9)), case(of(0, 2), of(1, 0)))
def guarded_division(x, y):
    n = 0
    for a, b in zip(x, y):
        if b != 0 and a // b > 1:
            n += 1
    return n


@trap("nor does a conditional load", case(F, ints(9)), case(F, of(1, 99, -3)), case(N, of(-1)))
def guarded_load(x, at):
    s = 0.0
    for i in range(len(at)):
        if 0 <= at[i] < len(x):
            s += x[at[i]]
    return s


@trap("nor does a conditional load", case(F, 5), case(F, 50), case(N, 0))
def conditional(x, k):
    return x[k] if k < len(x) else -1.0


@trap("a name bound in one branch only", case(F, 0.0), case(F, 99.0), case(N, 0.0))
def one_branch(x, t):
    for v in x:
        if v > t:
            best = v
    return best


@trap("an exception at iteration k leaves the first k written", case(F, floats(9)),
      case(F, floats(4)))
def short(x, y):
    for i in range(len(x)):
        x[i] = 2 * y[i]


@trap("an exception at iteration k leaves the first k written", case(of(1, 2), of(3, 4)),
      case(of(4, 2, 9), of(1, 0, 2)))
def pythons_zero(x, y):
    for i in range(len(x)):
        x[i] = int(x[i]) // int(y[i])


@trap("an exception at iteration k leaves the first k written", case(F, 9.0), case(F, 1.0))
def asserted(x, t):
    for i in range(len(x)):
        assert x[i] < t, "too large"
        x[i] += 1


@trap("raise", case(F, 9.0), case(F, 1.0))
def raising(x, t):
    for i in range(len(x)):
        if x[i] >= t:
            raise ValueError("too large")
        x[i] += 1


@trap("a list comprehension returns a list of NumPy scalars", case(F), case(Z), case(N),
      case(of(True)))
def listed(x):
    return [v for v in x], [v * 2 for v in x if v > 0], [i for i in range(len(x))]


@trap("any/all stop early", case(F), case(N), case(of(1, 0, 2)))
def early(x):
    return any(v > 1 for v in x), all(v > 1 for v in x)


@trap("any/all stop early", case(Z, ints(9)), case(of(2, 1), of(1, 0)))
def early_division(x, y):
    return any(a // b > 1 for a, b in zip(x, y))


@trap("RNG order and state", case(F), case(N), compiled=False)
def drawn(x):
    for i in range(len(x)):
        x[i] = random.random() + np.random.random()
    return x


@trap("print order", case(F), case(N), compiled=False)
def told(x):
    for i in range(len(x)):
        x[i] += 1
        print(i, x[i])
    return x


@trap("walrus leaks", case(F, 1.0), case(F, 99.0), case(N, 1.0))
def leaking(x, t):
    n = 0
    for v in x:
        if (w := v * 2) > t:
            n += 1
    return n, w


@trap("a comprehension's name does not", case(F), case(N))
def kept_inside(x):
    v = 5
    s = sum([v * v for v in x])
    return s, v


@trap("break and continue", case(F, 1.0), case(special(), 0.0), case(N, 0.0))
def left(x, t):
    s = 0.0
    for v in x:
        if v < -1:
            continue
        if v > t:
            break
        s += v
    return s


@trap("while", case(27), case(1), case(97), case(2**62))
def collatz(n):
    k = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        k += 1
    return k


@trap("while", case(12, 18), case(0, 5), case(5, 0), case(-4, 6), case(2**70, 2**66))
def divisor(a, b):
    while b:
        a, b = b, a % b
    return a


@trap("tuple assignment", case(10), case(0), case(100), case(-3))
def fibonacci(n):
    a, b = 0, 1
    for _ in range(n):
        a, b = b, a + b
    return a


@trap("early return", case(F, 1.0), case(F, 99.0), case(N, 1.0))
def first(x, t):
    for i, v in enumerate(x):
        if v > t:
            return i, v
    return None


@trap("different types", case(F, True), case(F, False), case(N, True), compiled=True)
def types(x, flag):
    if flag:
        return len(x)
    return x.sum()


@trap("default arguments", case(F), case(F, 3.0), case(F, 3.0, 1), case(), case(F, 1, 2, 3))
def defaults(x, a=2.0, k=0):
    s = 0.0
    for i in range(k, len(x)):
        s += a * x[i]
    return s


@trap("generators are lazy", case(F), case(N), compiled=False)
def lazy(x):
    doubled = (2 * v for v in x)
    return sum(doubled)


@trap("try", case(F, 2), case(F, 99), compiled=False)
def caught(x, k):
    try:
        return x[k]
    except IndexError:
        return -1.0


@trap("zip(strict=True) raises behind the shortest", case(F, F), case(F, N), case(F, floats(8)))
def strictly(x, y):
    for i, (u, v) in enumerate(zip(x, y, strict=True)):
        x[i] = u * v
    return x


@trap("what is spliced into a display is all there, whatever it is", case(F), case(N), case(Z),
      compiled=False)
def spliced(x):
    shape, items = (*x.shape, 1), (*x, 7)
    s = 0
    for v in (*x, 1):
        s += v
    return len((*x, 1)), shape, items[0], items[-1], s, max((*x, 2)), (*x, 1) < (2,), len([*x, 3])


@trap("what is spliced into a call is all there", case(F), case(N), compiled=False)
def spliced_into_calls(x):
    t = (*x, 1)
    return max(*x, 2.0, 1.0), min(*t, 9), [v for v in (*t, 2)], len(t + (1,)), t[1:] + (0,)  # noqa: RUF005


@trap("names swap Python's numbers and NumPy's", case(F, 0), case(F, 1), case(F, 2), case(F, 5))
def handed_on(x, n):
    s, t = 0.5, x[0]
    for _ in range(n):
        s, t = t, 1.5
    return s, t


@trap("names swap Python's numbers and NumPy's", case(F, 0), case(F, 1), case(F, 2), case(F, 3))
def handed_on_twice(x, n):
    r, s, t = 0.5, x[1], 2
    for i in range(n):
        r, s, t = s, t, x[i]
    return r, s, t


@trap("a ufunc of Python's numbers", case(1, 2), case(True, 1), case(1.5, 2), case(True, False),
      case(2**53 + 1, 2.0**53), case(2**70, 1.0))
def compared_by_ufuncs(a, b):
    return np.greater(a, 1), np.less_equal(a, b), np.equal(a, b), np.not_equal(1.5, b)


@trap("what decides is asked of numbers, too", case(F, 2.5), case(F, F), case(F, np.float32(2.5)),
      case(F, True), case(F, lambda: np.array(2.5)), case(F, lambda: [2.5]))
def weighed(x, w):
    total = 0.0
    for i in range(len(x)):
        if np.ndim(w) == 0:
            total += x[i] * w
        elif not np.isscalar(w):
            total += x[i] * w[i]
    return total, np.ndim(w)
