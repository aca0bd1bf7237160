"""Named tuples as arguments: their methods are compiled, and what their class defines is called."""
from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

from transpile import fuse


class Plain(NamedTuple):
    x: float
    y: float

    def norm(self) -> float:
        return self.x * self.x + self.y * self.y

    def dot(self, other: Any) -> float:
        a, b = self
        return float(a * other.x + b * other[1])

    @property
    def total(self) -> float:
        return sum(self)

    @staticmethod
    def doubled(v: float) -> float:
        return v * 2


class Reversed(NamedTuple):
    """Each comparison is that of the other order, and an instance is true if `x` is positive."""

    x: float
    y: float

    def __eq__(self, other: object) -> bool:
        return not tuple(self) == other

    def __lt__(self, other: Any) -> bool:
        return tuple(self) > tuple(other)

    def __ge__(self, other: Any) -> bool:
        return tuple(self) <= tuple(other)

    def __bool__(self) -> bool:
        return self.x > 0


class WithDict(namedtuple("WithDict", "x y")):
    def norm(self) -> float:
        return float(self.x - self.y)


def by_methods(p, k):
    s = 0.0
    for v in k:
        s += p.norm() * v + p.dot(p) - p.total + p.doubled(v)
    return s


def by_norm(p, k):
    s = 0.0
    for v in k:
        s += p.norm() * v
    return s


def compared(p, k):
    s = 0.0
    for v in k:
        if p < (v, 2.0):
            s += v
        if (v, 2.0) >= p:
            s += 100.0
        s += (p == (1.0, 2.0)) * 1e4
    return s


def greatest(p, k):
    s = 0.0
    for v in k:
        q = max(p, (v, 0.0))
        s += q[0] * v
    return s


def in_another(p, k):
    t = (p, 1.0)
    s = 0.0
    for v in k:
        if t == ((1.0, 2.0), v):
            s += v
    return s


def conditions(p, k):
    s = 0.0
    for v in k:
        if p:
            s += v
        s += 10.0 if not p else 100.0
    while p and s < 1e3:
        s += 500.0
    return s


@pytest.mark.parametrize(
    "f", [by_methods, by_norm, compared, greatest, in_another, conditions],
    ids=lambda f: f.__name__)
def test_what_the_class_defines_is_called(f: Callable[..., Any]) -> None:
    fused = fuse(f, on_reject="silent")
    k = np.array([0.0, 1.0, 2.0, 3.0])
    made = Plain(1.0, 2.0), Reversed(1.0, 2.0), Reversed(-1.0, 2.0), WithDict(1.0, 2.0), (1.0, 2.0)
    for p in (*made, *(type(p)(*p) for p in made[:-1])):
        if f is by_methods and not isinstance(p, Plain):
            continue
        if f is by_norm and not hasattr(p, "norm"):
            continue
        assert fused(p, k) == f(p, k), p
    assert fused.stats.compiled or f in (greatest, in_another)


def test_methods_are_compiled_and_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    fused = fuse(by_norm, on_reject="raise")
    k = np.arange(4.0)
    shadowed = WithDict(3.0, 1.0)
    assert fused(Plain(1.0, 2.0), k) == by_norm(Plain(1.0, 2.0), k)
    assert fused(shadowed, k) == by_norm(shadowed, k)
    assert fused.stats.compiled == 2
    shadowed.norm = lambda: 7.0  # type: ignore[method-assign]
    monkeypatch.setattr(Plain, "norm", lambda self: self.x)
    for p in (shadowed, Plain(1.0, 2.0)):
        assert fuse(by_norm, on_reject="silent")(p, k) == by_norm(p, k)
        assert fuse(by_norm, on_reject="silent")(p, k) == by_norm(p, k)
