"""Alias analysis: which names may stand for arrays that share memory."""
from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

import numpy as np

from ..containers.method_table import RESIZING
from ..frontend.ast_names import binding_pairs, bound_names
from ..frontend.ast_walk import child_blocks, walk_nodes
from ..numpy.function_table import function_row, method_row, result_may_be_argument

__all__ = ["AliasAnalysis", "owners_may_alias"]

_OUTSIDE = ""
"""Stands for what comes from outside of the function."""


def owners_may_alias(owner: str | None, other: str | None) -> bool:
    """Whether arrays with these owners (`Fact.owner`) may share memory. An owner of None is not
    known: it may be any array, except a new one, whose owner is "".
    """
    return owner == other or (None in (owner, other) and "" not in (owner, other))


class AliasAnalysis:
    """Which arrays the names of `tree` may share with each other."""

    def __init__(
        self, tree: ast.FunctionDef, resolve: Callable[[ast.expr], object | None]
    ) -> None:
        self._tree, self._resolve = tree, resolve
        self._first: dict[str, str] = {}
        own = bound_names(*tree.body)
        for n in walk_nodes(*tree.body):
            if isinstance(n, ast.Name) and n.id not in own:
                self._join(_OUTSIDE, n.id)
        for a in walk_nodes(tree.args):
            if isinstance(a, ast.arg):
                self._join(_OUTSIDE, a.arg)
        for n in walk_nodes(*tree.body):
            for target, value in _bindings(n):
                for name in [] if self.is_new(value) else _names(value):
                    for of in _names(target):
                        self._join(of, name)
        self._changes = [(n, name) for n in walk_nodes(*tree.body) for name in self._changed(n)]

    def stays(self, e: ast.expr, at: ast.stmt) -> bool:
        """Whether the array `e`, used by the statement `at`, is never written afterwards.

        It is so if the array is new at `at`, or if neither it nor a view of it is written, except
        between its creation and `at` where both are statements of one block.
        """
        if self.is_new(e):
            return True
        groups = {self._of(name) for name in _names(e)}
        changes = [(n, name) for n, name in self._changes if self._of(name) in groups]
        if not changes or not isinstance(e, ast.Name):
            return not changes
        made = {n for s in self._made(e, at) for n in walk_nodes(s)}
        return all(n in made and name == e.id for n, name in changes)

    def _made(self, e: ast.Name, at: ast.stmt) -> list[ast.stmt]:
        """What stands between the statement that makes the array `e` anew and `at`."""
        block = next(b for n in walk_nodes(self._tree) for b in child_blocks(n) if at in b)
        here = block.index(at)
        for k in reversed(range(here)):
            match block[k]:
                case ast.Assign(targets=[ast.Name(id=name)], value=value) if name == e.id:
                    return block[k + 1 : here] if self.is_new(value) else []
            if e.id in bound_names(block[k]):
                break
        return []

    def is_new(self, e: ast.expr) -> bool:
        """Whether `e` is surely no view of an array that has a name."""
        match e:
            case ast.Constant() | ast.BinOp() | ast.UnaryOp() | ast.Compare() | ast.JoinedStr():
                return True
            case ast.IfExp(body=body, orelse=orelse):
                return self.is_new(body) and self.is_new(orelse)
            case ast.BoolOp(values=values):
                return all(map(self.is_new, values))
            case ast.List(elts=elts) | ast.Tuple(elts=elts):
                return all(map(self.is_new, elts))
            case ast.ListComp(elt=elt):
                return self.is_new(elt)
            case ast.Call(func=ast.Attribute(attr=name) as func, args=args, keywords=keywords):
                function = self._resolve(func)
                named = {k.arg for k in keywords} & {"out", "copy", None}
                return not named and (
                    isinstance(function, np.ufunc) or _gives_new(name, function, len(args))
                )
        return False

    def _changed(self, n: ast.AST) -> Iterator[str]:
        """The names of what `n` itself changes in place."""
        match n:
            case ast.Subscript(ctx=ast.Store() | ast.Del()) | ast.Attribute(
                ctx=ast.Store() | ast.Del()
            ):
                yield from _names(n.value)
            case ast.AugAssign(target=ast.Name(id=name)):
                yield name
            case ast.Expr(value=ast.Call(func=func, args=args)):
                appends = isinstance(func, ast.Attribute) and func.attr in RESIZING
                for e in (func, *args) if not appends else ():
                    yield from _names(e)
            case ast.Call(func=func, args=args, keywords=keywords):
                function = self._resolve(func)
                most = function.nin if isinstance(function, np.ufunc) else 3
                for e in (*args[most:], *(k.value for k in keywords if k.arg == "out")):
                    yield from _names(e)

    def _of(self, name: str) -> str:
        while (first := self._first.get(name, name)) != name:
            name = first
        return name

    def _join(self, a: str, b: str) -> None:
        self._first[self._of(b)] = self._of(a)


def _bindings(n: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    yield from binding_pairs(n)
    match n:
        case ast.AnnAssign(target=target, value=ast.expr() as value) | ast.NamedExpr(
            target=target, value=value
        ):
            yield target, value
        case ast.For(target=target, iter=value) | ast.comprehension(target=target, iter=value):
            yield target, value


def _names(e: ast.AST) -> Iterator[str]:
    return (n.id for n in walk_nodes(e) if isinstance(n, ast.Name))


def _gives_new(name: str, function: object, count: int) -> bool:
    """Whether ``np.name(…)``, or a method of that name where `function` is None, gives an array
    that shares no memory with its `count` arguments.
    """
    row = method_row(name) if function is None else function_row(function)
    if row is None or row.result != "new":
        return False
    return not result_may_be_argument(name, count + (function is None))
