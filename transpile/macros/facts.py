"""What is known of an expression: its types, its rank, the shape and the owner of an array."""
from __future__ import annotations

import ast
import operator
from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np

from ..types import ArrayType, RecordType, ScalarType
from . import calls
from .env import Env
from .fact import INT, INT_TYPES, SCALAR, UNKNOWN, Fact, broadcast, either, join, typed
from .names import bound, free_of
from .samples import (
    OPERATORS,
    Display,
    Exactly,
    Sample,
    Types,
    ask,
    is_pure,
    method,
    modest,
    part,
)

__all__ = ["Facts", "may_be_bool"]

_SHAPED = (np.zeros, np.ones, np.empty, np.full)
_LIKE = (np.zeros_like, np.ones_like, np.empty_like, np.full_like)


class Facts:
    """Facts about expressions where ``known`` holds of the local names."""

    def __init__(
        self, tree: ast.FunctionDef, env: Env, resolve: Callable[[ast.expr], object | None]
    ) -> None:
        self._env = env
        self.resolve = resolve
        self.own = bound(*tree.body)
        self.known: dict[str, Fact] = {}
        for a in ast.walk(tree.args):
            if isinstance(a, ast.arg):
                self.known[a.arg] = self._given(ast.copy_location(ast.Name(a.arg, ast.Load()), a))
        self.moving = self.own - _bound_once(tree) - self._kept(tree)

    def _kept(self, tree: ast.FunctionDef) -> set[str]:
        """Parameters that are arrays, and are changed in place if at all."""
        in_place = {s.target for s in ast.walk(tree) if isinstance(s, ast.AugAssign)}
        stores = (n for n in ast.walk(tree) if isinstance(n, ast.Name) and n not in in_place)
        rebound = {n.id for n in stores if not isinstance(n.ctx, ast.Load)}
        return {name for name, fact in self.known.items() if fact.rank} - rebound

    def _given(self, e: ast.expr) -> Fact:
        ty = self._env.type(e)
        if isinstance(ty, RecordType):
            return Fact(ty.rank, owner=ast.unparse(e), record=ty)
        if not isinstance(ty, (ArrayType, ScalarType)):
            return UNKNOWN
        if isinstance(ty, ArrayType):
            return Fact(ty.rank, frozenset({ty}), owner=ast.unparse(e)) if ty.rank else UNKNOWN
        return typed(frozenset({ty}))

    def of(self, e: ast.expr) -> Fact:
        """What is known of the value of `e` here."""
        match e:
            case ast.Name(id=name) if name in self.known:
                return self.known[name]
            case ast.Constant(value=bool() | float() | int() | complex() as value):
                kind = {bool: "bool", int: "i64", float: "f64", complex: "c128"}[type(value)]
                return typed(frozenset({ScalarType(kind, weak=True)}))
            case ast.Constant() | ast.Starred():
                return UNKNOWN
            case ast.UnaryOp(op=ast.Not()):
                return typed(frozenset({ScalarType("bool", weak=True)}))
            case ast.UnaryOp(op=op, operand=operand):
                fact = self.of(operand)
                return self._asked(op, fact) or Fact(fact.rank)
            case ast.BinOp(left=left, op=op, right=right):
                return self._power(e) or self.binary(op, self.of(left), self.of(right))
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                sides = self.of(left), self.of(right)
                return self._asked(op, *sides) or broadcast(sides, at_most=True)
            case ast.Compare(left=left, comparators=rest):
                return broadcast([self.of(x) for x in (left, *rest)], at_most=False)
            case ast.BoolOp(values=values):
                return either([self.of(v) for v in values])
            case ast.IfExp(body=body, orelse=orelse):
                return join(self.of(body), self.of(orelse))
            case ast.Subscript():
                return self._subscript(e)
            case ast.Attribute():
                return self._attribute(e)
            case ast.List(elts=elts) | ast.Tuple(elts=[_, *_] as elts):
                return Fact(1) if all(self.of(x).rank == 0 for x in elts) else UNKNOWN
            case ast.Call():
                return self._call(e)
        return self._outside(e)

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
        return _known(ask(function, [f.types for f in facts])) if function else None

    def samples(self, e: ast.expr, index: bool = False) -> list[Sample]:
        """What `e` may be, as samples; ints below any length where it is an `index`."""
        if index and self.of(e).is_int:
            return [Exactly(0, int)]
        if self.is_new_axis(e):
            return [Exactly(None, type(None))]
        match e:
            case ast.Constant(value=value) if not isinstance(value, (bytes, complex)):
                return [Exactly(value, type(value))]
            case ast.Slice(step=step):
                steps = self.samples(step) if step else [Exactly(None, type(None))]
                return [Display(slice, (*[Exactly(None, type(None))] * 2, s)) for s in steps]
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
                return [Exactly(-value, type(value))]
            case ast.Tuple(elts=elts) | ast.List(elts=elts):
                make = tuple if isinstance(e, ast.Tuple) else list
                return self._display(make, elts, index)
            case ast.Name() | ast.Attribute() if (given := self._object(e)) is not None:
                return [Exactly(given, type(given))]
            case ast.Attribute(attr="shape", value=array) if rank := self.of(array).rank:
                return [Display(tuple, tuple(INT_TYPES) * rank)]
        return list(self.of(e).types)

    def is_new_axis(self, e: ast.expr) -> bool:
        """Whether `e` is ``np.newaxis``, which is None."""
        return isinstance(e, ast.Attribute) and e.attr == "newaxis" and self.resolve(e.value) is np

    def _object(self, e: ast.expr) -> object | None:
        """A type or function that stands as an argument, such as a dtype."""
        value = self.resolve(e)
        return value if isinstance(value, type) else None

    def _display(self, make: Callable[..., object], elts: Sequence[ast.expr], index: bool
                 ) -> list[Sample]:
        parts: list[tuple[Sample, ...]] = [()]
        for x in elts:
            parts = [(*p, s) for p in parts for s in self.samples(x, index)]
        return [Display(make, p) for p in parts]

    def _subscript(self, e: ast.Subscript) -> Fact:
        if isinstance(e.value, ast.Attribute) and e.value.attr == "shape":
            return INT if self.of(e.value.value).rank else self._outside(e)
        of = self.of(e.value)
        if of.record is not None:
            return self._of_records(of, of.record, e.slice)
        if not of.rank:
            return self._outside(e)
        if of.types:
            read = OPERATORS["Subscript"]
            fact = _known(ask(read, [of.types, self.samples(e.slice, index=True)]))
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

    def _of_records(self, of: Fact, ty: RecordType, index: ast.expr) -> Fact:
        field = ty.field(index.value) if isinstance(index, ast.Constant) else None
        if isinstance(field, ArrayType):
            return typed(frozenset({field}))
        indices = self.samples(index, index=True)
        if types := ask(OPERATORS["Subscript"], [[ty], indices]):
            return typed(types)
        less = part(ty, indices)
        return UNKNOWN if less is None else Fact(less.rank or None, owner=of.owner, record=less)

    def _ones(self, e: ast.Subscript) -> tuple[str, ...] | None:
        """The lengths of a view that has new axes."""
        items = e.slice.elts if isinstance(e.slice, ast.Tuple) else [e.slice]
        new = [self.is_new_axis(i) or _is_none(i) for i in items]
        slices = [n or isinstance(i, ast.Slice) for n, i in zip(new, items, strict=True)]
        if not any(new) or not all(slices) or len(items) - sum(new) < (self.of(e.value).rank or 0):
            return None
        return tuple("1" if n else "" for n in new)

    def _attribute(self, e: ast.Attribute) -> Fact:
        value = self.resolve(e)
        if type(value) in (int, float):
            return typed(frozenset({ScalarType("i64" if type(value) is int else "f64", weak=True)}))
        of = self.of(e.value)
        if of.rank and e.attr in ("size", "ndim"):
            return INT
        if of.rank and e.attr == "T":
            fact = _known(ask(np.transpose, [of.types])) or Fact(of.rank)
            return fact._replace(owner=of.owner)
        return self._part(of, e.attr) or self._outside(e)

    def _part(self, of: Fact, name: str) -> Fact | None:
        """What is known of the real or imaginary part of `of`."""
        if name not in ("real", "imag"):
            return None
        fact = _known(ask(operator.attrgetter(name), [of.types]))
        return fact._replace(owner=of.owner) if fact else None

    def _call(self, e: ast.Call) -> Fact:
        target = self._called(e.func)
        if target is len:
            return INT
        if (found := calls.reshaping(e, target)) is not None:
            return self._reshaped(*found)
        if target is np.broadcast_to and len(e.args) == 2 and not e.keywords:
            return self._reshaped(e.args[0], getattr(e.args[1], "elts", e.args[1:]))
        facts = [self.of(a) for a in e.args]
        if target in (np.real, np.imag) and len(facts) == 1 and not e.keywords:
            return self._part(facts[0], target.__name__) or UNKNOWN
        if target in (min, max) and len(facts) > 1 and not e.keywords:
            return either(facts)
        function = target
        operands = [[modest(target, s) for s in self.samples(a)] for a in e.args]
        if target is None and isinstance(e.func, ast.Attribute):
            of = self.of(e.func.value)
            function, operands = method(e.func.attr), [list(of.types), *operands]
            rank = calls.rank_of_method(e.func.attr, e, of.rank)
        else:
            rank = None if target is None else calls.rank_of(target, e, [f.rank for f in facts])
        named = {
            k.arg: [modest(target, s) for s in self.samples(k.value)] for k in e.keywords if k.arg
        }
        pure = callable(function) and (target is None or is_pure(function))
        if pure and callable(function) and len(named) == len(e.keywords):
            fact = _known(ask(function, [*operands, *named.values()], *named))
            if fact is not None:
                return fact._replace(shape=self._shape(target, e), owner=self._owner(e, target))
        return self._outside(e) if rank is None else Fact(rank)

    def _reshaped(self, array: ast.expr, lengths: Sequence[ast.expr]) -> Fact:
        of, rank = self.of(array), len(lengths) or 1
        if of.array is None or not all(self.of(n).is_int for n in lengths):
            return UNKNOWN
        dense = of.array.unit == of.array.rank - 1 or not lengths
        ty = ArrayType(of.array.dtype, rank, rank - 1 if dense else None)
        return Fact(rank, frozenset({ty}), owner=of.owner)

    def _owner(self, e: ast.Call, target: object | None) -> str | None:
        """Whose memory what a call gives is."""
        name = e.func.attr if isinstance(e.func, ast.Attribute) else getattr(target, "__name__", "")
        if name not in calls.VIEWING:
            return _NEW
        first = e.args[0] if target is not None else getattr(e.func, "value", None)
        return self.of(first).owner if first is not None else None

    def _called(self, func: ast.expr) -> object | None:
        """The function that `func` stands for; None where it is a method of an argument."""
        if isinstance(func, ast.Attribute) and func.attr == "accumulate":
            ufunc = self.resolve(func.value)
            if isinstance(ufunc, np.ufunc):
                return ufunc.accumulate
        return self.resolve(func)

    def _shape(self, target: object, e: ast.Call) -> tuple[str, ...] | None:
        """The lengths of what an allocator makes, where the names in them keep their values."""
        match e.args:
            case [ast.Tuple(elts=elts), *_] if any(target is f for f in _SHAPED):
                pass
            case [n, *_] if any(target is f for f in _SHAPED) and self.of(n).is_int:
                elts = [n]
            case [ast.Name() as like, *_] if any(target is f for f in _LIKE):
                known = self.of(like)
                shape = known.shape if all(known.shape or ()) else None
                if shape is not None or known.owner != like.id or not known.rank:
                    return shape
                axes = range(known.rank)
                elts = [ast.parse(f"{like.id}.shape[{k}]", mode="eval").body for k in axes]
            case _:
                return None
        return tuple(map(ast.unparse, elts)) if all(map(self.lasting, elts)) else None

    def lasting(self, e: ast.expr) -> bool:
        """Whether `e`, of lengths and ints, has the same value wherever it is asked."""
        return free_of(e, self.moving)

    def _outside(self, e: ast.expr) -> Fact:
        """What the environment knows, of an expression without local names."""
        if not free_of(e, self.own | set(self.known)):
            return UNKNOWN
        return self._given(e)


_NEW = ""
"""The owner of an array that was just made."""


def _bound_once(tree: ast.FunctionDef) -> set[str]:
    """The names that `tree` binds at one place, outside loops."""
    inside = {n for s in ast.walk(tree) if isinstance(s, (ast.For, ast.While)) for n in ast.walk(s)}
    stores = [n for n in ast.walk(tree) if isinstance(n, ast.Name)]
    stores = [n for n in stores if not isinstance(n.ctx, ast.Load)]
    count = Counter(n.id for n in stores)
    given = {a.arg for a in ast.walk(tree.args) if isinstance(a, ast.arg)}
    return {n.id for n in stores if count[n.id] == 1 and n not in inside} - given


def _is_none(e: ast.expr) -> bool:
    return isinstance(e, ast.Constant) and e.value is None


def _known(types: Types) -> Fact | None:
    return typed(types) if types else None


def may_be_bool(e: ast.expr) -> bool:
    """Whether `e` looks like a bool, which as a subscript is a mask and adds an axis."""
    match e:
        case ast.Constant(value=bool()) | ast.Compare() | ast.BoolOp() | ast.UnaryOp(op=ast.Not()):
            return True
    return False
