"""Arrays, and lists of lists, of what comprehensions give → loops that fill them."""
from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..types import ScalarType
from .comprehensions import waits
from .context import Context
from .copying import copied
from .filled import Comprehension, Filled, Loop, filled, kinds
from .firing import fires_on
from .names import bound, free_of
from .nests import allocated, dtype, product, unless

__all__ = ["array_collected", "list_nested", "zero"]

_ITEMS: dict[str, bool | int | float] = {"i64": 0, "f64": 0.0, "bool": False}
"""What lists in lists may hold, Python's and NumPy's."""

_MAKING: tuple[Any, ...] = (np.array, np.asarray, np.fromiter)


@fires_on(ast.Call, calls=_MAKING)
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
            function, taken = cx.resolve(func), _of_lists(taken, cx)
        case _:
            return None
    given = {k.arg: k.value for k in node.keywords} | ({"dtype": rest[0]} if rest else {})
    flat = function is np.fromiter
    known = function in _MAKING and (flat or isinstance(taken, ast.ListComp))
    known = known and not waits(taken) and not bound(taken)
    if known and not isinstance(taken.elt, (ast.ListComp, ast.List, ast.Tuple)):
        known = not cx.returned()  # NumPy makes it of a list, empty or not
    if not known or len(rest) > 1 or given.keys() - {"dtype"}:
        return None
    name, asked, before = cx.fresh("a"), given.get("dtype"), dict(cx.facts.known)

    def make() -> list[ast.stmt] | None:
        found = filled(taken, cx)
        if found is None or found.width == 0 or (flat and (found.axes[1:] or found.width)):
            return None
        of = _common(kinds(found.items, cx)) if asked is None else _given(asked, cx)
        return None if of is None else _made(name, node, found, of, asked is None, cx)

    try:
        return cx.made(name, make)
    finally:
        cx.facts.known = before


def _of_lists(of: Comprehension, cx: Context) -> Comprehension:
    """Lists in the place of arrays made of lists: they are rows of the same numbers."""
    match of.elt:
        case ast.Call(func=func, args=[ast.ListComp() as row], keywords=[]) if (
            cx.resolve(func) is np.array
        ):
            new = copied(of)
            new.elt = _of_lists(row, cx)
            return new
    return of


@fires_on(ast.Assign, targets=ast.Name, value=ast.ListComp)
@fires_on(ast.ListComp, elt=ast.ListComp)
def list_nested(node: ast.AST, cx: Context) -> list[ast.stmt] | ast.expr | None:
    """Lists of one length in lists, of numbers of one type.

        out = [[i * j for j in range(3)] for i in range(n)]
    →
        out = [[0] * 3 for _i_3 in range(max(n, 0))]
        for _i_1 in range(max(n, 0)):
            _i = _i_1
            for _i_2 in range(3):
                _j = _i_2
                out[_i_1][_i_2] = _i * _j
    """
    match node:
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.ListComp(elt=ast.ListComp()) as of):
            known = free_of(of, [name])
            return cx.whole(lambda: _nested(name, of, cx)) if known else None
        case ast.ListComp(elt=ast.ListComp()):
            name, of = cx.fresh("list"), node
            return cx.made(name, lambda: _nested(name, of, cx))
    return None


def _nested(name: str, of: ast.ListComp, cx: Context) -> list[ast.stmt] | None:
    before = dict(cx.facts.known)
    try:
        found = None if waits(of) or bound(of) or not cx.means("range") else filled(of, cx)
        types = kinds(found.items, cx) if found and found.width is None else set()
    finally:
        cx.facts.known = before
    if found is None or len(types) != 1 or not all(t.dtype in _ITEMS for t in types):
        return None
    setup, lengths = cx.take_before(), _lengths(found, cx)
    rows = cx.expr("[Z] * N", Z=zero(types.pop(), cx), N=lengths[-1])
    for n in reversed(lengths[:-1]):
        rows = cx.expr("[ROW for I in range(N)]", ROW=rows, I=cx.fresh("i"), N=n)
    place: ast.expr = ast.Name(name, ast.Load())
    for axis in found.axes:
        place = cx.expr("P[I]", P=place, I=_flat(axis, cx))
    assert isinstance(place, ast.Subscript)
    place.ctx = ast.Store()
    body = cx.code("PLACE = E", PLACE=place, E=found.items[0])
    lines = [*cx.code("NAME = E", NAME=name, E=rows), *_looped(found, body, cx)]
    (original,) = cx.code("NAME = E", NAME=name, E=of)
    checks = [c for loop in found.loops for c in loop.checks]
    return [*setup, *unless(checks, original, lines, cx)]


def zero(of: ScalarType, cx: Context) -> ast.expr:
    """The least of what a list may hold."""
    if not of.weak:
        return cx.expr("T(0)", T=dtype(of.dtype, cx))
    return ast.Constant(_ITEMS[of.dtype])


def _common(of: set[ScalarType]) -> str | None:
    """The dtype that all have."""
    names = {t.dtype for t in of}
    return names.pop() if len(names) == 1 else None


def _lengths(found: Filled, cx: Context) -> list[ast.expr]:
    return [product([loop.length for loop in axis], cx) for axis in found.axes]


def _looped(found: Filled, body: list[ast.stmt], cx: Context) -> list[ast.stmt]:
    for loop in reversed(found.loops):
        lines = [*loop.binds, *body]
        body = cx.code("for I in range(N): BODY", I=loop.variable, N=loop.length, BODY=lines)
    return body


def _given(type_: ast.expr, cx: Context) -> str | None:
    made = cx.fact(cx.expr("NP.empty(1, T)", NP=cx.numpy, T=type_)).array
    return None if made is None else made.dtype


def _made(
    name: str, node: ast.Call, found: Filled, of: str, inferred: bool, cx: Context
) -> list[ast.stmt]:
    setup = cx.take_before()
    lengths = _lengths(found, cx)
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
    body = _looped(found, body, cx)
    (original,) = cx.code("NAME = E", NAME=name, E=node)
    lines = [allocated(name, [*lengths, *width], of, cx), *body]
    inferred = inferred and of != "f64"
    if count:
        lines[1:1] = cx.code("N = 0", N=count)
        lines += cx.code("NAME.resize(N, refcheck=False)", NAME=name, N=count)
        if inferred:
            lines += unless([cx.expr("N == 0", N=count)], original, [ast.Pass()], cx)
            inferred = False
    some = lengths if inferred or width else lengths[:-1]
    checks = [c for loop in found.loops for c in loop.checks]
    checks += [cx.expr("N < 1", N=n) for n in some]
    return [*setup, *unless(checks, original, lines, cx)]


def _flat(axis: Sequence[Loop], cx: Context) -> ast.expr:
    """The place along an axis that several loops run along."""
    place: ast.expr = ast.Name(axis[0].variable, ast.Load())
    for loop in axis[1:]:
        inner = ast.Name(loop.variable, ast.Load())
        place = cx.expr("P * N + I", P=place, N=loop.length, I=inner)
    return place


def _stored(name: str, at: Sequence[ast.expr], cx: Context) -> ast.expr:
    index = at[0] if len(at) == 1 else ast.Tuple([*at], ast.Load())
    return ast.copy_location(ast.Subscript(ast.Name(name, ast.Load()), index, ast.Store()), cx.at)
