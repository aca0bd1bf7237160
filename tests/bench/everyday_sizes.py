"""Small everyday functions at the sizes 0, 1, 3, 10, 30 and 300.

Most of their work is less than that of a call: lists and tuples of a few items, counting in dicts,
generators, closures, methods, early exits, defaults, scalars of NumPy, 3-vectors and 3 × 3
matrices. `tests.bench.never_slower` runs them with and without ``@fuse``.
"""
# ruff: noqa: SIM110, PERF401 (functions as people write them)
from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

__all__ = ["CALLS", "SIZES"]

SIZES = 0, 1, 3, 10, 30, 300


def total(xs):
    s = 0
    for x in xs:
        s += x
    return s


def builtin_sum(xs):
    return sum(xs)


def sum_of_squares(xs):
    return sum(x * x for x in xs)


def average(xs):
    return sum(xs) / len(xs) if xs else 0.0


def variance(xs):
    if not xs:
        return 0.0
    m = sum(xs) / len(xs)
    return sum((x - m) ** 2 for x in xs) / len(xs)


def largest(xs):
    best = None
    for x in xs:
        if best is None or x > best:
            best = x
    return best


def index_of_largest(xs):
    best = 0
    for i in range(1, len(xs)):
        if xs[i] > xs[best]:
            best = i
    return best


def doubled(xs):
    return [2 * x for x in xs]


def positive_only(xs):
    return [x for x in xs if x > 0]


def running(xs):
    out, s = [], 0
    for x in xs:
        s += x
        out.append(s)
    return out


def differences(xs):
    return [xs[i + 1] - xs[i] for i in range(len(xs) - 1)]


def swapped(xs):
    out = xs[:]
    for i in range(len(out) // 2):
        out[i], out[-1 - i] = out[-1 - i], out[i]
    return out


def bubble(xs):
    xs = xs[:]
    for i in range(min(len(xs), 12)):
        for j in range(len(xs) - 1 - i):
            if xs[j] > xs[j + 1]:
                xs[j], xs[j + 1] = xs[j + 1], xs[j]
    return xs


def is_sorted(xs):
    for i in range(1, len(xs)):
        if xs[i] < xs[i - 1]:
            return False
    return True


def first_above(xs, limit):
    for x in xs:
        if x > limit:
            return x
    return None


def sum_until(xs, limit):
    s = 0.0
    for x in xs:
        if s > limit:
            break
        s += x
    return s


def head(xs):
    s = 0.0
    for i in range(min(3, len(xs))):
        s += xs[i]
    return s


def all_positive(xs):
    return all(x > 0 for x in xs)


def count_if(xs, v):
    n = 0
    for x in xs:
        if x == v:
            n += 1
    return n


def counted(xs):
    d = {}
    for v in xs:
        d[v] = d.get(v, 0) + 1
    return d


def histogram(xs):
    out = [0] * 10
    for v in xs:
        out[v % 10] += 1
    return out


def unique(xs):
    seen = set()
    out = []
    for x in xs:
        if x not in seen:
            seen.add(x)
            out.append(x)
    return out


def inverted(xs):
    return {x: i for i, x in enumerate(xs)}


def dict_total(d):
    s = 0
    for k in d:
        s += d[k]
    return s


def rows_times(a, v):
    return [sum(x * y for x, y in zip(r, v, strict=False)) for r in a]


def transposed(a):
    return [[r[j] for r in a] for j in range(len(a[0]))] if a else []


def zeros(n):
    return [[0] * n for _ in range(n)]


def zeros_with_border(n):
    table = [[0] * n for _ in range(n)]
    for i in range(n):
        table[i][0] = i
    return table


def trace(a):
    return sum(a[i][i] for i in range(len(a)))


def pairs(xs):
    n = 0
    for i in range(min(len(xs), 20)):
        for j in range(i):
            if xs[i] + xs[j] == 10:
                n += 1
    return n


def generated(n):
    return sum(i * i for i in range(n) if i % 2)


def squares_of(n):
    for i in range(n):
        yield i * i


def uses_generator(n):
    s = 0
    for v in squares_of(n):
        s += v
    return s


def with_closure(xs, k):
    def scaled(x):
        return k * x

    return [scaled(x) for x in xs]


def nested_helper(xs):
    def square(x):
        return x * x

    s = 0.0
    for x in xs:
        s += square(x)
    return s


def with_lambda(xs):
    f = lambda x: x + 1  # noqa: E731
    return [f(x) for x in xs]


def mapped(xs):
    return list(map(abs, xs))


def defaults(xs, scale=2.0, offset=1.0):
    return [x * scale + offset for x in xs]


def star(*xs):
    s = 0
    for x in xs:
        s += x
    return s


def star_star(xs, **options):
    s = options.get("start", 0)
    for x in xs:
        s += x
    return s


def factorial(n):
    return 1 if n < 2 else n * factorial(n - 1)


def power(x, n):
    if n == 0:
        return 1
    half = power(x, n // 2)
    return half * half * (x if n % 2 else 1)


def recursive_sum(xs):
    return 0 if not xs else xs[0] + recursive_sum(xs[1:])


def triangle(n):
    s = 0
    for i in range(n):
        s += i
    return s


def fib_iter(n):
    a, b = 0, 1
    for _ in range(n):
        a, b = b, (a + b) % 1000007
    return a


def digit_sum(n):
    s = 0
    while n:
        s += n % 10
        n //= 10
    return s


def fizzbuzz(n):
    out = []
    for i in range(n):
        out.append("fizz" if i % 3 == 0 else str(i))
    return out


def reversed_text(s):
    out = ""
    for c in s:
        out = c + out
    return out


def upper_count(s):
    return sum(1 for c in s if c.isupper())


def hash_of(s):
    h = 5381
    for c in s:
        h = (h * 33 + ord(c)) % 4294967296
    return h


def split_sum(s):
    return sum(int(x) for x in s.split())


def dot3(a, b):
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def cross3(a, b):
    return (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])


def norm3(a):
    return math.sqrt(a[0] ** 2 + a[1] ** 2 + a[2] ** 2)


def unit(a):
    return a / np.sqrt(np.sum(a * a))


def rotated(m, v):
    return m @ v


def determinant3(m):
    return (m[0, 0] * (m[1, 1] * m[2, 2] - m[1, 2] * m[2, 1])
            - m[0, 1] * (m[1, 0] * m[2, 2] - m[1, 2] * m[2, 0])
            + m[0, 2] * (m[1, 0] * m[2, 1] - m[1, 1] * m[2, 0]))


def scalar_add(x, y):
    return x + y


def scalar_poly(z):
    return z ** 3 + 2 * z ** 2 + 1


def scalar_square(z):
    return z ** 2


def numpy_sine(x):
    return np.sin(x) ** 2 + np.cos(x) ** 2


def hypotenuse(x, y):
    return math.sqrt(x * x + y * y)


def array_sum(x):
    return x.sum()


def array_scaled(x, k):
    return k * x + 1


def array_mean(x):
    return x.mean() if x.size else 0.0


def array_maximum(x):
    return np.maximum(x, 0.0)


def array_loop(x):
    s = 0.0
    for v in x:
        s += v
    return s


def in_place(x):
    for i in range(len(x)):
        x[i] = x[i] * 0.5


def horner(coefficients, x):
    s = 0.0
    for c in coefficients:
        s = s * x + c
    return s


def interpolated(x0, y0, x1, y1, x):
    return y0 + (y1 - y0) * (x - x0) / (x1 - x0)


def draws(rng, n):
    s = 0.0
    for _ in range(n):
        s += rng.random()
    return s


def normal_draws(rng, n):
    return rng.normal(size=n)


def library_draws(n):
    s = 0.0
    for _ in range(n):
        s += random.random()
    return s


def edges(pairs):
    n = 0
    for a, b in pairs:
        n += a != b
    return n


def bounding_box(points):
    xs = [p[0] for p in points]
    ys = [p[1] for p in points]
    return (min(xs), min(ys), max(xs), max(ys)) if points else None


def centroid(points):
    sx = sy = 0.0
    for x, y in points:
        sx += x
        sy += y
    return (sx / len(points), sy / len(points)) if points else None


def inside(polygon, x, y):
    result = False
    for i in range(len(polygon)):
        (ax, ay), (bx, by) = polygon[i - 1], polygon[i]
        if (ay > y) != (by > y) and x < (bx - ax) * (y - ay) / (by - ay) + ax:
            result = not result
    return result


class Vector:
    """A class whose methods are decorated, too."""

    def __init__(self, x: float, y: float, z: float) -> None:
        self.x, self.y, self.z = x, y, z
        self.items = [x, y, z]

    def length(self):
        return math.sqrt(self.x * self.x + self.y * self.y + self.z * self.z)

    def scaled_sum(self, xs):
        s = 0.0
        for v in xs:
            s += self.x * v
        return s


def _rng(n: int) -> np.random.Generator:
    return np.random.default_rng(n)


def _ints(n: int) -> list[int]:
    return [int(v) for v in _rng(n).integers(-50, 50, n)]


def _floats(n: int) -> list[float]:
    """All positive, so that the order of a sum changes only its last bits."""
    return [float(v) for v in _rng(n).uniform(0.1, 2.0, n)]


def _array(n: int) -> np.ndarray:
    return np.array(_floats(n))


def _text(n: int) -> str:
    return ("abC dEf" * n)[:n]


def _points(n: int) -> list[tuple[float, float]]:
    return [*zip(_floats(n), _floats(n + 1), strict=False)]


def _rows(n: int) -> list[list[float]]:
    n = min(n, 30)
    return [_floats(n) for _ in range(n)]


Maker = Callable[[int], tuple[Any, ...]]


def _by_size() -> Iterator[tuple[str, Maker]]:
    """Functions whose arguments have a size."""
    for name in ("total", "largest", "index_of_largest", "doubled", "positive_only", "running",
                 "differences", "swapped", "bubble", "is_sorted", "unique", "inverted", "pairs",
                 "with_lambda", "mapped", "counted", "histogram"):
        yield name, lambda n: (_ints(n),)
    for name in ("total", "builtin_sum", "sum_of_squares", "average", "variance", "doubled",
                 "running", "head", "all_positive", "nested_helper", "defaults"):
        yield name, lambda n: (_floats(n),)
    for name in ("zeros", "zeros_with_border"):
        yield name, lambda n: (min(n, 100),)
    for name in ("generated", "uses_generator", "triangle", "fib_iter", "fizzbuzz", "digit_sum",
                 "factorial", "library_draws"):
        yield name, lambda n: (n,)
    for name in ("reversed_text", "upper_count", "hash_of"):
        yield name, lambda n: (_text(n),)
    for name in ("array_sum", "array_mean", "array_maximum", "array_loop", "in_place"):
        yield name, lambda n: (_array(n),)
    for name in ("edges", "bounding_box", "centroid"):
        yield name, lambda n: (_points(n),)
    yield "first_above", lambda n: (_floats(n), 1.0)
    yield "sum_until", lambda n: (_floats(n), 1.0)
    yield "count_if", lambda n: (_ints(n), 3)
    yield "dict_total", lambda n: ({str(k): k for k in range(n)},)
    yield "rows_times", lambda n: (_rows(n), _floats(min(n, 30)))
    yield "rows_times", lambda n: ([[1.0, 2.0]] * n, [3.0, 4.0])
    yield "transposed", lambda n: (_rows(n),)
    yield "trace", lambda n: (_rows(n),)
    yield "with_closure", lambda n: (_floats(n), 2.0)
    yield "star", lambda n: (*_ints(min(n, 30)),)
    yield "star_star", lambda n: (_ints(n),)
    yield "power", lambda n: (3, n)
    yield "recursive_sum", lambda n: (_ints(n),)
    yield "split_sum", lambda n: (" ".join(map(str, _ints(n))),)
    yield "array_scaled", lambda n: (_array(n), 2.0)
    yield "horner", lambda n: (_floats(n), 0.5)
    yield "horner", lambda n: (tuple(_floats(min(n, 30))), 0.5)
    yield "draws", lambda n: (_rng(n), n)
    yield "normal_draws", lambda n: (_rng(n), n)
    yield "inside", lambda n: (_points(n), 0.1, 0.2)
    yield "Vector.scaled_sum", lambda n: (Vector(1.0, 2.0, 3.0), _floats(n))


_V, _W, _M = np.array([1.0, 2.0, 2.0]), np.array([0.5, 1.0, -1.0]), np.eye(3) + 0.5
_FIXED: tuple[tuple[str, tuple[Any, ...]], ...] = (
    ("dot3", (_V, _W)), ("dot3", ([1.0, 2.0, 2.0], [3.0, 1.0, 2.0])),
    ("dot3", ((1.0, 2.0, 2.0), (3.0, 1.0, 2.0))), ("cross3", ((1.0, 2.0, 2.0), (3.0, 1.0, 2.0))),
    ("cross3", (_V, _W)), ("norm3", (_V,)), ("norm3", ((1.0, 2.0, 2.0),)), ("unit", (_V,)),
    ("rotated", (_M, _V)), ("determinant3", (_M,)), ("scalar_add", (1, 2)),
    ("scalar_add", (1.5, 2.5)), ("scalar_add", (np.float64(1.5), np.float64(2.5))),
    ("scalar_add", (np.float32(1.5), 2.5)), ("scalar_add", (np.int64(1), 2)),
    ("scalar_add", (np.array(1.5), np.array(2.5))), ("scalar_add", (1j, 2.0)),
    ("scalar_add", (np.complex128(1j), 2.0)), ("scalar_poly", (1.5,)), ("scalar_poly", (3,)),
    ("scalar_poly", (np.float64(1.5),)), ("scalar_poly", (np.float32(1.5),)),
    ("scalar_poly", (np.int64(3),)), ("scalar_poly", (np.complex128(1 + 1j),)),
    ("scalar_poly", (1 + 1j,)), ("scalar_poly", (np.array(1.5),)),
    ("scalar_square", (np.complex128(1 + 1j),)), ("scalar_square", (1 + 1j,)),
    ("scalar_square", (np.float64(1.5),)), ("numpy_sine", (np.float64(1.5),)),
    ("numpy_sine", (1.5,)), ("numpy_sine", (np.array(1.5),)), ("hypotenuse", (3.0, 4.0)),
    ("hypotenuse", (np.float64(3.0), np.float64(4.0))), ("interpolated", (0.0, 1.0, 2.0, 3.0, 0.5)),
    ("Vector.length", (Vector(1.0, 2.0, 3.0),)),
)

CALLS: list[tuple[str, tuple[Any, ...]]] = [
    *((name, maker(n)) for name, maker in _by_size() for n in SIZES), *_FIXED,
]
"""The name of each function, and arguments."""
