"""Element types of dynamic-list buffers: one dtype, or two with a flag for each item."""
from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from loopir.dtypes import DTYPES
from loopir.lazy_dataclass import record
from loopir.nodes import Call, Const, Expr

from ...types.typed_values import FALSE, TRUE, Num, bool_op, cast
from ..state.symbol_values import Scalar, UnionCase, UnionValue

__all__ = [
    "BufferType", "decode_item", "exact_float_checks", "encode_item", "buffer_type_for",
    "item_types",
]

_INT, _FLOAT = ("i64", True), ("f64", True)


@record(frozen=True, slots=True)
class BufferType:
    """What a buffer holds: Python's numbers where ``weak``; where ``mixed`` some are of dtype
    ``python``, and Python's. Not ``sure``: nothing has been put into it so far, and ints
    are a guess, floats the second.
    """

    dtype: str = "i64"
    weak: bool = True
    mixed: bool = False
    sure: bool = True
    python: str | None = None

    @property
    def types(self) -> frozenset[tuple[str, bool]]:
        """The dtypes of its items, each with whether these are Python's."""
        if not self.sure:
            return frozenset()
        others = {(self.python or self.dtype, True)} if self.mixed else set()
        return frozenset({(self.dtype, self.weak), *others})


def item_types(value: Scalar) -> frozenset[tuple[str, bool]] | None:
    """The dtypes that an item may have, each with whether it is Python's; None where it is not only
    a number, or not exactly that of the kernel.
    """
    found: set[tuple[str, bool]] = set()
    for n, _ in _item_cases(value):
        if not isinstance(n, Num) or n.boxed or not n.exact:
            return None
        found |= {(d, python) for d, python in ((n.strong, False), (n.weak, True)) if d}
    return frozenset(found)


def buffer_type_for(types: frozenset[tuple[str, bool]]) -> BufferType | None:
    """What holds items of all `types` and tells them apart; None where nothing does."""
    if types == {_INT, _FLOAT}:
        return BufferType("f64", True, True, python="i64")
    numpy = {dtype for dtype, python in types if not python}
    weak = {dtype for dtype, python in types if python}
    if len(numpy) > 1 or len(weak) > 1:
        return None
    dtype, *_ = numpy or weak
    if numpy and weak and weak != numpy and (dtype, *weak) != ("f64", "i64"):
        return None
    return BufferType(
        dtype, not numpy, bool(numpy and weak), python=next(iter(weak - {dtype}), None)
    )


def encode_item(value: Scalar, held: BufferType) -> tuple[Expr, Expr, list[Expr]]:
    """An item as `held` has it, whether it is one of those apart, and what must hold for that."""
    item: Expr | None = None
    apart: Expr = FALSE
    checks: list[Expr] = []
    for n, when in ((n, when) for n, when in _item_cases(value) if isinstance(n, Num)):
        here = n.ir
        if n.dtype != held.dtype:
            checks += [
                bool_op("or", bool_op("not", when), e) for e in exact_float_checks(n, held.dtype)
            ]
            here = cast(n.ir, held.dtype)
        one = n.weak_now if not held.weak else TRUE if n.weak == held.python else FALSE
        item = here if item is None else Call("select", (when, here, item), held.dtype)
        apart = bool_op("or", apart, bool_op("and", when, one))
    assert item is not None
    return item, apart, checks


def decode_item(n: Num) -> UnionValue:
    """What was put there where all are Python's: `n`, read as if others were NumPy's."""
    item, apart, dtype = n.ir, n.weak_now, n.weak or n.dtype
    there = Call("select", (apart, item, Const(0.0, item.dtype)), item.dtype)
    one = UnionCase(Num(cast(there, dtype), weak=dtype), apart)
    return UnionValue((one, UnionCase(Num(item, weak=item.dtype), bool_op("not", apart))))


def exact_float_checks(n: Num, dtype: str) -> Iterator[Expr]:
    """That an int is a number of a floating-point `dtype`."""
    most = 1 << np.finfo(DTYPES[dtype].numpy).nmant
    low, high = n.interval
    if high > most:
        yield Call("le", (n.ir, Const(most, n.dtype)), "bool")
    if low < -most:
        yield Call("ge", (n.ir, Const(-most, n.dtype)), "bool")


def _item_cases(value: Scalar) -> list[tuple[object, Expr]]:
    if isinstance(value, UnionValue):
        return [(c.value, c.when) for c in value.cases]
    return [(value, TRUE)]
