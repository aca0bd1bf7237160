"""Programs that call functions of Python: of the module, of others, local ones, as arguments."""
# ruff: noqa: B023, B905, E731
from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from . import helped
from .helped import inverse, kind_of, scaled_by
from .programs import F32, Make, program, real, whole, wild

SCALE = 3.0
FEW = (0, 1, 2, 7, 16, 33, 65)


def square(v):
    return v * v


def clamp(v, low=-1.0, high=1.0):
    """Within bounds."""
    if v < low:
        return low
    if v > high:
        return high
    return v


def distance(a, b):
    total = 0.0
    for i in range(len(a)):
        total += square(a[i] - b[i])
    return math.sqrt(total)


def sought(x, t):
    for i in range(len(x)):
        if x[i] > t:
            return i
    return -1


def both(a: float, b: float, /, *, k: int = 2):
    x: float = a + b
    if x > 0:
        return x, a - b
    return a * k, b


def fill(out, v):
    """Changes its argument."""
    for i in range(len(out)):
        out[i] = v * SCALE


def smoothed_sum(x):
    u = np.zeros(x.shape[0])
    for i in range(1, len(x)):
        u[i] = x[i] + x[i - 1]
    total = 0.0
    for v in u:
        total += v
    return total


def power(v, n):
    return 1.0 if n == 0 else v * power(v, n - 1)


def halves(v):
    count = 0
    while abs(v) > 1.0:
        v = v / 2
        count += 1
        if count > 40:
            break
    return count


def several(v):
    if v > 2:
        if v > 3:
            return 1.0
        v = v - 1
    elif v < -2:
        v = v + 1
    else:
        return v
    return v * 0.5


def table(x, y):
    out = np.empty((len(x), len(y)))
    for i in range(len(x)):
        for j in range(len(y)):
            out[i, j] = x[i] * y[j]
    return out


def _rows(k: int, dtype: type = np.float64) -> Make:
    return lambda n, rng: (
        whole(n * k, rng, dtype).reshape(n, k), whole(4 * k, rng, dtype).reshape(4, k)
    )


@program(f64=lambda n, rng: (wild(n, rng), np.empty(n)), f32=lambda n, rng: (
    wild(n, rng, F32), np.empty(n, F32)))
def elementwise(x, out):
    for i in range(len(x)):
        out[i] = square(x[i]) + clamp(x[i], high=0.5)


@program(f64=lambda n, rng: (real(n, rng), np.empty(n)))
def with_branches(x, out):
    for i in range(len(x)):
        out[i] = several(x[i]) - several(-x[i]) if x[i] != 0 else clamp(x[i])


@program(sizes=FEW, f64=_rows(5), f32=_rows(3, F32))
def all_pairs(x, y):
    out = np.empty((x.shape[0], y.shape[0]))
    for i in range(x.shape[0]):
        for j in range(y.shape[0]):
            out[i, j] = distance(x[i], y[j])
    return out


@program(f64=lambda n, rng: (whole(n, rng), 5.0))
def found_twice(x, t):
    return sought(x, t) * 1000 + sought(x, -t)


@program(f64=lambda n, rng: (whole(n, rng), whole(n, rng)))
def several_results(x, y):
    total = 0.0
    for i in range(len(x)):
        a, b = both(x[i], y[i])
        c, _ = both(b, a, k=3)
        total += a * b + c
    return total


@program(f64=lambda n, rng: (whole(n, rng),))
def changes_its_argument(x):
    if len(x) > 1:
        fill(x, 2.0)
        fill(x, x[1] + 1)
    return x


@program(sizes=FEW, f64=lambda n, rng: (whole(6 * n, rng).reshape(6, n),))
def arrays_within(x):
    total = 0.0
    for i in range(x.shape[0]):
        total += smoothed_sum(x[i]) * i
    return total + smoothed_sum(x[0])


@program(ulps=1, f64=lambda n, rng: (whole(n, rng),))
def recursion_to_a_constant(x):
    return [power(v, 3) + power(v, 0) for v in x]


@program(f64=lambda n, rng: (real(n, rng, low=-900.0, high=900.0),))
def waits_in_a_helper(x):
    out = np.empty(len(x), np.int64)
    for i in range(len(x)):
        out[i] = halves(x[i])
    return out


@program(f64=lambda n, rng: (whole(n, rng), whole(n, rng, low=0)))
def in_comprehensions(x, y):
    a = sum(square(v) for v in x if square(v) > 4)
    b = all(clamp(v) < 1 for v in x)
    c = any(several(v) < -3 for v in x)
    return a, b, c, [both(v, w)[1] for v, w in zip(x, y)]


@program(f64=lambda n, rng: (whole(n, rng),))
def while_a_helper_says(x):
    i = 0
    while i < len(x) and square(x[i]) < 40.0:
        i += 1
    k = 0
    while square(k) < len(x):
        k += 1
    return i, k


@program(f64=lambda n, rng: (real(n, rng), 2.5))
def local_functions(x, k):
    def scaled(v, by=k):
        return v * by + offset

    offset = 1.0
    twice = lambda v: scaled(scaled(v, 2.0))
    out = np.empty_like(x)
    for i in range(len(x)):
        offset = offset + 0.5
        out[i] = twice(x[i]) - (lambda u: u - offset)(x[i])
    return out


@program(f64=lambda n, rng: (whole(n, rng),))
def counts_in_a_closure(x):
    count = 0
    seen = 0.0

    def note(v):
        nonlocal count, seen
        count += 1
        seen = v
        return seen + count

    total = 0.0
    for v in x:
        total += note(v) + note(v * 2) - seen
    return total, count, seen


@program(f64=lambda n, rng: (real(n, rng), np.empty(n)))
def names_of_another_module(x, out):
    for i in range(len(x)):
        out[i] = helped.shifted(x[i]) + inverse(x[i] + 9) + scaled_by(x[i])


@program(f64=lambda n, rng: (whole(n, rng), 7.0))
def its_own_names_are_others(x, SCALE):
    square = SCALE
    total = 0.0
    for i in range(len(x)):
        fill(x, square) if i == 2 else fill(x, x[i])  # one of the two
        total += clamp(x[i], -square, square)
    return total


def _of(function: Callable[..., object]) -> Make:
    return lambda n, rng: (np.abs(whole(n, rng)), function)


@program(ulps=4, square=_of(square), sqrt=_of(math.sqrt), ufunc=_of(np.sqrt), builtin=_of(abs),
         far=_of(helped.shifted), made=_of(lambda v: v + SCALE if v > 2 else clamp(v)))
def applied(x, f):
    out = np.empty_like(x)
    for i in range(len(x)):
        out[i] = f(x[i])
    return out


def applied_twice(f, v):
    return f(f(v))


@program(f64=lambda n, rng: (whole(n, rng),))
def handed_on(x):
    return [applied_twice(square, v) + applied_twice(lambda u: u - v, v) for v in x]


@program(sizes=FEW, f64=lambda n, rng: (whole(n, rng), whole(3, rng)))
def arrays_as_results(x, y):
    out = table(x, y)
    for i in range(len(x)):
        out[i, 0] += clamp(x[i])
    return out


EFFECTS = np.zeros(1)


def counted(v, log):
    log[0] = log[0] * 2 + v
    return log[0]


@program(sizes=FEW, f64=lambda n, rng: (whole(n, rng, low=0, high=2), np.zeros(1)))
def in_order(x, log):
    total = 0.0
    for i in range(min(len(x), 20)):
        v = x[i]
        total += counted(v, log) - log[0] * counted(1 - v, log)
        total += log[0] if v > 0 and counted(1.0, log) > 3 else counted(2.0, log)
        log[0] %= 5.0
        log[0] += counted(v, log)
    return total


def least_root(v, most):
    r = 0
    while True:
        r += 1
        if r * r > v:
            break
        if r > most:
            r = -1
            break
        if r == 4:
            continue
    return r


@program(sizes=(0, 1, 5, 60), i64=lambda n, rng: (np.arange(n), np.zeros(max(n, 12), int)))
def left_in_several_ways(x, out):
    for i in range(len(x)):
        out[i] += least_root(x[i], 6)
        out[least_root(i, 3)] -= 1
    found = [least_root(v, 5) + least_root(int(v) + 1, 3) for v in x]
    return found, sum(least_root(v, 4) for v in x), out


@program(sizes=(0, 1, 6), i64=lambda n, rng: (np.arange(n), np.zeros(9)), f32=lambda n, rng: (
    np.arange(n, dtype=F32), np.zeros(9)
))
def told_by_their_kinds(x, out):
    for i in range(len(x)):
        out[kind_of(i)] += kind_of(x[i]) + kind_of(i, 3)
    return [kind_of(v) + kind_of(int(v)) + kind_of(i, 5) for i, v in enumerate(x)], out
