"""Type facts: what is known of one expression, joins of facts, and facts by probing NumPy."""
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
    "INT", "INT_TYPES", "SCALAR", "UNIT_LENGTH", "UNKNOWN", "ArrayList", "Fact", "Kind", "Shape",
    "Table", "broadcast_rank", "join_scalar_facts", "join_facts", "fact_of_types", "Probe",
    "probe_fact",
]

_NO_TYPES: Types = frozenset()
_NONE_CONSTANT = frozenset({Constant(None, type(None))})
Shape: TypeAlias = tuple[HostExpr | None, ...]
"""Lengths as expressions that can be compared; None for one that is not known."""
UNIT_LENGTH = HostConst(1)
INT_TYPES: Types = frozenset({ScalarType("i64", weak=True)})


class Fact(NamedTuple):
    """``rank``: that of an array, 1 for a list, 0 for a scalar (not for a 0-d array).

    ``kinds``: what it may be, by the path taken; empty where that is not known, and for lists.
    ``shape``: the lengths of an array made here; None for one that is not known.
    ``owner``: the name of the array that it is, or is a view of. ``lies``: the order of that
    array's axes in memory, which those of the view have. ``record``: what it is of
    records, or as one, which has no rank. ``items``: the names of what it holds, of a tuple that
    is taken apart. ``listed``: it is a list of that type. ``rows``: how many lists deep the items
    of a list made here are.
    """

    rank: int | None
    kinds: frozenset[ArrayType | ScalarType | Constant] = _NO_TYPES
    shape: Shape | None = None
    owner: str | None = None
    lies: str | None = None
    record: RecordType | None = None
    items: tuple[str, ...] | None = None
    listed: ListType | None = None
    rows: int = 0

    @property
    def order(self) -> str:
        """C or F, as the axes of an array lie in memory; ? where that is not known."""
        unit = self.array.unit if self.array else None
        if self.rank != 1 and (self.lies or unit is None):
            return self.lies or "?"  # of a view, an axis of length 1 may be taken for the unit
        return "C" if self.rank == 1 or unit == (self.rank or 0) - 1 else "F" if unit == 0 else "?"

    @property
    def is_int(self) -> bool:
        """Whether it is a Python int, whatever the path taken."""
        return self.types == INT_TYPES

    @property
    def is_integral(self) -> bool:
        """Whether it is an integer of Python's or NumPy's, or an array of integers, whatever the
        path taken; no bool.
        """
        return bool(self.types) and all(ELEMENTS[t.dtype].kind in "iu" for t in self.types)

    @property
    def is_integer(self) -> bool:
        """Whether it is an integer of Python's or NumPy's, whatever the path taken."""
        return self.is_integral and not any(isinstance(t, ArrayType) for t in self.types)

    @property
    def constant(self) -> Constant | None:
        """The value, if it is the same on every path and decides what is compiled."""
        (ty,) = self.kinds if len(self.kinds) == 1 else (None,)
        return ty if isinstance(ty, Constant) else None

    @property
    def types(self) -> Types:
        """As ``kinds``; empty where it may be a constant that is no number, but None in place of
        an array, of which all that is asked of it raises.
        """
        return _numeric_types(self.kinds, bool(self.rank))

    @property
    def array(self) -> ArrayType | None:
        """The type of what is surely an array; its layout may be that of one path only."""
        arrays = [t for t in self.types if isinstance(t, ArrayType)]
        if not self.rank or len({t.dtype for t in arrays}) != 1 or len(arrays) < len(self.types):
            return None
        return min(arrays, key=lambda t: (t.unit is not None, t.unit))


@functools.lru_cache(maxsize=1024)
def _numeric_types(kinds: frozenset[ArrayType | ScalarType | Constant], is_array: bool) -> Types:
    """`Fact.types` of `kinds`; where it ``is_array``, None may be in its place."""
    numbers = frozenset(t for t in kinds if not isinstance(t, Constant))
    either = is_array and kinds - numbers == _NONE_CONSTANT
    return numbers if either or len(numbers) == len(kinds) else _NO_TYPES


UNKNOWN, SCALAR, INT = Fact(None), Fact(0), Fact(0, INT_TYPES)


@record(slots=True)
class ArrayList:
    """A list of arrays of one ``dtype`` and ``rank``. ``items`` is the name of the list of their
    elements, ``count`` that of their number, ``most`` those of their greatest lengths; ``lengths``
    are those of the last that was appended.
    """

    dtype: str
    rank: int
    items: str
    count: str
    most: tuple[str, ...]
    lengths: Sequence[ast.expr] = ()


Kind: TypeAlias = Literal["dict", "set", "Counter", "defaultdict"]


class Table(NamedTuple):
    """The lists that a table is: the parts of its ``keys`` as Python's ints, one list for each item
    of a tuple of ``width`` items (0: no tuple); keys as they came, where these are ``shown``;
    ``values``, of a dict; ``slots``, each the place of a key or -1.

    Where something leaves the table, ``there`` tells of each key whether it is in it, and ``held``
    how many are. ``start`` is the value of a key that is not there. ``walked``: where in the source
    the name stands for all keys, or is returned; but for what keys are asked and given, all else
    is Python's. Where the values are lists, ``values`` are the items of all, each with the place of
    what comes ``after`` it, or -1; and each key has those of the ``first`` and the ``last``.
    ``items``: how many its values have, which are tuples (0: they are none).
    """

    kind: Kind
    width: int
    keys: tuple[str, ...]
    shown: str
    values: str
    slots: str
    there: str
    held: str
    start: ast.expr | None = None
    walked: frozenset[tuple[int, int]] = frozenset()
    first: str = ""
    last: str = ""
    after: str = ""
    items: int = 0


def fact_of_types(kinds: frozenset[ArrayType | ScalarType | Constant]) -> Fact:
    """The fact that a value is one of `kinds`."""
    ranks = {_rank(t) for t in kinds}
    return Fact(ranks.pop(), kinds) if len(ranks) == 1 else UNKNOWN


def _rank(t: ArrayType | ScalarType | Constant) -> int | None:
    if isinstance(t, ScalarType):
        return 0
    return t.rank if isinstance(t, ArrayType) else None


def join_facts(a: Fact, b: Fact) -> Fact:
    """The fact about a value that is described by `a` on one path and by `b` on another."""
    for x, y in ((a, b), (b, a)):
        if x.kinds == _NONE_CONSTANT and y.rank and y.types:
            return y._replace(kinds=y.kinds | _NONE_CONSTANT)
    kinds = a.kinds | b.kinds if a.kinds and b.kinds else _NO_TYPES
    rank = a.rank if a.rank == b.rank else None
    shape = a.shape if a.shape == b.shape else None
    owner = a.owner if a.owner == b.owner else None
    lies = a.lies if a.lies == b.lies else None
    record = a.record if a.record == b.record else None
    items = a.items if a.items == b.items else None
    listed = a.listed if a.listed == b.listed else None
    rows = a.rows if a.rows == b.rows else 0
    rank = rank if a.rows == b.rows else None
    return Fact(rank, kinds, shape, owner, lies, record, items, listed, rows)


def broadcast_rank(facts: Sequence[Fact], at_most: bool) -> Fact:
    """The highest rank of the operands; with `at_most` false, only where all are scalars."""
    ranks = [f.rank for f in facts]
    if None in ranks:
        return UNKNOWN
    rank = max(r for r in ranks if r is not None)
    return Fact(rank) if at_most or rank == 0 else UNKNOWN


def join_scalar_facts(facts: Sequence[Fact]) -> Fact:
    """The fact about a value that is one of several scalars; nothing is known where one is no
    scalar.
    """
    return functools.reduce(join_facts, facts) if all(f.rank == 0 for f in facts) else UNKNOWN


class Probe:
    """Samples of expressions for probing NumPy, made from the facts about them."""

    resolve: Callable[[ast.expr], object | None]

    def of(self, e: ast.expr) -> Fact:
        """What is known of the value of `e` here."""
        raise NotImplementedError

    def outside(self, e: ast.expr) -> Fact:
        """What the environment knows, of an expression without local names."""
        raise NotImplementedError

    def component(self, of: Fact, name: str) -> Fact | None:
        """What is known of the real or imaginary part of `of`."""
        if name not in ("real", "imag"):
            return None
        fact = probe_fact(operator.attrgetter(name), [of.types])
        return fact._replace(owner=of.owner, lies=of.order if fact.rank else None) if fact else None

    def samples(self, e: ast.expr, index: bool = False) -> list[Sample]:
        """Sample values of `e`, one for each type it may have; small ints where it is an `index`.
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
            case ast.Name() | ast.Attribute() if (given := self._object(e)) is not None:
                return [ExactSample(given, type(given))]
            case ast.Attribute(attr="shape", value=array) if rank := self.of(array).rank:
                return [DisplaySample(tuple, tuple(INT_TYPES) * rank)]
        return list(self.of(e).kinds)

    def is_new_axis(self, e: ast.expr) -> bool:
        """Whether `e` is ``np.newaxis``, which is None."""
        return isinstance(e, ast.Attribute) and e.attr == "newaxis" and self.resolve(e.value) is np

    def _object(self, e: ast.expr) -> object | None:
        """A type or function that stands as an argument, such as a dtype."""
        value = self.resolve(e)
        return value if isinstance(value, (type, np.dtype)) else None

    def _display(self, make: Callable[..., object], elts: Sequence[ast.expr], index: bool
                 ) -> list[Sample]:
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
