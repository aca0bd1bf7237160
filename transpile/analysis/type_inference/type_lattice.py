"""The lattice of type inference: what is known of a value, and the join of the facts of two paths.

A `Fact` is a lattice value: `UNKNOWN` is the top, `join_facts` the least upper bound of the facts
of two paths. There is no bottom, as only code that may run has facts.
"""
from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeAlias

from loopir.lazy_dataclass import replace

from ...host_nodes import HostConst, HostExpr
from ...types.value_types import ELEMENTS, ArrayType, Constant, ListType, RecordType, ScalarType
from ..alias_analysis import NEW_ARRAY, Owner
from .type_probe import Types

__all__ = [
    "Environment", "ARRAY_FLAGS", "Fact", "INT", "INT_TYPES", "REVERSED_ORDER", "SCALAR", "Shape",
    "UNIT_LENGTH", "UNKNOWN", "UNKNOWN_ORDER", "broadcast_rank", "fact_of_types", "int_or_float64",
    "join_facts", "join_scalar_facts",
]

_NO_TYPES: Types = frozenset()

_NONE_CONSTANT = frozenset({Constant(None, type(None))})

Shape: TypeAlias = tuple[HostExpr | None, ...]
"""Lengths as expressions that can be compared; None for one that is not known."""

UNIT_LENGTH = HostConst(1)
"""The length of an axis that is known to be 1."""

UNKNOWN_ORDER = "?"  # the memory order of an array where it is not known

REVERSED_ORDER = {"C": "F", "F": "C", UNKNOWN_ORDER: UNKNOWN_ORDER}
"""By the memory order of an array: that of its transpose."""

INT_TYPES: Types = frozenset({ScalarType("i64", weak=True)})
"""`Fact.types` of a Python int."""


class Fact(NamedTuple):
    """What is known of the value of an expression, on every path. Macros ask for it by
    ``cx.fact(node)``; `expression_facts` computes it for an expression, `flow_facts` for names.

        x[i] + 1          x a float32 array     rank 0, kinds {float32}
        s                 0 or 0.5, by a path   rank 0, kinds {int, float}: `is_int` is False
        np.sqrt(x)[1:]                          rank 1, kinds {float32 array}, owner NEW_ARRAY

    The properties ask one question each. Is it an int? `is_int`: of Python's. `is_integer`: of
    Python's or NumPy's, and no array. `is_integral`: that, or an array of integers. `types` are the
    types without constants, `array` the one type of an array.
    """

    rank: int | None
    """The rank of an array, 1 for a list, 0 for a scalar (not for a 0-d array); None: unknown, or
    it differs.
    """
    kinds: frozenset[ArrayType | ScalarType | Constant] = _NO_TYPES
    """All types that it may have, each on some path. Empty: unknown, or a list."""
    shape: Shape | None = None
    """The symbolic lengths of an array (see `shape_rules`), None for an unknown one. None: all are
    unknown.
    """
    owner: Owner | None = None
    """The array that it is, or is a view of. A new array that is bound to a name has that name as
    its owner. None: unknown. Arrays of one owner may share memory, those of two do not
    (`alias_analysis.owners_may_alias`).
    """
    memory_order: str | None = None
    """The memory order of the axes, "C", "F" or `UNKNOWN_ORDER`; of a view, that of the array that
    it is a view of. None: ``kinds`` tells it (`order`).
    """
    record: RecordType | None = None
    """The type of a record, or of an array of records."""
    items: tuple[str, ...] | None = None
    """The names of the items of a scalarized tuple."""
    list_type: ListType | None = None
    """The type of a list that is an argument or a global."""
    list_depth: int = 0
    """The nesting of a list that the function makes: 0 for a list of numbers, 1 for a list of lists
    of numbers.
    """

    @property
    def order(self) -> str:
        """The memory order of an array's axes: "C", "F" or `UNKNOWN_ORDER`."""
        if self.rank == 1:
            return "C"
        if self.memory_order:
            return self.memory_order  # a view's `unit` may be an axis of length 1
        return (self.array and self.array.axis_order) or UNKNOWN_ORDER

    @property
    def has_named_owner(self) -> bool:
        """Whether it is an array that has a name, or a view of one."""
        return self.owner is not None and self.owner != NEW_ARRAY

    @property
    def is_int(self) -> bool:
        """Whether it is a Python int on every path, as ``len(x)`` is; no bool, no NumPy integer. In
        lowering, the question is `typed_values.Num.python_int`.
        """
        return self.types == INT_TYPES

    @property
    def is_bool(self) -> bool:
        """Whether it is a bool or an array of bools on every path."""
        return {t.dtype for t in self.types} == {"bool"}

    @property
    def is_integral(self) -> bool:
        """Whether it is on every path an integer of Python or NumPy, or an array of integers, as
        an index may be; bools are none.
        """
        return bool(self.types) and all(ELEMENTS[t.dtype].kind in "iu" for t in self.types)

    @property
    def is_integer(self) -> bool:
        """Whether it is an integer of Python or NumPy on every path, such as ``i`` or ``x[i]`` of
        an int array, and no array.
        """
        return self.is_integral and not any(isinstance(t, ArrayType) for t in self.types)

    @property
    def constant(self) -> Constant | None:
        """The value, if it is the same on every path and part of the signature; else None."""
        (ty,) = self.kinds if len(self.kinds) == 1 else (None,)
        return ty if isinstance(ty, Constant) else None

    @property
    def types(self) -> Types:
        """``kinds`` without constants. Empty if it may be a constant other than a number; but None
        on the path where an array is missing is left out, since every use of it raises.
        """
        return _numeric_types(self.kinds, bool(self.rank))

    @property
    def array(self) -> ArrayType | None:
        """The type of a value that is an array of one dtype on every path, else None. If the axis
        of unit stride differs from path to path, the type has none.
        """
        return _array_type(self.types) if self.rank else None


@functools.lru_cache(maxsize=1024)
def _array_type(types: Types) -> ArrayType | None:
    """`Fact.array` of a value that has one of these `types`."""
    arrays = [t for t in types if isinstance(t, ArrayType)]
    if len({t.dtype for t in arrays}) != 1 or len(arrays) < len(types):
        return None
    first = min(arrays, key=lambda t: (t.aligned, t.unit is not None, t.unit))
    if len({t.unit for t in arrays}) == 1 == len({t.order for t in arrays}):
        return first
    orders = {t.axis_order for t in arrays}
    return replace(first, unit=None, order=(len(orders) == 1 and orders.pop()) or None)


@functools.lru_cache(maxsize=1024)
def _numeric_types(kinds: frozenset[ArrayType | ScalarType | Constant], is_array: bool) -> Types:
    """`Fact.types` of a value of ``kinds``; an array may be None on some path."""
    without_constants = frozenset(t for t in kinds if not isinstance(t, Constant))
    is_optional = is_array and kinds - without_constants == _NONE_CONSTANT
    if is_optional or len(without_constants) == len(kinds):
        return without_constants
    return _NO_TYPES


ARRAY_FLAGS = frozenset({
    "aligned", "behaved", "c_contiguous", "carray", "contiguous", "f_contiguous", "farray", "fnc",
    "forc", "fortran", "owndata", "writeable",
})
"""The attributes of ``x.flags`` that are bools."""

# nothing is known; a scalar of unknown type; a Python int
UNKNOWN, SCALAR, INT = Fact(None), Fact(0), Fact(0, INT_TYPES)


def fact_of_types(kinds: frozenset[ArrayType | ScalarType | Constant]) -> Fact:
    """The fact that a value has one of the types `kinds`; UNKNOWN if their ranks differ."""
    ranks = {_rank(t) for t in kinds}
    return Fact(ranks.pop(), kinds) if len(ranks) == 1 else UNKNOWN


def int_or_float64(types: Iterable[ArrayType | ScalarType | Constant]) -> bool:
    """Whether numbers of all `types` are Python's ints, and floats in 64 bits, Python's or NumPy's:
    an array of them has dtype float64 if there is a float among them, and int64 if not.
    """
    kinds = {(t.dtype, t.weak) if isinstance(t, ScalarType) else ("", False) for t in types}
    return ("i64", True) in kinds and len(kinds) > 1 and kinds <= {
        ("i64", True), ("f64", True), ("f64", False)
    }


def _rank(t: ArrayType | ScalarType | Constant) -> int | None:
    """The rank of a value of type `t`; None for a constant."""
    if isinstance(t, ScalarType):
        return 0
    return t.rank if isinstance(t, ArrayType) else None


def join_facts(a: Fact, b: Fact) -> Fact:
    """The fact about a value that has the fact `a` on one path and `b` on the other (the least
    upper bound of the lattice): it may have the types of both; of shape, owner and the rest, only
    what is equal on both paths is known.

        s: int,  s: float                →   s: int or float
        x: f64 array of shape (n,),  x: f64 array of shape (m,)   →   f64 array of rank 1

    If the types are unknown on one path, they are unknown. None on one path and an array on the
    other is the array, which may be None: it has the array's rank, since any use of None as one
    raises.
    """
    for x, y in ((a, b), (b, a)):
        if x.kinds == _NONE_CONSTANT and y.rank and y.types:
            return y._replace(kinds=y.kinds | _NONE_CONSTANT)
    kinds = a.kinds | b.kinds if a.kinds and b.kinds else _NO_TYPES
    rank = a.rank if a.rank == b.rank else None
    shape = a.shape if a.shape == b.shape else None
    owner = a.owner if a.owner == b.owner else None
    memory_order = a.memory_order
    if a.memory_order != b.memory_order:  # one of them may follow from ``kinds``
        memory_order = a.order if a.order == b.order else UNKNOWN_ORDER
    record = a.record if a.record == b.record else None
    items = a.items if a.items == b.items else None
    list_type = a.list_type if a.list_type == b.list_type else None
    list_depth = a.list_depth if a.list_depth == b.list_depth else 0
    rank = rank if a.list_depth == b.list_depth else None
    return Fact(rank, kinds, shape, owner, memory_order, record, items, list_type, list_depth)


def broadcast_rank(facts: Sequence[Fact], arrays_allowed: bool) -> Fact:
    """The fact about an elementwise operation on operands of these facts: the highest rank, no
    types. Unless `arrays_allowed`, UNKNOWN where one is no scalar.
    """
    ranks = [f.rank for f in facts]
    if None in ranks:
        return UNKNOWN
    rank = max(r for r in ranks if r is not None)
    return Fact(rank) if arrays_allowed or rank == 0 else UNKNOWN


def join_scalar_facts(facts: Sequence[Fact]) -> Fact:
    """The fact about a value that is one of several scalars; UNKNOWN if one is no scalar."""
    return functools.reduce(join_facts, facts) if all(f.rank == 0 for f in facts) else UNKNOWN


Environment: TypeAlias = "dict[str, Fact]"
"""Facts about local names, by the name."""
