"""The values that a name can have during lowering: scalars, arrays, lists, unions, unbound.

`type_texts` spells their types as signatures do: `float`, `f64[:, :]`.
"""
from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import field
from enum import Enum
from typing import Any, TypeAlias

from loopir.analysis.affine import LinearForm
from loopir.lazy_dataclass import record
from loopir.nodes import Expr, Var

from ...result_spec import ResultSpec
from ...types.typed_values import ComplexPair, Num
from ...types.value_types import ArrayType, ListType, RecordType, ScalarType

__all__ = [
    "Absent", "ArrayRef", "AxisStride", "FinishedList", "ListRef", "LoopCarried", "LoopFrame",
    "RecordArrayRef", "Scalar", "Unbound", "UnionCase", "UnionValue", "Value", "type_texts",
]


@record(frozen=True, slots=True)
class AxisStride:
    """A subscript that goes along an axis of a view: ``start + step * i``. A step that only the
    call knows is a number.
    """

    axis: int
    start: Num
    step: int | Num = 1


@record(frozen=True, slots=True)
class ArrayRef:
    """An array parameter of the kernel, or a view of it, whose ``places`` say for each axis of the
    parameter which subscript it has. ``shape`` is the view's. ``weak``: its elements are Python's;
    with ``flags``, a bool array, those for which it holds, of dtype ``python`` if that is another.
    ``kinds``, where it stands for lists: list or tuple, of each axis.
    """

    name: str
    dtype: str
    unit: int | None
    shape: tuple[Num, ...] = field(hash=False)
    places: tuple[Num | AxisStride, ...] = field(default=(), hash=False)
    weak: bool = False
    flags: str | None = None
    python: str | None = None
    kinds: tuple[type, ...] = ()

    @property
    def rank(self) -> int:
        return len(self.shape)


@record(frozen=True, slots=True)
class RecordArrayRef:
    """An array of records; or a view of it, or a record, which is what ``view`` is of one of its
    fields. What is read in it is there where ``needed`` holds (None: always). ``path`` are the
    fields by which it lies in those of that name.
    """

    name: str
    type: RecordType
    view: ArrayRef | None = None
    needed: Expr | None = None
    path: tuple[str, ...] = ()

    @property
    def is_whole(self) -> bool:
        """Whether it is the array of that name itself."""
        return self.view is None and not self.path


@record(frozen=True, slots=True)
class ListRef:
    """A list under construction."""

    name: str


@record(frozen=True, slots=True)
class FinishedList:
    """What was made of a finished list: how it is returned, and the array that it reads as."""

    returned: ResultSpec
    array: ArrayRef | None


@record(frozen=True, slots=True)
class Unbound:
    """A name that may have no value here; if ``needed`` (a bool) holds, it has ``value``."""

    value: Num | None = None
    needed: Expr | None = None


class Absent(Enum):
    """What a name stands for that has no number."""

    NONE = "None"
    UNBOUND = "unbound"


@record(frozen=True, slots=True)
class UnionCase:
    """What a value is where ``when`` holds: a number of one type, an array, or none of both."""

    value: Num | ArrayRef | Absent
    when: Expr


@record(frozen=True, slots=True)
class UnionValue:
    """A value whose type, or which array it is, depends on the data: one of the cases holds."""

    cases: tuple[UnionCase, ...]


Scalar: TypeAlias = Num | ComplexPair | UnionValue

Value: TypeAlias = (
    "Scalar | ArrayRef | RecordArrayRef | ListRef | FinishedList | Unbound | tuple[Any, ...]"
)


@record(frozen=True, slots=True)
class LoopFrame:
    """A loop being lowered: its statement, the number of the iteration, what the source's name is
    in it, the trip count, the linear form of the count where it is positive, whether there is an
    iteration. One that ``exits`` makes that many at most.
    """

    node: ast.For | ast.While
    var: Var
    element: Callable[[LinearForm], Num] | None
    trips: Expr
    linear: LinearForm
    some: Expr
    exits: bool = False


def type_texts(value: object) -> Iterator[str]:
    """The types that what a name stands for may have; what has none here is left out."""
    match value:
        case Num(strong=strong, weak=weak):
            if strong is not None:
                yield str(ScalarType(strong))
            if weak is not None:
                yield str(ScalarType(weak, weak=True))
        case ComplexPair(strong=strong):
            yield strong or "complex"
        case ArrayRef(dtype=dtype, kinds=kinds, weak=weak) if kinds:
            yield str(ListType(ScalarType(dtype, weak), kinds))
        case ArrayRef(dtype=dtype, unit=unit):
            yield str(ArrayType(dtype, value.rank, unit))
        case UnionValue(cases=cases):
            for case in cases:
                yield from type_texts(case.value)
        case Unbound(value=Num() as last):
            yield from type_texts(last)
        case RecordArrayRef(type=ty):
            yield str(ty)
        case FinishedList(array=ArrayRef() as array):
            yield from type_texts(array)
        case ListRef():
            yield "list"


@record(frozen=True, slots=True)
class LoopCarried:
    """How a loop carries one name.

    ``var``: the accumulator, of the dtype that holds the name's value in every iteration.
    ``strong``: its NumPy type inside the loop, or None; ``weak``: its Python type ("i64", "f64",
    "bool"), or None; with both, it is of either type, depending on the data.
    ``changes_after_first``: it has another type in the first iteration than in all later ones,
    as ``s`` in ``s = 0; for …: s += x[i]``.
    ``has_type_flag``: a second accumulator, `flag`, tells whether it is a Python scalar now.
    ``exact``: `var` holds the value before the loop exactly.
    ``fits_safe_range``: an integer that stays in the interval `int_limits.ANY`, not just in
    64 bits, so that small sums with it cannot overflow.
    ``may_be_unbound``: it has no value before some iteration assigns one; an accumulator, `bound`,
    tells whether one has.
    ``step``: not None for an int that grows by this much in each iteration: it is computed from the
    iteration number and needs no accumulator.
    """

    var: Var
    strong: str | None
    weak: str | None
    changes_after_first: bool = False
    has_type_flag: bool = False
    exact: bool = True
    fits_safe_range: bool = True
    may_be_unbound: bool = False
    step: int | None = None

    @property
    def flag(self) -> Var:
        """Whether it is a Python scalar now."""
        return Var(self.var.name + "py", "bool")

    @property
    def bound(self) -> Var:
        """Whether it has a value by now."""
        return Var(self.var.name + "set", "bool")
