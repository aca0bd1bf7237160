"""Public operations that neither Python nor NumPy has a name for, one function each.

They run as plain Python, on NumPy scalars and arrays, and ``@fuse`` functions compile them.
The operands are converted to their common dtype under NEP 50, which is that of the result:
``rotl(np.uint8(200), 3)`` is a uint8. Raises TypeError if the operation is not defined for
that dtype, OverflowError if a Python int does not fit it.

A mask of at most 64 lanes is an integer whose bit ``k`` is lane ``k``. Masks are combined by
``& | ^``, counted by `popcount`, searched by `first_set`.
"""
from __future__ import annotations

from operator import index
from typing import Any

import numpy as np

from loopir.dtypes import DTYPES, dtype_name
from loopir.op_table import OPS

__all__ = [
    "all_set", "any_set", "clamp", "clmul", "erf", "first_set", "fma", "from_bitmask", "has_bit",
    "mask_not", "mul_high", "popcount", "relu", "rotl", "rotr", "rsqrt", "saturating_add",
    "saturating_mul", "saturating_sub", "sigmoid", "to_bitmask",
]

LANES = 64
"""The maximal number of lanes of a mask."""


def saturating_add(a: Any, b: Any) -> Any:
    """``a + b`` of integers, clamped to the bounds of the dtype."""
    return _run("saturating_add", a, b)


def saturating_sub(a: Any, b: Any) -> Any:
    """``a - b`` of integers, clamped to the bounds of the dtype."""
    return _run("saturating_sub", a, b)


def saturating_mul(a: Any, b: Any) -> Any:
    """``a * b`` of integers, clamped to the bounds of the dtype."""
    return _run("saturating_mul", a, b)


def rotl(a: Any, by: Any) -> Any:
    """The bits of an integer rotated left by `by` places."""
    return _run("rotl", a, by)


def rotr(a: Any, by: Any) -> Any:
    """The bits of an integer rotated right by `by` places."""
    return _run("rotr", a, by)


def clmul(a: Any, b: Any) -> Any:
    """The low half of the carry-less product of integers, as polynomials over GF(2)."""
    return _run("clmul", a, b)


def mul_high(a: Any, b: Any) -> Any:
    """The high half of the product of integers."""
    return _run("mul_high", a, b)


def popcount(a: Any) -> Any:
    """The number of set bits of an integer."""
    return _run("popcount", a)


def first_set(a: Any) -> Any:
    """The index of the lowest set bit of an integer; -1 if none is set, which wraps in an unsigned
    dtype.
    """
    return _run("first_set", a)


def rsqrt(x: Any) -> Any:
    """``1 / sqrt(x)`` of floats, with the root and the quotient both rounded."""
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


def to_bitmask(flags: Any) -> np.uint64:
    """The mask of a vector, list or tuple of at most 64 bools.

    Raises TypeError for anything else, ValueError for more bools.
    """
    lanes = np.asarray(flags)
    if lanes.ndim != 1 or (lanes.dtype != bool and lanes.size):
        raise TypeError(f"to_bitmask is not defined for {lanes.dtype} of shape {lanes.shape}")
    if lanes.size > LANES:
        raise ValueError(f"a mask has at most {LANES} lanes, not {lanes.size}")
    mask: np.uint64 = np.uint64(sum(1 << int(k) for k in np.flatnonzero(lanes)))
    return mask


def from_bitmask(mask: Any, n: Any) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """The first `n` lanes of a mask as a vector of bools. Raises ValueError if `n` is negative or
    more than 64.
    """
    size = index(n)
    if not 0 <= size <= LANES:
        raise ValueError(f"a mask has at most {LANES} lanes, not {size}")
    bits = index(mask)
    return np.array([bits >> k & 1 for k in range(size)], bool)


def has_bit(mask: Any, k: Any) -> Any:
    """Whether lane `k` of a mask is set. Beyond the last bit: whether the mask is negative."""
    mask, k = _whole("has_bit", mask, k)
    return (mask >> k & 1 != 0)[()]


def any_set(mask: Any) -> Any:
    """Whether a lane of a mask is set."""
    (mask,) = _whole("any_set", mask)
    return (mask != 0)[()]


def all_set(mask: Any, n: Any) -> Any:
    """Whether the first `n` lanes of a mask are all set; for a larger or negative `n`, all lanes of
    its dtype.
    """
    mask, low = _lowest("all_set", mask, n)
    return (mask & low == low)[()]


def mask_not(mask: Any, n: Any) -> Any:
    """The mask with its first `n` lanes inverted and the others off; `n` as in `all_set`."""
    mask, low = _lowest("mask_not", mask, n)
    return (~mask & low)[()]


def _lowest(name: str, mask: Any, n: Any) -> tuple[Any, Any]:
    """The mask, and a mask of the same dtype with the first `n` lanes set."""
    mask, n = _whole(name, mask, n)
    with np.errstate(over="ignore"):
        return mask, np.asarray((np.ones_like(n) << n) - n.dtype.type(1))


def _whole(name: str, *operands: Any) -> list[Any]:
    """The operands as arrays of their common dtype. Raises TypeError if that is no integer dtype.
    """
    dtype = np.result_type(*operands)
    known = dtype_name(dtype)
    if known is None or DTYPES[known].kind not in "iu":
        raise TypeError(f"{name} is not defined for {dtype}")
    return [np.asarray(x, dtype) for x in operands]


def _run(name: str, *operands: Any) -> Any:
    """The result of the operation `name` of the op table on `operands`, in their common dtype.
    Raises TypeError if it is not defined for that dtype.
    """
    dtype = np.result_type(*operands)
    known = dtype_name(dtype)
    if known is None or not OPS[name].accepts(known):
        raise TypeError(f"{name} is not defined for {dtype}")
    return OPS[name].run(*(np.asarray(x, dtype) for x in operands))[()]
