"""Type facts: what is known of one expression, joins of facts, and facts by probing NumPy.

A `Fact` is a lattice value: `UNKNOWN` is the top, `join_facts` the least upper bound of the facts
of two paths. There is no bottom, as only code that may run has facts. `probe_fact` finds the fact
about an operation by running it on small samples of its operand types (`type_probe`).
"""
from __future__ import annotations

import ast
import functools
import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from loopir.lazy_dataclass import record

from ..host_nodes import HostConst, HostExpr
from ..types.result_types import DisplaySample, ExactSample, Sample
from ..types.value_types import ELEMENTS, ArrayType, Constant, ListType, RecordType, ScalarType
from .type_probe import Types, probe_types

__all__ = [
    "FLAGS", "INT", "INT_TYPES", "SCALAR", "UNIT_LENGTH", "UNKNOWN", "UNKNOWN_ORDER", "ArrayList",
    "Fact", "Kind", "Shape", "HashTable", "broadcast_rank", "join_scalar_facts", "join_facts",
    "fact_of_types", "Probe", "probe_fact",
]

_NO_TYPES: Types = frozenset()
_NONE_CONSTANT = frozenset({Constant(None, type(None))})
Shape: TypeAlias = tuple[HostExpr | None, ...]
"""Lengths as expressions that can be compared; None for one that is not known."""
UNIT_LENGTH = HostConst(1)
UNKNOWN_ORDER = "?"  # the memory order of an array where it is not known
INT_TYPES: Types = frozenset({ScalarType("i64", weak=True)})


class Fact(NamedTuple):
    """What is known of the value of an expression, on every path. Macros ask for it by
    ``cx.fact(node)``; `expression_facts` computes it for an expression, `flow_facts` for names.

        x[i] + 1          x a float32 array     rank 0, kinds {float32}
        s                 0 or 0.5, by a path   rank 0, kinds {int, float}: `is_int` is False
        np.sqrt(x)[1:]                          rank 1, kinds {float32 array}, owner ""

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
    owner: str | None = None
    """The name of the array that it is, or is a view of: after ``v = x[1:]``, "x" for `v`. The
    empty string for an array that this expression makes (``x + 1``); once it is bound to a name,
    that name is its owner. None: unknown. Arrays of one owner may share memory, those of two do
    not (`alias_analysis.owners_may_alias`).
    """
    memory_order: str | None = None
    """The memory order of the owner's axes, "C", "F" or `UNKNOWN_ORDER`; None: as ``kinds`` tells.
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
        unit = self.array.unit if self.array else None
        if self.rank != 1 and (self.memory_order or unit is None):
            return self.memory_order or UNKNOWN_ORDER  # a view's `unit` may be an axis of length 1
        if self.rank == 1 or unit == (self.rank or 0) - 1:
            return "C"
        return "F" if unit == 0 else UNKNOWN_ORDER

    @property
    def is_int(self) -> bool:
        """Whether it is a Python int on every path, as ``len(x)`` is; no bool, no NumPy integer. In
        lowering, the question is `typed_values.Num.python_int`.
        """
        return self.types == INT_TYPES

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
        """The type of a value that is an array of one dtype on every path, else None. Of several
        layouts, it has one.
        """
        arrays = [t for t in self.types if isinstance(t, ArrayType)]
        if not self.rank or len({t.dtype for t in arrays}) != 1 or len(arrays) < len(self.types):
            return None
        return min(arrays, key=lambda t: (t.unit is not None, t.unit))


@functools.lru_cache(maxsize=1024)
def _numeric_types(kinds: frozenset[ArrayType | ScalarType | Constant], is_array: bool) -> Types:
    """`Fact.types` of a value of ``kinds``; an array may be None on some path."""
    without_constants = frozenset(t for t in kinds if not isinstance(t, Constant))
    is_optional = is_array and kinds - without_constants == _NONE_CONSTANT
    if is_optional or len(without_constants) == len(kinds):
        return without_constants
    return _NO_TYPES


FLAGS = frozenset({
    "aligned", "behaved", "c_contiguous", "carray", "contiguous", "f_contiguous", "farray", "fnc",
    "forc", "fortran", "owndata", "writeable",
})
"""The attributes of ``x.flags`` that are bools."""

UNKNOWN, SCALAR, INT = Fact(None), Fact(0), Fact(0, INT_TYPES)


@record(slots=True)
class ArrayList:
    """A list of arrays of one dtype and rank, which becomes one list of all their elements."""

    dtype: str
    rank: int
    items: str
    """The name of the list of all elements, those of one array after those of another."""
    count: str
    """The name of the number of arrays."""
    most: tuple[str, ...]
    """For each axis, the name of the greatest length of an array."""
    lengths: Sequence[ast.expr] = ()
    """The lengths of the array that was appended last; empty: none yet."""


Kind: TypeAlias = Literal["dict", "set", "Counter", "defaultdict"]


class HashTable(NamedTuple):
    """A dict or set as flat lists: a hash table with open addressing. The fields have the names of
    the lists, "" for a list that it does not need. Entry i of ``keys``, ``values`` and
    ``is_present`` is one key; see `containers.hash_tables`.

        d = {}; d[9] = 0.5; d[2] = 1.5     keys [9, 2], values [0.5, 1.5], slots [-1, 0, 1, -1, …]
    """

    kind: Kind
    key_width: int
    """The number of items of each key, which is a tuple; 0: keys are no tuples."""
    keys: tuple[str, ...]
    """The keys as Python ints, by which they are compared: one list for each item of a key."""
    original_keys: str
    """The keys as they were given, where the function reads them."""
    values: str
    """The values of a dict; of a multimap, the items of all its lists."""
    slots: str
    """The hash slots: each the index of an entry, or -1."""
    is_present: str
    """Where keys are deleted: for each entry, whether it is still in the table."""
    present_count: str
    """Where keys are deleted: the name of the number of entries that are in the table."""
    missing_value: ast.expr | None = None
    """The value of a missing key, for ``defaultdict`` and ``Counter``; None: it raises."""
    iterated_at: frozenset[tuple[int, int]] = frozenset()
    """The positions (line, column) in the source where the table as a whole is iterated over or
    returned. Any other use than by key is left to Python.
    """
    first_item: str = ""
    """Of a multimap (the values are lists): for each key, the index in ``values`` of its first
    item.
    """
    last_item: str = ""
    """Of a multimap: for each key, the index of its last item."""
    next_item: str = ""
    """Of a multimap: for each item, the index of the next item of the same key, or -1."""
    value_width: int = 0
    """The number of items of each value, which is a tuple; 0: values are no tuples."""


def fact_of_types(kinds: frozenset[ArrayType | ScalarType | Constant]) -> Fact:
    """The fact that a value has one of the types `kinds`; UNKNOWN if their ranks differ."""
    ranks = {_rank(t) for t in kinds}
    return Fact(ranks.pop(), kinds) if len(ranks) == 1 else UNKNOWN


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
    memory_order = a.memory_order if a.memory_order == b.memory_order else None
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


class Probe:
    """Base of the fact classes: makes samples of expressions, for probing, from the facts about
    them. `expression_facts.Facts` implements the abstract methods.
    """

    resolve: Callable[[ast.expr], object | None]

    def of(self, e: ast.expr) -> Fact:
        """The fact about the value of `e` at the current statement."""
        raise NotImplementedError

    def outer_fact(self, e: ast.expr) -> Fact:
        """The fact about `e`, an expression without local names, from the environment."""
        raise NotImplementedError

    def complex_part_fact(self, of: Fact, name: str) -> Fact | None:
        """The fact about the attribute `name` of a value of fact `of`, if it is ``real`` or
        ``imag``; else None.
        """
        if name not in ("real", "imag"):
            return None
        fact = probe_fact(operator.attrgetter(name), [of.types])
        if fact is None:
            return None
        return fact._replace(owner=of.owner, memory_order=of.order if fact.rank else None)

    def samples(self, e: ast.expr, index: bool = False) -> list[Sample]:
        """Samples of `e`, one for each type that it may have; none if its type is unknown. An
        `index` that is an int gets the sample 0, which every axis has.
        """
        if index and self.of(e).is_int:
            return [ExactSample(0, int)]
        if self.is_new_axis(e):
            return [ExactSample(None, type(None))]
        match e:
            case ast.Attribute(attr="dtype", value=array) if (of := self.of(array).array):
                return [ExactSample(ELEMENTS[of.dtype].numpy, np.dtype)]
            case ast.Constant(value=value) if not isinstance(value, (bytes, complex)):
                return [ExactSample(value, type(value))]
            case ast.Slice(step=step):
                steps = self.samples(step) if step else [ExactSample(None, type(None))]
                return [
                    DisplaySample(slice, (*[ExactSample(None, type(None))] * 2, s)) for s in steps
                ]
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
                return [ExactSample(-value, type(value))]
            case ast.Tuple(elts=elts) | ast.List(elts=elts):
                make = tuple if isinstance(e, ast.Tuple) else list
                return self._display(make, elts, index)
            case ast.Name() | ast.Attribute() if (dtype := self._type_object(e)) is not None:
                return [ExactSample(dtype, type(dtype))]
            case ast.Attribute(attr="shape", value=array) if rank := self.of(array).rank:
                return [DisplaySample(tuple, tuple(INT_TYPES) * rank)]
        return list(self.of(e).kinds)

    def is_new_axis(self, e: ast.expr) -> bool:
        """Whether `e` is ``np.newaxis``, which is None."""
        return isinstance(e, ast.Attribute) and e.attr == "newaxis" and self.resolve(e.value) is np

    def _type_object(self, e: ast.expr) -> object | None:
        """The class or dtype that `e` names, such as ``np.float32``; None for others."""
        value = self.resolve(e)
        return value if isinstance(value, (type, np.dtype)) else None

    def _display(self, make: Callable[..., object], elts: Sequence[ast.expr], index: bool
                 ) -> list[Sample]:
        """Samples of a display: all combinations of samples of its items."""
        parts: list[tuple[Sample, ...]] = [()]
        for x in elts:
            parts = [(*p, s) for p in parts for s in self.samples(x, index)]
        return [DisplaySample(make, p) for p in parts]


def probe_fact(
    function: Callable[..., Any], operands: Iterable[Iterable[Sample]], *names: str
) -> Fact | None:
    """The fact about ``function(*operands)``, found by calling it on samples; None where that is
    not possible. The last operands are keyword arguments called `names`.
    """
    types = probe_types(function, operands, *names)
    return fact_of_types(types) if types else None
