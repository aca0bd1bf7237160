"""What comprehensions give, as loops over the axes of an array, or of lists in lists."""
from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from ..types import ScalarType
from .comprehensions import all_of, own_names, waits
from .context import Context
from .fact import INT
from .listlike import holds_lists
from .loops import pairs
from .names import bound, rename, used
from .streams import Stream, extent, stream

__all__ = ["Comprehension", "Filled", "Loop", "filled", "kinds"]

Comprehension: TypeAlias = ast.ListComp | ast.GeneratorExp


class Loop(NamedTuple):
    """``length`` times ``binds``; it is Python's where one of ``checks`` holds."""

    variable: str
    length: ast.expr
    binds: list[ast.stmt]
    checks: tuple[ast.expr, ...]


class Filled(NamedTuple):
    """What a comprehension gives: ``items``, by their places in the innermost display.

    ``axes``: the loops of each axis. ``test``: of those that are taken. ``width``: of a display.
    """

    axes: list[list[Loop]]
    test: ast.expr | None
    items: Sequence[ast.expr]
    width: int | None

    @property
    def loops(self) -> list[Loop]:
        return [loop for axis in self.axes for loop in axis]


def filled(of: Comprehension, cx: Context, outer: Sequence[Loop] = ()) -> Filled | None:
    """Facts follow: those of the variables stay behind."""
    of = own_names(of, cx)
    tests = [test for g in of.generators for test in g.ifs]
    names: dict[str, str | ast.expr] = {}
    loops: list[Loop] = []
    for g in of.generators:
        loop = _loop(g, [*outer, *loops], names if tests else None, cx)
        if loop is None or (tests and len(of.generators) > 1):
            return None
        loops.append(loop)
    elt = rename(of.elt, names)
    if tests:
        return Filled([loops], rename(all_of(tests, cx), names), [elt], None)
    if isinstance(elt, ast.ListComp) and not waits(elt):
        inner = filled(elt, cx, [*outer, *loops])
        known = inner is not None and not inner.test
        return inner._replace(axes=[loops, *inner.axes]) if inner and known else None
    if isinstance(elt, (ast.List, ast.Tuple)):
        return Filled([loops], None, elt.elts, len(elt.elts))
    return Filled([loops], None, [elt], None)


def _apart(node: ast.AST, loops: Sequence[Loop]) -> bool:
    """Whether it has nothing of the variables of `loops`."""
    own = {loop.variable for loop in loops} | bound(*(s for loop in loops for s in loop.binds))
    return own.isdisjoint(used(node))


def _loop(
    g: ast.comprehension, outer: Sequence[Loop], names: dict[str, str | ast.expr] | None,
    cx: Context,
) -> Loop | None:
    """The loop of a clause. With `names`, these stand for the elements, and nothing binds them."""
    s = _along_row(g.iter, outer, cx) or stream(g.iter, cx, ())
    if s is None or not all(_apart(part, outer) for part in (s.length, *s.setup)):
        return None
    index = cx.fresh("i")
    parts = pairs(g.target, s.at(ast.Name(index, ast.Load())))
    if parts is None:
        return None
    cx.before(*s.setup)
    cx.facts.known[index] = INT
    binds = [line for t, e in parts for line in cx.code("TARGET = E", TARGET=t, E=e)]
    for line in (*s.setup, *binds):
        cx.facts.record(line)
    if names is not None and all(isinstance(t, ast.Name) for t, _ in parts):
        names |= {t.id: e for t, e in parts if isinstance(t, ast.Name)}
        binds = []
    return Loop(index, extent(s.length, cx), binds, s.checks)


def _along_row(e: ast.expr, outer: Sequence[Loop], cx: Context) -> Stream | None:
    """What runs along a row, whose length is that of any other."""
    for line in (s for loop in outer for s in loop.binds):
        match e, line:
            case ast.Name(id=name), ast.Assign(
                targets=[ast.Name(id=row)],
                value=ast.Subscript(value=ast.Name() as of, slice=ast.Name()),
            ) if name == row and ((rank := cx.fact(of).rank or 0) > 1 or holds_lists(of, cx)):
                length = cx.expr("X.shape[1]" if rank > 1 else "len(X[0])", X=of)
                checks = () if rank > 1 else (cx.expr("len(X) < 1", X=of),)
                return Stream((), length, lambda i: cx.expr("X[I]", X=e, I=i), checks=checks)
    return None


def kinds(items: Sequence[ast.expr], cx: Context) -> set[ScalarType]:
    """What numbers may be, which may need their calls expanded; nothing where that is not known."""
    found: set[ScalarType] = set()
    for e in items:
        types = cx.fact(e).types
        if not types:
            name = cx.fresh("e")
            for line in cx.code("NAME = E", NAME=name, E=e):
                cx.expanded(line)
            types = cx.facts.of(ast.Name(name, ast.Load())).types
        if not types or not all(isinstance(t, ScalarType) for t in types):
            return set()
        found |= {t for t in types if isinstance(t, ScalarType)}
    return found
