"""Functions whose first calls are made to fail (`fault_injection`), and how each is decorated.

Each takes part of the compiler, or of what decides in a call, that the others do not.
"""
from __future__ import annotations

import os
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from transpile import fuse

__all__ = ["FUNCTIONS", "NEVER_COMPILED", "arguments", "decorated"]


def scale(x: Any, factor: float = 2.0) -> Any:
    """A reduction and a map, so that most of the compiler takes part."""
    out, total = np.zeros(len(x)), 0.0
    for i in range(len(x)):
        total += x[i]
        out[i] = np.sqrt(x[i]) * factor if x[i] > 0.5 else 0.0
    return out, total


def collect(x: Any) -> Any:
    """A list that grows, and a dict."""
    found, counts = [], {}
    for i in range(len(x)):
        if x[i] > 1.0:
            found.append(x[i])
        k = int(x[i])
        counts[k] = counts.get(k, 0) + 1
    return found, sum(counts.values())


def partly(x: Any) -> Any:
    """A function that is refused as a whole, with a loop that can be compiled."""
    names = sorted({str(len(x)), "other"}, key=lambda s: (len(s), s))
    total = 0.0
    for i in range(len(x)):
        total += x[i] * x[i]
    return names, total


def fold(x: Any) -> Any:
    """One reduction."""
    total = 0.0
    for i in range(len(x)):
        total += x[i] * x[i]
    return total


def spread(x: Any, grid: Any) -> None:
    """A nest that changes its argument: to do it twice gives another answer."""
    for i in range(grid.shape[0]):
        for j in range(grid.shape[1]):
            grid[i, j] += x[i] * 0.5 - x[j]


def solve(x: Any) -> Any:
    """A call of NumPy that stays Python, between loops."""
    a = np.empty((len(x), len(x)))
    for i in range(len(x)):
        for j in range(len(x)):
            a[i, j] = x[i] + x[j] * j + (40.0 if i == j else 0.0)
    y, total = np.linalg.solve(a, x), 0.0
    for i in range(len(y)):
        total += y[i] * y[i]
    return y, total


def depth(tree: Any) -> int:
    """A recursive function that is refused, whose inner calls leave the dispatcher out."""
    return 0 if tree is None else 1 + max(depth(tree[0]), depth(tree[1]))


def product(x: Any) -> int:
    """A guard fails at each call: the result does not fit in 64 bits."""
    result = 1
    for i in range(len(x)):
        result *= int(x[i]) + 2
    return result


def later(x: Any) -> float:
    """A thread compiles it, while Python answers."""
    total = 1.0
    for i in range(len(x)):
        total *= x[i] + 1.0
    return total


def timed(x: Any) -> Any:
    """Its calls are trials: compiled code and Python are measured."""
    out = np.empty(len(x))
    for i in range(len(x)):
        out[i] = x[i] - 1.0
    return out


def timed_partly(x: Any) -> Any:
    """It is refused, and its calls with regions and without are measured."""
    text, count = str(len(x)), 0
    for i in range(len(x)):
        count += int(x[i])
    return text, count


def made(x: Any) -> Any:
    """It is defined again and again, so that Python serves calls before the kernel is set up."""
    out = np.empty(len(x))
    for i in range(len(x)):
        out[i] = x[i] - 2.0
    return out


FUNCTIONS: dict[str, Callable[..., Any]] = {
    f.__name__: f for f in (
        scale, collect, partly, fold, spread, solve,
        depth, product, later, timed, timed_partly, made,
    )
}

NEVER_COMPILED = {"depth", "product", "timed_partly", "made"}
"""Functions whose calls Python may serve in the end, by a guard or by measurement."""

_CALLS_BEFORE = {"timed": 1, "timed_partly": 1}
"""Calls in which nothing fails: those after them are trials."""

_MADE_BEFORE = {"made": 2}
"""Function objects with the same code that are called before."""

_OPTIONS = {"later": {"background": True}}


def arguments(name: str) -> tuple[Any, ...]:
    """New arguments for a call of that function."""
    x = np.linspace(0.0, 3.0, 40)
    if name == "depth":
        return ((((None, None), None), (None, None)),)
    if name == "product":
        return (x + 3.0,)
    return (x, np.ones((40, 30))) if name == "spread" else (x,)


def decorated(name: str) -> Any:
    """That function decorated, as its first call is to find it. One that calls itself by its name
    calls the decorated one from now on, as in a module.
    """
    if name in _CALLS_BEFORE or name in _MADE_BEFORE:
        os.environ["TRANSPILE_SELECT"] = "time"
    function, options = FUNCTIONS[name], _OPTIONS.get(name, {})
    for _ in range(_MADE_BEFORE.get(name, 0)):
        other = types.FunctionType(function.__code__, function.__globals__)
        fuse(other, on_reject="silent", **options)(*arguments(name))
    fused = fuse(function, on_reject="silent", **options)
    for _ in range(_CALLS_BEFORE.get(name, 0)):
        fused(*arguments(name))
    globals()[name] = fused
    return fused
