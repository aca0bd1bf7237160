"""What changes a table."""
from __future__ import annotations

import ast
from collections.abc import Callable

from ..below import below
from .context import Context
from .fact import Table
from .firing import fires_on, has_tables
from .hashed import cleared, find, put
from .names import free_of
from .tableuses import has_method, is_dict
from .tablevalues import begun, removed, value_of
from .tupled import is_steady

__all__ = ["table_changed"]


@fires_on(ast.Assign, ast.Delete, targets=ast.Subscript, when=has_tables)
@fires_on(ast.AugAssign, target=ast.Subscript, when=has_tables)
@fires_on(ast.Expr, value=ast.Call, when=has_tables)
def table_changed(node: ast.AST, cx: Context) -> list[ast.stmt] | None:
    """A key comes, has another value, or leaves.

        d = {}
        for i in range(n):
            d[i] = s
    →
        …
        for i in range(n):
            _value = s
            _k = _ops.key(i)
            _slot = (_k ^ _k >> 11 ^ _k >> 23) & len(_d_slot) - 1
            _at = _d_slot[_slot]
            while _at >= 0 and _d_key[_at] != _k:
                _slot = _slot + 1 & len(_d_slot) - 1
                _at = _d_slot[_slot]
            if _at < 0:
                _d_slot[_slot] = len(_d_key)
                _d_key.append(_k)
                _d_value.append(_value)
                if 2 * len(_d_key) > len(_d_slot):
                    _n = 2 * len(_d_slot)
                    _d_slot.clear()
                    for _i in range(_n):
                        _d_slot.append(-1)
                    for _i in range(len(_d_key)):
                        _k_1 = _d_key[_i]
                        _slot_1 = (_k_1 ^ _k_1 >> 11 ^ _k_1 >> 23) & _n - 1
                        while _d_slot[_slot_1] >= 0:
                            _slot_1 = _slot_1 + 1 & _n - 1
                        _d_slot[_slot_1] = _i
            else:
                _d_value[_at] = _value
    """
    tables = cx.facts.tables
    match node:
        case ast.Assign([ast.Subscript(ast.Name(id=name), key)], value) if is_dict(name, cx):
            return cx.whole(lambda: _set(tables[name], name, key, value, cx))
        case ast.AugAssign(ast.Subscript(ast.Name(id=name), key), op, value) if is_dict(name, cx):
            return cx.whole(lambda: _augmented(tables[name], name, key, op, value, cx))
        case ast.Delete([ast.Subscript(ast.Name(id=name), key)]) if is_dict(name, cx):
            return cx.whole(lambda: removed(tables[name], key, cx, missing=True))
        case ast.Expr(ast.Call(ast.Attribute(ast.Name(id=name), method), args, [])) if (
            name in tables and has_method(tables[name].kind, method, len(args))
        ):
            return cx.whole(lambda: _called(tables[name], method, args, cx))
    return None


def _called(
    t: Table, method: str, args: list[ast.expr], cx: Context
) -> list[ast.stmt] | None:
    match method, args:
        case "add", [key]:
            looked = find(t, key, cx)
            return None if looked is None else [*looked[0], *put(t, looked[1], None, cx)]
        case "setdefault", [key, value]:
            return (begun(t, key, value, cx) or (None,))[0]
        case "discard", [key]:
            return removed(t, key, cx, missing=False)
        case "remove", [key]:
            return removed(t, key, cx, missing=True)
        case "pop", [key, *rest]:
            return removed(t, key, cx, missing=not rest)
        case "clear", []:
            return cleared(t, cx)
    return None


def _set(
    t: Table, name: str, key: ast.expr, value: ast.expr, cx: Context
) -> list[ast.stmt] | None:
    """The value is evaluated first; where it is made of the one before, the key is found once."""
    old = _of_the_same(name, key, value)
    if old is not None and is_steady(key):
        return _made_of(
            t, key, old, cx, lambda before: _Instead(old, before).within(value))
    lines: list[ast.stmt] = []
    if t.items and isinstance(value, ast.Tuple):
        names = [ast.Name(cx.fresh("value"), ast.Load()) for _ in value.elts]
        for item, e in zip(names, value.elts, strict=True):
            lines += cx.code("VALUE = E", VALUE=item, E=e)
        value = ast.Tuple([*names], ast.Load())
    elif not isinstance(value, ast.Constant):
        held = ast.Name(cx.fresh("value"), ast.Load())
        lines = cx.code("VALUE = E", VALUE=held, E=value)
        value = held
    looked = find(t, key, cx)
    return None if looked is None else [*lines, *looked[0], *put(t, looked[1], value, cx)]


def _of_the_same(name: str, key: ast.expr, value: ast.expr) -> ast.expr | None:
    """The one place in `value` where the table is asked, for `key`, and surely so."""
    wanted, found = ast.dump(key), list[ast.expr]()
    for n in below(value):
        match n:
            case ast.Subscript(ast.Name(id=of), at) | ast.Call(
                ast.Attribute(ast.Name(id=of), "get"), [at, ast.Constant()], []
            ) if of == name and ast.dump(at) == wanted:
                assert isinstance(n, ast.expr)
                found.append(n)
    named = sum(isinstance(n, ast.Name) and n.id == name for n in below(value))
    perhaps = (ast.BoolOp, ast.IfExp, ast.Lambda, ast.NamedExpr, ast.ListComp, ast.GeneratorExp)
    sure = not any(isinstance(n, perhaps) for n in below(value))
    return found[0] if len(found) == named == 1 and sure else None


class _Instead(ast.NodeTransformer):
    def __init__(self, old: ast.expr, new: ast.expr) -> None:
        self.old, self.new = old, new

    def visit(self, node: ast.AST) -> ast.AST:
        return self.new if node is self.old else self.generic_visit(node)

    def within(self, e: ast.expr) -> ast.expr:
        """`e` with that in its place."""
        new = self.visit(e)
        assert isinstance(new, ast.expr)
        return new


def _augmented(
    t: Table, name: str, key: ast.expr, op: ast.operator, value: ast.expr, cx: Context
) -> list[ast.stmt] | None:
    if not free_of(value, [name]):
        held = ast.Name(cx.fresh("key"), ast.Load())
        if not is_steady(key):
            lines, key = cx.code("KEY = E", KEY=held, E=key), held
        else:
            lines = []
        at = ast.Subscript(ast.Name(name, ast.Load()), key, ast.Load())
        return [*lines, *cx.code("X = E", X=at, E=ast.BinOp(at, op, value))]
    return _made_of(t, key, None, cx, lambda before: ast.BinOp(before, op, value))


def _made_of(
    t: Table, key: ast.expr, old: ast.expr | None, cx: Context,
    make: Callable[[ast.expr], ast.expr],
) -> list[ast.stmt] | None:
    """The key gets what `make` makes of its value, which `old` asks for: the key is found once."""
    looked = find(t, key, cx)
    if looked is None:
        return None
    lines, found = looked
    asked, before = value_of(t, found, old, cx)
    value = make(before)
    if isinstance(before, ast.Subscript):  # of the values: the key is there
        return [*lines, *asked, *cx.code("AT = E", AT=before, E=value)]
    new = ast.Name(cx.fresh("value"), ast.Load())
    return [*lines, *asked, *cx.code("NEW = E", NEW=new, E=value), *put(t, found, new, cx)]
