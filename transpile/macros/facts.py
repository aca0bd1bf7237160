"""What is known of an expression: its rank, and whether it is a Python int."""
from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import NamedTuple

from . import calls
from .env import Env
from .names import bound, free_of

__all__ = ["INT", "SCALAR", "UNKNOWN", "Fact", "Facts", "join", "may_be_bool"]


class Fact(NamedTuple):
    """``rank`` as in Env.rank, 1 for a list of scalars; ``is_int``: a Python int on every path."""

    rank: int | None
    is_int: bool = False


UNKNOWN, SCALAR, INT = Fact(None), Fact(0), Fact(0, True)
_INT_OPERATORS = (ast.Add, ast.Sub, ast.Mult, ast.FloorDiv, ast.Mod)


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
                name = ast.copy_location(ast.Name(a.arg, ast.Load()), a)
                self.known[a.arg] = Fact(env.rank(name), env.is_int(name))

    def of(self, e: ast.expr) -> Fact:
        """What is known of the value of `e` here."""
        match e:
            case ast.Name(id=name) if name in self.known:
                return self.known[name]
            case ast.Constant(value=bool() | float() | complex()):
                return SCALAR
            case ast.Constant(value=int()):
                return INT
            case ast.Constant() | ast.Starred():
                return UNKNOWN
            case ast.UnaryOp(op=ast.Not()):
                return SCALAR
            case ast.UnaryOp(operand=operand):
                return self.of(operand)
            case ast.BinOp(left=left, op=op, right=right):
                return self.binary(op, self.of(left), self.of(right))
            case ast.Compare(left=left, comparators=rest):
                return _broadcast([self.of(x) for x in (left, *rest)], at_most=len(rest) == 1)
            case ast.BoolOp(values=values):
                return _broadcast([self.of(v) for v in values], at_most=False)
            case ast.IfExp(body=body, orelse=orelse):
                return join(self.of(body), self.of(orelse))
            case ast.Subscript():
                return self._subscript(e)
            case ast.Attribute():
                return self._attribute(e)
            case ast.List(elts=elts):
                return Fact(1) if all(self.of(x).rank == 0 for x in elts) else UNKNOWN
            case ast.Call(func=func, args=args):
                return self._call(e, func, args)
        return self._outside(e)

    def binary(self, op: ast.operator, left: Fact, right: Fact) -> Fact:
        """What is known of ``left op right``."""
        if left.is_int and right.is_int and isinstance(op, _INT_OPERATORS):
            return INT
        return _broadcast([left, right], at_most=True)

    def _subscript(self, e: ast.Subscript) -> Fact:
        if isinstance(e.value, ast.Attribute) and e.value.attr == "shape":
            return INT if self.of(e.value.value).rank else self._outside(e)
        rank = self.of(e.value).rank
        if not rank:
            return self._outside(e)
        for index in e.slice.elts if isinstance(e.slice, ast.Tuple) else [e.slice]:
            if isinstance(index, ast.Slice):
                continue
            if self.of(index).rank != 0 or may_be_bool(index):
                return UNKNOWN
            rank -= 1
        return Fact(rank) if rank >= 0 else UNKNOWN

    def _attribute(self, e: ast.Attribute) -> Fact:
        if isinstance(self.resolve(e), (int, float)):
            return SCALAR
        rank = self.of(e.value).rank
        if rank and e.attr in ("size", "ndim"):
            return INT
        return Fact(rank) if rank and e.attr == "T" else self._outside(e)

    def _call(self, e: ast.Call, func: ast.expr, args: Sequence[ast.expr]) -> Fact:
        target = self.resolve(func)
        if target is len:
            return INT
        ranks = [self.of(a).rank for a in args]
        if target is not None:
            rank = calls.rank_of(target, e, ranks)
        elif isinstance(func, ast.Attribute):
            rank = calls.rank_of_method(func.attr, e, self.of(func.value).rank)
        else:
            rank = None
        return self._outside(e) if rank is None else Fact(rank)

    def _outside(self, e: ast.expr) -> Fact:
        """What the environment knows, of an expression without local names."""
        if not free_of(e, self.own | set(self.known)):
            return UNKNOWN
        return Fact(self._env.rank(e), self._env.is_int(e))


def join(a: Fact, b: Fact) -> Fact:
    """What holds of a value that is one or the other."""
    return Fact(a.rank if a.rank == b.rank else None, a.is_int and b.is_int)


def _broadcast(facts: Sequence[Fact], at_most: bool) -> Fact:
    """The rank of an operation over all; with `at_most` false, only if all are scalars."""
    ranks = [f.rank for f in facts]
    if None in ranks:
        return UNKNOWN
    rank = max(r for r in ranks if r is not None)
    return Fact(rank) if at_most or rank == 0 else UNKNOWN


def may_be_bool(e: ast.expr) -> bool:
    """Whether `e` looks like a bool, which as a subscript is a mask and adds an axis."""
    match e:
        case ast.Constant(value=bool()) | ast.Compare() | ast.BoolOp() | ast.UnaryOp(op=ast.Not()):
            return True
    return False
