"""Instruction rows that every target shares: operators of GNU C vector extensions."""
from __future__ import annotations

from .target import InstrRow

__all__ = ["COMPARISON_ROWS", "FLOATS", "GNU_ROWS", "SIGNED", "UNSIGNED"]

FLOATS = "f32 f64"
SIGNED = "i8 i16 i32 i64"
UNSIGNED = "u8 u16 u32 u64"
_INTS = f"{SIGNED} {UNSIGNED}"
_ALL = f"{FLOATS} {_INTS}"

GNU_ROWS = (
    InstrRow(op="add", dtypes=_ALL, c="({0} + {1})"),
    InstrRow(op="sub", dtypes=_ALL, c="({0} - {1})"),
    InstrRow(op="mul", dtypes=_ALL, c="({0} * {1})"),
    InstrRow(op="div", dtypes=FLOATS, c="({0} / {1})"),
    InstrRow(op="neg", dtypes=_ALL, c="(-{0})"),
    InstrRow(op="bitand", dtypes=_INTS, c="({0} & {1})"),
    InstrRow(op="bitor", dtypes=_INTS, c="({0} | {1})"),
    InstrRow(op="bitxor", dtypes=_INTS, c="({0} ^ {1})"),
    InstrRow(op="invert", dtypes=_INTS, c="(~{0})"),
)

COMPARISON_ROWS = (
    InstrRow(op="eq", dtypes=_ALL, c="({0} == {1})"),
    InstrRow(op="ne", dtypes=_ALL, c="({0} != {1})"),
    InstrRow(op="lt", dtypes=_INTS, c="({0} < {1})"),
    InstrRow(op="le", dtypes=_INTS, c="({0} <= {1})"),
)
"""For targets whose masks are lanes. Floats have no row for < and <= here, since C's raise a flag
for a NaN."""
