"""Rows that any target has: what GNU C's own operators do with vectors."""
from __future__ import annotations

from .target import Row

__all__ = ["COMPARISONS", "FLOATS", "GNU", "SIGNED", "UNSIGNED"]

FLOATS = "f32 f64"
SIGNED = "i8 i16 i32 i64"
UNSIGNED = "u8 u16 u32 u64"
_INTS = f"{SIGNED} {UNSIGNED}"
_ALL = f"{FLOATS} {_INTS}"

GNU = (
    Row(op="add", dtypes=_ALL, c="({0} + {1})"),
    Row(op="sub", dtypes=_ALL, c="({0} - {1})"),
    Row(op="mul", dtypes=_ALL, c="({0} * {1})"),
    Row(op="div", dtypes=FLOATS, c="({0} / {1})"),
    Row(op="neg", dtypes=_ALL, c="(-{0})"),
    Row(op="bitand", dtypes=_INTS, c="({0} & {1})"),
    Row(op="bitor", dtypes=_INTS, c="({0} | {1})"),
    Row(op="bitxor", dtypes=_INTS, c="({0} ^ {1})"),
    Row(op="invert", dtypes=_INTS, c="(~{0})"),
)

COMPARISONS = (
    Row(op="eq", dtypes=_ALL, c="({0} == {1})"),
    Row(op="ne", dtypes=_ALL, c="({0} != {1})"),
    Row(op="lt", dtypes=_INTS, c="({0} < {1})"),
    Row(op="le", dtypes=_INTS, c="({0} <= {1})"),
)
"""For targets whose masks are lanes. C's < and <= on floats signal on NaN."""
