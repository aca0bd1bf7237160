"""Programs of numbers under names: limits, angles, operators, shifts, items of named tuples."""
from __future__ import annotations

import math
import operator
from typing import Any, NamedTuple

import numpy as np

from .programs import F32, F64, Make, Rng, program, whole, wild

FEW = (0, 1, 2, 7, 16, 33)


class States(NamedTuple):
    idle: int
    busy: int
    weight: float


STATES = States(0, 1, 2.5)


def ints(n: int, rng: np.random.Generator) -> tuple[np.ndarray]:
    return (rng.integers(-4, 70, n),)


@program(sizes=FEW, i64=ints)
def by_items_of_a_named_tuple(x):
    s = 0.0
    for i in range(len(x)):
        if x[i] == STATES.idle:
            s += 1.0
        elif x[i] > STATES.busy:
            s += STATES.weight
    return s


@program(sizes=FEW, i64=ints, f32=lambda n, rng: (whole(n, rng, F32),))
def limits(x):
    least, most = np.iinfo(np.int64).max, np.iinfo(np.int8).min
    for i in range(len(x)):
        least = min(least, i - 3)
        most = max(most, i)
    if x.dtype.kind == "f":
        return np.finfo(x.dtype).eps, least
    return np.iinfo(x.dtype).min, np.finfo(np.float64).max, most


@program(sizes=FEW, f64=lambda n, rng: (wild(n, rng),), f32=lambda n, rng: (wild(n, rng, F32),))
def angles_and_items(x):
    out = [0.0] * len(x)
    near = 0
    for i in range(len(x)):
        out[i] = math.degrees(x[i]) - math.radians(i) + x[i].item()
        if math.isclose(x[i], i, rel_tol=0.25) or math.isclose(x[i], 1, abs_tol=0.5):
            near += 1
    return out, near


@program(sizes=FEW, i64=ints)
def operators(x):
    s, t = 0, 1.0
    for i in range(len(x)):
        s = operator.add(s, operator.mul(i, 3))
        if operator.lt(x[i], 9) and operator.not_(operator.eq(i, 4)):
            t = operator.truediv(operator.neg(t), 2)
    return s, t


def shifts(n: int, rng: np.random.Generator, k: int) -> tuple[np.ndarray, int]:
    return rng.integers(-9, 9, n), k


def by(k: int) -> Make:
    return lambda n, rng: shifts(n, rng, k)


@program(sizes=FEW, none=by(0), few=by(5), most=by(40))
def shifted_by_numbers(x, k):
    s = 0
    for i in range(len(x)):
        s += (i << k) - (1 << i % 7) + ((i - 9) >> k)
        s += (-5 >> (i * 9)) + (i >> (k + 40))
        x[i] = (s >> i) & 255
    n = 0
    while (1 << n) < len(x):
        n += 1
    return s, n


@program(sizes=FEW[1:], python_at=FEW[1:], far=by(70), negative=by(-1))
def shifted_too_far(x, k):
    s = 0
    for i in range(len(x)):
        s += 1 << k
        x[i] += 1
    return s > 1


def near_circles(n: int, rng: Rng, dtype: Any = F64) -> tuple[Any, ...]:
    """Points whose distance from 0 is a few bits off 2, 5 and 1e-5, and a radius. (Not one bit: in
    that one system's libm differs from another's.)
    """
    angle, radius = rng.uniform(-4, 4, n), rng.choice([2.0, 5.0, 1e-5], n)
    radius *= 1 + 4 * np.finfo(dtype).eps * rng.choice([-1, 1], n)
    x, y = (radius * f(angle) for f in (np.cos, np.sin))
    x[::11], y[::7] = 3.0, 4.0
    return x.astype(dtype), y.astype(dtype), dtype(5)


def odd_points(n: int, rng: Rng, dtype: Any = F64) -> tuple[Any, ...]:
    """Points with parts that are infinite, NaN, or small, and a radius, which may be odd, too."""
    parts = np.array([0, -0.0, 2, -5, 3, 4, np.inf, -np.inf, np.nan, 1e-9, 1e-3], dtype)
    return rng.choice(parts, n), rng.choice(parts, n), rng.choice(parts)


POINTS: dict[str, Make] = {
    "near": near_circles, "near32": lambda n, rng: near_circles(n, rng, F32),
    "odd": odd_points, "odd32": lambda n, rng: odd_points(n, rng, F32),
}


@program(**POINTS)
def within_a_given_distance(x, y, c):
    return np.hypot(x, y) <= c


@program(**POINTS)
def farther_than_two(x, y, c):
    return [np.hypot(x[i], y[i]) > 2.0 for i in range(len(x))], c


@program(**POINTS)
def nearer_than_five(x, y, c):
    out = np.empty(len(x), np.int64)
    for i in range(len(x)):
        out[i] = 3 if np.hypot(x[i], y[i]) < 5.0 else -1
    return out, c


@program(**POINTS)
def not_nearer_than_a_little(x, y, c):
    return (np.hypot(x, y) >= 1e-5).sum() + c


@program(near=near_circles, real=lambda n, rng: (*rng.uniform(-3, 3, (2, n)), 2.0))
def escapes(x, y, c):
    out = np.empty(len(x), np.int64)
    for i in range(len(x)):
        z, k = 0j, 0
        while k < 20 and abs(z) <= 2.0:
            z = z * z + complex(x[i] / 3, y[i] / 3)
            k += 1
        out[i] = k
    return out, c
