"""Programs that every stage and every target must run as Python does, with their arguments.

What floats hold is such that folds are exact in any order, unless a program says otherwise.
"""
# ruff: noqa: B905, PERF401, RUF021 (programs as people write them)
from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

__all__ = ["PROGRAMS", "SIZES", "Program"]

Rng: TypeAlias = np.random.Generator
Make: TypeAlias = Callable[[int, Rng], tuple[Any, ...]]


SIZES = (0, 1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 33, 63, 64, 65, 1000)


@dataclass(frozen=True)
class Program:
    """A function and its arguments for a size.

    ``python_at``: sizes at which the answer has to come from Python itself, for it raises.
    ``ulps``: how far results may be from Python's (reassociated folds, transcendental functions).
    ``sizes``: those it runs at. ``long``: it is run with ``--long`` only.
    """

    function: Callable[..., Any]
    make: Make
    label: str
    python_at: frozenset[int] = frozenset()
    ulps: float = 0
    sizes: tuple[int, ...] = SIZES
    long: bool = False


PROGRAMS: list[Program] = []


def program(
    *,
    python_at: tuple[int, ...] = (),
    ulps: float = 0,
    into: list[Program] = PROGRAMS,
    sizes: tuple[int, ...] = SIZES,
    long: bool = False,
    **makes: Make,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """The decorated function is a program on the arguments that each of `makes` gives."""

    def keep(function: Callable[..., Any]) -> Callable[..., Any]:
        for name, make in makes.items():
            label = f"{function.__name__}-{name}"
            into.append(Program(function, make, label, frozenset(python_at), ulps, sizes, long))
        return function

    return keep


# -- arguments

F32, F64 = np.float32, np.float64
INTEGERS = (np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64)


def whole(n: int, rng: Rng, dtype: Any = F64, low: int = -8, high: int = 9) -> np.ndarray:
    """Small whole numbers: sums and products of a few are exact."""
    return rng.integers(low, high, n).astype(dtype)


def real(n: int, rng: Rng, dtype: Any = F64, low: float = -4.0, high: float = 4.0) -> np.ndarray:
    return rng.uniform(low, high, n).astype(dtype)


def wild(n: int, rng: Rng, dtype: Any = F64) -> np.ndarray:
    """NaN, infinities and both zeros among ordinary numbers."""
    special = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 5e-3, 7.5])
    return rng.choice(special, n).astype(dtype)


def integers(n: int, rng: Rng, dtype: Any) -> np.ndarray:
    """Over the whole range of the type."""
    info = np.iinfo(dtype)
    return rng.integers(info.min, info.max, n, dtype=dtype, endpoint=True)


def one(fill: Callable[..., np.ndarray], *more: Any) -> Make:
    """One array."""
    return lambda n, rng: (fill(n, rng, *more),)


def two(fill: Callable[..., np.ndarray], *more: Any) -> Make:
    """Two arrays of one length."""
    return lambda n, rng: (fill(n, rng, *more), fill(n, rng, *more))


def three(fill: Callable[..., np.ndarray], *more: Any) -> Make:
    return lambda n, rng: tuple(fill(n, rng, *more) for _ in range(3))


def wide(dtype: Any = F64) -> Make:
    """A matrix of a few long rows."""
    return lambda n, rng: (whole(3 * n, rng, dtype).reshape(3, n),)


def tall(dtype: Any = F64) -> Make:
    """A matrix of many short rows."""
    return lambda n, rng: (whole(5 * n, rng, dtype).reshape(n, 5),)


# -- maps

@program(
    f32=lambda n, rng: (2.5, *three(real, F32)(n, rng)),
    f64=lambda n, rng: (2.5, *three(real)(n, rng)),
    f32_scalar=lambda n, rng: (F32(0.1), *three(real, F32)(n, rng)),
    f64_scalar=lambda n, rng: (F64(0.1), *three(real)(n, rng)),
)
def saxpy(a, x, y, out):
    for i in range(len(x)):
        out[i] = a * x[i] + y[i]


@program(
    f32=lambda n, rng: (real(n, rng, F32), 2.0, 0.5, np.empty(n, F32)),
    f64=lambda n, rng: (real(n, rng), 2.0, 0.5, np.empty(n)),
)
def normalise_then_threshold(x, peak, threshold, out):
    for i in range(len(x)):
        out[i] = x[i] / peak
    for i in range(len(x)):
        out[i] = out[i] if out[i] > threshold else 0.0


@program(f32=three(real, F32), f64=three(real))
def three_operations(x, y, z):
    out = np.empty_like(x)
    for i in range(len(x)):
        out[i] = (x[i] + y[i]) * z[i] - x[i]
    return out


@program(**{t.__name__: two(integers, t) for t in INTEGERS})
def integers_wrap(x, y):
    out = np.empty_like(x)
    for i in range(len(x)):
        out[i] = (x[i] + y[i]) * x[i] - y[i] * 3
    return out


@program(
    f32=lambda n, rng: (real(n, rng, F32), real(n, rng, F32, 0.5, 3.0)),
    f64=lambda n, rng: (real(n, rng), real(n, rng, F64, -3.0, -0.5)),
)
def quotients(x, y):
    out = np.empty_like(x)
    for i in range(len(x)):
        out[i] = x[i] / y[i] + 1 / y[i]
    return out


def _divisors(dtype: Any) -> Make:
    def make(n: int, rng: Rng) -> tuple[Any, ...]:
        y = integers(n, rng, dtype)
        y[(y == 0) | (y == dtype(-1).item() if dtype in INTEGERS[:4] else y == 0)] = 3
        return integers(n, rng, dtype), y

    return make


@program(**{t.__name__: _divisors(t) for t in INTEGERS[:4]})
def signed_floor_and_remainder(x, y):
    q = np.empty_like(x)
    r = np.empty_like(x)
    for i in range(len(x)):
        q[i] = x[i] // y[i]
        r[i] = x[i] % y[i]
    return q, r


@program(
    u8=lambda n, rng: (integers(n, rng, np.uint8), whole(n, rng, np.uint8, 1, 9)),
    u32=lambda n, rng: (integers(n, rng, np.uint32), whole(n, rng, np.uint32, 1, 99)),
    u64=lambda n, rng: (integers(n, rng, np.uint64), whole(n, rng, np.uint64, 1, 99)),
)
def unsigned_floor_and_remainder(x, y):
    q = np.empty_like(x)
    for i in range(len(x)):
        q[i] = x[i] // y[i] - x[i] % y[i]
    return q


@program(
    f32=lambda n, rng: (real(n, rng, F32), real(n, rng, F32, 0.5, 2.0)),
    f64=lambda n, rng: (real(n, rng), real(n, rng, F64, -2.0, -0.5)),
)
def float_floor_and_remainder(x, y):
    q = np.empty_like(x)
    r = np.empty_like(x)
    for i in range(len(x)):
        q[i] = x[i] // y[i]
        r[i] = x[i] % y[i]
    return q, r


@program(f64=one(real), i64=one(whole, np.int64), f32=one(real, F32), i16=one(whole, np.int16))
def signs(x):
    out = np.zeros_like(x)
    for i in range(len(x)):
        out[i] = -x[i] + abs(x[i])
    return out


@program(ulps=6, f32=one(real, F32), f64=one(real))
def powers(x):
    a = np.empty_like(x)
    b = np.empty_like(x)
    for i in range(len(x)):
        a[i] = x[i] ** 2
        b[i] = x[i] ** 3 * 2
    return a, b


@program(ulps=3, f32=lambda n, rng: (wild(n, rng, F32),), f64=lambda n, rng: (wild(n, rng),))
def whole_powers(x):
    out = np.empty((5, len(x)), x.dtype)
    for i in range(len(x)):
        out[0, i] = x[i] ** 3
        out[1, i] = (x[i] + 1) ** 4
        out[2, i] = x[i] ** 5 - 1
        out[3, i] = np.power(x[i], 6)
        out[4, i] = x[i] ** 7
    return out


@program(f64=lambda n, rng: (wild(n, rng), whole(n, rng), integers(n, rng, np.int64)))
def three_ways(x, y, k):
    ups = 0
    total = np.float64(0.0)
    number = np.int64(0)
    for i in range(len(x)):
        if x[i] > 0.5:
            ups += 1
        elif x[i] < -0.5:
            ups -= 1
        if y[i] <= 0:
            if x[i] > 0:
                total += 1
            elif x[i] == 0:
                total += 0.5
            number ^= k[i]
        else:
            total -= y[i]
            number ^= 3
    return ups, total, number


@program(f64=lambda n, rng: (wild(n, rng), wild(n, rng)))
def warns_in_one_branch(x, y):
    total = np.float64(1.0)
    worst = np.float64(0.0)
    for i in range(len(x)):
        if x[i] > 0:
            total *= 2.0
            total *= y[i]
        elif x[i] < 0:
            total *= 0.5
        worst = max(worst, abs(y[i])) if x[i] > 1 else max(worst, abs(x[i]))
    return total, worst


def _exponents(dtype: Any) -> Make:
    return lambda n, rng: (integers(n, rng, dtype), np.arange(n).astype(dtype) % 11, n % 7)


@program(i8=_exponents(np.int8), u16=_exponents(np.uint16), i64=_exponents(np.int64))
def integer_powers(x, y, k):
    return [a**b + a**k for a, b in zip(x, y)]


@program(
    ulps=6,
    f32=lambda n, rng: (real(n, rng, F32, 0.1, 3.0), real(n, rng, F32)),
    f64=lambda n, rng: (real(n, rng, F64, 0.1, 3.0), real(n, rng)),
)
def float_powers(x, y):
    out = np.empty_like(x)
    for i in range(len(x)):
        out[i] = np.power(x[i], y[i]) + x[i] ** 0.5
    return out


@program(
    sizes=(0, 1, 8, 33, 63, 64, 65, 96, 130, 400),
    f64=lambda n, rng: (wild(n, rng), 11), f32=lambda n, rng: (real(n, rng, F32), 9),
)
def steps_of_each(x, turns):
    out = np.empty_like(x)
    for i in range(len(x)):
        v = x[i]
        w = x[i] * x[i]
        for k in range(turns):
            v, w = w - v / 4, v + k
        out[i] = v - w
    return out


@program(
    f32=lambda n, rng: (np.abs(wild(n, rng, F32) * real(n, rng, F32)), real(n, rng, F32)),
    u8=lambda n, rng: (integers(n, rng, np.uint8), real(n, rng, F32)),
)
def narrow_roots(x, out):
    for i in range(len(x)):
        out[i] = math.sqrt(x[i])
    return out


BLOCKS = (0, 1, 2, 9, 63, 64, 65, 130, 400, 1500)


@program(
    sizes=BLOCKS, wild=one(wild), f64=one(real), up=lambda n, rng: (np.sort(real(n, rng)),),
    i32=lambda n, rng: (whole(n, rng, np.int32),),
)
def two_largest(x):
    a = b = -2
    for v in x:
        if v > a:
            b = a
            a = v
        elif v > b:
            b = v
    return a, b


@program(
    sizes=BLOCKS,
    wild=lambda n, rng: (wild(n, rng), real(n, rng), np.float64(7.5)),
    u8=lambda n, rng: (integers(n, rng, np.uint8), whole(n, rng), np.uint8(200)),
)
def three_least(x, w, most):
    a = b = c = most
    at = -1
    for i in range(len(x)):
        if x[i] < a:
            c = b
            b = a
            a = x[i]
            at = i
        elif x[i] <= b:
            c = b
            b = x[i]
        elif w[i] > 0 and x[i] < c:
            c = x[i]
    return a, b, c, at


@program(sizes=(0, 1, 2, 9, 13), f64=lambda n, rng: (np.abs(real(n * n, rng)).reshape(n, n),))
def shortest_ways(d):
    for k in range(len(d)):
        for i in range(len(d)):
            for j in range(len(d)):
                if d[i, k] + d[k, j] < d[i, j]:
                    d[i, j] = d[i, k] + d[k, j]
    return d


@program(
    sizes=(1, 2, 9, 17, 40),
    f64=lambda n, rng: (real(n * n, rng).reshape(n, n), n // 2, max(0, n - 3)),
    nan=lambda n, rng: (wild(n * n, rng).reshape(n, n), n - 1, 0),
)
def pivoted(d, k, lo):
    for i in range(len(d)):
        for j in range(lo, len(d)):
            d[i, j] -= d[i, k] * d[k, j]
    for j in range(len(d) - lo):
        d[0, j + lo] /= d[0, k] + 1.5
    return d


@program(ulps=2, f32=lambda n, rng: (wild(n, rng, F32), real(n, rng, F32)), f64=two(wild))
def roots(x, y):
    out = np.zeros((5, len(x)), x.dtype)
    for i in range(len(x)):
        out[0, i] = x[i] ** 0.5
        out[1, i] = x[i] ** -0.5
        out[2, i] = x[i] ** 1.5
        out[3, i] = np.power(x[i], 0.5)
        if y[i] >= 0:
            out[4, i] = float(y[i]) ** 0.5
    return out


@program(f32=two(real, F32), f64=two(wild), i32=two(whole, np.int32))
def chained_comparisons(x, y):
    out = np.zeros(len(x), dtype=np.bool_)
    for i in range(len(x)):
        out[i] = -2 < x[i] <= y[i] < 3
    return out


@program(f64=two(wild), i8=two(whole, np.int8), u64=two(integers, np.uint64))
def all_comparisons(x, y):
    out = np.zeros(len(x), dtype=np.int32)
    for i in range(len(x)):
        if x[i] == y[i]:
            out[i] += 1
        if x[i] != y[i]:
            out[i] += 2
        if x[i] < y[i]:
            out[i] += 4
        if x[i] >= y[i]:
            out[i] += 8
    return out


@program(f32=two(wild, F32), f64=two(wild))
def logic(x, y):
    out = np.zeros(len(x), dtype=bool)
    for i in range(len(x)):
        out[i] = x[i] > 0 and y[i] > 0 or not x[i] < y[i]
    return out


@program(
    f32=lambda n, rng: (wild(n, rng, F32), -1.0, 2.0),
    f64=lambda n, rng: (wild(n, rng), -1.0, 2.0),
    i32=lambda n, rng: (whole(n, rng, np.int32), -1, 2),
)
def clamp(x, low, high):
    out = np.empty_like(x)
    for i in range(len(x)):
        v = x[i]
        out[i] = low if v < low else high if v > high else v
    return out


@program(f32=two(real, F32), f64=two(wild), i64=two(whole, np.int64))
def branches(x, out):
    for i in range(len(x)):
        if x[i] > 2:
            out[i] = x[i]
        elif x[i] < -2:
            out[i] = -x[i]
        else:
            out[i] = out[i] + 1


@program(f64=two(wild), f32=two(wild, F32), i16=two(integers, np.int16), u8=two(integers, np.uint8))
def python_minmax(x, y):
    low = np.empty_like(x)
    high = np.empty_like(x)
    for i in range(len(x)):
        low[i] = min(x[i], y[i])
        high[i] = max(x[i], y[i])
    return low, high


@program(f64=two(wild), f32=two(wild, F32), i32=two(integers, np.int32))
def numpy_minmax(x, y):
    low = np.empty_like(x)
    high = np.empty_like(x)
    for i in range(len(x)):
        low[i] = np.minimum(x[i], y[i])
        high[i] = np.maximum(x[i], y[i])
    return low, high


@program(f64=one(wild), f32=one(wild, F32))
def clip_and_where(x):
    out = np.empty_like(x)
    for i in range(len(x)):
        out[i] = np.where(x[i] > 0, np.clip(x[i], 0.5, 4.0), -x[i])
    return out


@program(f64=one(real), f32=one(real, F32))
def rounding(x):
    out = np.zeros((3, len(x)), dtype=x.dtype)
    for i in range(len(x)):
        out[0, i] = np.floor(x[i] * 2)
        out[1, i] = np.ceil(x[i])
        out[2, i] = np.rint(x[i] * 2) if x[i] > 0 else np.trunc(x[i])
    return out


@program(f64=one(real), half=lambda n, rng: (np.arange(n) / 2 - 3,))
def rounding_to_int(x):
    out = np.zeros(len(x), dtype=np.int64)
    for i in range(len(x)):
        out[i] = math.floor(x[i]) + math.ceil(x[i]) * round(x[i])
    return out


@program(f32=one(real, F32), f64=one(real), i16=one(integers, np.int16))
def rounding_to_digits(x):
    out = np.empty((2, len(x)), x.dtype)
    for i in range(len(x)):
        out[0, i] = round(x[i] * x[i], 2)
        out[1, i] = round(x[i], 0)
    return out


@program(ulps=6, f32=one(real, F32, 1.1, 20.0), f64=one(real, F64, 1.1, 20.0))
def exponentials(x):
    out = np.empty_like(x)
    for i in range(len(x)):
        out[i] = np.exp(-x[i]) + np.log(x[i]) * np.sqrt(x[i])
    return out


@program(ulps=6, f32=one(real, F32), f64=one(real))
def exp_map(x):
    out = np.empty_like(x)
    for i in range(len(x)):
        out[i] = np.exp(x[i])
    return out


@program(ulps=6, f32=one(real, F32, 0.1, 1.4), f64=one(real, F64, 0.1, 1.4))
def trigonometry(x):
    out = np.zeros((4, len(x)), dtype=x.dtype)
    for i in range(len(x)):
        out[0, i] = np.sin(x[i])
        out[1, i] = np.cos(x[i])
        out[2, i] = np.tan(x[i])
        out[3, i] = np.tanh(x[i])
    return out


@program(ulps=8, f32=one(real, F32, 0.1, 0.9), f64=one(real, F64, 0.1, 0.9))
def inverse_functions(x):
    out = np.zeros((6, len(x)), dtype=x.dtype)
    for i in range(len(x)):
        out[0, i] = np.arcsin(x[i]) * np.arccos(x[i])
        out[1, i] = np.arctan2(x[i], np.arctan(x[i]))
        out[2, i] = np.arcsinh(x[i]) + np.arccosh(1 / x[i])
        out[3, i] = np.arctanh(x[i]) + np.log1p(x[i])
        out[4, i] = np.cbrt(x[i]) / np.hypot(x[i], 3)
        out[5, i] = np.exp2(x[i]) + np.cosh(x[i]) - np.log10(x[i])
    return out


@program(ulps=6, f64=one(real, F64, 0.1, 1.4), f32=one(real, F32, 0.1, 1.4))
def of_the_math_module(x):
    out = np.zeros((7, len(x)))
    for i, v in enumerate(x):
        out[0, i] = math.sqrt(v)
        out[1, i] = math.exp(v)
        out[2, i] = math.log(v)
        out[3, i] = math.sin(v)
        out[4, i] = math.cos(v)
        out[5, i] = math.tan(v) + math.tanh(v)
        out[6, i] = math.pow(v, 2.5)
    return out


# -- ways of looping

@program(f64=one(real), i32=one(whole, np.int32))
def every_third(x):
    out = np.zeros_like(x)
    for i in range(1, len(x), 3):
        out[i] = x[i - 1] + 1
    return out


def _stepping(*steps: int) -> Make:
    return lambda n, rng: (real(n, rng), steps[n % len(steps)])


@program(up=_stepping(1, 2, 3, 7), down=_stepping(-1, -3), either=_stepping(4, -2, 100, -100))
def by_a_variable_step(x, k):
    n = len(x)
    out = np.zeros_like(x)
    i = -1
    for i in range(0, n, k):
        out[i] = x[n - 1 - i] * i
    for i in range(n - 1, -1, k):
        out[i] += x[i]
    return out, i, [v * j for v, j in zip(x, range(n, 0, -k))], len(range(0, 3 * k, k))


@program(f64=one(real), u8=one(integers, np.uint8))
def downwards(x):
    out = np.empty_like(x)
    n = len(x)
    for i in range(n - 1, -1, -1):
        out[i] = x[n - 1 - i]
    return out


@program(python_at=(0,), f64=one(real), i64=one(whole, np.int64))
def negative_subscripts(x):
    out = np.empty_like(x)
    for i in range(len(x)):
        out[i] = x[i - 1] + x[-1]
    return out, x[-1]


@program(f64=one(whole), f32=one(whole, F32), i64=one(whole, np.int64))
def elements(x):
    s = 0
    for v in x:
        s += v * v
    return s


@program(f64=one(whole), i32=one(whole, np.int32))
def numbered(x):
    out = np.zeros(len(x) + 3)
    for i, v in enumerate(x, 3):
        out[i] = v * i
    return out


@program(
    same=two(whole),
    shorter=lambda n, rng: (whole(n, rng), whole(n + 3, rng)),
    longer=lambda n, rng: (whole(n + 2, rng, F32), whole(n, rng, F32)),
)
def dot(x, y):
    s = 0.0
    for a, b in zip(x, y):
        s += a * b
    return s


@program(f64=two(real), f32=two(real, F32))
def numbered_pairs(x, y):
    out = np.empty_like(x)
    for i, (a, b) in enumerate(zip(x, y)):
        out[i] = a - b * i
    return out


@program(
    ulps=4,
    f64=lambda n, rng: (real(n, rng), 0.5),
    f32=lambda n, rng: (real(n, rng, F32), F32(0.5)),
)
def horner(x, t):
    s = t * 0
    for c in reversed(x):
        s = s * t + c
    return s


@program(n=lambda n, rng: (n,))
def without_arrays(n):
    a, b = 0.0, 1.0
    for _ in range(n):
        a, b = b, a * 0.5 + b
    return a, b


@program(python_at=(0,), f64=one(real))
def loop_variable_afterwards(x):
    for i in range(len(x)):
        x[i] = x[i] + i
    return i


@program(n=lambda n, rng: (np.zeros(n), n), less=lambda n, rng: (np.zeros(n), n // 2))
def changed_loop_variable(x, n):
    for i in range(n):
        i = n - 1 - i
        x[i] = i
    return x


# -- folds

@program(
    ulps=4096,  # of the sum, where terms cancel
    f64=one(real, F64, 0.5, 1.5),
    f32=one(real, F32, 0.5, 1.5),
)
def rounded_sum(x):
    s = 0.0
    for i in range(len(x)):
        s += x[i]
    return s


@program(
    python_at=(0,),
    **{t.__name__: one(integers, t) for t in INTEGERS},
    f32=one(whole, F32),
    f64=one(whole),
)
def sum_from_element(x):
    s = x[0]
    for i in range(1, len(x)):
        s += x[i]
    return s


@program(f64=lambda n, rng: (rng.choice([1.0, -1.0, 2.0, 0.5], n),), i32=one(integers, np.int32))
def product(x):
    p = 1
    for v in x:
        p *= v
    return p


@program(python_at=(0,), f64=one(wild), f32=one(wild, F32), i8=one(integers, np.int8))
def least_and_greatest(x):
    low = x[0]
    high = x[0]
    for v in x:
        low = min(low, v)
        high = max(high, v)
    return low, high


@program(f64=one(wild), f32=one(wild, F32), u16=one(integers, np.uint16), i32=one(whole, np.int32))
def extremes_from_infinity(x):
    low, high = float("inf"), -math.inf
    found = False
    for v in x:
        if v < low:
            low = v
            found = True
        high = v if v > high else high
    return low, high, found


@program(python_at=(0,), f64=one(real), u16=one(integers, np.uint16))
def least_by_branch(x):
    low = x[0]
    for i in range(len(x)):
        if x[i] < low:
            low = x[i]
    return low


@program(f64=lambda n, rng: (wild(n, rng), 0.5), i8=lambda n, rng: (integers(n, rng, np.int8), 3))
def count(x, t):
    c = 0
    for v in x:
        if v > t:
            c += 1
    return c


@program(f64=one(whole), f32=one(whole, F32))
def several_folds(x):
    s = 0.0
    q = 0.0
    c = 0
    m = 1e9
    for v in x:
        s += v
        q += v * v
        if v < 0:
            c += 1
        m = min(m, v)
    return s, q, c, m


@program(f64=one(whole), f32=one(whole, F32))
def more_folds_than_registers(x):
    s = q = c = a = 0.0
    low, high = 1e9, -1e9
    for v in x:
        w = v * v
        s += v
        q += w
        c += w * v
        a += abs(v)
        low = min(low, w)
        high = max(high, w - v)
    return s, q, c, a, low, high


@program(python_at=(0,), f64=one(whole))
def centred(x):
    s = 0.0
    for v in x:
        s += v
    mean = s / len(x)
    out = np.empty_like(x)
    for i in range(len(x)):
        out[i] = x[i] - mean
    return out


@program(f32=one(whole, F32), f64=one(whole))
def filtered_sum(x):
    s = 0.0
    for v in x:
        if v > 1:
            s += v * 2
    return s


@program(f64=one(whole), f32=one(whole, F32))
def running_sum(x):
    out = np.empty_like(x)
    s = 0.0
    for i in range(len(x)):
        s = s + x[i]
        out[i] = s
    return out


@program(f64=one(whole), i64=one(whole, np.int64))
def recurrence_in_place(x):
    for i in range(1, len(x)):
        x[i] += x[i - 1]


# -- comprehensions and generators

@program(f64=one(real), f32=one(real, F32), u8=one(integers, np.uint8))
def doubled_list(x):
    return [v * 2 for v in x]


@program(
    f64=lambda n, rng: (real(n, rng), 0.5),
    f32=lambda n, rng: (real(n, rng, F32), 0.5),
    i16=lambda n, rng: (whole(n, rng, np.int16), 2),
    none=lambda n, rng: (real(n, rng), 9.0),
    all=lambda n, rng: (real(n, rng, F32), -9.0),
)
def filtered_array(x, t):
    return np.array([v * 2 + 1 for v in x if v > t])


@program(f64=two(real))
def filtered_list_of_pairs(x, y):
    return [a - b for a, b in zip(x, y) if a > b if b > -2]


@program(f64=one(whole), f32=one(whole, F32), i32=one(whole, np.int32))
def sums_of_generators(x):
    return sum(v * v for v in x if v > 0), sum(1 for v in x if v < 0), sum(v for v in x)


@program(python_at=(0,), f64=one(wild), i32=one(whole, np.int32))
def extremes_of_generators(x):
    return min(v * 2 for v in x), max(abs(v) for v in x), min(x), max(x)


@program(
    python_at=(0,),
    f64=lambda n, rng: (np.append(real(n, rng)[:-1], 1.0)[:n],),
    f32=lambda n, rng: (np.append(real(n, rng, F32)[:-1], F32(1.0))[:n],),
)
def filtered_maximum(x):
    return max(v for v in x if v > 0)


@program(
    f64=lambda n, rng: (wild(n, rng), 7.0),
    late=lambda n, rng: (np.arange(float(n)), n - 1.5),
    never=lambda n, rng: (np.arange(n, dtype=F32), 1e9),
    i8=lambda n, rng: (integers(n, rng, np.int8), 100),
)
def any_and_all(x, t):
    return any(v > t for v in x), all(v < t for v in x), any(x), all(v != t for v in x if v > 0)


@program(wide=wide(), tall=tall(F32))
def flattened(m):
    return [v + 1 for row in m for v in row]


@program(f64=one(real), u8=one(integers, np.uint8))
def several_appends(x):
    kept = []
    for v in x:
        if v > 1:
            kept.append(v)
        kept.append(v)
    for i in range(1, len(x)):
        for j in range(2):
            kept.append(x[i - j])
    return kept


# -- arrays made here

@program(f64=one(real), f32=one(real, F32), i32=one(whole, np.int32))
def made_arrays(x):
    n = len(x)
    a = np.zeros(n)
    b = np.ones(n, dtype=np.float32)
    c = np.full(n, 2.5)
    d = np.empty(n)
    for i in range(n):
        d[i] = a[i] + b[i] * c[i]
        a[i] = x[i]
    return a, d


@program(f64=one(real), u8=one(integers, np.uint8))
def made_like(x):
    a = np.zeros_like(x)
    b = np.ones_like(x)
    c = np.full_like(x, 3)
    d = np.empty_like(x)
    for i in range(len(x)):
        d[i] = a[i] + b[i] * c[i] + x[i]
    return d, b


@program(f64=one(real), f32=one(real, F32))
def temporary_vanishes(x):
    t = np.empty_like(x)
    u = np.empty_like(x)
    out = np.empty_like(x)
    for i in range(len(x)):
        t[i] = x[i] * 0.5
    for i in range(len(x)):
        u[i] = t[i] + 1
    for i in range(len(x)):
        out[i] = u[i] * u[i]
    return out


# -- types

@program(
    i32=lambda n, rng: (whole(n, rng, np.int32), 0.5),
    u8=lambda n, rng: (integers(n, rng, np.uint8), 1.5),
    bool=lambda n, rng: (rng.random(n) > 0.5, 2.0),
)
def integers_times_float(x, a):
    out = np.empty(len(x))
    for i in range(len(x)):
        out[i] = x[i] * a
    return out


@program(
    i8_i32=lambda n, rng: (integers(n, rng, np.int8), integers(n, rng, np.int32)),
    u8_i8=lambda n, rng: (integers(n, rng, np.uint8), integers(n, rng, np.int8)),
    f32_f64=lambda n, rng: (real(n, rng, F32), real(n, rng)),
    i32_f32=lambda n, rng: (whole(n, rng, np.int32), real(n, rng, F32)),
    u32_i64=lambda n, rng: (integers(n, rng, np.uint32), whole(n, rng, np.int64)),
)
def mixed(x, y):
    return [a + b for a, b in zip(x, y)]


@program(
    to_i32=lambda n, rng: (real(n, rng), np.zeros(n, np.int32)),
    to_f32=lambda n, rng: (real(n, rng), np.zeros(n, F32)),
    to_i8=lambda n, rng: (whole(n, rng, np.int64), np.zeros(n, np.int8)),
    to_bool=lambda n, rng: (wild(n, rng), np.zeros(n, bool)),
)
def converted_by_store(x, out):
    for i in range(len(x)):
        out[i] = x[i]
    return out


@program(f64=lambda n, rng: (real(n, rng), 3, True, 0.5, np.int16(4)))
def scalars_of_many_types(x, k, flag, t, s):
    total = 0
    for i in range(len(x)):
        x[i] = x[i] * k + t if flag else x[i] - s
        total += s
    return total, k * 2, t, s


SHIFT = 0.25


@program(f64=one(real), f32=one(real, F32))
def with_globals(x):
    for i in range(len(x)):
        x[i] = x[i] * math.pi + SHIFT
    return x


# -- several dimensions

@program(wide=wide(), tall=tall(), ints=wide(np.int32))
def matrix_map(m):
    out = np.empty_like(m)
    for i in range(m.shape[0]):
        for j in range(m.shape[1]):
            out[i, j] = m[i, j] * 2 + j
    return out


@program(
    fortran=lambda n, rng: (np.asfortranarray(wide()(n, rng)[0]), np.zeros((3, n))),
    transposed=lambda n, rng: (wide(F32)(n, rng)[0].T, np.zeros((n, 3), F32)),
    every_other=lambda n, rng: (whole(12 * n, rng).reshape(6, 2 * n)[::2, ::2], np.zeros((3, n))),
    backwards=lambda n, rng: (wide()(n, rng)[0][::-1, ::-1], np.zeros((n, 3)).T),
)
def matrices_of_any_layout(m, out):
    for i in range(m.shape[0]):
        for j in range(m.shape[1]):
            out[i, j] = m[i, j] * 2 + i


@program(wide=wide(), tall=tall(F32), ints=tall(np.int64))
def row_sums(m):
    out = np.zeros(m.shape[0], dtype=m.dtype)
    for i in range(m.shape[0]):
        s = out[i]
        for j in range(m.shape[1]):
            s += m[i, j]
        out[i] = s
    return out


@program(wide=wide(), tall=tall(F32))
def column_sums(m):
    out = np.zeros(m.shape[1], dtype=m.dtype)
    for i in range(len(m)):
        for j in range(len(out)):
            out[j] += m[i][j]
    return out


@program(wide=wide(), tall=tall())
def rows_of_a_matrix(m):
    s = 0.0
    for row in m:
        for v in row:
            s += v
    return s


@program(
    f64=lambda n, rng: (whole(3 * n, rng).reshape(3, n), whole(n, rng)),
    f32=lambda n, rng: (whole(n * 4, rng, F32).reshape(n, 4), whole(4, rng, F32)),
)
def matrix_times_vector(m, v):
    out = np.zeros(len(m), dtype=m.dtype)
    for i in range(m.shape[0]):
        for j in range(m.shape[1]):
            out[i] += m[i, j] * v[j]
    return out


@program(wide=wide(), tall=tall(F32))
def transposed(m):
    rows, columns = m.shape
    out = np.empty((columns, rows), dtype=m.dtype)
    for i in range(rows):
        for j in range(columns):
            out[j, i] = m[i, j]
    return out


@program(
    f64=lambda n, rng: (whole(n * 6, rng).reshape(2, 3, n),),
    f32=lambda n, rng: (whole(n * 6, rng, F32).reshape(n, 3, 2),),
)
def three_dimensions(c):
    out = np.zeros_like(c)
    for i in range(c.shape[0]):
        for j in range(c.shape[1]):
            for k in range(c.shape[2]):
                out[i, j, k] = c[i, j, k] * (i + j) - k
    return out


# -- layout and aliasing

@program(
    every_other=lambda n, rng: (real(2 * n, rng)[::2], real(n, rng)),
    reversed=lambda n, rng: (real(n, rng)[::-1], real(2 * n, rng)[::2]),
    f32=lambda n, rng: (real(3 * n, rng, F32)[1::3], real(n, rng, F32)[::-1]),
    constant=lambda n, rng: (np.broadcast_to(F64(1.5), (n,)), real(n, rng)),
)
def strides(x, y):
    out = np.empty(len(x), dtype=x.dtype)
    for i in range(len(x)):
        out[i] = x[i] - 2 * y[i]
        y[i] = x[i] if x[i] > 0 else y[i]
    return out


@program(f64=lambda n, rng: (lambda x: (x, x))(real(n, rng)))
def the_same_array_twice(x, y):
    for i in range(len(x)):
        y[i] = x[i] * 2
    return y


@program(f64=one(real), f32=one(real, F32))
def three_point_mean(x):
    out = np.zeros_like(x)
    for i in range(1, len(x) - 1):
        out[i] = (x[i - 1] + x[i] + x[i + 1]) / 3
    return out


@program(f64=one(real), i8=one(integers, np.int8))
def reversed_in_place(x):
    n = len(x)
    for i in range(n // 2):
        x[i], x[n - 1 - i] = x[n - 1 - i], x[i]
    return x


@program(f64=two(real))
def two_maps_that_fuse(x, y):
    a = np.empty_like(x)
    b = np.empty_like(x)
    for i in range(len(x)):
        a[i] = x[i] + y[i]
    for j in range(len(x)):
        b[j] = a[j] * y[j]
    return a, b


@program(f64=two(real))
def two_maps_that_do_not_fuse(x, y):
    for i in range(len(x)):
        y[i] = x[i] * 2
    for i in range(1, len(x)):
        x[i] = y[i - 1] + y[0]
    return x, y


@program(
    bool=lambda n, rng: (rng.random(n) < 0.5, rng.random(n) < 0.9),
    any_byte=lambda n, rng: (rng.integers(0, 3, n, np.uint8).view(bool), rng.random(n) < 0.9),
)
def how_many(a, b):
    both = neither = 0
    for i in range(len(a)):
        if a[i] and b[i]:
            both += 1
        neither += not (a[i] or b[i])
    return both, neither


@program(**{t.__name__: one(whole, t) for t in (F32, np.int16)})
def how_many_above(x):
    above = 0
    for v in x:
        if 1 < v < 100:
            above += 1
    return above


@program(f64=two(real), f32=two(real, F32))
def held_in_bounds(x, y):
    for i in range(len(x)):
        t = x[i] * 3
        y[i] = t
        if t > 1:
            y[i] = 1
        elif t < -2:
            y[i] = x[i]


def weights(n: int, rng: Rng) -> tuple[np.ndarray, ...]:
    return real(n, rng), rng.integers(0, 7, n), np.zeros(7)


@program(f64=weights, ulps=8)
def histogram_of_weights(x, at, h):
    for i in range(len(x)):
        h[at[i]] += np.exp(x[i] * 0.5)


@program(f64=two(real), ulps=64)
def damped(x, y):
    z = 0.0
    for i in range(len(x)):
        w = np.exp(-x[i] * x[i])
        z = z * 0.25 - w if z > 1.0 else z * 0.5 + w
        y[i] = z
    return z
