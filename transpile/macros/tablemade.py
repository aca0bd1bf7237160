"""Tables that are made: lists of their keys and values."""
from __future__ import annotations

import ast

from .comprehensions import nested, own_names, waits
from .context import Context
from .fact import Table
from .firing import fires_on, has_tables
from .hashed import cleared
from .tupled import is_steady

__all__ = ["table_made"]


@fires_on(ast.Assign, targets=ast.Name, when=has_tables)
def table_made(node: ast.AST, cx: Context) -> list[ast.stmt] | None:
    """Lists of its keys, and of slots that tell where each key stands.

        d = {}
        for i in k:
            d[i] = s
    →
        _d_slot = [-1, -1, -1, -1, -1, -1, -1, -1]
        _d_key = []
        _d_value = []
        for _i in range(len(k)):
            i = k[_i]
            …
    """
    match node:
        case ast.Assign([ast.Name(id=name)], value) if name in cx.facts.tables:
            table = cx.facts.tables[name]
        case _:
            return None
    filled = _filled(name, table, value, cx)
    return None if filled is None else [*cleared(table, cx), *filled]


def _filled(name: str, t: Table, e: ast.expr, cx: Context) -> list[ast.stmt] | None:
    """What puts there what `e` holds."""
    if t.kind == "set":
        one = "NAME.add(KEY)"
    else:
        one = "NAME[KEY] += 1" if t.kind == "Counter" else "NAME[KEY] = VALUE"
    lines: list[ast.stmt] = []
    match e:
        case ast.Dict(keys=keys, values=values):
            for key, value in zip(keys, values, strict=True):
                assert key is not None
                held = ast.Name(cx.fresh("key"), ast.Load())
                lines += cx.code("KEY = E", KEY=held, E=key) if not is_steady(key) else []
                lines += cx.code(
                    one, NAME=name, KEY=key if is_steady(key) else held, VALUE=value)
            return lines
        case ast.Set(elts=elts):
            return [s for key in elts for s in cx.code(one, NAME=name, KEY=key)]
        case ast.DictComp(key=key, value=value, generators=generators):
            of = ast.GeneratorExp(ast.Tuple([key, value], ast.Load()), generators)
        case ast.SetComp(elt=elt, generators=generators):
            of = ast.GeneratorExp(elt, generators)
        case ast.Call(args=[]):
            return []
        case ast.Call(ast.Attribute(attr="fromkeys"), [keys_of, *rest]):
            return _from_keys(name, keys_of, rest, cx)
        case ast.Call(args=[given]) if t.kind == "defaultdict":
            return []
        case ast.Call(args=[ast.GeneratorExp() as given]):
            of = given
        case ast.Call(args=[given]):
            return _from_iterable(name, t, given, one, cx)
        case _:
            return None
    if waits(of):
        return None
    own = own_names(ast.copy_location(of, e), cx)
    return nested(own.generators, _one(name, t, own.elt, one, cx), cx)


def _one(name: str, t: Table, e: ast.expr, text: str, cx: Context) -> list[ast.stmt]:
    """One item of what a table is made of."""
    match e:
        case ast.Tuple(elts=[key, value]) if t.kind == "dict":
            if is_steady(key):
                return cx.code(text, NAME=name, KEY=key, VALUE=value)
            held = ast.Name(cx.fresh("key"), ast.Load())
            return [*cx.code("KEY = E", KEY=held, E=key),
                    *cx.code(text, NAME=name, KEY=held, VALUE=value)]
    return cx.code(text, NAME=name, KEY=e)


def _from_iterable(
    name: str, t: Table, given: ast.expr, text: str, cx: Context
) -> list[ast.stmt] | None:
    v, w = cx.fresh("v"), cx.fresh("w")
    if t.kind == "dict":
        return cx.code(f"for V, W in X: {text}", V=v, W=w, X=given, NAME=name,
                       KEY=ast.Name(v, ast.Load()), VALUE=ast.Name(w, ast.Load()))
    return cx.code(f"for V in X: {text}", V=v, X=given, NAME=name, KEY=ast.Name(v, ast.Load()))


def _from_keys(
    name: str, keys: ast.expr, rest: list[ast.expr], cx: Context
) -> list[ast.stmt] | None:
    if not rest:
        return None  # each is None
    value = ast.Name(cx.fresh("value"), ast.Load())
    v = ast.Name(cx.fresh("v"), ast.Load())
    return cx.code("VALUE = E\nfor V in X: NAME[V] = VALUE", VALUE=value, E=rest[0], V=v, X=keys,
                   NAME=name)
