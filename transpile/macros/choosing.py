"""``min`` and ``max`` by a key, and of pairs → loops that keep the best so far."""
from __future__ import annotations

import ast
import math

import numpy as np

from .comprehensions import waits
from .context import Context
from .firing import fires_on
from .folds import EMPTY, items_of
from .loops import pairs
from .names import bound, rename
from .streams import Stream, stream

__all__ = ["best_chosen"]

_KEYS = (abs, float, int, math.sqrt, math.floor, np.abs, np.sqrt, np.square)


@fires_on(ast.Call, calls=[max, min])
def best_chosen(node: ast.AST, cx: Context) -> ast.expr | None:
    """The first of the best.

        i = min(range(n), key=lambda p: abs(x[p]))
    →
        if n < 1:
            raise ValueError('min() …')
        _v_1 = 0
        _best = _v_1
        _key = abs(x[_best])
        for _i in range(1, n):
            _v_1 = _i
            _e = _v_1
            _key_1 = abs(x[_e])
            if _key_1 < _key:
                _best = _e
                _key = _key_1
        i = _best
    """
    function = cx.builtin(node)
    key: ast.expr | None = None
    match node:
        case ast.Call(args=[a], keywords=[ast.keyword(arg="key", value=key)]):
            pass
        case ast.Call(args=[ast.GeneratorExp(elt=ast.Tuple()) as a], keywords=[]):
            pass
        case _:
            return None
    if function not in EMPTY or not cx.means("ValueError", "range", "len") or bound(a):
        return None
    if cx.builtin(a) == "range":
        a = cx.expr("(V for V in X)", V=cx.fresh("v"), X=a)
    items = None if waits(a) else items_of(a, cx)
    match items and items.generators:
        case [ast.comprehension(ifs=[]) as each]:
            s = stream(each.iter, cx, ())
        case _:
            return None
    if items is None or s is None or s.checks:
        return None
    return _kept(function, items.elt, key, each.target, s, cx)


def _kept(
    function: str, item: ast.expr, key: ast.expr | None, target: ast.expr, s: Stream, cx: Context
) -> ast.expr | None:
    index = ast.Name(cx.fresh("i"), ast.Load())
    first, rest = pairs(target, s.at(ast.Constant(0))), pairs(target, s.at(index))
    if first is None or rest is None:
        return None
    places = item.elts if isinstance(item, ast.Tuple) else [item]
    best, given = ([ast.Name(cx.fresh(hint), ast.Load()) for _ in places] for hint in ("best", "e"))
    holds, takes = ([*zip(names, places, strict=True)] for names in (best, given))
    start, step = _bind([*first, *holds], cx), _bind([*rest, *takes], cx)
    taken = _bind([*zip(best, given, strict=True)], cx)
    least, more = _spelled(best), _spelled(given)
    if key is not None:
        of_best, of_given = _measured(key, best, cx), _measured(key, given, cx)
        if of_best is None or of_given is None:
            return None
        least, more = (cx.expr("N", N=cx.fresh("key")) for _ in range(2))
        start += cx.code("K = E", K=least, E=of_best)
        step += cx.code("K = E", K=more, E=of_given)
        taken += cx.code("K = M", K=least, M=more)
    text = """
        if N < 1:
            raise ValueError(EMPTY)
        START
        for I in range(1, N):
            STEP
            if BETTER: TAKEN
    """
    better = cx.expr("M > K" if function == "max" else "M < K", M=more, K=least)
    empty = ast.Constant(EMPTY[function])
    cx.before(*s.setup, *cx.code(
        text, N=s.length, EMPTY=empty, START=start, I=index, STEP=step, BETTER=better, TAKEN=taken
    ))
    return _spelled(best)


def _spelled(names: list[ast.Name]) -> ast.expr:
    return names[0] if len(names) == 1 else ast.Tuple([*names], ast.Load())


def _measured(key: ast.expr, names: list[ast.Name], cx: Context) -> ast.expr | None:
    """The key of an item; None where that is not known to be a number alone."""
    match key:
        case ast.Lambda(args=ast.arguments(args=[a], defaults=[]), body=body) if (
            len(names) == 1 and not bound(body) and not isinstance(body, ast.Tuple)
        ):
            return rename(body, {a.arg: names[0].id})
    plain = len(names) == 1 and any(cx.resolve(key) is f for f in _KEYS)
    return cx.expr("KEY(E)", KEY=key, E=names[0]) if plain else None


def _bind(of: list[tuple[ast.expr, ast.expr]], cx: Context) -> list[ast.stmt]:
    return [line for t, e in of for line in cx.code("TARGET = E", TARGET=t, E=e)]
