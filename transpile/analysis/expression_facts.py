"""Type inference of expressions: types, rank, shape and owner, of calls and subscripts too."""
from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from ..frontend.ast_names import bound_names, mentions_none, names_bound_once
from ..frontend.ast_walk import walk_nodes
from ..frontend.core_nodes import copy_location
from ..frontend.int_exprs import integer_constant
from ..numpy.function_table import function_row, method_row
from ..ops import key
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
from .escape_analysis import EscapeAnalysis
from .object_arguments import access_path
from .shape_rules import ShapeFacts
from .tuple_types import TupleFacts, tuple_lists, whole_tuple_names
from .type_facts import (
    INT,
    SCALAR,
    UNIT_LENGTH,
    UNKNOWN,
    ArrayList,
    Fact,
    Probe,
    Shape,
    Table,
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
    is_pure,
    probe_types,
    record_item_type,
)

__all__ = ["SubscriptFacts", "may_be_bool", "CallFacts", "Facts"]


class SubscriptFacts(Probe):
    """Type inference of subscripts; ``single`` are the slices of one element."""

    single: set[ast.expr]

    def indexed(self, e: ast.Subscript) -> Fact:
        """The fact about the subscript `e`."""
        if isinstance(e.value, ast.Attribute) and e.value.attr == "shape":
            return INT if self.of(e.value.value).rank else self.outside(e)
        of = self.of(e.value)
        if of.record is not None:
            return self._of_records(of, of.record, e.slice)
        if not of.rank:
            return self.outside(e)
        if of.listed is not None:
            return self._of_list(of.listed, e.slice)
        if of.rows and not isinstance(e.slice, (ast.Slice, ast.Tuple)):
            return Fact(1, rows=of.rows - 1)
        if of.types:
            read = OPERATORS["Subscript"]
            fact = probe_fact(read, [of.types, self.samples(e.slice, index=True)])
            if fact and fact.rank and (arrays := self._arrays(e.slice)):
                first = e.slice.elts[0] if isinstance(e.slice, ast.Tuple) else e.slice
                known = fact.rank < 3 or (of.order == "C" and first in arrays)
                known = known and all(a.order != "?" for a in arrays.values())
                return fact._replace(owner="", lies=None if known else "?")
            if fact and fact.rank:
                return fact._replace(shape=self._ones(e), owner=of.owner, lies=of.order)
            return fact or UNKNOWN
        rank = of.rank
        for index in e.slice.elts if isinstance(e.slice, ast.Tuple) else [e.slice]:
            if isinstance(index, ast.Slice):
                continue
            if self.of(index).rank != 0 or may_be_bool(index):
                return UNKNOWN
            rank -= 1
        return Fact(rank) if rank >= 0 else UNKNOWN

    def _of_list(self, ty: ListType, index: ast.expr) -> Fact:
        """An item; a slice is a list, too."""
        if isinstance(index, ast.Slice):
            return Fact(1, listed=ty)
        if self.of(index).rank != 0 or may_be_bool(index):
            return UNKNOWN
        inner = ty.inner
        return (
            Fact(1, listed=inner)
            if isinstance(inner, ListType)
            else fact_of_types(frozenset({inner}))
        )

    def _arrays(self, index: ast.expr) -> dict[ast.expr, Fact]:
        """The arrays among the subscripts, by which what is read is no view."""
        items = index.elts if isinstance(index, ast.Tuple) else [index]
        return {i: f for i in items if not isinstance(i, ast.Slice) and (f := self.of(i)).rank}

    def _of_records(self, of: Fact, ty: RecordType, index: ast.expr) -> Fact:
        field = ty.field(index.value) if isinstance(index, ast.Constant) else None
        if isinstance(field, ArrayType):
            return fact_of_types(frozenset({field}))
        if isinstance(field, RecordType):
            return Fact(field.rank, owner=of.owner, record=field)
        indices = self.samples(index, index=True)
        if types := probe_types(OPERATORS["Subscript"], [[ty], indices]):
            return fact_of_types(types)
        less = record_item_type(ty, indices)
        return UNKNOWN if less is None else Fact(less.rank or None, owner=of.owner, record=less)

    def _ones(self, e: ast.Subscript) -> Shape | None:
        """The lengths of a view that has new axes, or slices of one element."""
        items = e.slice.elts if isinstance(e.slice, ast.Tuple) else [e.slice]
        new = [self.is_new_axis(i) or _is_none(i) for i in items]
        one = [n or i in self.single for n, i in zip(new, items, strict=True)]
        slices = [n or isinstance(i, ast.Slice) for n, i in zip(new, items, strict=True)]
        if not any(one) or not all(slices):
            return None
        rest = (self.of(e.value).rank or 0) - new.count(False)
        return (*(UNIT_LENGTH if o else None for o in one), *[None] * rest)


def _is_none(e: ast.expr) -> bool:
    return isinstance(e, ast.Constant) and e.value is None


def may_be_bool(e: ast.expr) -> bool:
    """Whether `e` may be a bool, by its form; as a subscript a bool is a mask and adds an axis."""
    match e:
        case ast.Constant(value=bool()) | ast.Compare() | ast.BoolOp() | ast.UnaryOp(op=ast.Not()):
            return True
    return False


_CONVERTED = {int: "i64", float: "f64", bool: "bool"}
_NEW = ""
"""The owner of an array that was just made."""


class CallFacts(ShapeFacts, TupleFacts):
    """Type inference of calls."""

    def called(self, e: ast.Call) -> Fact:
        """The fact about the result of the call `e`."""
        target = self._function(e.func)
        if target is len or target is key:
            return INT
        if isinstance(target, type) and target in _CONVERTED and len(e.args) == 1:
            return fact_of_types(frozenset({ScalarType(_CONVERTED[target], weak=True)}))
        if (found := shape_rules.reshaping(e, target)) is not None:
            return self._reshaped(*found)
        if shape_rules.is_squeeze(e, target):
            return UNKNOWN  # its lengths tell how many axes are left
        if target is np.broadcast_to and len(e.args) == 2 and not e.keywords:
            return self._reshaped(e.args[0], getattr(e.args[1], "elts", e.args[1:]))
        if (many := array_draw_of(e, self.type_of, self.resolve)) is not None:
            return self._drawn(many)
        facts = [self.of(a) for a in e.args]
        if target in (np.real, np.imag) and len(facts) == 1 and not e.keywords:
            return self.component(facts[0], target.__name__) or UNKNOWN
        if target in (min, max) and len(facts) > 1 and not e.keywords:
            return join_scalar_facts(facts)
        function = target
        operands = [[bounded_sample(target, s) for s in self.samples(a)] for a in e.args]
        if target is None and isinstance(e.func, ast.Attribute):
            of = self.of(e.func.value)
            function, operands = array_method(e.func.attr), [list(of.types), *operands]
            rank = shape_rules.rank_of_method(e.func.attr, e, of.rank)
        else:
            rank = (
                None
                if target is None
                else shape_rules.rank_of_call(target, e, [f.rank for f in facts])
            )
        named = {
            k.arg: [bounded_sample(target, s) for s in self.samples(k.value)]
            for k in e.keywords
            if k.arg
        }
        pure = callable(function) and (target is None or is_pure(function))
        if pure and callable(function) and len(named) == len(e.keywords):
            fact = probe_fact(function, [*operands, *named.values()], *named)
            if fact is not None:
                shape = self.shape_of_call(target, e)
                shape = shape if shape and len(shape) == fact.rank else None
                return fact._replace(shape=shape, owner=self._owner(e, target))
        if target in (sum, min, max) and [(f.rank, f.rows) for f in facts] == [(1, 0)]:
            return self._of_items(facts[0])
        known = self._of_list_method(e.func) if rank is None else Fact(rank)
        return self.outside(e) if known is None else known

    def _of_list_method(self, func: ast.expr) -> Fact | None:
        match func:
            case ast.Attribute(value=value, attr="pop" | "count" | "index" as name):
                of = self.of(value)
                if of.rank == 1 and not of.rows and not of.types:
                    return self._of_items(of) if name == "pop" else INT
        return None

    def _of_items(self, of: Fact) -> Fact:
        """A number that is an item of a list, or a sum of items."""
        ints = of.listed is not None and of.listed.inner == ScalarType("i64", weak=True)
        return INT if ints else SCALAR

    def _drawn(self, many: ArrayDraw) -> Fact:
        if not all(self.of(n).is_int for n in many.lengths):
            return UNKNOWN
        rank = len(many.lengths)
        ty = ArrayType(many.dtype, rank, rank - 1)
        return Fact(rank, frozenset({ty}), self.shape_of_lengths(many.lengths), _NEW)

    def type_of(self, e: ast.expr) -> ArgType | None:
        """The type of an argument, a part of one, or a free name."""
        raise NotImplementedError

    def _reshaped(self, array: ast.expr, lengths: Sequence[ast.expr]) -> Fact:
        lengths = self.spread(lengths)
        of, rank = self.of(array), len(lengths) or 1
        if of.array is None or not all(self.of(n).is_int for n in lengths):
            return UNKNOWN
        dense = of.array.unit == of.array.rank - 1 or not lengths
        ty = ArrayType(of.array.dtype, rank, rank - 1 if dense else None)
        known = [integer_constant(n, None) == 1 for n in lengths]
        shape = tuple(UNIT_LENGTH if one else None for one in known) if any(known) else None
        return Fact(rank, frozenset({ty}), shape, of.owner)

    def spread(self, lengths: Sequence[ast.expr]) -> Sequence[ast.expr]:
        """`lengths`; if it is one name of a tuple, the items of that tuple."""
        named = len(lengths) == 1 and isinstance(lengths[0], ast.Name)
        return (self.items(lengths[0]) if named else None) or lengths

    def _owner(self, e: ast.Call, target: object | None) -> str | None:
        """Whose memory what a call gives is."""
        name = e.func.attr if isinstance(e.func, ast.Attribute) else ""
        row = function_row(target) if target is not None else method_row(name)
        if row is None or row.result != "view":
            return _NEW
        first = e.args[0] if target is not None else getattr(e.func, "value", None)
        return self.of(first).owner if first is not None else None

    def _function(self, func: ast.expr) -> object | None:
        """The function that `func` stands for; None where it is a method of an argument."""
        if isinstance(func, ast.Attribute) and func.attr in ("accumulate", "outer", "reduce"):
            ufunc = self.resolve(func.value)
            if isinstance(ufunc, np.ufunc):
                return getattr(ufunc, func.attr)  # type: ignore[no-any-return]
        return self.resolve(func)


class Facts(CallFacts, SubscriptFacts):
    """Type inference of expressions, given the facts ``known`` about local names."""

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
        self.own = bound_names(*tree.body)
        self.whole = whole_tuple_names(tree)
        self.tuple_lists = tuple_lists(tree)
        self.apart = self.own - self.whole
        self.number_lists: dict[str, Types] = {}  # that are made here, and what is in them
        self.array_lists: dict[str, ArrayList] = {}
        self.nested: dict[str, tuple[str, str]] = {}  # lists of lists: names of all items, of ends
        self.nested_filled: set[str] = set()
        self.tables: dict[str, Table] = {}  # dicts and sets whose keys are data
        self.tuple_types: dict[str, str] = {}  # of ``tuple_lists``, the dtype of an array of them
        self.holders: EscapeAnalysis | None = None
        self.lengths = {}
        self.single = set()
        self.ones: dict[str, tuple[int, ...]] = {}  # of arrays that are given, the axes of length 1
        self.known: dict[str, Fact] = {}
        self._fixed: dict[str, Fact] = {}
        self._found: dict[int, tuple[ast.expr, Fact]] = {}
        self._found_given: tuple[object, ...] = ()
        self._finding = False
        for a in ast.walk(tree.args):  # in their order
            if isinstance(a, ast.arg):
                self.known[a.arg] = self._given(copy_location(ast.Name(a.arg, ast.Load()), a))
        given = [n for n in self.known if n not in self.own]
        types = {n: env.type(ast.Name(n, ast.Load())) for n in given}
        self.objects = {n for n, ty in types.items() if isinstance(ty, ObjectType)}
        self.moving = self.own - names_bound_once(tree) - self._kept(tree)

    def learn(self, tree: ast.FunctionDef) -> None:
        """Analyse the whole of `tree` before any macro changes it."""
        arrays = {n for n, f in self.known.items() if f.array}
        sliced = any(f.rank is None and n not in self.objects for n, f in self.known.items())
        self.holders = EscapeAnalysis(tree, self.resolve, arrays, sliced)
        self.measure(tree)

    def _is_held(self, e: ast.expr) -> bool:
        """Whether `e` reads what an object holds that is an argument."""
        place = access_path(e)
        known = place is not None and place[0] in self.objects
        return known and self._env.type(e) is not None

    def type_of(self, e: ast.expr) -> ArgType | None:
        return None if isinstance(e, ast.Name) and e.id in self.own else self._env.type(e)

    def _kept(self, tree: ast.FunctionDef) -> set[str]:
        """Parameters that are arrays, and are changed in place if at all."""
        nodes = [*walk_nodes(tree)]
        in_place = {s.target for s in nodes if isinstance(s, ast.AugAssign)}
        stores = (n for n in nodes if isinstance(n, ast.Name) and n not in in_place)
        rebound = {n.id for n in stores if not isinstance(n.ctx, ast.Load)}
        return {name for name, fact in self.known.items() if fact.rank} - rebound

    def _given(self, e: ast.expr) -> Fact:
        ty = self._env.type(e)
        if isinstance(ty, RecordType):
            return Fact(ty.rank, owner=ast.unparse(e), record=ty)
        if isinstance(ty, ListType):
            return Fact(1, listed=ty)
        if ty is None or isinstance(ty, (ObjectType, Opaque)):
            return UNKNOWN
        if isinstance(ty, ArrayType):
            return self._array(e, ty) if ty.rank else UNKNOWN
        return fact_of_types(frozenset({ty}))

    def _array(self, e: ast.expr, ty: ArrayType) -> Fact:
        """Of an array that is given; that its axes have length 1 is asked of those with names."""
        plain, shape = frozenset({replace(ty, ones=())}), None
        if isinstance(e, ast.Name) and ty.ones:
            self.ones[e.id] = ty.ones
            shape = tuple(UNIT_LENGTH if axis in ty.ones else None for axis in range(ty.rank))
        return Fact(ty.rank, plain, shape, owner=ast.unparse(e))

    def of(self, e: ast.expr) -> Fact:
        """The fact about the value of `e` at this point of the function.

        Facts about an expression and its parts are kept until what they rest on changes: macros ask
        for the same ones again and again.
        """
        if self._finding:
            return self._kept_fact(e)
        if self._found_given != self._premises():
            self._found, self._found_given = {}, (dict(self.known), *self._premises()[1:])
        self._finding = True
        try:
            return self._kept_fact(e)
        finally:
            self._finding = False

    def _premises(self) -> tuple[object, ...]:
        """What facts rest on, apart from the expression: of sets that only grow, their size."""
        return (
            self.known, tuple(self.number_lists.items()), len(self.own), len(self.apart),
            len(self.single), len(self._fixed), len(self.lengths),
        )

    def _kept_fact(self, e: ast.expr) -> Fact:
        kept = self._found.get(id(e))
        if kept is None:
            kept = self._found[id(e)] = e, self._of(e)  # with `e`, whose id stays taken
        return kept[1]

    def _of(self, e: ast.expr) -> Fact:
        match e:
            case ast.Name(id=name) if name in self.known:
                return self.known[name]
            case ast.Name(id=name) if name in self._fixed:
                return self._fixed[name]
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
                return self.shaped(self._asked(op, fact) or Fact(fact.rank), [operand])
            case ast.BinOp(left=left, op=op, right=right):
                fact = self._power(e) or self.binary(op, self.of(left), self.of(right))
                if isinstance(op, ast.MatMult):
                    return fact._replace(shape=self.shape_of_product(left, right))
                return self.shaped(fact, [left, right])
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                sides = self.of(left), self.of(right)
                fact = self._asked(op, *sides) or broadcast_rank(sides, at_most=True)
                return self.shaped(fact, [left, right])
            case ast.Compare(left=left, comparators=rest):
                return broadcast_rank([self.of(x) for x in (left, *rest)], at_most=False)
            case ast.BoolOp(values=values):
                return join_scalar_facts([self.of(v) for v in values])
            case ast.IfExp(body=body, orelse=orelse):
                return join_facts(self.of(body), self.of(orelse))
            case ast.Subscript() | ast.Attribute() if self.objects and self._is_held(e):
                return self._given(e)._replace(owner=None)
            case ast.Subscript(value=ast.Name(id=name), slice=at) if name in self.number_lists and (
                not isinstance(at, ast.Slice)
            ):
                return fact_of_types(self.number_lists[name])
            case ast.Subscript(value=ast.Name() as of) if (item := self.item(of, e.slice)):
                return self.of(item)
            case ast.Subscript():
                return self.indexed(e)
            case ast.Attribute():
                return self._attribute(e)
            case ast.List(elts=elts) | ast.Tuple(elts=[_, *_] as elts):
                return Fact(1) if all(self.of(x).rank == 0 for x in elts) else UNKNOWN
            case ast.ListComp():
                return self.collected(e)
            case ast.Call():
                return self.called(e)
        return self.outside(e)

    def fix(self, name: str, display: ast.expr) -> None:
        """Notes that the compiler's own `name` stands for a display of constants everywhere."""
        items = display.elts if isinstance(display, ast.Tuple) else []
        types = {t for e in items for t in self.of(e).types or (None,)}
        (item,) = types if len(types) == 1 else (None,)
        if isinstance(item, ScalarType):
            self._fixed[name] = Fact(1, listed=ListType(item, (tuple,)))

    def is_alone(self, name: str) -> bool:
        """Whether `name` is the only reference to its array or any part of it."""
        rank = self.known.get(name, UNKNOWN).rank
        return self.holders.alone(name, rank) if rank and self.holders is not None else False

    def collected(self, e: ast.ListComp) -> Fact:
        """The fact about the list that a comprehension makes."""
        raise NotImplementedError

    def binary(self, op: ast.operator, left: Fact, right: Fact) -> Fact:
        """The fact about ``left op right``."""
        if left.is_int and right.is_int and isinstance(op, ast.Pow):
            return SCALAR  # an int or a float
        return self._asked(op, left, right) or broadcast_rank([left, right], at_most=True)

    def _power(self, e: ast.BinOp) -> Fact | None:
        """Of ints, to a constant."""
        match e:
            case ast.BinOp(op=ast.Pow(), right=ast.Constant(value=int(value))) if value >= 0:
                return self._asked(e.op, self.of(e.left), self.of(e.right))
        return None

    def _asked(self, op: ast.AST, *facts: Fact) -> Fact | None:
        function = OPERATORS.get(type(op).__name__)
        return probe_fact(function, [f.types for f in facts]) if function else None

    def _attribute(self, e: ast.Attribute) -> Fact:
        value = self.resolve(e)
        if type(value) in (int, float):
            return fact_of_types(
                frozenset({ScalarType("i64" if type(value) is int else "f64", weak=True)})
            )
        of = self.of(e.value)
        if of.rank and e.attr in ("size", "ndim"):
            return INT
        if e.attr == "dtype" and of.array:
            of_elements = ELEMENTS[of.array.dtype].numpy
            return fact_of_types(frozenset({Constant(of_elements, type(of_elements))}))
        if of.rank and e.attr == "T":
            fact = probe_fact(np.transpose, [of.types]) or Fact(of.rank)
            return fact._replace(shape=of.shape and of.shape[::-1], owner=of.owner)
        return self.component(of, e.attr) or self.outside(e)

    def outside(self, e: ast.expr) -> Fact:
        """The fact about an expression without local names, from the environment."""
        if not mentions_none(e, self.own | set(self.known)):
            return UNKNOWN
        return self._given(e)
