"""Programs on tuples, named tuples, dataclasses and plain objects, and such as results."""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from .programs import F32, Make, Rng, program, whole

SIZES = (0, 1, 17)


class Point(NamedTuple):
    x: Any
    scale: float
    n: int


@dataclass
class Grid:
    u: Any
    h: float
    shape: tuple[int, ...] = (2, 3)
    mask: Any = None


class Model:
    def __init__(self, n: int, rng: Rng) -> None:
        self.grid = Grid(whole(n, rng), 0.5)
        self.a, self.n, self.name, self.mode = whole(n, rng), n, "model", None

    def gain(self) -> float:
        return 2.0


class Slotted:
    __slots__ = ("a", "k", "unset")

    def __init__(self, a: Any, k: Any) -> None:
        self.a, self.k = a, k

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Slotted) and bool(np.array_equal(self.a, other.a))

    __hash__ = None  # type: ignore[assignment]


def on_objects(ulps: float = 0, **makes: Make) -> Callable[..., Callable[..., Any]]:
    return program(sizes=SIZES, ulps=ulps, **makes)


@on_objects(
    tuple=lambda n, rng: ((whole(n, rng), 2.0, n),),
    strong=lambda n, rng: ((whole(n, rng, F32), np.float32(0.5), n),),
    named=lambda n, rng: (Point(whole(n, rng), -2.0, n),),
)
def items(t):
    s = 0.0
    x, k, _ = t
    for i in range(t[2]):
        s += t[0][i] * k + t[-1]
        t[0][i] = x[i] + 1
    return s, len(t), t[1]


@on_objects(pair=lambda n, rng: ((n, 3), (1, 2, 3)))
def shapes(shape, steps):
    out = np.zeros(shape)
    for i in range(shape[0]):
        for j in range(shape[1]):
            out[i, j] = i * steps[j]
    s = 0
    for v in steps:
        s += v
    return out, s, sum(steps), max(steps), np.full(shape, 2.0)


@on_objects(point=lambda n, rng: (Point(whole(n, rng), 2.0, n), whole(n, rng)))
def moved(p, y):
    q = np.empty(p.n)
    for i in range(len(p.x)):
        q[i] = p.x[i] * p.scale + y[i] * p[1]
    if p.n == 1:
        return Point(q, scale=1.0, n=2)
    return Point(p.x, p.scale * 2, p.n + 1), q


@on_objects(grid=lambda n, rng: (Grid(whole(n, rng), 0.5),))
def smoothed(grid):
    if grid.mask is not None:
        return Grid(grid.mask, 0.0)
    out = np.zeros(len(grid.u))
    for i in range(1, len(grid.u) - 1):
        out[i] = (grid.u[i - 1] - 2 * grid.u[i] + grid.u[i + 1]) / grid.h
    return Grid(out, grid.h * 2, (grid.shape[1], grid.shape[0]))


@on_objects(model=lambda n, rng: (Model(n, rng), whole(n, rng)))
def stepped(self, x):
    s = 0.0
    for i in range(self.n):
        self.a[i] += x[i] * self.grid.h
        s += self.a[i] * self.grid.u[-1 - i]
        if self.mode is not None:
            s += self.mode
    return s, self.a


@on_objects(slots=lambda n, rng: (Slotted(whole(n, rng), 3),))
def in_slots(o):
    for i in range(len(o.a)):
        o.a[i] *= o.k
    return o.k


@on_objects(same=lambda n, rng: ((lambda a: (Slotted(a, 2), (a, 1)))(whole(n, rng)),))
def shared(both):
    o = both[0]
    pair = both[1]
    a, k = pair
    for i in range(len(a)):
        o.a[i] = a[i] * 2 + k
    return k


class Counter:
    def __init__(self, n: int, rng: Rng) -> None:
        self.a, self.total, self.count = whole(n, rng), 0.0, 0

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Counter) and repr(vars(self)) == repr(vars(other))

    __hash__ = None  # type: ignore[assignment]

    def take(self, i):
        self.total += self.a[i]
        self.count += 1


@on_objects(counter=lambda n, rng: (Counter(n, rng), 3.0))
def attributes_set(c, most):
    for i in range(len(c.a)):
        c.take(i)
        if c.total > most:
            c.total = -c.total
    c.kept = c.a * 2
    c.a = c.kept[::-1] + c.count
    return c.total


class Meter:
    __unit = 3

    def __init__(self, n: int, rng: Rng) -> None:
        self.a, self.__total, self.__last = whole(n, rng), 0.0, 0

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Meter) and repr(vars(self)) == repr(vars(other))

    __hash__ = None  # type: ignore[assignment]

    def __scaled(self, v):
        return v * self.__unit

    def read(self, i, __offset=1):
        self.__total += self.__scaled(self.a[i]) + __offset
        self.__last = i
        return self.__total


@on_objects(meter=lambda n, rng: (Meter(n, rng), 9.0))
def private_names(meter, most):
    count = 0
    for i in range(len(meter.a)):
        if meter.read(i) > most:
            count += 1
    return count


@on_objects(pairs=lambda n, rng: (((1, n), (3, 4)),))
def nested_pairs(t):
    s = 0.0
    for u, v in t:
        s += u * v
    (a, b), (c, d) = t
    for row in t:
        s += row[0]
    return s, a * d - b * c, t[1][0], max(t[0])
