"""What is known of an expression: its types, its rank, the shape and the owner of an array."""
from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from ..below import below
from ..types import (
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
from .asked import answer
from .called import Called
from .env import Env
from .fact import INT, SCALAR, UNKNOWN, ArrayList, Fact, Table, broadcast, either, join, typed
from .holders import Holders
from .indexed import Indexed
from .names import bound, bound_once, free_of
from .objects import held_at
from .samples import OPERATORS, Types
from .tupled import tuple_lists, whole_names

__all__ = ["Facts"]


class Facts(Called, Indexed):
    """Facts about expressions where ``known`` holds of the local names."""

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
        self.own = bound(*tree.body)
        self.whole = whole_names(tree)
        self.tuple_lists = tuple_lists(tree)
        self.apart = self.own - self.whole
        self.number_lists: dict[str, Types] = {}  # that are made here, and what is in them
        self.array_lists: dict[str, ArrayList] = {}
        self.nested: dict[str, tuple[str, str]] = {}  # lists of lists: names of all items, of ends
        self.nested_filled: set[str] = set()
        self.tables: dict[str, Table] = {}  # dicts and sets whose keys are data
        self.tuple_types: dict[str, str] = {}  # of ``tuple_lists``, the dtype of an array of them
        self.holders: Holders | None = None
        self.lengths = {}
        self.single = set()
        self.ones: dict[str, tuple[int, ...]] = {}  # of arrays that are given, the axes of length 1
        self.known: dict[str, Fact] = {}
        self._fixed: dict[str, Fact] = {}
        self._found: dict[int, tuple[ast.expr, Fact]] | None = None
        for a in ast.walk(tree.args):  # in their order
            if isinstance(a, ast.arg):
                self.known[a.arg] = self._given(ast.copy_location(ast.Name(a.arg, ast.Load()), a))
        given = [n for n in self.known if n not in self.own]
        types = {n: env.type(ast.Name(n, ast.Load())) for n in given}
        self.objects = {n for n, ty in types.items() if isinstance(ty, ObjectType)}
        self.moving = self.own - bound_once(tree) - self._kept(tree)

    def learn(self, tree: ast.FunctionDef) -> None:
        """Looks at all of `tree`, ahead of what changes it."""
        arrays = {n for n, f in self.known.items() if f.array}
        sliced = any(f.rank is None and n not in self.objects for n, f in self.known.items())
        self.holders = Holders(tree, self.resolve, arrays, sliced)
        self.measure(tree)

    def _is_held(self, e: ast.expr) -> bool:
        """Whether `e` reads what an object holds that is an argument."""
        place = held_at(e)
        known = place is not None and place[0] in self.objects
        return known and self._env.type(e) is not None

    def type_of(self, e: ast.expr) -> ArgType | None:
        return None if isinstance(e, ast.Name) and e.id in self.own else self._env.type(e)

    def _kept(self, tree: ast.FunctionDef) -> set[str]:
        """Parameters that are arrays, and are changed in place if at all."""
        nodes = [*below(tree)]
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
        return typed(frozenset({ty}))

    def _array(self, e: ast.expr, ty: ArrayType) -> Fact:
        """Of an array that is given; that its axes have length 1 is asked of those with names."""
        plain, shape = frozenset({replace(ty, ones=())}), None
        if isinstance(e, ast.Name) and ty.ones:
            self.ones[e.id] = ty.ones
            shape = tuple("1" if axis in ty.ones else "" for axis in range(ty.rank))
        return Fact(ty.rank, plain, shape, owner=ast.unparse(e))

    def of(self, e: ast.expr) -> Fact:
        """What is known of the value of `e` here; of all that stands in it that is found once."""
        if self._found is None:
            self._found = {}
            try:
                return self._of(e)
            finally:
                self._found = None
        known = self._found.get(id(e))
        if known is None:
            known = self._found[id(e)] = e, self._of(e)
        return known[1]

    def _of(self, e: ast.expr) -> Fact:
        match e:
            case ast.Name(id=name) if name in self.known:
                return self.known[name]
            case ast.Name(id=name) if name in self._fixed:
                return self._fixed[name]
            case ast.Constant(value=bool() | float() | int() | complex() as value):
                kind = {bool: "bool", int: "i64", float: "f64", complex: "c128"}[type(value)]
                return typed(frozenset({ScalarType(kind, weak=True)}))
            case ast.Constant(value=None | str() as value):
                return typed(frozenset({Constant(value, type(value))}))
            case ast.Constant() | ast.Starred():
                return UNKNOWN
            case ast.UnaryOp(op=ast.Not()):
                return typed(frozenset({ScalarType("bool", weak=True)}))
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
                fact = self._asked(op, *sides) or broadcast(sides, at_most=True)
                return self.shaped(fact, [left, right])
            case ast.Compare(left=left, comparators=rest):
                return broadcast([self.of(x) for x in (left, *rest)], at_most=False)
            case ast.BoolOp(values=values):
                return either([self.of(v) for v in values])
            case ast.IfExp(body=body, orelse=orelse):
                return join(self.of(body), self.of(orelse))
            case ast.Subscript() | ast.Attribute() if self.objects and self._is_held(e):
                return self._given(e)._replace(owner=None)
            case ast.Subscript(value=ast.Name(id=name), slice=at) if name in self.number_lists and (
                not isinstance(at, ast.Slice)
            ):
                return typed(self.number_lists[name])
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
        """Notes that a name of ours stands for a display of constants everywhere."""
        items = display.elts if isinstance(display, ast.Tuple) else []
        types = {t for e in items for t in self.of(e).types or (None,)}
        (item,) = types if len(types) == 1 else (None,)
        if isinstance(item, ScalarType):
            self._fixed[name] = Fact(1, listed=ListType(item, (tuple,)))

    def is_alone(self, name: str) -> bool:
        """Whether `name` is all that refers to the array that it is, or to a part of it."""
        rank = self.known.get(name, UNKNOWN).rank
        return self.holders.alone(name, rank) if rank and self.holders is not None else False

    def collected(self, e: ast.ListComp) -> Fact:
        """What is known of a list that a comprehension gives."""
        raise NotImplementedError

    def binary(self, op: ast.operator, left: Fact, right: Fact) -> Fact:
        """What is known of ``left op right``."""
        if left.is_int and right.is_int and isinstance(op, ast.Pow):
            return SCALAR  # an int or a float
        return self._asked(op, left, right) or broadcast([left, right], at_most=True)

    def _power(self, e: ast.BinOp) -> Fact | None:
        """Of ints, to a constant."""
        match e:
            case ast.BinOp(op=ast.Pow(), right=ast.Constant(value=int(value))) if value >= 0:
                return self._asked(e.op, self.of(e.left), self.of(e.right))
        return None

    def _asked(self, op: ast.AST, *facts: Fact) -> Fact | None:
        function = OPERATORS.get(type(op).__name__)
        return answer(function, [f.types for f in facts]) if function else None

    def _attribute(self, e: ast.Attribute) -> Fact:
        value = self.resolve(e)
        if type(value) in (int, float):
            return typed(frozenset({ScalarType("i64" if type(value) is int else "f64", weak=True)}))
        of = self.of(e.value)
        if of.rank and e.attr in ("size", "ndim"):
            return INT
        if e.attr == "dtype" and of.array:
            of_elements = ELEMENTS[of.array.dtype].numpy
            return typed(frozenset({Constant(of_elements, type(of_elements))}))
        if of.rank and e.attr == "T":
            fact = answer(np.transpose, [of.types]) or Fact(of.rank)
            return fact._replace(shape=of.shape and of.shape[::-1], owner=of.owner)
        return self.component(of, e.attr) or self.outside(e)

    def outside(self, e: ast.expr) -> Fact:
        """What the environment knows, of an expression without local names."""
        if not free_of(e, self.own | set(self.known)):
            return UNKNOWN
        return self._given(e)
