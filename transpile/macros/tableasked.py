"""What a table is asked."""
from __future__ import annotations

import ast

from .context import Context
from .fact import Table
from .firing import EXPRESSIONS, fires_on, has_tables
from .hashed import Found, find, is_there, leave
from .tableuses import has_method, is_dict, truths
from .tablevalues import begun, value_of
from .tupled import is_steady

__all__ = ["table_asked"]


@fires_on(*EXPRESSIONS, when=has_tables)
def table_asked(node: ast.AST, cx: Context) -> ast.expr | None:
    """What a key has, and whether it is there.

        d = {}
        d[i] = s
        t = d[j]
    →
        …
        _k_2 = _ops.key(j)
        _slot_2 = (_k_2 ^ _k_2 >> 11 ^ _k_2 >> 23) & len(_d_slot) - 1
        _at_1 = _d_slot[_slot_2]
        while _at_1 >= 0 and _d_key[_at_1] != _k_2:
            _slot_2 = _slot_2 + 1 & len(_d_slot) - 1
            _at_1 = _d_slot[_slot_2]
        if not _at_1 >= 0:
            raise KeyError
        t = _d_value[_at_1]
    """
    match node:
        case ast.Compare(key, [ast.In() | ast.NotIn() as op], [ast.Name(id=name)]) if (
            name in cx.facts.tables
        ):
            t = cx.facts.tables[name]
            looked = find(t, key, cx)
            if looked is None:
                return None
            cx.before(*looked[0])
            there = is_there(t, looked[1], cx)
            return cx.expr("not (E)", E=there) if isinstance(op, ast.NotIn) else there
        case ast.IfExp(test=test, body=body, orelse=orelse) if _asks_truth(test, cx):
            return cx.expr("A if TEST else B", TEST=_truth(test, cx), A=body, B=orelse)
        case ast.UnaryOp(ast.Not(), operand) if _asks_truth(operand, cx):
            return cx.expr("not E", E=_truth(operand, cx))
        case ast.expr() if (
            isinstance(cx.within, (ast.If, ast.While)) and cx.within.test is node
            and _asks_truth(node, cx)
        ):
            return _truth(node, cx)
        case ast.Subscript(ast.Name(id=name), key, ast.Load()) if is_dict(name, cx):
            return _item(cx.facts.tables[name], key, cx)
        case ast.Call(ast.Attribute(ast.Name(id=name), method), [key, *rest], []) if (
            is_dict(name, cx) and has_method("dict", method, 1 + len(rest))
        ):
            return _given(cx.facts.tables[name], method, key, rest, cx)
        case ast.Call(args=[ast.Name(id=name)], keywords=[]) if (
            name in cx.facts.tables and cx.builtin(node) in ("len", "bool")
        ):
            count = _count(cx.facts.tables[name], cx)
            return cx.expr("N > 0", N=count) if cx.builtin(node) == "bool" else count
    return None


def _asks_truth(test: ast.expr, cx: Context) -> bool:
    """Whether it asks if there is anything in a table."""
    return any(isinstance(e, ast.Name) and e.id in cx.facts.tables for e in truths(test))


def _truth(test: ast.expr, cx: Context) -> ast.expr:
    match test:
        case ast.BoolOp(op, values):
            return ast.copy_location(ast.BoolOp(op, [_truth(e, cx) for e in values]), test)
        case ast.Name(id=name) if name in cx.facts.tables:
            return cx.expr("N > 0", N=_count(cx.facts.tables[name], cx))
    return test


def _count(t: Table, cx: Context) -> ast.expr:
    return cx.expr("COUNT" if t.there else "len(KEYS)", COUNT=t.held or "", KEYS=t.keys[0])


def _item(t: Table, key: ast.expr, cx: Context) -> ast.expr | None:
    if t.kind == "defaultdict":
        assert t.start is not None
        return _after(begun(t, key, t.start, cx), t, cx)
    looked = find(t, key, cx)
    if looked is None:
        return None
    lines, value = value_of(t, looked[1], None, cx)
    cx.before(*looked[0], *lines)
    return value


def _after(
    begun: tuple[list[ast.stmt], Found] | None, t: Table, cx: Context
) -> ast.expr | None:
    """The value of the key, which is there by now: the last, if it has just come."""
    if begun is None:
        return None
    lines, found = begun
    text = "if AT < 0: AT = len(KEYS) - 1"
    cx.before(*lines, *cx.code(text, AT=found.at, KEYS=t.keys[0]))
    return cx.expr("VALUES[AT]", VALUES=t.values, AT=found.at)


def _given(
    t: Table, method: str, key: ast.expr, rest: list[ast.expr], cx: Context
) -> ast.expr | None:
    """What a method gives."""
    if method == "setdefault" and rest:
        return _after(begun(t, key, rest[0], cx), t, cx)
    if method not in ("get", "pop"):
        return None
    looked = find(t, key, cx)
    if looked is None:
        return None
    lines, found = looked
    other = rest[0] if rest else ast.Constant(None)
    if not is_steady(other):
        held = ast.Name(cx.fresh("other"), ast.Load())
        lines += cx.code("OTHER = E", OTHER=held, E=other)
        other = held
    there, at = is_there(t, found, cx), cx.expr("VALUES[AT]", VALUES=t.values, AT=found.at)
    if method == "get":
        others = cx.facts.items(other) or ()
        if len(others) != t.items:
            return None
        cx.before(*lines)
        if not others:
            return cx.expr("E if THERE else OTHER", E=at, THERE=there, OTHER=other)
        return ast.Tuple([cx.expr("E[K] if THERE else OTHER", E=at, K=ast.Constant(k),
                                  THERE=there, OTHER=e) for k, e in enumerate(others)], ast.Load())
    value = ast.Name(cx.fresh("value"), ast.Load())
    if rest:
        text = "if THERE:\n    VALUE = E\n    LEAVE\nelse:\n    VALUE = OTHER"
    else:
        text = "if not (THERE): raise KeyError\nVALUE = E\nLEAVE"
    cx.before(*lines, *cx.code(text, THERE=there, VALUE=value, E=at, LEAVE=leave(t, found, cx),
                               OTHER=other))
    return value
