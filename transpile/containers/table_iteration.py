"""Table iteration: loops over dicts and sets, and over tables without a name."""
from __future__ import annotations

import ast

from ..analysis.type_facts import Kind, Table
from ..frontend.core_nodes import copy_location
from ..frontend.macros.firing_conditions import has_tables, is_returned, of_unnamed_table
from ..frontend.macros.macro_context import Context
from ..frontend.macros.macro_index import fires_on
from .multimaps import multimap_lists
from .table_inference import new_table
from .table_kinds import source_position, table_kind

__all__ = ["unnamed_table", "table_iteration"]

_RETURNED: dict[Kind, str] = {
    "set": "members", "dict": "keyed", "Counter": "counted", "defaultdict": "started",
}


@fires_on(ast.Name, ctx=ast.Load, when=has_tables)
@fires_on(ast.Call, when=has_tables)
def table_iteration(node: ast.AST, cx: Context) -> ast.expr | None:
    """Loops over the keys, values or items of a table → loops over its flat lists.

        d = {}
        d[i] = s
        for j, t in d.items():
            s += t
        return d
    →
        …
        for _i_1 in range(min(len(_d_shown), len(_d_value))):
            j = _d_shown[_i_1]
            t = _d_value[_i_1]
            s = s + t
        return _ops.keyed(_d_shown, _d_value)
    """
    match node:
        case ast.Name(id=name, ctx=ast.Load()) if name in cx.facts.tables:
            return _whole(cx.facts.tables[name], node, cx)
        case ast.Call(func, [ast.Call(args=[of], keywords=[]) as listed, *rest], keywords) if (
            cx.builtin(listed) == "list" and (view := _view(of, cx)) is not None
            and (cx.is_numpy(func, "array") or cx.is_numpy(func, "asarray"))
        ):
            call = ast.Call(func, [view, *rest], keywords)
            return copy_location(call, node)
        case ast.Call(ast.Attribute(ast.Name(id=name) as of, method), [], []) if (
            name in cx.facts.tables and source_position(of) in cx.facts.tables[name].walked
        ):
            t = cx.facts.tables[name]
            match method:
                case "keys":
                    return _keys(t, cx)
                case "values":
                    return _of_those_there(t, t.values, cx)
                case "items":
                    return cx.expr("zip(KEYS, VALUES)", KEYS=_keys(t, cx), VALUES=t.values)
        case ast.Call(args=[ast.Name(id=of)], keywords=[
            ast.keyword("key", ast.Attribute(ast.Name(id=name) as asked, "get"))
        ]) if name == of and name in cx.facts.tables and cx.builtin(node) in ("max", "min"):
            t = cx.facts.tables[name]
            return _best(t, cx.builtin(node), cx) if source_position(asked) in t.walked else None
    return None


def _view(e: ast.expr, cx: Context) -> ast.expr | None:
    """The list of all keys, or values."""
    of = e.func.value if isinstance(e, ast.Call) and isinstance(e.func, ast.Attribute) else e
    t = cx.facts.tables.get(of.id) if isinstance(of, ast.Name) else None
    if t is None or not isinstance(of, ast.Name) or source_position(of) not in t.walked:
        return None
    match e:
        case ast.Name() | ast.Call(ast.Attribute(attr="keys"), [], []):
            return _keys(t, cx)
        case ast.Call(ast.Attribute(attr="values"), [], []):
            return _of_those_there(t, t.values, cx)
    return None


def _keys(t: Table, cx: Context) -> ast.expr:
    return _of_those_there(t, t.shown, cx)


def _of_those_there(t: Table, name: str, cx: Context) -> ast.expr:
    """What the list of that name has of the keys that are in the table."""
    if not t.there:
        return cx.expr("NAME", NAME=name)
    text = "[V for V, THERE in zip(NAME, ALL) if THERE]"
    return cx.expr(text, V=cx.fresh("v"), THERE=cx.fresh("there"), NAME=name, ALL=t.there)


def _whole(t: Table, node: ast.Name, cx: Context) -> ast.expr | None:
    if source_position(node) not in t.walked:
        return None
    return _returned(t, t.kind, cx) if cx.returned() else _keys(t, cx)


def _returned(t: Table, kind: Kind, cx: Context) -> ast.expr:
    values = multimap_lists(t, cx) if t.first else t.values
    name = "grouped" if t.first and kind == "defaultdict" else _RETURNED[kind]
    text = f"_ops.{name}(KEYS)" if kind == "set" else f"_ops.{name}(KEYS, VALUES)"
    if name == "started":
        text = "_ops.started(KEYS, VALUES, START)"
    return cx.expr(text, KEYS=_keys(t, cx), VALUES=values, START=t.start or "")


def _best(t: Table, said: str, cx: Context) -> ast.expr:
    """The first key with the largest value, or the smallest."""
    best, i = cx.fresh("best"), cx.fresh("i")
    cx.before(*cx.code(
        f"""
        if len(VALUES) == 0: raise ValueError
        BEST = 0
        for I in range(1, len(VALUES)):
            if VALUES[I] {'>' if said == 'max' else '<'} VALUES[BEST]:
                BEST = I
        """,
        VALUES=t.values, BEST=best, I=i,
    ))
    return cx.expr("SHOWN[BEST]", SHOWN=t.shown, BEST=best)


@fires_on(ast.Call, calls=[dict], when=has_tables)
@fires_on(ast.Call, calls=[len, max, min, sorted], when=of_unnamed_table)
@fires_on(ast.Call, ast.Dict, ast.DictComp, ast.SetComp, when=is_returned)
def unnamed_table(node: ast.AST, cx: Context) -> ast.expr | None:
    """A table expression without a name (``set(x)`` as an operand) → a fresh name that is bound
    before.

        t = len(set(k))
    →
        _set_slot = [-1, -1, -1, -1, -1, -1, -1, -1]
        _set_key = []
        _set_shown = []
        …
        t = len(_set_key)
    """
    match node:
        case ast.Call(args=[ast.Name(id=name) as of], keywords=[]) if (
            name in cx.facts.tables and cx.builtin(node) == "dict" and cx.returned()
            and source_position(of) in cx.facts.tables[name].walked
        ):
            return _returned(cx.facts.tables[name], "dict", cx)
        case ast.Call(args=[e], keywords=[]) if (
            cx.builtin(node) in ("len", "max", "min", "sorted")
            and (name := _named(e, cx))
        ):
            return cx.expr("F(NAME)", F=node.func, NAME=name)
        case ast.expr() if cx.returned() and not isinstance(node, ast.Set) and (
            name := _named(node, cx)
        ):
            t = cx.facts.tables[name]
            return _returned(t, t.kind, cx)
    return None


def _named(e: ast.expr, cx: Context) -> str:
    """A name for what is made of data; "" where it is not that, or of Python's own kind."""
    assert isinstance(cx.at, ast.expr)
    made = table_kind(e, cx)
    if made is None or isinstance(e, ast.Dict) or (isinstance(e, ast.Call) and not e.args):
        return ""
    if made[0] == "defaultdict" or not (made[0] == "set" or cx.returned()):
        return ""
    key = e.key if isinstance(e, ast.DictComp) else e.elt if isinstance(e, ast.SetComp) else None
    width = len(key.elts) if isinstance(key, ast.Tuple) else 0
    name = cx.fresh(made[0].lower())
    cx.facts.tables[name] = new_table(
        name, made[0], cx, walked=[source_position(cx.at)], width=width, start=made[1])
    cx.before(*cx.code("NAME = E", NAME=name, E=e))
    return name
