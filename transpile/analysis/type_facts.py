"""Type facts: what is known of one expression, joins of facts, and facts by probing NumPy.

A `Fact` is a lattice value: `UNKNOWN` is the top, `join_facts` the least upper bound of the facts
of two paths. There is no bottom, as only code that may run has facts. `probe_fact` finds the fact
about an operation by running it on small samples of its operand types (`type_probe`).
"""
from __future__ import annotations

import ast
import functools
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from loopir.lazy_dataclass import record, replace

from ..frontend.ast_names import bound_names, mentions_none_of, names_bound_once
from ..frontend.ast_walk import walk_nodes
from ..frontend.core_nodes import copy_location
from ..host_nodes import HostConst, HostExpr
from ..types.result_types import DisplaySample, ExactSample, Sample
from ..types.type_env import Env
from ..types.value_types import (
    ELEMENTS,
    ArgType,
    ArrayType,
    Constant,
    ListType,
    ObjectType,
    Opaque,
    RecordType,
    ScalarType,
)
from .access_paths import access_path
from .alias_analysis import NEW_ARRAY, Owner
from .escape_analysis import EscapeAnalysis
from .type_probe import Types, probe_types

__all__ = [
    "FLAGS", "INT", "INT_TYPES", "SCALAR", "UNIT_LENGTH", "UNKNOWN", "UNKNOWN_ORDER", "ArrayList",
    "Fact", "Kind", "Shape", "HashTable", "LinkedRows", "broadcast_rank", "join_scalar_facts",
    "join_facts", "Environment", "Facts", "fact_of_types", "is_new_axis", "probe_fact",
    "samples_of",
]

_NO_TYPES: Types = frozenset()
_NONE_CONSTANT = frozenset({Constant(None, type(None))})
Shape: TypeAlias = tuple[HostExpr | None, ...]
"""Lengths as expressions that can be compared; None for one that is not known."""
UNIT_LENGTH = HostConst(1)
"""The length of an axis that is known to be 1."""
UNKNOWN_ORDER = "?"  # the memory order of an array where it is not known
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
        unit = self.array.unit if self.array else None
        if self.rank != 1 and (self.memory_order or unit is None):
            return self.memory_order or UNKNOWN_ORDER  # a view's `unit` may be an axis of length 1
        if self.rank == 1 or unit == (self.rank or 0) - 1:
            return "C"
        return "F" if unit == 0 else UNKNOWN_ORDER

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
        arrays = [t for t in self.types if isinstance(t, ArrayType)]
        if not self.rank or len({t.dtype for t in arrays}) != 1 or len(arrays) < len(self.types):
            return None
        first = min(arrays, key=lambda t: (t.aligned, t.unit is not None, t.unit))
        return first if len({t.unit for t in arrays}) == 1 else replace(first, unit=None)


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

# nothing is known; a scalar of unknown type; a Python int
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
    """The lengths that all arrays are expected to have, by the first that is appended; empty: no
    append was expanded yet. A test where they are stacked compares (`containers.array_lists`)."""


Kind: TypeAlias = Literal["dict", "set", "Counter", "defaultdict"]


class LinkedRows(NamedTuple):
    """Growing lists as one flat list: the names of the list of all ``items``, in the order in which
    they were appended, and of the lists of their links; see `containers.linked_rows`.

        g = [[], []]; g[1].append(7); g[0].append(8); g[1].append(9)
        items [7, 8, 9], next_item [2, -1, -1], first_item [1, 0], last_item [1, 2], counts [1, 2]
    """

    items: str
    next_item: str  # for each item, the index of the next item of the same row, or -1
    first_item: str  # for each row, the index of its first item, or -1
    last_item: str  # for each row, the index of its last item, or -1
    counts: str = ""  # for each row, its number of items; "" where no length of a row is used


class HashTable(NamedTuple):
    """A dict or set as flat lists: a hash table with open addressing. The fields have the names of
    the lists, "" for a list that it does not need. Entry i of ``keys``, ``values`` and
    ``is_present`` is one key; see `containers.tables.hash_tables`.

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

    @property
    def linked(self) -> LinkedRows:
        """The lists of a multimap."""
        return LinkedRows(self.values, self.next_item, self.first_item, self.last_item)


def _owner_of_path(e: ast.expr) -> Owner | None:
    """The array from outside that the access path `e` reads; None where `e` is no path."""
    path = access_path(e)
    return None if path is None else Owner(*path)


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

_AfterLoop: TypeAlias = tuple[Environment, Environment]
"""The facts at the end of the body of a loop, and at its breaks."""


class Facts:
    """The state of type inference: what is known of the names of a function before the statement
    that is expanded or recorded next. Macros know it as ``cx.facts``; `flow_facts.new_facts` makes
    it, and the functions of `flow_facts` update it statement by statement.

    ``known`` has the fact about each local name. ``resolve``: the object that a free name or dotted
    name refers to, None if unknown. ``fresh``: makes a new name from a hint. ``infer``: the rules
    for expressions (`expression_facts.infer_fact`). ``unscalarizable``: local names that are not
    scalarized where they are bound to a tuple (`tuple_types.unscalarizable_names`).
    ``tuple_lists``: the lists of tuples, with the number of items of each tuple.
    ``written_by_closures``: names of `tree` that functions defined in it bind by ``nonlocal``.
    """

    def __init__(
        self,
        tree: ast.FunctionDef,
        env: Env,
        resolve: Callable[[ast.expr], object | None],
        fresh: Callable[[str], str],
        written_by_closures: Collection[str],
        infer: Callable[[Facts, ast.expr], Fact],
        unscalarizable: set[str],
        tuple_lists: dict[str, int],
    ) -> None:
        self._env = env
        self._infer = infer
        self.resolve = resolve
        self.fresh = fresh
        # (tuple name, number of items) -> the names of the items, for scalarized tuples
        self.tuple_names: dict[tuple[str, int], tuple[str, ...]] = {}
        # names that the function binds, without its parameters
        self.local_names = bound_names(*tree.body)
        self.unscalarizable = unscalarizable
        self.tuple_lists = tuple_lists
        # local names that are scalarized where they are bound to a tuple of known items
        self.scalarizable = self.local_names - unscalarizable
        # lists of numbers that the function makes, and the types of their items
        self.number_lists: dict[str, Types] = {}
        self.number_tables: dict[str, Types] = {}  # the same of lists of rows of one length
        # lists of arrays that the function makes
        self.array_lists: dict[str, ArrayList] = {}
        # lists of lists that are flat lists: the names of the list of items and of that of the ends
        self.ragged_lists: dict[str, tuple[str, str]] = {}
        # those of them whose creation was already rewritten to flat lists
        self.rewritten_ragged_lists: set[str] = set()
        # lists of growing rows: one list of all items, linked by row
        self.linked_rows: dict[str, LinkedRows] = {}
        # hash tables: dicts and sets whose keys are data
        self.tables: dict[str, HashTable] = {}
        # of `tuple_lists`, the dtype of an array made of the list
        self.tuple_types: dict[str, str] = {}
        # made by `flow_facts.analyse_function`, before any macro changes the tree
        self.escapes: EscapeAnalysis | None = None
        # names that are lengths of array arguments, each with the length: ``x.shape[0]``
        self.lengths: dict[HostExpr, HostExpr] = {}
        # slices that are known to select one element
        self.unit_slices: set[ast.expr] = set()
        # parameters, with the axes that have length 1 in this signature
        self.assumed_unit_length_axes: dict[str, tuple[int, ...]] = {}
        self.known: dict[str, Fact] = {}
        # names that the compiler made for displays of constants
        self.constant_tuples: dict[str, Fact] = {}
        # cache of `of`, by id; the node keeps the id from being used again
        self._cached_facts: dict[int, tuple[ast.expr, Fact]] = {}
        self._cached_under: tuple[object, ...] = ()  # the premises under which it is valid
        self._inferring = False  # whether a call of `of` is running
        for a in walk_nodes(tree.args):  # in their order
            if isinstance(a, ast.arg):
                parameter = copy_location(ast.Name(a.arg, ast.Load()), a)
                self.known[a.arg] = self.fact_of_outer_name(parameter)
        parameters = [n for n in self.known if n not in self.local_names]
        types = {n: env.type(ast.Name(n, ast.Load())) for n in parameters}
        # parameters that are objects and never rebound
        self.objects = {n for n, ty in types.items() if isinstance(ty, ObjectType)}
        # names that may be rebound, or bound in a loop: their values differ from point to point
        self.rebound = (
            self.local_names - names_bound_once(tree) - self._never_rebound([*walk_nodes(tree)])
        )
        # after a call of a local function, nothing is known of these names
        self.written_by_closures = written_by_closures
        # caches, by the id of a loop; the first with the facts before it
        self.loop_results: dict[tuple[int, frozenset[tuple[str, Fact]]], _AfterLoop] = {}
        self.unrolled: dict[int, list[ast.stmt] | None] = {}  # None: it stays a loop
        # for each enclosing loop, the innermost last: the facts at its breaks and continues, by
        # the name of the node class
        self.loop_exits: list[dict[str, Environment]] = []
        # for each enclosing try, the innermost last: the facts with which a handler may start
        self.raising: list[Environment] = []

    def type_of(self, e: ast.expr) -> ArgType | None:
        """The type of an argument, a part of one, or a free name; None for others."""
        return None if isinstance(e, ast.Name) and e.id in self.local_names else self._env.type(e)

    def is_object_member(self, e: ast.expr) -> bool:
        """Whether `e` reads a member of an object that is an argument, by attributes or keys."""
        place = access_path(e)
        of_object = place is not None and place[0] in self.objects
        return of_object and self._env.type(e) is not None

    def _never_rebound(self, nodes: Sequence[ast.AST]) -> set[str]:
        """The parameters, arrays or lists, that `nodes` assign at most by ``+=``, in place."""
        in_place = {s.target for s in nodes if isinstance(s, ast.AugAssign)}
        names = (n for n in nodes if isinstance(n, ast.Name) and n not in in_place)
        rebound = {n.id for n in names if not isinstance(n.ctx, ast.Load)}
        return {name for name, fact in self.known.items() if fact.rank} - rebound

    def fact_of_outer_name(self, e: ast.expr) -> Fact:
        """The fact about `e`, a parameter, a member of one or a global, from its type alone."""
        ty = self._env.type(e)
        if isinstance(ty, RecordType):
            return Fact(ty.rank, owner=_owner_of_path(e), record=ty)
        if isinstance(ty, ListType):
            return Fact(1, list_type=ty)
        if ty is None or isinstance(ty, (ObjectType, Opaque)):
            return UNKNOWN
        if isinstance(ty, ArrayType):
            return self._outer_array_fact(e, ty) if ty.rank else UNKNOWN
        return fact_of_types(frozenset({ty}))

    def _outer_array_fact(self, e: ast.expr, ty: ArrayType) -> Fact:
        """The fact about `e`, an array of type `ty` from outside. Axes of length 1 of a named array
        are noted in ``assumed_unit_length_axes``: `expand._unit_length_guards` guards them.
        """
        unit = ty.unit_length_axes
        kinds, shape = frozenset({replace(ty, unit_length_axes=())}), None
        if isinstance(e, ast.Name) and unit:
            self.assumed_unit_length_axes[e.id] = unit
            shape = tuple(UNIT_LENGTH if axis in unit else None for axis in range(ty.rank))
        return Fact(ty.rank, kinds, shape, owner=_owner_of_path(e))

    def of(self, e: ast.expr) -> Fact:
        """The fact about the value of `e` at the current statement: type, rank, lengths, owner.
        Macros ask by `Context.fact`; `infer_fact` has the rule for each kind of expression.

            x * 2    # x: f64 array of rank 2   →   Fact(rank=2, kinds={f64 array}, shape=that of x)

        Macros ask for the same facts repeatedly: those of `e` and its parts are cached, until
        something that they depend on has changed (`_premises`), such as facts about local names.
        """
        if isinstance(e, ast.Name) and e.id in self.known:
            return self.known[e.id]
        if self._inferring:
            return self._cached_fact(e)
        premises = self._premises()
        if self._cached_under != premises:
            self._cached_facts, self._cached_under = {}, (dict(self.known), *premises[1:])
        self._inferring = True
        try:
            return self._cached_fact(e)
        finally:
            self._inferring = False

    def _premises(self) -> tuple[object, ...]:
        """All that facts depend on besides the expression. Of a set that only grows, the size tells
        whether it has changed.
        """
        return (
            self.known, (*self.number_lists.items(), *self.number_tables.items()),
            len(self.local_names), len(self.rebound), len(self.scalarizable),
            len(self.unit_slices), len(self.constant_tuples), len(self.lengths),
        )

    def _cached_fact(self, e: ast.expr) -> Fact:
        """The fact about `e`, from the cache."""
        entry = self._cached_facts.get(id(e))
        if entry is None:
            entry = self._cached_facts[id(e)] = e, self._infer(self, e)
        return entry[1]

    def outer_fact(self, e: ast.expr) -> Fact:
        """The fact about `e` from the environment; UNKNOWN if it has local names."""
        if not mentions_none_of(e, self.local_names | set(self.known)):
            return UNKNOWN
        return self.fact_of_outer_name(e)

    def is_sole_reference(self, name: str) -> bool:
        """Whether `name` is the only reference to its array or any part of it, where it is bound
        again (`EscapeAnalysis.is_sole_reference`).
        """
        rank = self.known.get(name, UNKNOWN).rank
        if not rank or self.escapes is None:
            return False
        return self.escapes.is_sole_reference(name, rank)

    def is_invariant(self, e: ast.expr) -> bool:
        """Whether `e`, made of lengths and ints, has the same value at every point of the function.
        """
        return mentions_none_of(e, self.rebound)

    def forget(self, names: Iterable[str]) -> None:
        """Makes `names` local names of which nothing is known."""
        self.known.update(dict.fromkeys(names, UNKNOWN))

    @contextmanager
    def tentatively(self) -> Iterator[None]:
        """A context in which facts about local names may be changed, and facts are inferred anew;
        on leaving it they are as before.
        """
        before = dict(self.known)
        cache = self._cached_facts, self._cached_under, self._inferring
        self._inferring = False
        try:
            yield
        finally:
            self.known, (self._cached_facts, self._cached_under, self._inferring) = before, cache


def samples_of(facts: Facts, e: ast.expr, index: bool = False) -> list[Sample]:
    """Samples of `e`, one for each type that it may have; none if its type is unknown. An
    `index` that is an int gets the sample 0, which every axis has.
    """
    if index and facts.of(e).is_int:
        return [ExactSample(0, int)]
    if is_new_axis(facts, e):
        return [ExactSample(None, type(None))]
    match e:
        case ast.Attribute(attr="dtype", value=array) if (of := facts.of(array).array):
            return [ExactSample(ELEMENTS[of.dtype].numpy, np.dtype)]
        case ast.Constant(value=value) if not isinstance(value, (bytes, complex)):
            return [ExactSample(value, type(value))]
        case ast.Slice(step=step):
            steps = samples_of(facts, step) if step else [ExactSample(None, type(None))]
            return [
                DisplaySample(slice, (*[ExactSample(None, type(None))] * 2, s)) for s in steps
            ]
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
            return [ExactSample(-value, type(value))]
        case ast.Tuple(elts=elts) | ast.List(elts=elts):
            make = tuple if isinstance(e, ast.Tuple) else list
            return _display_samples(facts, make, elts, index)
        case ast.Name() | ast.Attribute() if (dtype := _type_object(facts, e)) is not None:
            return [ExactSample(dtype, type(dtype))]
        case ast.Attribute(attr="shape", value=array) if rank := facts.of(array).rank:
            return [DisplaySample(tuple, tuple(INT_TYPES) * rank)]
    return list(facts.of(e).kinds)


def is_new_axis(facts: Facts, e: ast.expr) -> bool:
    """Whether `e` is ``np.newaxis``, which is None."""
    return isinstance(e, ast.Attribute) and e.attr == "newaxis" and facts.resolve(e.value) is np


def _type_object(facts: Facts, e: ast.expr) -> object | None:
    """The class or dtype that `e` names, such as ``np.float32``; None for others."""
    value = facts.resolve(e)
    return value if isinstance(value, (type, np.dtype)) else None


def _display_samples(
    facts: Facts, make: Callable[..., object], elts: Sequence[ast.expr], index: bool
) -> list[Sample]:
    """Samples of a display: all combinations of samples of its items."""
    parts: list[tuple[Sample, ...]] = [()]
    for x in elts:
        parts = [(*p, s) for p in parts for s in samples_of(facts, x, index)]
    return [DisplaySample(make, p) for p in parts]


def probe_fact(
    function: Callable[..., Any], operands: Iterable[Iterable[Sample]], *names: str
) -> Fact | None:
    """The fact about ``function(*operands)``, found by calling it on samples; None where that is
    not possible. The last operands are keyword arguments called `names`.
    """
    types = probe_types(function, operands, *names)
    return fact_of_types(types) if types else None
