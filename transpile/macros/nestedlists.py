"""Lists of lists of any lengths → their items one after the other, and where each list ends."""
from __future__ import annotations

import ast
from typing import NamedTuple

from .comprehensions import is_repeated, nested, own_names
from .context import Context
from .firing import EXPRESSIONS, fires_on, has_nested, is_returned
from .integers import integer_constant
from .listing import extended, listed
from .newlists import gives_lists
from .tupled import is_steady

__all__ = ["lists_appended", "lists_collected", "lists_read"]

@fires_on(ast.Assign, targets=ast.Name, value=ast.List, when=has_nested)
@fires_on(ast.Expr, value=ast.Call, when=has_nested)
def lists_appended(node: ast.AST, cx: Context) -> list[ast.stmt] | None:
    """The list is empty, then one list after the other comes to it.

        w = []
        for i in range(n):
            w.append([s] + [v * i for v in x])
        return w
    →
        _w = []
        _ends = [0]
        for i in range(n):
            _w.append(s)
            for _i in range(len(x)):
                _v = x[_i]
                _w.append(_v * i)
            _ends.append(len(_w))
        return _ops.pieces(_w, _ends)
    """
    match node:
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.List(elts=rows)) if (
            name in cx.facts.nested
        ):
            lines = _empty(name, cx)
            for row in rows:
                lines += cx.code("NAME.append(E)", NAME=name, E=row)
            return lines
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name)), args=[row])) if (
            name in cx.facts.nested_filled
        ):
            items, ends = cx.facts.nested[name]
            end = cx.code("ENDS.append(len(ITEMS))", ENDS=ends, ITEMS=items)
            more = extended(items, row, cx)
            return None if more is None else [*more, *end]
    return None


@fires_on(ast.Assign, targets=ast.Name, value=ast.ListComp, when=lambda _, cx: cx.facts.nested)
@fires_on(ast.ListComp, when=is_returned)
def lists_collected(node: ast.AST, cx: Context) -> list[ast.stmt] | ast.expr | None:
    """Of a comprehension that others could not fill.

        w = [[i * j for j in range(i)] for i in range(n)]
        return w
    →
        _w = []
        _ends = [0]
        for _i_2 in range(n):
            for _j_1 in range(_i_2):
                _w.append(_i_2 * _j_1)
            _ends.append(len(_w))
        return _ops.pieces(_w, _ends)
    """
    match node:
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.ListComp() as of) if (
            name in cx.facts.nested and not is_repeated(of, cx)
        ):
            return [*_empty(name, cx), *_each(name, of, cx)]
        case ast.ListComp(elt=row) as of if (
            cx.returned() and gives_lists(of, cx) and not _is_copied(row, cx)
        ):
            name = cx.fresh("list")
            cx.facts.nested[name] = cx.fresh("items"), cx.fresh("ends")
            cx.before(*_empty(name, cx), *_each(name, of, cx))
            return _whole(name, cx)
    return None


@fires_on(*EXPRESSIONS, when=has_nested)
def lists_read(node: ast.AST, cx: Context) -> ast.expr | None:
    """All of them, how many there are, and one of them.

        w = [[n]]
        for i in range(n):
            w.append([v + i for v in w[-1]])
        return w, len(w)
    →
        _w = []
        _ends = [0]
        _w.append(n)
        _ends.append(len(_w))
        for i in range(n):
            _list = []
            _w_1 = _w[_ends[-2]:_ends[-1]]
            for _i in range(len(_w_1)):
                _v_1 = _w_1[_i]
                _list.append(_v_1)
            for _i_1 in range(len(_list)):
                _v = _list[_i_1]
                _w.append(_v + i)
            _ends.append(len(_w))
        return (_ops.pieces(_w, _ends), len(_ends) - 1)
    """
    match node:
        case ast.Name(id=name) if name in cx.facts.nested_filled and cx.returned():
            return _whole(name, cx)
        case ast.Call(args=[ast.Name(id=name)]) if (
            name in cx.facts.nested_filled and cx.builtin(node) == "len"
        ):
            return cx.expr("len(ENDS) - 1", ENDS=cx.facts.nested[name][1])
        case ast.Call(args=[of]) if cx.builtin(node) == "len" and (one := _one(of, cx)):
            return cx.expr("B - A", A=one.first, B=one.behind)
        case ast.Subscript(value=of, slice=at, ctx=ast.Load()) if (one := _one(of, cx)):
            return None if isinstance(at, ast.Slice) else _item(one, at, cx)
        case ast.expr() if (one := _one(node, cx)):
            part = cx.expr("ITEMS[A:B]", ITEMS=one.items, A=one.first, B=one.behind)
            if isinstance(cx.within, ast.Assign) and cx.within.value is node:
                return cx.expr("list(PART)", PART=part)
            own = cx.fresh("list")
            return cx.made(own, lambda: listed(own, part, cx))
    return None


class _One(NamedTuple):
    """One of the lists: which ``items``, from the ``first`` to that ``behind`` the last."""

    items: str
    first: ast.expr
    behind: ast.expr


def _one(e: ast.expr, cx: Context) -> _One | None:
    match e:
        case ast.Subscript(value=ast.Name(id=name), slice=at) if name in cx.facts.nested_filled:
            place = integer_constant(at, None)
        case _:
            return None
    if place is None:
        return None
    items, ends = cx.facts.nested[name]
    first = place if place >= 0 else place - 1
    at_ends = (cx.expr("ENDS[K]", ENDS=ends, K=ast.Constant(k)) for k in (first, first + 1))
    return _One(items, *at_ends)


def _item(one: _One, at: ast.expr, cx: Context) -> ast.expr | None:
    """An item of one of the lists."""
    count = cx.fresh("n")
    if not is_steady(at):
        at, value = ast.Name(cx.fresh("i"), ast.Load()), at
        cx.before(*cx.code("I = AT", I=at, AT=value))
    cx.before(*cx.code(
        "N = B - A\nif not -N <= I < N: raise IndexError", N=count, A=one.first, B=one.behind, I=at
    ))
    place = integer_constant(at, None)
    text = "B + I if I < 0 else A + I" if place is None else "A + I" if place >= 0 else "B + I"
    where = cx.expr(text, A=one.first, B=one.behind, I=at)
    return cx.expr("ITEMS[P]", ITEMS=one.items, P=where)


def _whole(name: str, cx: Context) -> ast.expr:
    items, ends = cx.facts.nested[name]
    return cx.expr("_ops.pieces(ITEMS, ENDS)", ITEMS=items, ENDS=ends)


def _empty(name: str, cx: Context) -> list[ast.stmt]:
    items, ends = cx.facts.nested[name]
    cx.facts.nested_filled.add(name)
    return cx.code("ITEMS = []\nENDS = [0]", ITEMS=items, ENDS=ends)


def _each(name: str, of: ast.ListComp, cx: Context) -> list[ast.stmt]:
    own = own_names(of, cx)
    append = cx.code("NAME.append(E)", NAME=name, E=own.elt)
    return nested(own.generators, append, cx)


def _is_copied(e: ast.expr, cx: Context) -> bool:
    """Whether nothing is computed but which items of a list go into `e`: Python is faster there."""
    return isinstance(e, (ast.Subscript, ast.Call)) and cx.builtin(e) != "sorted"
