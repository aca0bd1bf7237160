"""List comprehensions and generators that are collected → loops that append."""
from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import TypeVar

import numpy as np

from .context import Context
from .firing import fires_on
from .names import bound, rename
from .tupled import whole_names

__all__ = [
    "all_of", "collected", "is_repeated", "list_comprehension", "list_repeated", "nested",
    "own_names", "waits",
]

C = TypeVar("C", bound=ast.ListComp | ast.GeneratorExp)


@fires_on(ast.ListComp)
def list_comprehension(node: ast.AST, cx: Context) -> ast.expr | None:
    """A list is filled by a loop; the comprehension's variables keep a scope of their own.

        out = [v * 2 for v in x if v > t]
    →
        _list = []
        for _i in range(len(x)):
            _v = x[_i]
            if _v > t:
                _list.append(_v * 2)
        out = _list
    """
    if not isinstance(node, ast.ListComp) or waits(node) or is_repeated(node, cx):
        return None
    comprehension = own_names(node, cx)
    name = cx.fresh("list")
    append = cx.code("LIST.append(E)", LIST=name, E=comprehension.elt)
    cx.before(*cx.code("LIST = []", LIST=name), *nested(comprehension.generators, append, cx))
    return cx.expr("LIST", LIST=name)


@fires_on(ast.ListComp, elt=ast.Constant)
def list_repeated(node: ast.AST, cx: Context) -> ast.expr | None:
    """A constant, so many times.

        out = [0 for i in range(n)]
    →
        out = [0] * n
    """
    match node:
        case ast.ListComp(
            elt=ast.Constant(value=bool() | int() | float()) as one,
            generators=[
                ast.comprehension(target=ast.Name(), iter=ast.Call(args=[times]) as over, ifs=[])
            ],
        ) if cx.builtin(over) == "range":
            return cx.expr("[C] * N", C=one, N=times) if cx.fact(times).is_int else None
    return None


def is_repeated(node: ast.expr, cx: Context) -> bool:
    """Whether it is a list of lists, each of one value so many times, of which each is another."""
    match node:
        case ast.ListComp(
            elt=one,
            generators=[
                ast.comprehension(
                    target=ast.Name(id=name), iter=ast.Call(args=[_]) as over, ifs=[]
                )
            ],
        ) if cx.builtin(over) == "range":
            names = (n for n in ast.walk(one) if isinstance(n, ast.Name) and n.id == name)
            unread = not any(isinstance(n.ctx, ast.Load) for n in names)
            return unread and (is_repeated(one, cx) or list_repeated(one, cx) is not None)
        case ast.BinOp(left=ast.List(elts=[one]), op=ast.Mult()) | ast.BinOp(
            op=ast.Mult(), right=ast.List(elts=[one])
        ):
            return cx.fact(one).rank == 0
    return False


@fires_on(ast.Call, calls=[list, tuple, np.fromiter])
def collected(node: ast.AST, cx: Context) -> ast.expr | None:
    """What takes all of a generator takes a list.

        u = list(v * 2 for v in x)
        w = tuple(v * 2 for v in x)
        z = list(x)
    →
        _list = []
        for _i in range(len(x)):
            _v = x[_i]
            _list.append(_v * 2)
        u = _list
        _list_1 = []
        for _i_1 in range(len(x)):
            _v_1 = x[_i_1]
            _list_1.append(_v_1 * 2)
        w = tuple(_list_1)
        _list_2 = []
        for _i_2 in range(len(x)):
            _v_2 = x[_i_2]
            _list_2.append(_v_2)
        z = _list_2
    """
    match node:
        case ast.Call(func=func, args=[ast.GeneratorExp() as g, *rest]) if not waits(g):
            items = ast.copy_location(ast.ListComp(g.elt, g.generators), g)
            if cx.builtin(node) == "list" and not rest and not node.keywords:
                return items
            if cx.builtin(node) == "tuple" or cx.resolve(func) is np.fromiter:
                call = ast.Call(func, [items, *rest], node.keywords)
                return ast.copy_location(call, node)
        case ast.Call(args=[x], keywords=[]) if cx.builtin(node) == "list" and cx.fact(x).rank:
            return cx.expr("[v for v in X]", X=x)
    return None


def own_names(node: C, cx: Context) -> C:
    """The comprehension with fresh names for the variables that it binds."""
    targets = bound(*(g.target for g in node.generators))
    names = {n: cx.fresh(n) for n in sorted(targets)}
    first = node.generators[0].iter
    inner = type(node)(
        rename(node.elt, names),
        [
            ast.comprehension(
                target=rename(g.target, names),
                iter=rename(g.iter, names),
                ifs=[rename(c, names) for c in g.ifs],
                is_async=0,
            )
            for g in node.generators
        ],
    )
    cx.facts.apart |= {*names.values()} - whole_names(inner)
    inner.generators[0].iter = first  # evaluated outside
    return ast.copy_location(inner, node)


def nested(
    generators: Sequence[ast.comprehension], innermost: list[ast.stmt], cx: Context
) -> list[ast.stmt]:
    """``for … if …`` clauses, names being fresh already, as loops around `innermost`."""
    if not generators:
        return innermost
    g, *rest = generators
    body = nested(rest, innermost, cx)
    if g.ifs:
        body = cx.code("if C: BODY", C=all_of(g.ifs, cx), BODY=body)
    if isinstance(g.iter, ast.GeneratorExp) and not waits(g.iter):
        inner = own_names(g.iter, cx)  # a generator over a generator: one loop nest
        bind = cx.code("TARGET = E", TARGET=g.target, E=inner.elt)
        return nested(inner.generators, [*bind, *body], cx)
    return cx.code("for TARGET in X: BODY", TARGET=g.target, X=g.iter, BODY=body)


def all_of(conditions: Sequence[ast.expr], cx: Context) -> ast.expr:
    """``a and b and …``"""
    if len(conditions) == 1:
        return conditions[0]
    return ast.copy_location(ast.BoolOp(ast.And(), list(conditions)), cx.at)


def waits(node: ast.AST) -> bool:
    """Whether a comprehension does more than compute: waits, or yields."""
    banned = (ast.Await, ast.Yield, ast.YieldFrom)
    return any(
        isinstance(n, banned) or (isinstance(n, ast.comprehension) and n.is_async)
        for n in ast.walk(node)
    )
