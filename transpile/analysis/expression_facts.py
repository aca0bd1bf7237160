"""Type inference of expressions: the fact about any expression, given the facts about local names.

`Facts.of` is the entry, `Facts._of` the table by node type. Classes build up: `Probe` (samples),
`SubscriptFacts`, `ShapeFacts` and `TupleFacts`, `CallFacts`, `Facts`; `flow_facts.Flow` adds the
walk over statements. Each operation is probed on samples of its operands' types; where a type is
unknown, rules may still give the rank::

    x * 2          # x: f64 array of rank 2   →   f64 array of rank 2, shape of x
    x[0]           #                          →   f64 array of rank 1, a view of x
    np.sum(x)      #                          →   f64 scalar
"""
from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

import numpy as np

from loopir.lazy_dataclass import replace

from ..core_functions import key
from ..frontend.ast_names import bound_names, mentions_none_of, names_bound_once
from ..frontend.ast_walk import is_none, subscript_items, walk_nodes
from ..frontend.core_nodes import copy_location
from ..frontend.integer_constants import integer_constant
from ..numpy.function_table import function_row, method_row
from ..random_numbers import ArrayDraw, array_draw_of
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
from . import shape_rules
from .access_paths import access_path
from .escape_analysis import EscapeAnalysis
from .shape_rules import ShapeFacts
from .tuple_types import TupleFacts, tuple_lists, unscalarizable_names
from .type_facts import (
    FLAGS,
    INT,
    SCALAR,
    UNIT_LENGTH,
    UNKNOWN,
    UNKNOWN_ORDER,
    ArrayList,
    Fact,
    HashTable,
    Probe,
    Shape,
    broadcast_rank,
    fact_of_types,
    join_facts,
    join_scalar_facts,
    probe_fact,
)
from .type_probe import (
    OPERATORS,
    Types,
    array_method,
    bounded_sample,
    may_be_probed,
    probe_types,
    record_item_type,
)

__all__ = ["SubscriptFacts", "may_be_bool", "CallFacts", "Facts"]


class SubscriptFacts(Probe):
    """Type inference of subscripts."""

    unit_slices: set[ast.expr]
    """Slices that are known to select one element."""

    def subscript_fact(self, e: ast.Subscript) -> Fact:
        """The fact about the subscript `e`, by what is subscripted:

        - ``x.shape``: an int
        - records, or a list that is an argument: by their type
        - nothing known: from the environment
        - a list of lists that the function makes: a list
        - an array or list of known type: by probing. With arrays among the subscripts the result
          is a copy, whose memory order NumPy chooses; else it is a view
        - a known rank alone: each int subscript removes an axis
        """
        if isinstance(e.value, ast.Attribute) and e.value.attr in ("shape", "strides"):
            return INT if self.of(e.value.value).rank else self.outer_fact(e)
        base = self.of(e.value)
        if base.record is not None:
            return self._record_fact(base, base.record, e.slice)
        if not base.rank:
            ty = shape_rules.grid_type(e, self.resolve(e.value), lambda b: self.of(b).is_int)
            return self.outer_fact(e) if ty is None else fact_of_types(frozenset({ty}))._replace(
                owner=_NEW)
        if base.list_type is not None:
            return self._list_item_fact(base.list_type, e.slice)
        if base.list_depth and not isinstance(e.slice, (ast.Slice, ast.Tuple)):
            return Fact(1, list_depth=base.list_depth - 1)
        if base.types:
            getitem = OPERATORS["Subscript"]
            fact = probe_fact(getitem, [base.types, self.samples(e.slice, index=True)])
            if fact and fact.rank and (arrays := self._index_arrays(e.slice)):
                first = e.slice.elts[0] if isinstance(e.slice, ast.Tuple) else e.slice
                # NumPy may copy the axes in another order than the probe shows
                same_order = fact.rank < 3 or (base.order == "C" and first in arrays)
                same_order = same_order and all(a.order != UNKNOWN_ORDER for a in arrays.values())
                return fact._replace(owner="", memory_order=None if same_order else UNKNOWN_ORDER)
            if fact and fact.rank:
                return fact._replace(
                    shape=self._view_shape(e), owner=base.owner, memory_order=base.order
                )
            return fact or UNKNOWN
        rank = base.rank
        for index in subscript_items(e):
            if isinstance(index, ast.Slice):
                continue
            if self.of(index).rank != 0 or may_be_bool(index):
                return UNKNOWN
            rank -= 1
        return Fact(rank) if rank >= 0 else UNKNOWN

    def _list_item_fact(self, ty: ListType, index: ast.expr) -> Fact:
        """The fact about an item, or a slice, of a list of type `ty`."""
        if isinstance(index, ast.Slice):
            return Fact(1, list_type=ty)
        if self.of(index).rank != 0 or may_be_bool(index):
            return UNKNOWN
        if ty.is_mixed:
            return fact_of_types(frozenset({ty.item, ty.stored}))
        inner = ty.inner
        return (
            Fact(1, list_type=inner)
            if isinstance(inner, ListType)
            else fact_of_types(frozenset({inner}))
        )

    def _index_arrays(self, index: ast.expr) -> dict[ast.expr, Fact]:
        """The arrays among the subscripts; with one of them, the result is no view."""
        items = index.elts if isinstance(index, ast.Tuple) else [index]
        return {i: f for i in items if not isinstance(i, ast.Slice) and (f := self.of(i)).rank}

    def _record_fact(self, base: Fact, ty: RecordType, index: ast.expr) -> Fact:
        """The fact about ``base[index]``, where ``base`` is a record or an array of records of type
        `ty`: a field, a scalar, or fewer records.
        """
        field = ty.field(index.value) if isinstance(index, ast.Constant) else None
        if isinstance(field, ArrayType):
            return fact_of_types(frozenset({field}))
        if isinstance(field, RecordType):
            return Fact(field.rank, owner=base.owner, record=field)
        indices = self.samples(index, index=True)
        if types := probe_types(OPERATORS["Subscript"], [[ty], indices]):
            return fact_of_types(types)
        item = record_item_type(ty, indices)
        return UNKNOWN if item is None else Fact(item.rank or None, owner=base.owner, record=item)

    def _view_shape(self, e: ast.Subscript) -> Shape | None:
        """The lengths of the view `e`, 1 for new axes and slices of one element and None for the
        others. None if there is no 1, or a subscript that is neither a slice nor a new axis.
        """
        items = subscript_items(e)
        new = [self.is_new_axis(i) or is_none(i) for i in items]
        unit = [n or i in self.unit_slices for n, i in zip(new, items, strict=True)]
        slices = [n or isinstance(i, ast.Slice) for n, i in zip(new, items, strict=True)]
        if not any(unit) or not all(slices):
            return None
        trailing = (self.of(e.value).rank or 0) - new.count(False)
        return (*(UNIT_LENGTH if u else None for u in unit), *[None] * trailing)


def may_be_bool(e: ast.expr) -> bool:
    """Whether `e` may be a bool, by its form; as a subscript a bool is a mask and adds an axis."""
    match e:
        case ast.Constant(value=bool()) | ast.Compare() | ast.BoolOp() | ast.UnaryOp(op=ast.Not()):
            return True
    return False


_CONVERSIONS = {int: "i64", float: "f64", bool: "bool"}
_NEW = ""
"""`Fact.owner` of an array that the expression itself makes."""


class CallFacts(ShapeFacts, TupleFacts):
    """Type inference of calls."""

    def call_fact(self, e: ast.Call) -> Fact:
        """The fact about the result of the call `e`. In the order tried:

        1. calls whose result type does not depend on the operands' types: ``len``, ``int``, …
        2. reshapes, draws of random arrays, ``real`` and ``imag``, ``min`` and ``max`` of scalars
        3. pure functions and methods: by probing, with the shape and owner that rules give
        4. ``sum``, ``min`` and ``max`` of a list of numbers
        5. the rank that a rule gives; methods of lists; the type in the environment
        """
        target = self._function(e.func)
        fact = self._special_call(e, target) or self._probed_call(e, target)
        if fact is not None:
            return fact
        facts = [self.of(a) for a in e.args]
        if target in (sum, min, max) and [(f.rank, f.list_depth) for f in facts] == [(1, 0)]:
            return self._list_number_fact(facts[0])
        fact = self._ranked_call(e, target, facts)
        return self.outer_fact(e) if fact is None else fact

    def _special_call(self, e: ast.Call, target: object | None) -> Fact | None:
        """Cases 1 and 2 of `call_fact`; None for other calls."""
        if target is len or target is key:
            return INT
        if isinstance(target, type) and target in _CONVERSIONS and len(e.args) == 1:
            return fact_of_types(frozenset({ScalarType(_CONVERSIONS[target], weak=True)}))
        if (reshape := shape_rules.reshaping(e, target)) is not None:
            return self._reshaped(*reshape)
        if shape_rules.is_squeeze(e, target):
            return UNKNOWN  # the rank depends on the lengths
        if target is np.broadcast_to and len(e.args) == 2 and not e.keywords:
            return self._reshaped(e.args[0], getattr(e.args[1], "elts", e.args[1:]))
        if (draw := array_draw_of(e, self.type_of, self.resolve)) is not None:
            return self._array_draw_fact(draw)
        if target in (np.real, np.imag) and len(e.args) == 1 and not e.keywords:
            return self.complex_part_fact(self.of(e.args[0]), target.__name__) or UNKNOWN
        if target in (min, max) and len(e.args) > 1 and not e.keywords:
            return join_scalar_facts([self.of(a) for a in e.args])
        return None

    def _probed_call(self, e: ast.Call, target: object | None) -> Fact | None:
        """Case 3 of `call_fact`; None if the function may not be called on samples, or fails."""
        function = target
        operands = [[bounded_sample(target, s) for s in self.samples(a)] for a in e.args]
        if target is None and isinstance(e.func, ast.Attribute):
            function = array_method(e.func.attr)
            operands.insert(0, list(self.of(e.func.value).types))
        named = {
            k.arg: [bounded_sample(target, s) for s in self.samples(k.value)]
            for k in e.keywords
            if k.arg
        }
        if not callable(function) or not (target is None or may_be_probed(function)):
            return None
        if len(named) < len(e.keywords):  # there is a **kwargs
            return None
        fact = probe_fact(function, [*operands, *named.values()], *named)
        if fact is None:
            return None
        shape = self.shape_of_call(target, e)
        shape = shape if shape and len(shape) == fact.rank else None
        return fact._replace(shape=shape, owner=self._owner(e, target))

    def _ranked_call(
        self, e: ast.Call, target: object | None, facts: Sequence[Fact]
    ) -> Fact | None:
        """Case 5 of `call_fact`, without the environment; ``facts``: those about the arguments."""
        rank = None
        if target is not None:
            rank = shape_rules.rank_of_call(target, e, [f.rank for f in facts])
        elif isinstance(e.func, ast.Attribute):
            rank = shape_rules.rank_of_method(e.func.attr, e, self.of(e.func.value).rank)
        return self._list_method_fact(e.func) if rank is None else Fact(rank)

    def _list_method_fact(self, func: ast.expr) -> Fact | None:
        """The fact about the result of ``pop``, ``count`` or ``index`` of a list of numbers; None
        for other methods.
        """
        match func:
            case ast.Attribute(value=value, attr="pop" | "count" | "index" as name):
                fact = self.of(value)
                if fact.rank == 1 and not fact.list_depth and not fact.types:
                    return self._list_number_fact(fact) if name == "pop" else INT
        return None

    def _list_number_fact(self, fact: Fact) -> Fact:
        """The fact about an item, or the sum of the items, of a list of fact `fact`."""
        ty = fact.list_type
        ints = ty is not None and ty.inner == ScalarType("i64", weak=True) and not ty.is_mixed
        return INT if ints else SCALAR

    def _array_draw_fact(self, draw: ArrayDraw) -> Fact:
        """The fact about the array that `draw` makes; UNKNOWN if a length is no int."""
        if not all(self.of(n).is_int for n in draw.lengths):
            return UNKNOWN
        rank = len(draw.lengths)
        ty = ArrayType(draw.dtype, rank, rank - 1)
        return Fact(rank, frozenset({ty}), self.shape_of_lengths(draw.lengths), _NEW)

    def type_of(self, e: ast.expr) -> ArgType | None:
        """The type of an argument, a part of one, or a free name; None for others."""
        raise NotImplementedError

    def _reshaped(self, array: ast.expr, lengths: Sequence[ast.expr]) -> Fact:
        """The fact about `array` reshaped to `lengths`; no lengths: to one axis."""
        lengths = self.unpacked_lengths(lengths)
        fact, rank = self.of(array), len(lengths) or 1
        if fact.array is None or not all(self.of(n).is_int for n in lengths):
            return UNKNOWN
        is_dense = fact.array.unit == fact.array.rank - 1 or not lengths
        ty = ArrayType(fact.array.dtype, rank, rank - 1 if is_dense else None)
        unit = [integer_constant(n, None) == 1 for n in lengths]
        shape = tuple(UNIT_LENGTH if u else None for u in unit) if any(unit) else None
        return Fact(rank, frozenset({ty}), shape, fact.owner)

    def unpacked_lengths(self, lengths: Sequence[ast.expr]) -> Sequence[ast.expr]:
        """`lengths`; if it is one name of a tuple of known items, these items."""
        is_name = len(lengths) == 1 and isinstance(lengths[0], ast.Name)
        return (self.items(lengths[0]) if is_name else None) or lengths

    def _owner(self, e: ast.Call, target: object | None) -> str | None:
        """`Fact.owner` of the result of the call `e`: that of the first operand for a view."""
        name = e.func.attr if isinstance(e.func, ast.Attribute) else ""
        row = function_row(target) if target is not None else method_row(name)
        if row is None or row.result != "view":
            return _NEW
        first = e.args[0] if target is not None else getattr(e.func, "value", None)
        return self.of(first).owner if first is not None else None

    def _function(self, func: ast.expr) -> object | None:
        """The function that `func` means; None if it is a method of a local value, or unknown."""
        if isinstance(func, ast.Attribute) and func.attr in ("accumulate", "outer", "reduce"):
            ufunc = self.resolve(func.value)
            if isinstance(ufunc, np.ufunc):
                return getattr(ufunc, func.attr)  # type: ignore[no-any-return]
        return self.resolve(func)


class Facts(CallFacts, SubscriptFacts):
    """Type inference of expressions, given the facts ``known`` about local names.

    ``resolve``: the object that a free name or dotted name refers to, None if unknown. ``fresh``:
    makes a new name from a hint.
    """

    def __init__(
        self,
        tree: ast.FunctionDef,
        env: Env,
        resolve: Callable[[ast.expr], object | None],
        fresh: Callable[[str], str],
    ) -> None:
        self._env = env
        self.resolve = resolve
        self.fresh = fresh
        self._names = {}
        # names that the function binds, without its parameters
        self.local_names = bound_names(*tree.body)
        nodes = [*walk_nodes(tree)]
        self.unscalarizable = unscalarizable_names(tree, nodes)
        self.tuple_lists = tuple_lists(tree, nodes)
        self.scalarizable = self.local_names - self.unscalarizable
        # lists of numbers that the function makes, and the types of their items
        self.number_lists: dict[str, Types] = {}
        self.number_tables: dict[str, Types] = {}  # the same of lists of rows of one length
        # lists of arrays that the function makes
        self.array_lists: dict[str, ArrayList] = {}
        # lists of lists that are flat lists: the names of the list of items and of that of the ends
        self.ragged_lists: dict[str, tuple[str, str]] = {}
        # those of them whose creation was already rewritten to flat lists
        self.rewritten_ragged_lists: set[str] = set()
        # hash tables: dicts and sets whose keys are data
        self.tables: dict[str, HashTable] = {}
        # of `tuple_lists`, the dtype of an array made of the list
        self.tuple_types: dict[str, str] = {}
        self.escapes: EscapeAnalysis | None = None
        self.lengths = {}
        self.unit_slices = set()
        # parameters, with the axes that have length 1 in this signature
        self.assumed_unit_axes: dict[str, tuple[int, ...]] = {}
        self.known: dict[str, Fact] = {}
        # names that the compiler made for displays of constants
        self._constant_tuples: dict[str, Fact] = {}
        # cache of `of`, by id; the node keeps the id from being used again
        self._cached_facts: dict[int, tuple[ast.expr, Fact]] = {}
        # the premises under which the cache is valid, see _premises
        self._cached_under: tuple[object, ...] = ()
        # whether a call of `of` is running
        self._inferring = False
        for a in ast.walk(tree.args):  # in their order
            if isinstance(a, ast.arg):
                parameter = copy_location(ast.Name(a.arg, ast.Load()), a)
                self.known[a.arg] = self._fact_of_outer_name(parameter)
        parameters = [n for n in self.known if n not in self.local_names]
        types = {n: env.type(ast.Name(n, ast.Load())) for n in parameters}
        # parameters that are objects and never rebound
        self.objects = {n for n, ty in types.items() if isinstance(ty, ObjectType)}
        self.rebound = self.local_names - names_bound_once(tree) - self._never_rebound(nodes)

    def analyse_function(self, tree: ast.FunctionDef) -> None:
        """Makes the analyses of the whole function, before any macro changes `tree`."""
        arrays = {n for n, f in self.known.items() if f.array}
        sliced = any(f.rank is None and n not in self.objects for n, f in self.known.items())
        self.escapes = EscapeAnalysis(tree, self.resolve, arrays, sliced)
        self.find_length_names(tree)

    def _is_object_member(self, e: ast.expr) -> bool:
        """Whether `e` reads a member of an object that is an argument, by attributes or keys."""
        place = access_path(e)
        of_object = place is not None and place[0] in self.objects
        return of_object and self._env.type(e) is not None

    def type_of(self, e: ast.expr) -> ArgType | None:
        return None if isinstance(e, ast.Name) and e.id in self.local_names else self._env.type(e)

    def _never_rebound(self, nodes: Sequence[ast.AST]) -> set[str]:
        """The parameters, arrays or lists, that `nodes` assign at most by ``+=``, in place."""
        in_place = {s.target for s in nodes if isinstance(s, ast.AugAssign)}
        names = (n for n in nodes if isinstance(n, ast.Name) and n not in in_place)
        rebound = {n.id for n in names if not isinstance(n.ctx, ast.Load)}
        return {name for name, fact in self.known.items() if fact.rank} - rebound

    def _fact_of_outer_name(self, e: ast.expr) -> Fact:
        """The fact about `e`, a parameter, a member of one or a global, from its type alone."""
        ty = self._env.type(e)
        if isinstance(ty, RecordType):
            return Fact(ty.rank, owner=ast.unparse(e), record=ty)
        if isinstance(ty, ListType):
            return Fact(1, list_type=ty)
        if ty is None or isinstance(ty, (ObjectType, Opaque)):
            return UNKNOWN
        if isinstance(ty, ArrayType):
            return self._outer_array_fact(e, ty) if ty.rank else UNKNOWN
        return fact_of_types(frozenset({ty}))

    def _outer_array_fact(self, e: ast.expr, ty: ArrayType) -> Fact:
        """The fact about an array from outside. That axes of a named array have length 1 is noted
        in ``ones``, from which guards are made.
        """
        kinds, shape = frozenset({replace(ty, ones=())}), None
        if isinstance(e, ast.Name) and ty.ones:
            self.assumed_unit_axes[e.id] = ty.ones
            shape = tuple(UNIT_LENGTH if axis in ty.ones else None for axis in range(ty.rank))
        return Fact(ty.rank, kinds, shape, owner=ast.unparse(e))

    def of(self, e: ast.expr) -> Fact:
        """The fact about the value of `e` at the current statement: type, rank, lengths, owner.
        Macros ask by `Context.fact`; `_of` has the rule for each kind of expression.

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
        """All that facts depend on, besides the expression; sets that only grow by their size."""
        return (
            self.known, (*self.number_lists.items(), *self.number_tables.items()),
            len(self.local_names), len(self.rebound), len(self.scalarizable),
            len(self.unit_slices), len(self._constant_tuples), len(self.lengths),
        )

    def _cached_fact(self, e: ast.expr) -> Fact:
        """The fact about `e`, from the cache."""
        entry = self._cached_facts.get(id(e))
        if entry is None:
            entry = self._cached_facts[id(e)] = e, self._of(e)
        return entry[1]

    def _of(self, e: ast.expr) -> Fact:
        """As `of`, without the cache: the rule for each kind of expression."""
        match e:
            case ast.Name(id=name) if name in self._constant_tuples:
                return self._constant_tuples[name]
            case ast.Constant(value=bool() | float() | int() | complex() as value):
                kind = {bool: "bool", int: "i64", float: "f64", complex: "c128"}[type(value)]
                return fact_of_types(frozenset({ScalarType(kind, weak=True)}))
            case ast.Constant(value=None | str() as value):
                return fact_of_types(frozenset({Constant(value, type(value))}))
            case ast.Constant() | ast.Starred():
                return UNKNOWN
            case ast.UnaryOp(op=ast.Not()):
                return fact_of_types(frozenset({ScalarType("bool", weak=True)}))
            case ast.UnaryOp(op=op, operand=operand):
                fact = self.of(operand)
                result = self._probe_operator(op, fact) or Fact(fact.rank)
                return self.with_elementwise_shape(result, [operand])
            case ast.BinOp(left=left, op=op, right=right):
                fact = self._power(e) or self.operator_fact(op, self.of(left), self.of(right))
                if isinstance(op, ast.MatMult):
                    return fact._replace(shape=self.shape_of_product(left, right))
                return self.with_elementwise_shape(fact, [left, right])
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                sides = self.of(left), self.of(right)
                probed = self._probe_operator(op, *sides)
                fact = probed or broadcast_rank(sides, arrays_allowed=True)
                return self.with_elementwise_shape(fact, [left, right])
            case ast.Compare(left=left, comparators=rest):
                return broadcast_rank([self.of(x) for x in (left, *rest)], arrays_allowed=False)
            case ast.BoolOp(values=values):
                return join_scalar_facts([self.of(v) for v in values])
            case ast.IfExp(body=body, orelse=orelse):
                return join_facts(self.of(body), self.of(orelse))
            case ast.Subscript() | ast.Attribute() if self.objects and self._is_object_member(e):
                return self._fact_of_outer_name(e)._replace(owner=None)
            case ast.Subscript(value=ast.Name(id=name), slice=index) if (
                name in self.number_lists and not isinstance(index, ast.Slice)
            ):
                return fact_of_types(self.number_lists[name])
            case ast.Subscript(value=ast.Subscript(value=ast.Name(t))) if t in self.number_tables:
                return fact_of_types(self.number_tables[t])
            case ast.Subscript(value=ast.Name() as base) if (item := self.item(base, e.slice)):
                return self.of(item)
            case ast.Subscript():
                return self.subscript_fact(e)
            case ast.Attribute():
                return self._attribute(e)
            case ast.List(elts=elts) | ast.Tuple(elts=[_, *_] as elts):
                return Fact(1) if all(self.of(x).rank == 0 for x in elts) else UNKNOWN
            case ast.ListComp():
                return self.comprehension_fact(e)
            case ast.Call():
                return self.call_fact(e)
        return self.outer_fact(e)

    def add_constant_tuple(self, name: str, display: ast.expr) -> None:
        """Makes `name`, which the compiler binds to the display of constants `display`, known at
        every statement. Nothing is known of it unless it is a tuple of scalars of one type.
        """
        items = display.elts if isinstance(display, ast.Tuple) else []
        types = {t for e in items for t in self.of(e).types or (None,)}
        (item,) = types if len(types) == 1 else (None,)
        if isinstance(item, ScalarType):
            self._constant_tuples[name] = Fact(1, list_type=ListType(item, (tuple,)))

    def is_sole_reference(self, name: str) -> bool:
        """Whether `name` is the only reference to its array or any part of it, where it is bound
        again (`EscapeAnalysis.is_sole_reference`).
        """
        rank = self.known.get(name, UNKNOWN).rank
        if not rank or self.escapes is None:
            return False
        return self.escapes.is_sole_reference(name, rank)

    def comprehension_fact(self, e: ast.ListComp) -> Fact:
        """The fact about the list that a comprehension makes."""
        raise NotImplementedError

    def operator_fact(self, op: ast.operator, left: Fact, right: Fact) -> Fact:
        """The fact about ``left op right``."""
        if left.is_int and right.is_int and isinstance(op, ast.Pow):
            return SCALAR  # an int, or a float for a negative exponent
        probed = self._probe_operator(op, left, right)
        return probed or broadcast_rank([left, right], arrays_allowed=True)

    def _power(self, e: ast.BinOp) -> Fact | None:
        """The fact about a power with a constant exponent that is not negative; None for others."""
        match e:
            case ast.BinOp(op=ast.Pow(), right=ast.Constant(value=int(value))) if value >= 0:
                return self._probe_operator(e.op, self.of(e.left), self.of(e.right))
        return None

    def _probe_operator(self, op: ast.AST, *facts: Fact) -> Fact | None:
        """The fact about operator `op` on operands of these facts; None if a type is unknown."""
        function = OPERATORS.get(type(op).__name__)
        return probe_fact(function, [f.types for f in facts]) if function else None

    def _attribute(self, e: ast.Attribute) -> Fact:
        """The fact about an attribute: a constant of a module; ``size``, ``ndim``, ``dtype``,
        ``T``, ``real`` or ``imag`` of an array; else from the environment.
        """
        value = self.resolve(e)
        if type(value) in (int, float):
            return fact_of_types(
                frozenset({ScalarType("i64" if type(value) is int else "f64", weak=True)})
            )
        match e.value:
            case ast.Attribute(array, "flags") if e.attr in FLAGS and self.of(array).array:
                return fact_of_types(frozenset({ScalarType("bool", weak=True)}))
        base = self.of(e.value)
        if base.rank and e.attr in ("size", "ndim"):
            return INT
        if e.attr == "dtype" and base.array:
            dtype = ELEMENTS[base.array.dtype].numpy
            return fact_of_types(frozenset({Constant(dtype, type(dtype))}))
        if base.rank and e.attr == "T":
            fact = probe_fact(np.transpose, [base.types]) or Fact(base.rank)
            return fact._replace(shape=base.shape and base.shape[::-1], owner=base.owner)
        return self.complex_part_fact(base, e.attr) or self.outer_fact(e)

    def outer_fact(self, e: ast.expr) -> Fact:
        """The fact about `e` from the environment; UNKNOWN if it has local names."""
        if not mentions_none_of(e, self.local_names | set(self.known)):
            return UNKNOWN
        return self._fact_of_outer_name(e)
