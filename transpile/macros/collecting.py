"""Arrays of what comprehensions give → arrays that loops fill: ``np.array([e for v in x])``."""
from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from ..types import ScalarType
from .comprehensions import all_of, own_names, waits
from .context import Context
from .fact import INT
from .loops import pairs
from .names import bound, rename, used
from .nests import allocated, product, unless
from .streams import Stream, extent, stream

__all__ = ["array_collected"]

_MAKING: tuple[Any, ...] = (np.array, np.asarray, np.fromiter)
_Comprehension: TypeAlias = ast.ListComp | ast.GeneratorExp


class _Loop(NamedTuple):
    """``length`` times ``binds``; it is Python's where one of ``checks`` holds."""

    variable: str
    length: ast.expr
    binds: list[ast.stmt]
    checks: tuple[ast.expr, ...]


class _Filled(NamedTuple):
    """What a comprehension gives: ``items``, by their places in the innermost display.

    ``axes``: the loops of each axis. ``test``: of those that are taken. ``width``: of a display.
    """

    axes: list[list[_Loop]]
    test: ast.expr | None
    items: Sequence[ast.expr]
    width: int | None

    @property
    def loops(self) -> list[_Loop]:
        return [loop for axis in self.axes for loop in axis]


def array_collected(node: ast.AST, cx: Context) -> ast.expr | None:
    """No list is made. An array of nothing is one of floats: that of others is NumPy's.

        u = np.array([v * 2 for v in x])
        z = np.array([v for v in x if v > s])
    →
        _a_1 = np.empty(len(x), np.float64)
        for _i in range(len(x)):
            _v = x[_i]
            _a_1[_i] = _v * 2
        u = _a_1
        _a_3 = np.empty(len(x), np.float64)
        _n = 0
        for _i_1 in range(len(x)):
            if x[_i_1] > s:
                _a_3[_n] = x[_i_1]
                _n = _n + 1
        _a_3.resize(_n, refcheck=False)
        z = _a_3
    """
    match node:
        case ast.Call(func=func, args=[ast.ListComp() | ast.GeneratorExp() as taken, *rest]):
            function = cx.resolve(func)
        case _:
            return None
    given = {k.arg: k.value for k in node.keywords} | ({"dtype": rest[0]} if rest else {})
    flat = function is np.fromiter
    known = function in _MAKING and (flat or isinstance(taken, ast.ListComp))
    known = known and not waits(taken) and not bound(taken)
    if known and not isinstance(taken.elt, (ast.ListComp, ast.List, ast.Tuple)):
        known = not _is_returned(node, cx)
    if not known or len(rest) > 1 or given.keys() - {"dtype"}:
        return None
    name, dtype, before = cx.fresh("a"), given.get("dtype"), dict(cx.facts.known)

    def make() -> list[ast.stmt] | None:
        found = _filled(taken, cx)
        if found is None or found.width == 0 or (flat and (found.axes[1:] or found.width)):
            return None
        of = _element(found.items, cx) if dtype is None else _given(dtype, cx)
        return None if of is None else _made(name, node, found, of, dtype is None, cx)

    try:
        return cx.made(name, make)
    finally:
        cx.facts.known = before


def _is_returned(node: ast.expr, cx: Context) -> bool:
    """Whether it is what the function gives, or a part: then NumPy makes it of a list."""
    if not isinstance(cx.within, ast.Return):
        return False
    value = cx.within.value
    return any(e is node for e in getattr(value, "elts", [value]))


def _filled(of: _Comprehension, cx: Context, outer: Sequence[_Loop] = ()) -> _Filled | None:
    """Facts follow: those of the variables stay behind."""
    of = own_names(of, cx)
    tests = [test for g in of.generators for test in g.ifs]
    names: dict[str, str | ast.expr] = {}
    loops: list[_Loop] = []
    for g in of.generators:
        loop = _loop(g, [*outer, *loops], names if tests else None, cx)
        if loop is None or (tests and len(of.generators) > 1):
            return None
        loops.append(loop)
    elt = rename(of.elt, names)
    if tests:
        return _Filled([loops], rename(all_of(tests, cx), names), [elt], None)
    if isinstance(elt, ast.ListComp) and not waits(elt):
        inner = _filled(elt, cx, [*outer, *loops])
        known = inner is not None and not inner.test
        return inner._replace(axes=[loops, *inner.axes]) if inner and known else None
    if isinstance(elt, (ast.List, ast.Tuple)):
        return _Filled([loops], None, elt.elts, len(elt.elts))
    return _Filled([loops], None, [elt], None)


def _apart(node: ast.AST, loops: Sequence[_Loop]) -> bool:
    """Whether it has nothing of the variables of `loops`."""
    own = {loop.variable for loop in loops} | bound(*(s for loop in loops for s in loop.binds))
    return own.isdisjoint(used(node))


def _loop(
    g: ast.comprehension, outer: Sequence[_Loop], names: dict[str, str | ast.expr] | None,
    cx: Context,
) -> _Loop | None:
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
    return _Loop(index, extent(s.length, cx), binds, s.checks)


def _along_row(e: ast.expr, outer: Sequence[_Loop], cx: Context) -> Stream | None:
    """What runs along a row, whose length is that of any other."""
    for line in (s for loop in outer for s in loop.binds):
        match e, line:
            case ast.Name(id=name), ast.Assign(
                targets=[ast.Name(id=row)],
                value=ast.Subscript(value=ast.Name() as of, slice=ast.Name()),
            ) if name == row and (cx.fact(of).rank or 0) > 1:
                length = cx.expr("X.shape[1]", X=of)
                return Stream((), length, lambda i: cx.expr("X[I]", X=e, I=i))
    return None


def _element(items: Sequence[ast.expr], cx: Context) -> str | None:
    """The dtype of numbers that are all of one, which may need their calls expanded."""
    names: set[str] = set()
    for e in items:
        types = cx.fact(e).types
        if not types:
            name = cx.fresh("e")
            for line in cx.code("NAME = E", NAME=name, E=e):
                cx.expanded(line)
            types = cx.facts.of(ast.Name(name, ast.Load())).types
        if not types or not all(isinstance(t, ScalarType) for t in types):
            return None
        names |= {t.dtype for t in types}
    return names.pop() if len(names) == 1 else None


def _given(dtype: ast.expr, cx: Context) -> str | None:
    made = cx.fact(cx.expr("NP.empty(1, T)", NP=cx.numpy, T=dtype)).array
    return None if made is None else made.dtype


def _made(
    name: str, node: ast.Call, found: _Filled, dtype: str, inferred: bool, cx: Context
) -> list[ast.stmt]:
    setup = cx.take_before()
    lengths = [product([loop.length for loop in axis], cx) for axis in found.axes]
    width = [] if found.width is None else [ast.Constant(found.width)]
    count = cx.fresh("n") if found.test else None
    at = [ast.Name(count, ast.Load())] if count else [_flat(axis, cx) for axis in found.axes]
    body: list[ast.stmt] = []
    for k, e in enumerate(found.items):
        index = [*at, ast.Constant(k)] if width else at
        body += cx.code("X = E", X=_stored(name, index, cx), E=e)
    if count and found.test:
        text = "if TEST:\n    BODY\n    N = N + 1"
        body = cx.code(text, TEST=found.test, BODY=body, N=count)
    for loop in reversed(found.loops):
        lines = [*loop.binds, *body]
        body = cx.code("for I in range(N): BODY", I=loop.variable, N=loop.length, BODY=lines)
    (original,) = cx.code("NAME = E", NAME=name, E=node)
    lines = [allocated(name, [*lengths, *width], dtype, cx), *body]
    inferred = inferred and dtype != "f64"
    if count:
        lines[1:1] = cx.code("N = 0", N=count)
        lines += cx.code("NAME.resize(N, refcheck=False)", NAME=name, N=count)
        none = [cx.expr("N == 0", N=ast.Name(count, ast.Load()))] if inferred else []
        lines += unless(none, original, [ast.Pass()], cx) if none else []
        inferred = False
    some = lengths if inferred or width else lengths[:-1]
    checks = [c for loop in found.loops for c in loop.checks]
    checks += [cx.expr("N < 1", N=n) for n in some]
    return [*setup, *unless(checks, original, lines, cx)]


def _flat(axis: Sequence[_Loop], cx: Context) -> ast.expr:
    """The place along an axis that several loops run along."""
    place: ast.expr = ast.Name(axis[0].variable, ast.Load())
    for loop in axis[1:]:
        inner = ast.Name(loop.variable, ast.Load())
        place = cx.expr("P * N + I", P=place, N=loop.length, I=inner)
    return place


def _stored(name: str, at: Sequence[ast.expr], cx: Context) -> ast.expr:
    index = at[0] if len(at) == 1 else ast.Tuple([*at], ast.Load())
    return ast.copy_location(ast.Subscript(ast.Name(name, ast.Load()), index, ast.Store()), cx.at)
