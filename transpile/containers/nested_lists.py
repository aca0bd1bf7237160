"""Ragged lists of lists → a flat list of items and the end offset of each row."""
from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple, TypeGuard

from ..analysis.escape_analysis import ListEscapes
from ..analysis.tuple_types import is_repeatable
from ..frontend.ast_names import binding_pairs, bound_names, names_used
from ..frontend.ast_walk import display_leaves, tree_key, walk_nodes
from ..frontend.int_exprs import integer_constant
from ..frontend.language.comprehensions import (
    is_repeated_rows,
    is_suspending,
    nested_loops,
    with_fresh_variables,
)
from ..frontend.macros.firing_conditions import has_nested, is_returned
from ..frontend.macros.list_kind import list_escapes
from ..frontend.macros.macro_context import Context
from ..frontend.macros.macro_index import EXPRESSIONS, fires_on
from .list_construction import extend_list, list_from_iterable

__all__ = [
    "gives_new_lists", "infer_nested_lists", "nested_list_append",
    "ragged_list_comprehension", "nested_list_read",
]

_INNER = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


def infer_nested_lists(tree: ast.FunctionDef, cx: Context) -> None:
    """Record in `cx` which names stand for lists of newly made lists, and for nothing else."""
    if not cx.means("list", "sorted", "len"):
        return
    names = {name for n in walk_nodes(*tree.body) for name, _ in _added(n)}
    names -= {a.arg for a in walk_nodes(tree.args) if isinstance(a, ast.arg)}
    names -= {x for n in walk_nodes(*tree.body) if isinstance(n, _INNER) for x in names_used(n)}
    for name in sorted(names):
        if _is_nested(name, tree, cx):
            cx.facts.nested[name] = cx.fresh(name), cx.fresh("ends")


def _is_nested(name: str, tree: ast.FunctionDef, cx: Context) -> bool:
    """Whether all that happens to `name` is that new lists come to it, and that it is read."""
    added = [
        row for n in walk_nodes(*tree.body) for to, rows in _added(n) if to == name for row in rows
    ]
    made = [
        n for n in walk_nodes(*tree.body) if any(_is_name(t, name) for t, _ in binding_pairs(n))
    ]
    escapes = list_escapes(tree, cx)
    known = {e for n in walk_nodes(*tree.body) for e in _plainly_used(n, escapes, cx)}
    known |= {*_named(name, tree, escapes)}
    loads = [n for n in walk_nodes(*tree.body) if _is_name(n, name)]
    once = len(made) == 1 and isinstance(made[0], ast.Assign) and len(made[0].targets) == 1
    new = all(escapes.is_new(row) or escapes.is_handed_over(row, name) for row in added)
    return bool(added) and once and new and all(n in known for n in loads)


def _added(n: ast.AST) -> Iterator[tuple[str, list[ast.expr]]]:
    """What the statement `n` puts into lists."""
    for to, value in binding_pairs(n):
        match to, value:
            case ast.Name(id=name), ast.List(elts=rows):
                yield name, rows
            case ast.Name(id=name), ast.ListComp(elt=row) if not is_suspending(
                value
            ) and not bound_names(value):
                yield name, [row]
    match n:
        case ast.Expr(
            value=ast.Call(ast.Attribute(ast.Name(id=name), "append"), [row], [])
        ):
            yield name, [row]


def _plainly_used(n: ast.AST, escapes: ListEscapes, cx: Context) -> Iterator[ast.expr]:
    """Names in `n` of what may be a list of lists that is kept as its items."""
    yield from (to for to, e in binding_pairs(n) if isinstance(e, (ast.List, ast.ListComp)))
    match n:
        case ast.Expr(value=ast.Call(ast.Attribute(of, "append"), [_], [])):
            yield of
        case ast.Call(args=[of], keywords=[]) if cx.builtin(n) == "len":
            yield of
        case ast.Return(value=ast.expr() as value):
            yield from display_leaves(value)
    for e in escapes.reads(n):
        match e:
            case ast.Subscript(value=of, slice=at) if integer_constant(at, None) is not None:
                yield of


def _named(name: str, tree: ast.FunctionDef, escapes: ListEscapes) -> Iterator[ast.expr]:
    """The name of the list where one of its lists gets a name, and is only read by that."""
    read = {e for n in walk_nodes(*tree.body) for e in escapes.reads(n)}
    pairs = [pair for n in walk_nodes(*tree.body) for pair in binding_pairs(n)]
    for to, value in pairs:
        match to, value:
            case ast.Name(id=other), ast.Subscript(value=ast.Name() as of, slice=at) if (
                of.id == name and integer_constant(at, None) is not None
            ):
                own = [n for n in walk_nodes(*tree.body) if _is_name(n, other)]
                stores = [n for n in own if isinstance(n.ctx, ast.Store)]
                values = [tree_key(v) for t, v in pairs if _is_name(t, other)]
                once = len(stores) == len(values) and {*values} == {tree_key(value)}
                if once and all(n in read or n in stores for n in own):
                    yield of


def _is_name(n: ast.AST, name: str) -> TypeGuard[ast.Name]:
    return isinstance(n, ast.Name) and n.id == name


def gives_new_lists(of: ast.ListComp, cx: Context) -> bool:
    """Whether each element of the comprehension `of` is a newly made list."""
    new = list_escapes(cx.tree, cx).is_new(of.elt)
    return new and not is_suspending(of) and not bound_names(of)


@fires_on(ast.Assign, targets=ast.Name, value=ast.List, when=has_nested)
@fires_on(ast.Expr, value=ast.Call, when=has_nested)
def nested_list_append(node: ast.AST, cx: Context) -> list[ast.stmt] | None:
    """``rows = []`` and ``rows.append(row)`` → an empty flat list; then the items of `row` and the
    end offset.

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
            more = extend_list(items, row, cx)
            return None if more is None else [*more, *end]
    return None


@fires_on(ast.Assign, targets=ast.Name, value=ast.ListComp, when=has_nested)
@fires_on(ast.ListComp, when=is_returned)
def ragged_list_comprehension(node: ast.AST, cx: Context) -> list[ast.stmt] | ast.expr | None:
    """``[[…] for …]`` with rows of different lengths → loops that append items and end offsets.

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
            name in cx.facts.nested and not is_repeated_rows(of, cx)
        ):
            return [*_empty(name, cx), *_each(name, of, cx)]
        case ast.ListComp(elt=row) as of if (
            cx.returned() and gives_new_lists(of, cx) and not _is_copied(row, cx)
        ):
            name = cx.fresh("list")
            cx.facts.nested[name] = cx.fresh("items"), cx.fresh("ends")
            cx.before(*_empty(name, cx), *_each(name, of, cx))
            return _whole(name, cx)
    return None


@fires_on(*EXPRESSIONS, when=has_nested)
def nested_list_read(node: ast.AST, cx: Context) -> ast.expr | None:
    """``rows[i]``, ``len(rows)`` and ``rows`` as the result → the part of the flat list between two
    offsets, the number of offsets less one, and lists that are made after the kernel.

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
            return cx.made(own, lambda: list_from_iterable(own, part, cx))
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
    if not is_repeatable(at):
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
    own = with_fresh_variables(of, cx)
    append = cx.code("NAME.append(E)", NAME=name, E=own.elt)
    return nested_loops(own.generators, append, cx)


def _is_copied(e: ast.expr, cx: Context) -> bool:
    """Whether nothing is computed but which items of a list go into `e`: Python is faster there."""
    return isinstance(e, (ast.Subscript, ast.Call)) and cx.builtin(e) != "sorted"
