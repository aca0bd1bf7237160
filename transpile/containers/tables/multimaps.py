"""Multimaps (dicts of growing lists) → one flat list of items, linked by key.

The items of all lists are in one list, ``values`` (``_d_value`` in the example of
`multimap_update`), in the order in which they were appended. Each item has the position of the next
item of its key in ``next_item`` (``_d_after``; -1: none); each key has the positions of its first
and last items in ``first_item`` (``_d_first``) and ``last_item`` (``_d_last``), and itself as it
was given in ``original_keys`` (``_d_shown``). All these are fields of `HashTable`. For tables whose
values are lists (`_is_multimap`), as `table_inference` recorded them.
"""
from __future__ import annotations

import ast

from ...frontend.core_nodes import is_whole_table
from ...frontend.macros.firing_conditions import has_tables
from ...frontend.macros.macro_context import Context
from ...frontend.macros.macro_index import fires_on
from ...types.flat_containers import HashTable
from ..linked_rows import follow_links, link_item
from .hash_tables import find_key, key_is_present, put_key

__all__ = ["multimap_update", "multimap_read"]


@fires_on(ast.Expr, value=ast.Call, when=has_tables)
@fires_on(ast.Assign, targets=ast.Subscript, value=ast.List, when=has_tables)
@fires_on(ast.For, iter=ast.Call, when=has_tables)
def multimap_update(node: ast.AST, cx: Context) -> list[ast.stmt] | None:
    """``d[k].append(v)``, and other statements that change or loop over a dict of lists → the same
    on its flat lists.

        d = {}
        for i in range(n):
            d.setdefault(i % 2, []).append(i)
        for i, w in d.items():
            s += len(w)
    →
        …
            _d_value.append(i)
            _d_after.append(-1)
            if _d_last[_at] < 0:
                _d_first[_at] = len(_d_value) - 1
            else:
                _d_after[_d_last[_at]] = len(_d_value) - 1
            _d_last[_at] = len(_d_value) - 1
        for _i_1 in range(len(_d_key)):
            i = _d_shown[_i_1]
            w = []
            _j = _d_first[_i_1]
            while _j >= 0:
                w.append(_d_value[_j])
                _j = _d_after[_j]
            s = s + len(w)

    All items are in one list, ``_d_value``, in the order of the appends. ``_d_after`` has for each
    item the position of the next one with the same key, or -1; ``_d_first`` and ``_d_last`` have
    for each key the positions of its first and last item, or -1. ``_at`` is the position of the
    key, as `find_key` gives it. The statements, in the order of the cases:

    - ``d[k].append(v)``: a missing key raises KeyError, or gets a list if `d` is a defaultdict;
    - ``d.setdefault(k, []).append(v)``, ``d.setdefault(k, [])``: a missing key gets a list;
    - ``d[k] = [v, w]``: the old items are no longer linked, the new ones are appended;
    - ``for … in d.items()`` and ``d.values()``: a list is made of the linked items of each key.

    None for other statements, and where `find_key` or `_loop_over_lists` does not take the form.
    Reads such as ``d[k]`` are left to `multimap_read`.
    """
    match node:
        case ast.Expr(ast.Call(ast.Attribute(ast.Subscript(ast.Name(id=name), key), "append"), [
            item
        ], [])) if _is_multimap(name, cx):
            table = cx.facts.tables[name]
            creates = table.missing_value is not None
            return cx.with_before(lambda: _append_item(table, key, item, cx, creates=creates))
        case ast.Expr(ast.Call(ast.Attribute(ast.Call(
            ast.Attribute(ast.Name(id=name), "setdefault"), [key, _], []), "append"), [item], []
        )) if _is_multimap(name, cx):
            table = cx.facts.tables[name]
            return cx.with_before(lambda: _append_item(table, key, item, cx, creates=True))
        case ast.Expr(ast.Call(ast.Attribute(ast.Name(id=name), "setdefault"), [key, _], [])) if (
            _is_multimap(name, cx)
        ):
            table = cx.facts.tables[name]
            return cx.with_before(lambda: _insert_empty(table, key, cx))
        case ast.Assign([ast.Subscript(ast.Name(id=name), key)], ast.List(elts=items)) if (
            _is_multimap(name, cx)
        ):
            table = cx.facts.tables[name]
            return cx.with_before(lambda: _replace_list(table, name, key, items, cx))
        case ast.For(
            target=target,
            iter=ast.Call(ast.Attribute(table_name, "items" | "values" as view), [], []),
            body=body,
            orelse=[],
        ) if isinstance(table_name, ast.Name) and _is_multimap(table_name.id, cx):
            table = cx.facts.tables[table_name.id]
            if is_whole_table(table_name):
                return _loop_over_lists(table, target, view, body, cx)
    return None


def _is_multimap(name: str, cx: Context) -> bool:
    """Whether `name` stands for a table whose values are lists."""
    return name in cx.facts.tables and bool(cx.facts.tables[name].first_item)


def _append_item(
    table: HashTable, key: ast.expr, item: ast.expr, cx: Context, *, creates: bool
) -> list[ast.stmt] | None:
    """Statements for ``d[key].append(item)``. A missing key gets an empty list first if it
    `creates` one, else KeyError is raised. None where `find_key` refuses the key.
    """
    result = find_key(table, key, cx)
    if result is None:
        return None
    lines, lookup = result
    if creates:
        lines += _insert_missing(table, lookup.at, put_key(table, lookup, None, cx), cx)
    else:
        lines += cx.code("if not (THERE): raise KeyError", THERE=key_is_present(table, lookup, cx))
    return [*lines, *link_item(table.linked, lookup.at, item, cx)]


def _insert_missing(
    table: HashTable, at: str, putting: list[ast.stmt], cx: Context
) -> list[ast.stmt]:
    """Statements that insert a missing key and set `at` to its position. `putting` are the
    statements of `put_key`, an ``if`` of the same condition, of which the body is used.
    """
    text = "if AT < 0:\n    PUT\n    AT = len(KEYS) - 1"
    assert isinstance(putting[0], ast.If)
    return cx.code(text, AT=at, PUT=putting[0].body, KEYS=table.keys[0])


def _insert_empty(table: HashTable, key: ast.expr, cx: Context) -> list[ast.stmt] | None:
    """Statements for ``d.setdefault(key, [])``: insert the key without items if it is missing."""
    result = find_key(table, key, cx)
    return None if result is None else [*result[0], *put_key(table, result[1], None, cx)]


def _replace_list(
    table: HashTable, name: str, key: ast.expr, items: list[ast.expr], cx: Context
) -> list[ast.stmt] | None:
    """Statements for ``name[key] = [item, …]``: items first, then the key; the links of the old
    list are dropped, and the new items appended.
    """
    lines: list[ast.stmt] = []
    names: list[ast.expr] = []
    for item in items:
        item_name = ast.Name(cx.fresh("item"), ast.Load())
        lines += cx.code("NAME = E", NAME=item_name, E=item)
        names.append(item_name)
    result = find_key(table, key, cx)
    if result is None:
        return None
    lookup = result[1]
    lines += [*result[0], *_insert_missing(table, lookup.at, put_key(table, lookup, None, cx), cx)]
    text = "FIRST[AT] = -1\nLAST[AT] = -1"
    lines += cx.code(text, FIRST=table.first_item, LAST=table.last_item, AT=lookup.at)
    entry = ast.Subscript(ast.Name(name, ast.Load()), lookup.key, ast.Load())
    for value in names:
        lines += cx.code("AT.append(E)", AT=entry, E=value)
    return lines


def _list_of_items(table: HashTable, name: str, first: ast.expr, cx: Context) -> list[ast.stmt]:
    """Statements that bind `name` to a list of the items of a key, from position `first`."""
    text = "NAME = []\nEACH"
    return cx.code(text, NAME=name, EACH=follow_links(table.linked, name, first, cx))


def _loop_over_lists(
    table: HashTable, target: ast.expr, view: str, body: list[ast.stmt], cx: Context
) -> list[ast.stmt] | None:
    """A loop over the positions of keys for ``for target in d.items()`` or ``d.values()``; None
    where `target` has another form.
    """
    i: ast.expr = ast.Name(cx.fresh("i"), ast.Load())
    match view, target:
        case "items", ast.Tuple(elts=[key, ast.Name(id=name)]):
            key_at = cx.expr("SHOWN[I]", SHOWN=table.original_keys, I=i)
            items = map(ast.Constant, range(table.key_width))
            parts = [ast.Subscript(key_at, k, ast.Load()) for k in items]
            key_value = ast.Tuple([*parts], ast.Load()) if parts else key_at
            key_lines = cx.code("KEY = E", KEY=key, E=key_value)
        case "values", ast.Name(id=name):
            key_lines = []
        case _:
            return None
    listed = _list_of_items(table, name, cx.expr("FIRST[I]", FIRST=table.first_item, I=i), cx)
    return cx.code("for I in range(len(KEYS)): BODY", I=i, KEYS=table.keys[0],
                   BODY=[*key_lines, *listed, *body])


@fires_on(ast.Subscript, value=ast.Name, ctx=ast.Load, when=has_tables)
@fires_on(ast.Call, calls=[".get"], when=has_tables)
def multimap_read(node: ast.AST, cx: Context) -> ast.expr | None:
    """``d[k]`` → a list of the items that are linked to the key.

        d = {}
        for i in range(n):
            d.setdefault(i % 2, []).append(i)
        t = len(d[j])
    →
        …
        _list = []
        _j = _d_first[_at_1]
        while _j >= 0:
            _list.append(_d_value[_j])
            _j = _d_after[_j]
        t = len(_list)
    """
    match node:
        case ast.Subscript(ast.Name(id=name), key, ast.Load()) if _is_multimap(name, cx):
            table = cx.facts.tables[name]
            return _items_of_key(table, key, cx, creates=table.missing_value is not None)
        case ast.Call(ast.Attribute(ast.Name(id=name), "get"), [key, _], []) if (
            _is_multimap(name, cx)
        ):
            return _items_of_key(cx.facts.tables[name], key, cx, creates=False, may_miss=True)
    return None


def _items_of_key(
    table: HashTable, key: ast.expr, cx: Context, *, creates: bool, may_miss: bool = False
) -> ast.expr | None:
    """A fresh name, bound before the statement to a list of the items of `key`. A missing key
    `creates` an entry without items, has an empty list (`may_miss`), or raises KeyError.
    """
    result = find_key(table, key, cx)
    if result is None:
        return None
    lines, lookup = result
    name = cx.fresh("list")
    if creates:
        lines += _insert_missing(table, lookup.at, put_key(table, lookup, None, cx), cx)
    present = key_is_present(table, lookup, cx)
    if not creates and not may_miss:
        lines += cx.code("if not (THERE): raise KeyError", THERE=present)
    text = "FIRST[AT] if THERE else -1" if may_miss else "FIRST[AT]"
    first = cx.expr(text, FIRST=table.first_item, AT=lookup.at, THERE=present)
    cx.before(*lines, *_list_of_items(table, name, first, cx))
    return cx.expr("NAME", NAME=name)
