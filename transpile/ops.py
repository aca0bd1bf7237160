"""Operations that neither Python nor NumPy has a name for, one function each.

They run as plain Python, on NumPy scalars and arrays, and ``@fuse`` functions compile them. All
operands take their common dtype under NEP 50, and the result has it: ``rotl(np.uint8(200), 3)`` is
a uint8. Raises TypeError where the operation is not defined for that dtype, OverflowError where a
Python int does not fit it.
"""
from __future__ import annotations

from typing import Any

import numpy as np

from loopir.ops import OPS
from loopir.types import DTYPES, dtype_of

__all__ = [
    "clamp", "clmul", "erf", "first_set", "fma", "popcount", "relu", "rotl", "rotr", "rsqrt",
    "saturating_add", "saturating_mul", "saturating_sub", "sigmoid",
]


def saturating_add(a: Any, b: Any) -> Any:
    """``a + b`` of integers; where that passes a bound of the dtype, the bound."""
    return _run("saturating_add", a, b)


def saturating_sub(a: Any, b: Any) -> Any:
    """``a - b`` of integers; where that passes a bound of the dtype, the bound."""
    return _run("saturating_sub", a, b)


def saturating_mul(a: Any, b: Any) -> Any:
    """``a * b`` of integers; where that passes a bound of the dtype, the bound."""
    return _run("saturating_mul", a, b)


def rotl(a: Any, by: Any) -> Any:
    """The bits of an integer moved `by` places to the left, those that leave coming in again."""
    return _run("rotl", a, by)


def rotr(a: Any, by: Any) -> Any:
    """The bits of an integer moved `by` places to the right, those that leave coming in again."""
    return _run("rotr", a, by)


def clmul(a: Any, b: Any) -> Any:
    """The carry-less product of integers: that of polynomials over GF(2), its lowest bits."""
    return _run("clmul", a, b)


def popcount(a: Any) -> Any:
    """How many bits of an integer are set."""
    return _run("popcount", a)


def first_set(a: Any) -> Any:
    """The place of the lowest bit of an integer that is set; where none is, -1, which wraps."""
    return _run("first_set", a)


def rsqrt(x: Any) -> Any:
    """``1 / sqrt(x)`` of floats, both rounded."""
    return _run("rsqrt", x)


def relu(x: Any) -> Any:
    """``maximum(x, 0)``; a NaN stays."""
    return _run("relu", x)


def sigmoid(x: Any) -> Any:
    """``1 / (1 + exp(-x))`` of floats, within 8 ULP."""
    return _run("sigmoid", x)


def erf(x: Any) -> Any:
    """The error function of floats, within 4 ULP."""
    return _run("erf", x)


def fma(a: Any, b: Any, c: Any) -> Any:
    """``a * b + c`` of floats, rounded once."""
    return _run("fma", a, b, c)


def clamp(x: Any, low: Any, high: Any) -> Any:
    """``min(max(x, low), high)``; a NaN in `x` stays."""
    return _run("clamp", x, low, high)


def _run(name: str, *operands: Any) -> Any:
    dtype = np.result_type(*operands)
    known = dtype_of(dtype)
    if known is None or DTYPES[known].kind not in OPS[name].kinds:
        raise TypeError(f"{name} is not defined for {dtype}")
    return OPS[name].run(*(np.asarray(x, dtype) for x in operands))[()]
