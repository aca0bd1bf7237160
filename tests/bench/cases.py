"""What is timed: plain loops, the same in whole-array NumPy, and the bytes that each must move."""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["CASES", "Case"]


def saxpy(a, x, y, out):
    for i in range(len(x)):
        out[i] = a * x[i] + y[i]


def three(x, y, out):
    for i in range(len(x)):
        out[i] = (x[i] + y[i]) * x[i] - 0.5


def normalise(x, peak, threshold, out):
    for i in range(len(x)):
        out[i] = x[i] / peak
    for i in range(len(x)):
        out[i] = out[i] if out[i] > threshold else 0.0


def total(x):
    s = 0.0
    for i in range(len(x)):
        s += x[i]
    return s


def dot(x, y):
    s = 0.0
    for i in range(len(x)):
        s += x[i] * y[i]
    return s


def extremes(x):
    lo = hi = x[0]
    for v in x:
        lo = min(lo, v)
        hi = max(hi, v)
    return lo, hi


def filter_map(x):
    return np.array([v * 2.0 for v in x if v > 0.5])


def filter_sum(x):
    s = 0.0
    for v in x:
        if v > 0.5:
            s += v
    return s


def exp_map(x, out):
    for i in range(len(x)):
        out[i] = np.exp(x[i])


def np_saxpy(a, x, y, out):
    np.multiply(x, a, out=out)
    np.add(out, y, out=out)


def np_three(x, y, out):
    np.add(x, y, out=out)
    np.multiply(out, x, out=out)
    np.subtract(out, 0.5, out=out)


def np_normalise(x, peak, threshold, out):
    np.divide(x, peak, out=out)
    out[:] = np.where(out > threshold, out, 0.0)


def np_exp(x, out):
    np.exp(x, out=out)


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """``loop``: what we and numba compile; ``array``: NumPy's idiom. ``limit``: the hand-written C
    whose time is the bound ("copy", "sum" or "triad"), on the same bytes; None where arithmetic,
    not memory, decides.
    """

    name: str
    loop: Callable[..., Any]
    array: Callable[..., Any]
    args: Callable[[np.ndarray, np.ndarray, np.ndarray], tuple[Any, ...]]
    limit: str | None


CASES = (
    Case(
        name="saxpy", loop=saxpy, array=np_saxpy, args=lambda x, y, o: (2.0, x, y, o), limit="triad"
    ),
    Case(
        name="3-op map", loop=three, array=np_three, args=lambda x, y, o: (x, y, o), limit="triad"
    ),
    Case(
        name="normalise, threshold",
        loop=normalise,
        array=np_normalise,
        args=lambda x, y, o: (x, 3.0, 0.1, o),
        limit="copy",
    ),
    Case(name="sum", loop=total, array=np.sum, args=lambda x, y, o: (x,), limit="sum"),
    Case(name="dot", loop=dot, array=np.dot, args=lambda x, y, o: (x, y), limit="dot"),
    Case(
        name="min and max",
        loop=extremes,
        array=lambda x: (x.min(), x.max()),
        args=lambda x, y, o: (x,),
        limit="sum",
    ),
    Case(
        name="filter ≫ map",
        loop=filter_map,
        array=lambda x: x[x > 0.5] * 2.0,
        args=lambda x, y, o: (x,),
        limit=None,
    ),
    Case(
        name="filter ≫ sum",
        loop=filter_sum,
        array=lambda x: x[x > 0.5].sum(),
        args=lambda x, y, o: (x,),
        limit="sum",
    ),
    Case(name="exp map", loop=exp_map, array=np_exp, args=lambda x, y, o: (x, o), limit=None),
)
