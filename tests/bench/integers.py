"""Integers and bits: division that rounds down, and counts of what is set."""
from __future__ import annotations

from typing import Any

import numpy as np

from transpile import ops

from .harness import Case, flat

__all__ = ["CASES"]

SIZES = (4096, 262_144)


def divide(x, y, out):
    for i in range(len(x)):
        out[i] = x[i] // y[i]


def divide_7(x, out):
    for i in range(len(x)):
        out[i] = x[i] // 7


def popcount(x, y):
    k = 0
    for i in range(len(x)):
        k += int(ops.popcount(x[i] & y[i]))
    return k


def both(x, y):
    k = 0
    for i in range(len(x)):
        if x[i] and y[i]:
            k += 1
    return k


def _divided(n: int, dtype: str, rng: np.random.Generator) -> tuple[Any, ...]:
    x, y = rng.integers(-(2**30), 2**30, n), rng.integers(-1000, 1000, n)
    return x.astype(dtype), np.where(y == 0, 7, y).astype(dtype), np.zeros(n, dtype)


def _words(n: int, dtype: str, rng: np.random.Generator) -> tuple[Any, ...]:
    """None below zero, of which NumPy counts the magnitude's bits."""
    most = np.iinfo(dtype).max
    return rng.integers(0, most, n).astype(dtype), rng.integers(0, most, n).astype(dtype)


def _masks(n: int, dtype: str, rng: np.random.Generator) -> tuple[Any, ...]:
    return rng.random(n) < 0.5, rng.random(n) < 0.5


CASES = (
    Case(name="int //", loop=divide, array=lambda x, y, out: np.floor_divide(x, y, out=out),
         c="divide", dtypes=("int32", "int64"), sizes=SIZES, make=_divided, aim="ahead of numba"),
    Case(name="int // 7", loop=divide_7, array=lambda x, out: np.floor_divide(x, 7, out=out),
         c="divide_7", dtypes=("int32", "int64"), sizes=SIZES, make=flat("x", "0"),
         aim="ahead of numba"),
    Case(name="and, popcount", loop=popcount, c="popcount", dtypes=("int32", "int64"), sizes=SIZES,
         array=lambda x, y: np.bitwise_count(x & y).sum(), make=_words, aim="4 numba"),
    Case(name="and, count of bools", loop=both, array=lambda x, y: np.count_nonzero(x & y),
         c="both", hand="and_count", dtypes=("bool",), sizes=SIZES, make=_masks, aim="4 numba"),
)
