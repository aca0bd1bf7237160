"""What names turn out to hold, in the words of signatures: `float`, `f64[:, :]`."""
from __future__ import annotations

from collections.abc import Iterator

from ..infer import Num
from ..pair import Pair
from ..types import ArrayType, ListType, ScalarType
from .values import ArrayRef, Cases, ListRef, Made, RecordsRef, Unbound

__all__ = ["type_texts"]


def type_texts(value: object) -> Iterator[str]:
    """The types that what a name stands for may have; what has none here is left out."""
    match value:
        case Num(strong=strong, weak=weak):
            if strong is not None:
                yield str(ScalarType(strong))
            if weak is not None:
                yield str(ScalarType(weak, weak=True))
        case Pair(strong=strong):
            yield strong or "complex"
        case ArrayRef(dtype=dtype, kinds=kinds, weak=weak) if kinds:
            yield str(ListType(ScalarType(dtype, weak), kinds))
        case ArrayRef(dtype=dtype, unit=unit):
            yield str(ArrayType(dtype, value.rank, unit))
        case Cases(cases=cases):
            for case in cases:
                yield from type_texts(case.value)
        case Unbound(value=Num() as last):
            yield from type_texts(last)
        case RecordsRef(type=ty):
            yield str(ty)
        case Made(array=ArrayRef() as array):
            yield from type_texts(array)
        case ListRef():
            yield "list"
