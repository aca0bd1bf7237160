"""Multimaps (dicts of growing lists) → one flat list of items, linked by key."""
from __future__ import annotations

import ast

from ..analysis.type_facts import Table
from ..frontend.macros.firing_conditions import has_tables
from ..frontend.macros.macro_context import Context
from ..frontend.macros.macro_index import fires_on
from .hash_tables import find_key, key_is_present, put_key
from .table_kinds import source_position

__all__ = ["multimap_update", "multimap_read", "multimap_lists"]


@fires_on(ast.Expr, value=ast.Call, when=has_tables)
@fires_on(ast.Assign, targets=ast.Subscript, value=ast.List, when=has_tables)
@fires_on(ast.For, iter=ast.Call, when=has_tables)
def multimap_update(node: ast.AST, cx: Context) -> list[ast.stmt] | None:
    """``d[k].append(v)`` → `v` is appended to the flat list of items and linked to the key's last
    item.

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
    """
    match node:
        case ast.Expr(ast.Call(ast.Attribute(ast.Subscript(ast.Name(id=name), key), "append"), [
            item
        ], [])) if _is_grouped(name, cx):
            t = cx.facts.tables[name]
            return cx.whole(lambda: _appended(t, key, item, cx, begins=t.start is not None))
        case ast.Expr(ast.Call(ast.Attribute(ast.Call(
            ast.Attribute(ast.Name(id=name), "setdefault"), [key, _], []), "append"), [item], []
        )) if _is_grouped(name, cx):
            t = cx.facts.tables[name]
            return cx.whole(lambda: _appended(t, key, item, cx, begins=True))
        case ast.Expr(ast.Call(ast.Attribute(ast.Name(id=name), "setdefault"), [key, _], [])) if (
            _is_grouped(name, cx)
        ):
            t = cx.facts.tables[name]
            return cx.whole(lambda: _begun(t, key, cx))
        case ast.Assign([ast.Subscript(ast.Name(id=name), key)], ast.List(elts=items)) if (
            _is_grouped(name, cx)
        ):
            t = cx.facts.tables[name]
            return cx.whole(lambda: _anew(t, name, key, items, cx))
        case ast.For(
            target=target, iter=ast.Call(ast.Attribute(of, "items" | "values" as view), [], []),
            body=body, orelse=[],
        ) if isinstance(of, ast.Name) and _is_grouped(of.id, cx):
            t = cx.facts.tables[of.id]
            return _walked(t, target, view, body, cx) if source_position(of) in t.walked else None
    return None


def _is_grouped(name: str, cx: Context) -> bool:
    return name in cx.facts.tables and bool(cx.facts.tables[name].first)


def _appended(
    t: Table, key: ast.expr, item: ast.expr, cx: Context, *, begins: bool
) -> list[ast.stmt] | None:
    """``begins``: a key that is not there gets an empty list first."""
    looked = find_key(t, key, cx)
    if looked is None:
        return None
    lines, found = looked
    if begins:
        lines += _there(t, found.at, put_key(t, found, None, cx), cx)
    else:
        lines += cx.code("if not (THERE): raise KeyError", THERE=key_is_present(t, found, cx))
    return [*lines, *cx.code(
        """
        ITEMS.append(E)
        AFTER.append(-1)
        if LAST[AT] < 0:
            FIRST[AT] = len(ITEMS) - 1
        else:
            AFTER[LAST[AT]] = len(ITEMS) - 1
        LAST[AT] = len(ITEMS) - 1
        """,
        ITEMS=t.values, AFTER=t.after, FIRST=t.first, LAST=t.last, AT=found.at, E=item,
    )]


def _there(t: Table, at: str, putting: list[ast.stmt], cx: Context) -> list[ast.stmt]:
    """The key is put there, and `at` its place."""
    text = "if AT < 0:\n    PUT\n    AT = len(KEYS) - 1"
    assert isinstance(putting[0], ast.If)
    return cx.code(text, AT=at, PUT=putting[0].body, KEYS=t.keys[0])


def _begun(t: Table, key: ast.expr, cx: Context) -> list[ast.stmt] | None:
    looked = find_key(t, key, cx)
    return None if looked is None else [*looked[0], *put_key(t, looked[1], None, cx)]


def _anew(
    t: Table, name: str, key: ast.expr, items: list[ast.expr], cx: Context
) -> list[ast.stmt] | None:
    """The key has another list."""
    lines: list[ast.stmt] = []
    held: list[ast.expr] = []
    for item in items:
        one = ast.Name(cx.fresh("item"), ast.Load())
        lines += cx.code("NAME = E", NAME=one, E=item)
        held.append(one)
    looked = find_key(t, key, cx)
    if looked is None:
        return None
    found = looked[1]
    lines += [*looked[0], *_there(t, found.at, put_key(t, found, None, cx), cx)]
    lines += cx.code("FIRST[AT] = -1\nLAST[AT] = -1", FIRST=t.first, LAST=t.last, AT=found.at)
    at = ast.Subscript(ast.Name(name, ast.Load()), found.key, ast.Load())
    for given in held:
        lines += cx.code("AT.append(E)", AT=at, E=given)
    return lines


def _listed(t: Table, name: str, first: ast.expr, cx: Context) -> list[ast.stmt]:
    """A list of the items from the `first` of a key on."""
    text = "NAME = []\nEACH"
    return cx.code(text, NAME=name, EACH=_each(t, name, first, cx))


def _each(t: Table, name: str, first: ast.expr, cx: Context) -> list[ast.stmt]:
    """They come to the list."""
    return cx.code(
        """
        J = PLACE
        while J >= 0:
            NAME.append(ITEMS[J])
            J = AFTER[J]
        """,
        NAME=name, J=cx.fresh("j"), PLACE=first, ITEMS=t.values, AFTER=t.after,
    )


def _walked(
    t: Table, target: ast.expr, view: str, body: list[ast.stmt], cx: Context
) -> list[ast.stmt] | None:
    i: ast.expr = ast.Name(cx.fresh("i"), ast.Load())
    match view, target:
        case "items", ast.Tuple(elts=[key, ast.Name(id=name)]):
            shown = cx.expr("SHOWN[I]", SHOWN=t.shown, I=i)
            parts = [ast.Subscript(shown, ast.Constant(k), ast.Load()) for k in range(t.width)]
            whole = ast.Tuple([*parts], ast.Load()) if parts else shown
            bind = cx.code("KEY = E", KEY=key, E=whole)
        case "values", ast.Name(id=name):
            bind = []
        case _:
            return None
    listed = _listed(t, name, cx.expr("FIRST[I]", FIRST=t.first, I=i), cx)
    return cx.code("for I in range(len(KEYS)): BODY", I=i, KEYS=t.keys[0],
                   BODY=[*bind, *listed, *body])


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
        case ast.Subscript(ast.Name(id=name), key, ast.Load()) if _is_grouped(name, cx):
            t = cx.facts.tables[name]
            return _one(t, key, cx, begins=t.start is not None)
        case ast.Call(ast.Attribute(ast.Name(id=name), "get"), [key, _], []) if (
            _is_grouped(name, cx)
        ):
            return _one(cx.facts.tables[name], key, cx, begins=False, may_miss=True)
    return None


def _one(
    t: Table, key: ast.expr, cx: Context, *, begins: bool, may_miss: bool = False
) -> ast.expr | None:
    looked = find_key(t, key, cx)
    if looked is None:
        return None
    lines, found = looked
    name = cx.fresh("list")
    if begins:
        lines += _there(t, found.at, put_key(t, found, None, cx), cx)
    there = key_is_present(t, found, cx)
    if not begins and not may_miss:
        lines += cx.code("if not (THERE): raise KeyError", THERE=there)
    text = "FIRST[AT] if THERE else -1" if may_miss else "FIRST[AT]"
    first = cx.expr(text, FIRST=t.first, AT=found.at, THERE=there)
    cx.before(*lines, *_listed(t, name, first, cx))
    return cx.expr("NAME", NAME=name)


def multimap_lists(t: Table, cx: Context) -> ast.expr:
    """The lists of all keys, built for a table that is returned."""
    items, ends, i = cx.fresh("items"), cx.fresh("ends"), cx.fresh("i")
    each = _each(t, items, cx.expr("FIRST[I]", FIRST=t.first, I=i), cx)
    cx.before(*cx.code(
        """
        NAME = []
        ENDS = [0]
        for I in range(len(KEYS)):
            EACH
            ENDS.append(len(NAME))
        """,
        NAME=items, ENDS=ends, I=i, KEYS=t.keys[0], EACH=each,
    ))
    return cx.expr("_ops.pieces(ITEMS, ENDS)", ITEMS=items, ENDS=ends)
