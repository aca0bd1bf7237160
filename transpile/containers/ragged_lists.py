"""Ragged lists of lists → a flat list of items and the end offset of each row.

The layout is that of compressed sparse rows (CSR): ``ends[k]`` and ``ends[k + 1]`` delimit row k
in ``items``. `infer_ragged_lists` runs once for a function, before macros fire, and records the
names whose every occurrence this layout supports: rows are appended and never changed; each row is
a new list (or a list that nobody changes after it was appended); items of rows are read, at
constant indices.
A returned list of lists is built from items and ends after the kernel (``_core.lists_of``).

Rectangular lists of lists whose items are assigned are in `rectangular_lists`.
"""
from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from ..analysis.list_escapes import ListEscapes
from ..analysis.type_inference.tuple_types import is_repeatable
from ..frontend.ast_names import binding_pairs, bound_names, names_used
from ..frontend.ast_walk import (
    display_leaves,
    integer_constant,
    is_name,
    is_suspending,
    tree_key,
    walk_nodes,
)
from ..frontend.iterators.comprehensions import is_repeated_rows, nested_loops, with_fresh_variables
from ..frontend.macros.firing_conditions import has_ragged_lists, is_returned
from ..frontend.macros.list_kind import list_escapes
from ..frontend.macros.macro_context import Context
from ..frontend.macros.macro_index import EXPRESSIONS, fires_on
from .list_construction import extend_list, list_from_iterable

__all__ = [
    "gives_new_lists", "infer_ragged_lists", "ragged_list_append",
    "ragged_list_comprehension", "ragged_list_read",
]

_INNER = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


def infer_ragged_lists(tree: ast.FunctionDef, cx: Context) -> None:
    """Records in ``cx.facts.ragged_lists`` which names may be ragged: lists of lists in the flat
    layout. `transpile.expand` calls it before macros fire.

        w = []                                     items = [], ends = [0]
        for i in range(n):                  →      items of the row are appended to `items`, then
            w.append([v for v in x])               len(items) to `ends`

    `_is_ragged` decides for one name; names of inner scopes and parameters are never taken, as not
    all their uses are in sight. What decides about the layout of a list of lists, in this order:

    1. a comprehension with known trip counts is rectangular
       (`array_comprehensions.rectangular_comprehension`, which comes earlier in `MACROS`);
    2. a name that is recorded here is ragged;
    3. any other list of lists stays as it is, for lowering: also one of equal rows
       (`is_repeated_rows`).
    """
    if not cx.is_builtin("list", "sorted", "len"):
        return
    candidates = {name for n in walk_nodes(*tree.body) for name, _ in _rows_added(n)}
    candidates -= {a.arg for a in walk_nodes(tree.args) if isinstance(a, ast.arg)}
    inner_scopes = (n for n in walk_nodes(*tree.body) if isinstance(n, _INNER))
    candidates -= {x for n in inner_scopes for x in names_used(n)}
    for name in sorted(candidates):
        if _is_ragged(name, tree, cx):
            cx.facts.ragged_lists[name] = cx.fresh(name), cx.fresh("ends")


def _is_ragged(name: str, tree: ast.FunctionDef, cx: Context) -> bool:
    """Whether `name` is bound once, to a list; each row that it receives is a new list, or one that
    is not used after that (`ListEscapes.is_moved_into`); and all other occurrences are of the forms
    that `_plainly_used` and `_read_by_name` allow.
    """
    nodes = [*cx.names.nodes(name, tree.body)]
    additions = (addition for n in nodes for addition in _rows_added(n))
    rows_added = [row for target, rows in additions if target == name for row in rows]
    bindings = [n for n in nodes if any(is_name(t, name) for t, _ in binding_pairs(n))]
    (binding,) = bindings if len(bindings) == 1 else (None,)
    if not rows_added or not isinstance(binding, ast.Assign) or len(binding.targets) != 1:
        return False
    escapes = list_escapes(tree, cx)
    understood = {e for n in nodes for e in _plainly_used(n, escapes, cx)}
    understood |= {*_read_by_name(name, tree, escapes)}
    loads = [n for n in nodes if is_name(n, name)]
    fresh_rows = all(escapes.is_new(e) or escapes.is_moved_into(e, name) for e in rows_added)
    return fresh_rows and all(n in understood for n in loads)


def _rows_added(n: ast.AST) -> Iterator[tuple[str, list[ast.expr]]]:
    """For each list to which the statement `n` adds rows: its name, and expressions of the rows."""
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
    """The operands of `n` that may be a list of lists in the flat layout: bound to a new list,
    appended to, ``len``, returned, or read at a constant index.
    """
    yield from (target for target, e in binding_pairs(n) if isinstance(e, (ast.List, ast.ListComp)))
    match n:
        case ast.Expr(value=ast.Call(ast.Attribute(list_node, "append"), [_], [])):
            yield list_node
        case ast.Call(args=[list_node], keywords=[]) if cx.builtin(n) == "len":
            yield list_node
        case ast.Return(value=ast.expr() as value):
            yield from display_leaves(value)
    for e in escapes.reads(n):
        match e:
            case ast.Subscript(value=list_node, slice=index) if (
                integer_constant(index, None) is not None
            ):
                yield list_node


def _read_by_name(name: str, tree: ast.FunctionDef, escapes: ListEscapes) -> Iterator[ast.expr]:
    """The occurrences of `name` in ``row = name[k]`` for a constant ``k``, where ``row`` is always
    bound to the same expression and is only read.
    """
    bindings = [pair for n in walk_nodes(*tree.body) for pair in binding_pairs(n)]
    if not any(isinstance(v, ast.Subscript) and is_name(v.value, name) for _, v in bindings):
        return
    read = {e for n in walk_nodes(*tree.body) for e in escapes.reads(n)}
    for target, value in bindings:
        match target, value:
            case ast.Name(id=other), ast.Subscript(value=ast.Name() as outer, slice=index) if (
                outer.id == name and integer_constant(index, None) is not None
            ):
                uses = [n for n in walk_nodes(*tree.body) if is_name(n, other)]
                stores = [n for n in uses if isinstance(n.ctx, ast.Store)]
                values = [tree_key(v) for t, v in bindings if is_name(t, other)]
                bound_once = len(stores) == len(values) and {*values} == {tree_key(value)}
                if bound_once and all(n in read or n in stores for n in uses):
                    yield outer


def gives_new_lists(comprehension: ast.ListComp, cx: Context) -> bool:
    """Whether each element of the comprehension is a newly made list."""
    is_new = list_escapes(cx.tree, cx).is_new(comprehension.elt)
    return is_new and not is_suspending(comprehension) and not bound_names(comprehension)


@fires_on(ast.Assign, targets=ast.Name, value=ast.List, when=has_ragged_lists)
@fires_on(ast.Expr, value=ast.Call, when=has_ragged_lists)
def ragged_list_append(node: ast.AST, cx: Context) -> list[ast.stmt] | None:
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
        return _core.lists_of(_w, _ends)
    """
    match node:
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.List(elts=rows)) if (
            name in cx.facts.ragged_lists
        ):
            lines = _start(name, cx)
            for row in rows:
                lines += cx.code("NAME.append(E)", NAME=name, E=row)
            return lines
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name)), args=[row])) if (
            name in cx.facts.rewritten_ragged_lists
        ):
            items, ends = cx.facts.ragged_lists[name]
            end = cx.code("ENDS.append(len(ITEMS))", ENDS=ends, ITEMS=items)
            appends = extend_list(items, row, cx)
            return None if appends is None else [*appends, *end]
    return None


@fires_on(ast.Assign, targets=ast.Name, value=ast.ListComp, when=has_ragged_lists)
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
        return _core.lists_of(_w, _ends)
    """
    match node:
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.ListComp() as comprehension) if (
            name in cx.facts.ragged_lists and not is_repeated_rows(comprehension, cx)
        ):
            return [*_start(name, cx), *_append_rows(name, comprehension, cx)]
        case ast.ListComp(elt=row) as comprehension if (
            cx.result_uses() and gives_new_lists(comprehension, cx) and not _is_copied(row, cx)
        ):
            name = cx.fresh("list")
            cx.facts.ragged_lists[name] = cx.fresh("items"), cx.fresh("ends")
            cx.before(*_start(name, cx), *_append_rows(name, comprehension, cx))
            return _returned_lists(name, cx)
    return None


@fires_on(*EXPRESSIONS, when=has_ragged_lists)
def ragged_list_read(node: ast.AST, cx: Context) -> ast.expr | None:
    """``rows[k]`` at a constant `k` → the slice of the flat list between two offsets; ``len(rows)``
    → the number of offsets less one; ``rows`` as the result → lists that are made after the kernel.

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
        return (_core.lists_of(_w, _ends), len(_ends) - 1)
    """
    match node:
        case ast.Name(id=name) if name in cx.facts.rewritten_ragged_lists and cx.result_uses():
            return _returned_lists(name, cx)
        case ast.Call(args=[ast.Name(id=name)]) if (
            name in cx.facts.rewritten_ragged_lists and cx.builtin(node) == "len"
        ):
            return cx.expr("len(ENDS) - 1", ENDS=cx.facts.ragged_lists[name][1])
        case ast.Call(args=[of]) if cx.builtin(node) == "len" and (row_range := _row_at(of, cx)):
            return cx.expr("B - A", A=row_range.first, B=row_range.behind)
        case ast.Subscript(value=of, slice=index, ctx=ast.Load()) if (row_range := _row_at(of, cx)):
            return None if isinstance(index, ast.Slice) else _item(row_range, index, cx)
        case ast.expr() if (row_range := _row_at(node, cx)):
            bounds = {"A": row_range.first, "B": row_range.behind}
            row = cx.expr("ITEMS[A:B]", ITEMS=row_range.items, **bounds)
            if isinstance(cx.within, ast.Assign) and cx.within.value is node:
                return cx.expr("list(PART)", PART=row)
            copy = cx.fresh("list")
            return cx.bound_name(copy, lambda: list_from_iterable(copy, row, cx))
    return None


class _Row(NamedTuple):
    """One row: the items of a flat list between two positions."""

    items: str  # the name of the flat list
    first: ast.expr  # the position of the first item
    behind: ast.expr  # the position behind the last item


def _row_at(e: ast.expr, cx: Context) -> _Row | None:
    """The row that ``rows[k]`` stands for, for a constant ``k``; None for other expressions."""
    match e:
        case ast.Subscript(value=ast.Name(id=name), slice=index) if (
            name in cx.facts.rewritten_ragged_lists
        ):
            constant = integer_constant(index, None)
        case _:
            return None
    if constant is None:
        return None
    items, ends = cx.facts.ragged_lists[name]
    first = constant if constant >= 0 else constant - 1
    bounds = (cx.expr("ENDS[K]", ENDS=ends, K=ast.Constant(k)) for k in (first, first + 1))
    return _Row(items, *bounds)


def _item(row: _Row, index: ast.expr, cx: Context) -> ast.expr | None:
    """The item of a row at `index`; statements before the current one raise IndexError where there
    is none.
    """
    count = cx.fresh("n")
    if not is_repeatable(index):
        index, value = ast.Name(cx.fresh("i"), ast.Load()), index
        cx.before(*cx.code("I = AT", I=index, AT=value))
    text = "N = B - A\nif not -N <= I < N: raise IndexError"
    cx.before(*cx.code(text, N=count, A=row.first, B=row.behind, I=index))
    constant = integer_constant(index, None)
    if constant is None:
        text = "B + I if I < 0 else A + I"
    else:
        text = "A + I" if constant >= 0 else "B + I"
    position = cx.expr(text, A=row.first, B=row.behind, I=index)
    return cx.expr("ITEMS[P]", ITEMS=row.items, P=position)


def _returned_lists(name: str, cx: Context) -> ast.expr:
    """The list of lists itself, for a return."""
    items, ends = cx.facts.ragged_lists[name]
    return cx.expr("_core.lists_of(ITEMS, ENDS)", ITEMS=items, ENDS=ends)


def _start(name: str, cx: Context) -> list[ast.stmt]:
    """Statements that make the flat list and the offsets of `name`, without rows."""
    items, ends = cx.facts.ragged_lists[name]
    cx.facts.rewritten_ragged_lists.add(name)
    return cx.code("ITEMS = []\nENDS = [0]", ITEMS=items, ENDS=ends)


def _append_rows(name: str, comprehension: ast.ListComp, cx: Context) -> list[ast.stmt]:
    """Loops that append each row that the comprehension yields to the list of lists `name`."""
    renamed = with_fresh_variables(comprehension, cx)
    append = cx.code("NAME.append(E)", NAME=name, E=renamed.elt)
    return nested_loops(renamed.generators, append, cx)


def _is_copied(e: ast.expr, cx: Context) -> bool:
    """Whether the row `e` is only copied (a subscript or a call other than ``sorted``), which
    Python does faster.
    """
    return isinstance(e, (ast.Subscript, ast.Call)) and cx.builtin(e) != "sorted"
