"""``map`` and ``filter`` → generator expressions, and loops over these → loops over what they walk;
before calls are inlined.
"""
from __future__ import annotations

import ast
from collections.abc import Callable

from ..below import below
from .arguments import is_none
from .copying import copied
from .names import bound, own_of, rename, unused, used

__all__ = ["mapped"]

_Resolve = Callable[[ast.expr], object]


def mapped(tree: ast.FunctionDef, resolve: _Resolve) -> ast.FunctionDef:
    """A copy of `tree` without calls of the builtins ``map`` and ``filter``, where what they call
    is a name or a ``lambda``, and without loops over generators; `tree` itself where there is none.

        s = sum(map(lambda v: v * k, x))
        u = list(filter(good, x))
        for v in (w * 2 for w in x if w > s):
            s = s + v
    →
        s = sum((_v * k for _v in x))
        u = list((_v_1 for _v_1 in x if good(_v_1)))
        for _v_2 in x:
            if _v_2 > s:
                v = _v_2 * 2
                s = s + v
    """
    nodes = [*below(*tree.body)]
    names = (n.func for n in nodes if isinstance(n, ast.Call))
    known = {f.id for f in names if isinstance(f, ast.Name) and any(
        resolve(f) is b for b in (map, filter))}
    walked = any(isinstance(n, ast.For) and isinstance(n.iter, ast.GeneratorExp) for n in nodes)
    if not known and not walked:
        return tree
    zips = resolve(ast.Name("zip", ast.Load())) is zip
    new = _Mapped(known, used(tree), zips).visit(copied(tree))
    assert isinstance(new, ast.FunctionDef)
    return ast.fix_missing_locations(new)


class _Mapped(ast.NodeTransformer):
    def __init__(self, known: set[str], taken: set[str], zips: bool) -> None:
        self.known, self.taken, self.zips = known, taken, zips

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        match node:
            case ast.Call(func=ast.Name(id=called), args=[function, *streams], keywords=[]) if (
                called in self.known and streams and (len(streams) == 1 or self.zips)
                and not any(isinstance(s, ast.Starred) for s in streams)
            ):
                made = self._made(called, function, streams)
                return node if made is None else ast.copy_location(made, node)
        return node

    def _made(
        self, called: str, function: ast.expr, streams: list[ast.expr]
    ) -> ast.GeneratorExp | None:
        items = [ast.Name(self._fresh(), ast.Store()) for _ in streams]
        loads: list[ast.expr] = [ast.Name(n.id, ast.Load()) for n in items]
        value = _called(function, loads)
        if called == "filter" and is_none(function):
            value = loads[0]
        keeps = called == "filter"
        if value is None or (keeps and len(streams) != 1):
            return None
        target: ast.expr = items[0] if len(items) == 1 else ast.Tuple([*items], ast.Store())
        zipped = ast.Call(ast.Name("zip", ast.Load()), streams, [])
        stream = streams[0] if len(streams) == 1 else zipped
        each = ast.comprehension(target, stream, [value] if keeps else [], 0)
        return ast.GeneratorExp(loads[0] if keeps else value, [each])

    def visit_For(self, node: ast.For) -> ast.stmt:
        self.generic_visit(node)
        match node.iter:
            case ast.GeneratorExp(elt=value, generators=[ast.comprehension(
                target=target, iter=stream, ifs=tests, is_async=0
            )]) if not any(isinstance(n, ast.NamedExpr) for n in below(node.iter)):
                names: dict[str, str | ast.expr] = {n: self._fresh() for n in bound(target)}
                lines = [ast.Assign([node.target], rename(value, names)), *node.body]
                for test in reversed(tests):
                    lines = [ast.If(rename(test, names), lines, [])]
                node.target, node.iter, node.body = rename(target, names), stream, lines
                for n in below(*lines):
                    if not hasattr(n, "lineno"):
                        ast.copy_location(n, value)
        return node

    def _fresh(self) -> str:
        name = unused("_v", self.taken)
        self.taken.add(name)
        return name


def _called(function: ast.expr, given: list[ast.expr]) -> ast.expr | None:
    """``function(*given)``; the value of a ``lambda`` of so many arguments."""
    match function:
        case ast.Name() | ast.Attribute():
            return ast.Call(function, given, [])
        case ast.Lambda(args=ast.arguments(
            posonlyargs=first, args=others, vararg=None, kwonlyargs=[], kwarg=None, defaults=[]
        ), body=body) if len(first) + len(others) == len(given):
            within = [n for n in below(body) if isinstance(n, (ast.Lambda, ast.NamedExpr))]
            names = (a.arg for a in (*first, *others))
            parts = dict(zip(names, given, strict=True))
            if within or own_of(function) != parts.keys():
                return None
            return rename(body, parts)
    return None
