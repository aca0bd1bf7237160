"""Lists in order → short runs by insertion, which are then merged; what is equal stays in order."""
from __future__ import annotations

import ast

from .context import Context
from .firing import fires_on
from .listing import listed
from .listlike import is_flat, loops_in
from .names import free_of
from .nests import unless

__all__ = ["list_sorted"]

_RUN = 16  # up to so many, inserting is faster than merging

_SORTED = """
    N = len(X)
    for I in range(N):
        E = X[I]
        J = I
        LOW = I - I % RUN
        while J > LOW and {}:
            X[J] = X[J - 1]
            J = J - 1
        X[J] = E
    Y = []
    for E in X:
        Y.append(E)
    W = RUN
    while W < N:
        for B in range((N + 2 * W - 1) // (2 * W)):
            I = 2 * W * B
            MID = min(I + W, N)
            END = min(I + 2 * W, N)
            J = MID
            for K in range(2 * W * B, END):
                E = X[min(max(I, 0), N - 1)]
                F = X[min(max(J, 0), N - 1)]
                RIGHT = J < END and (I >= MID or {})
                Y[K] = F if RIGHT else E
                J = J + 1 if RIGHT else J
                I = I if RIGHT else I + 1
        for K in range(N):
            X[K] = Y[K]
        W = 2 * W
"""
_RISING = _SORTED.format("E < X[J - 1]", "F < E")
_FALLING = _SORTED.format("X[J - 1] < E", "E < F")
_NAMES = ("N", "I", "E", "J", "LOW", "Y", "W", "B", "MID", "END", "K", "F", "RIGHT")


@fires_on(ast.Expr, value=ast.Call, calls=[".sort"])
@fires_on(ast.Assign, targets=ast.Name, value=ast.Call, calls=[sorted])
@fires_on(ast.Call, calls=[sorted])
def list_sorted(node: ast.AST, cx: Context) -> list[ast.stmt] | ast.expr | None:
    """Insertion into runs of sixteen, which are merged. Among NaNs the order is Python's to tell.

        u = [n]
        for i in range(n):
            u.append(i)
        u.sort()
    →
        u = [n]
        for i in range(n):
            u.append(i)
        _nan = False
        for _i_1 in range(len(u)):
            _v = u[_i_1]
            _nan = _nan or _v != _v
        if _nan:
            "Python's to answer"
            u.sort()
        else:
            _n = len(u)
            for _i in range(_n):
                _e = u[_i]
                _j = _i
                _low = _i - _i % 16
                while _j > _low and _e < u[_j - 1]:
                    u[_j] = u[_j - 1]
                    _j = _j - 1
                u[_j] = _e
            _y = []
            for _i_2 in range(len(u)):
                _e = u[_i_2]
                _y.append(_e)
            _w = 16
            while _w < _n:
                for _b in range((_n + 2 * _w - 1) // (2 * _w)):
                    _i = 2 * _w * _b
                    _mid = min(_i + _w, _n)
                    _end = min(_i + 2 * _w, _n)
                    _j = _mid
                    for _k in range(2 * _w * _b, _end):
                        _e = u[min(max(_i, 0), _n - 1)]
                        _f = u[min(max(_j, 0), _n - 1)]
                        _right = _j < _end and (_i >= _mid or _f < _e)
                        _y[_k] = _f if _right else _e
                        _j = _j + 1 if _right else _j
                        _i = _i if _right else _i + 1
                for _k in range(_n):
                    u[_k] = _y[_k]
                _w = 2 * _w
    """
    return _expanded(node, cx)


def _expanded(node: ast.AST, cx: Context) -> list[ast.stmt] | ast.expr | None:
    match node:
        case ast.Expr(
            value=ast.Call(
                func=ast.Attribute(value=ast.Name() as list_, attr="sort"), args=[], keywords=given
            )
        ) if is_flat(list_, cx) and _falling(given) is not None:
            return _in_place(list_.id, node, _falling(given) is True, cx)
        case ast.Assign(targets=[ast.Name(id=name)], value=value) if (
            name in cx.facts.own and free_of(value, [name]) and _sorted(value, cx)
        ):
            return cx.whole(lambda: _made(name, value, cx))
        case ast.expr() if _sorted(node, cx):
            name = cx.fresh("sorted")
            return cx.made(name, lambda: _made(name, node, cx))
    return None


def _sorted(e: ast.expr, cx: Context) -> tuple[ast.expr, bool] | None:
    """What is sorted, if `e` does that and there are loops; whether the largest comes first."""
    match e:
        case ast.Call(args=[of], keywords=given) if cx.builtin(e) == "sorted":
            falling = _falling(given)
            return None if falling is None or not loops_in(cx) else (of, falling)
    return None


def _falling(given: list[ast.keyword]) -> bool | None:
    """Whether the largest comes first; None where it is not known, or a key is given."""
    match given:
        case []:
            return False
        case [ast.keyword(arg="reverse", value=ast.Constant(value=bool(falling)))]:
            return falling
    return None


def _made(name: str, value: ast.expr, cx: Context) -> list[ast.stmt] | None:
    of, falling = _sorted(value, cx) or (value, False)
    lines = listed(name, of, cx)
    (sort,) = cx.code("NAME.sort(reverse=True)" if falling else "NAME.sort()", NAME=name)
    return None if lines is None else [*lines, *_in_place(name, sort, falling, cx)]


def _in_place(name: str, original: ast.stmt, falling: bool, cx: Context) -> list[ast.stmt]:
    names = {hole: cx.fresh(hole.lower()) for hole in _NAMES}
    lines = cx.code(_FALLING if falling else _RISING, X=name, RUN=ast.Constant(_RUN), **names)
    nan = cx.fresh("nan")
    text = "NAN = False\nfor V in X: NAN = NAN or V != V"
    before = cx.code(text, NAN=nan, V=cx.fresh("v"), X=name)
    return [*before, *unless([ast.Name(nan, ast.Load())], original, lines, cx)]
