"""Element types (dtypes): one row each, with the NumPy and the C spelling."""
from __future__ import annotations

import numpy as np

from .lazy_dataclass import record

__all__ = [
    "DTYPES", "INDEX", "MIN_PACKED_BOOLS", "MAX_PARAMS", "MAX_RANK", "DType", "dtype_name",
    "converts_directly",
]

MIN_PACKED_BOOLS = 128
"""Least length of a packed bool array, so that whole machine words can be read from its memory."""

MAX_PARAMS = 256
"""Largest number of parameters of a kernel: ``entry.c`` has room for so many arguments on its
stack. `load_kernel` refuses more, and Python runs the function."""

MAX_RANK = 5
"""Largest rank of an array: ``tp_array`` in ``abi.h`` has so many fields for lengths and strides.
Python serves calls with arrays of more axes."""


@record(frozen=True, slots=True, kw_only=True)
class DType:
    """An element type.

    ``kind`` is ``"f"`` (float), ``"i"`` (signed), ``"u"`` (unsigned) or ``"b"`` (bool). ``wide`` is
    set for a storage-only dtype (float16) and names the dtype that its operations are computed in.
    A bool takes one byte in memory (`passes.memory.pack_bools` packs large private arrays of them).
    """

    name: str
    numpy: np.dtype
    c: str
    kind: str
    wide: str | None = None

    @property
    def bytes(self) -> int:
        return int(self.numpy.itemsize)

    @property
    def bits(self) -> int:
        return 8 * self.bytes

    @property
    def low(self) -> int:
        """Smallest value of an integer type."""
        return -(1 << (self.bits - 1)) if self.kind == "i" else 0

    @property
    def high(self) -> int:
        """Largest value of an integer type."""
        if self.kind == "b":
            return 1
        return (1 << (self.bits - (self.kind == "i"))) - 1


def _row(name: str, numpy: str, c: str, kind: str, wide: str | None = None) -> DType:
    return DType(name=name, numpy=np.dtype(numpy), c=c, kind=kind, wide=wide)


DTYPES: dict[str, DType] = {
    d.name: d
    for d in (
        _row("bool", "?", "uint8_t", "b"),
        _row("i8", "i1", "int8_t", "i"),
        _row("i16", "i2", "int16_t", "i"),
        _row("i32", "i4", "int32_t", "i"),
        _row("i64", "i8", "int64_t", "i"),
        _row("u8", "u1", "uint8_t", "u"),
        _row("u16", "u2", "uint16_t", "u"),
        _row("u32", "u4", "uint32_t", "u"),
        _row("u64", "u8", "uint64_t", "u"),
        _row("f16", "f2", "uint16_t", "f", wide="f32"),
        _row("f32", "f4", "float", "f"),
        _row("f64", "f8", "double", "f"),
    )
}
"""The row (`DType`) of each element type, by the name that it has in the IR.

A bool is a byte, 0 or 1. ``f16`` is only loaded and stored, so its C type is an integer of as many
bits; its operations are computed in ``f32`` and rounded (`passes.canonical.promote_f16`). Complex
numbers have no row: an array of them is one of floats with one more axis, real and imaginary part.
"""

INDEX = "i64"  # the dtype of subscripts, lengths and trip counts

_BY_NUMPY = {d.numpy: d.name for d in DTYPES.values()}


def dtype_name(dtype: np.dtype) -> str | None:
    """The IR name of a NumPy dtype; None for a dtype without one (object, complex, byte-swapped …).
    """
    return _BY_NUMPY.get(dtype) if dtype.isnative else None


def converts_directly(source: str, target: str) -> bool:
    """Whether one cast converts `source` to `target`. A storage-only dtype is read only as its
    ``wide`` dtype (f16 → f32), and is made of any float: f64 → f16 is one conversion, since by way
    of f32 it would be rounded twice; f16 → f64 and i32 → f16 are two.
    """
    a, b = DTYPES[source], DTYPES[target]
    return a.wide in (None, target) and (b.wide is None or a.kind == "f")
