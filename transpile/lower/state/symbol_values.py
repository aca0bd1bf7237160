"""The values that a name can have during lowering: scalars, arrays, lists, unions, unbound.

`IRBuilder.env` maps each Python name to one of them::

    def f(x, c):          x: ArrayRef("x", …), the parameter        (no copy: a reference)
        v = x[2:]         v: ArrayRef("x", …, base_index=…), a view of it
        s = v[0] * 2      s: Num(Loop IR of the product, strong="f64")
        if c: s = None    s: UnionValue of that number and None
        y = []            y: ListRef("y"), until the list is finished

Scalars are `Num` and `ComplexPair`, of `transpile/types/typed_values.py`: Loop IR together with the
Python type. Arrays are references to parameters of the kernel, or views of them. `LoopFrame` and
`LoopCarried` describe a loop and the names that it carries.
"""
from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from dataclasses import field
from enum import Enum
from typing import Any, TypeAlias

from loopir.analysis.integers.affine import LinearForm
from loopir.lazy_dataclass import record
from loopir.nodes import Expr, Var
from targets.abi.sequence_conversion import SHARING

from ...result_spec import ResultSpec
from ...types.typed_values import TRUE, ComplexPair, Num, bool_op
from ...types.value_types import (
    ArrayType,
    ListType,
    RecordType,
    ScalarType,
    is_packed,
    sequence_text,
)

__all__ = [
    "Absent", "ArrayRef", "AxisStride", "FinishedList", "ListRef", "LoopCarried", "LoopFrame",
    "RecordArrayRef", "Scalar", "Unbound", "UnionCase", "UnionValue", "Value",
    "conditions_of_flags", "type_texts",
]


@record(frozen=True, slots=True)
class AxisStride:
    """The subscript ``start + step * i`` of an axis of a base array, where ``i`` is the subscript
    of axis number ``axis`` of the view. ``step`` is an int, or a Num where only the call knows it.
    """

    axis: int
    start: Num
    step: int | Num = 1


@record(frozen=True, slots=True)
class ArrayRef:
    """An array parameter of the kernel, or a view of one. To make a view takes no code: an access
    to it is an access to the parameter at other subscripts (`lower.arrays.strided_views`).

        v = X[2:, 5]    →    ArrayRef("X", shape=(n - 2,), base_index=(AxisStride(0, start=2), 5))
        v[i]            →    X[2 + i, 5]

    ``name``: the parameter. ``dtype``: of the elements, "c64" and "c128" included. ``unit``: the
    axis that has unit stride; None: unknown. ``shape``: the lengths of the array or the view.
    ``base_index``: empty for the whole array. For a view, the subscript of each axis of the
    parameter: fixed (Num), or along an axis of the view (AxisStride).
    ``weak``: the elements are Python numbers. ``flags``: a bool array that tells for each element
    whether it is a Python number, if some are and some are not; these have dtype
    ``python_dtype``, or `dtype` if that is None.
    ``kinds``: for an array that holds the items of a list, list or tuple for each axis.
    """

    name: str
    dtype: str
    unit: int | None
    shape: tuple[Num, ...] = field(hash=False)
    base_index: tuple[Num | AxisStride, ...] = field(default=(), hash=False)
    weak: bool = False
    flags: str | None = None
    python_dtype: str | None = None
    kinds: tuple[type, ...] = ()

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def is_packed(self) -> bool:
        """Whether the elements are the items of a packed sequence, such as bytes: Python numbers
        when they are read.
        """
        return is_packed(self.kinds)

    @property
    def has_ints_and_floats(self) -> bool:
        """Whether the elements are Python ints and floats, told apart by ``flags``."""
        return self.weak and self.flags is not None


@record(frozen=True, slots=True)
class RecordArrayRef:
    """An array of records, a view of one, or one record.

    ``name``: the argument. ``type``: of a record. ``view``: the view or record, as a view of one of
    the field arrays; None: the whole array. ``in_bounds``: the condition of its subscripts;
    what is read is valid only where it holds. None: always.
    ``path``: the fields, outermost first, that lead from a record of the argument to this one.
    """

    name: str
    type: RecordType
    view: ArrayRef | None = None
    in_bounds: Expr | None = None
    path: tuple[str, ...] = ()

    @property
    def is_whole(self) -> bool:
        """Whether it is the whole argument, neither a view nor a field of it."""
        return self.view is None and not self.path


@record(frozen=True, slots=True)
class ListRef:
    """A list under construction; `ListState.builders` has its buffer under this name."""

    name: str


@record(frozen=True, slots=True)
class FinishedList:
    """A list that grows no more. ``returned``: the result if it is returned. ``array``: the array
    of its items; None: they cannot be read.
    """

    returned: ResultSpec
    array: ArrayRef | None


@record(frozen=True, slots=True)
class Unbound:
    """A name that may be unbound: it has ``value`` where ``is_bound``, a bool, holds. Without
    ``value`` it is unbound, or has a value that lowering does not know, which is never read.
    """

    value: Num | None = None
    is_bound: Expr | None = None


class Absent(Enum):
    """A case of a union that is no number: None, or no value at all."""

    NONE = "None"
    UNBOUND = "unbound"


@record(frozen=True, slots=True)
class UnionCase:
    """One case of a union: ``value``, where the bool ``when`` holds."""

    value: Num | ArrayRef | Absent
    when: Expr


@record(frozen=True, slots=True)
class UnionValue:
    """A value whose type, or whose array, depends on the data: a tagged union, whose tag is a bool
    for each case. At run time the ``when`` of exactly one case holds.

        y = None                 cases of y after it:
        if c:                        Num(x_at, strong="f64")   when c
            y = x[i]                 Absent.NONE               when not c

    The value of a case has no meaning where its ``when`` is false, and must not be used there.
    ``as_float``: of a Python int or a float, the number as a float, in a float64, which must be
    exact; it saves an operation with a float from being lowered once for each type. It is of
    Python, or of either type by a flag. None: not known.

    `tagged_unions.py` makes unions of scalars and lowers operations on them, `alias_states.py`
    unions of arrays.
    """

    cases: tuple[UnionCase, ...]
    as_float: Num | None = None


Scalar: TypeAlias = Num | ComplexPair | UnionValue

Value: TypeAlias = (
    "Scalar | ArrayRef | RecordArrayRef | ListRef | FinishedList | Unbound | tuple[Any, ...]"
)


def conditions_of_flags(flags: Iterable[Expr]) -> Iterator[Expr]:
    """For n cases that n - 1 bools, the `flags`, tell apart: the condition of each case. The active
    case is the first one whose flag is true; the last one if no flag is.

    Flags ``p, q`` → conditions ``p``, ``not p and q``, ``not p and not q``. A generator: a flag is
    asked for when its condition is.
    """
    none_before: Expr = TRUE
    for flag in flags:
        yield bool_op("and", none_before, flag)
        none_before = bool_op("and", none_before, bool_op("not", flag))
    yield none_before


@record(frozen=True, slots=True)
class LoopFrame:
    """A loop that is being lowered.

    ``var``: the number of the iteration, from 0. ``element_at``: the value of the loop's target in
    iteration k; None for a ``while``. ``trips``: the trip count, >= 0; of a loop that
    ``exits_early``, by ``break`` or as a ``while``, the largest that is possible.
    ``last``: the linear form of ``var`` in the last iteration, which is negative where there is no
    iteration. ``runs``: a bool, whether there is an iteration.
    """

    node: ast.For | ast.While
    var: Var
    element_at: Callable[[LinearForm], Num] | None
    trips: Expr
    last: LinearForm
    runs: Expr
    exits_early: bool = False


def type_texts(value: object) -> Iterator[str]:
    """The types that `value` may have, spelled as in signatures: ``float``, ``f64[:, :]``; of a
    list with items of two types ``list[int | float]``. A name that has no value on any path, None
    and tuples have none.
    """
    match value:
        case Num(strong=strong, weak=weak):
            if strong is not None:
                yield str(ScalarType(strong))
            if weak is not None:
                yield str(ScalarType(weak, weak=True))
        case ComplexPair(strong=strong):
            yield strong or "complex"
        case ArrayRef(flags=str(), kinds=kinds) if kinds:
            python_type = ScalarType(value.python_dtype or value.dtype, weak=True)
            items = {str(python_type), str(ScalarType(value.dtype, value.weak))}
            yield sequence_text(" | ".join(sorted(items, reverse=True)), kinds)
        case ArrayRef(dtype=dtype, kinds=kinds, weak=weak, unit=unit) if kinds:
            memory = ArrayType(dtype, 1, unit) if kinds[0] in SHARING else None
            yield str(ListType(ScalarType(value.python_dtype or dtype, weak), kinds, memory=memory))
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
    ``fits_safe_range``: an integer that stays in the interval `int_limits.SAFE_RANGE`, not just in
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
        """The accumulator that tells whether the value is a Python scalar now."""
        return Var(self.var.name + "py", "bool")

    @property
    def bound(self) -> Var:
        """The accumulator that tells whether the name has a value by now."""
        return Var(self.var.name + "set", "bool")
