"""Table methods: lookups in dicts and sets, and updates of them."""
from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

from ..analysis.tuple_types import is_repeatable
from ..analysis.type_facts import Table
from ..frontend.ast_names import mentions_none
from ..frontend.ast_walk import tree_key, walk_nodes
from ..frontend.core_nodes import copy_location
from ..frontend.macros.firing_conditions import has_tables
from ..frontend.macros.macro_context import Context
from ..frontend.macros.macro_index import EXPRESSIONS, fires_on
from .hash_tables import (
    KeyLookup,
    empty_table,
    find_key,
    key_is_present,
    put_key,
    remove_checked,
    remove_key,
    set_default,
    value_at,
)
from .method_table import METHODS, statement_rule
from .table_kinds import has_method, is_dict, truth_tests

__all__ = [
    "add_rule", "clear_rule", "discard_rule", "pop_rule", "remove_rule", "setdefault_rule",
    "table_lookup", "table_update",
]


@fires_on(*EXPRESSIONS, when=has_tables)
def table_lookup(node: ast.AST, cx: Context) -> ast.expr | None:
    """``d[k]``, ``d.get(k)``, ``k in d`` → a lookup in the hash table.

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
            looked = find_key(t, key, cx)
            if looked is None:
                return None
            cx.before(*looked[0])
            there = key_is_present(t, looked[1], cx)
            return cx.expr("not (E)", E=there) if isinstance(op, ast.NotIn) else there
        case ast.IfExp(test=test, body=body, orelse=orelse) if _is_truth_test(test, cx):
            return cx.expr("A if TEST else B", TEST=_truth(test, cx), A=body, B=orelse)
        case ast.UnaryOp(ast.Not(), operand) if _is_truth_test(operand, cx):
            return cx.expr("not E", E=_truth(operand, cx))
        case ast.expr() if (
            isinstance(cx.within, (ast.If, ast.While)) and cx.within.test is node
            and _is_truth_test(node, cx)
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


def _is_truth_test(test: ast.expr, cx: Context) -> bool:
    """Whether it asks if there is anything in a table."""
    return any(isinstance(e, ast.Name) and e.id in cx.facts.tables for e in truth_tests(test))


def _truth(test: ast.expr, cx: Context) -> ast.expr:
    match test:
        case ast.BoolOp(op, values):
            return copy_location(ast.BoolOp(op, [_truth(e, cx) for e in values]), test)
        case ast.Name(id=name) if name in cx.facts.tables:
            return cx.expr("N > 0", N=_count(cx.facts.tables[name], cx))
    return test


def _count(t: Table, cx: Context) -> ast.expr:
    return cx.expr("COUNT" if t.there else "len(KEYS)", COUNT=t.held or "", KEYS=t.keys[0])


def _item(t: Table, key: ast.expr, cx: Context) -> ast.expr | None:
    if t.kind == "defaultdict":
        assert t.start is not None
        return _after(set_default(t, key, t.start, cx), t, cx)
    looked = find_key(t, key, cx)
    if looked is None:
        return None
    lines, value = value_at(t, looked[1], None, cx)
    cx.before(*looked[0], *lines)
    return value


def _after(
    begun: tuple[list[ast.stmt], KeyLookup] | None, t: Table, cx: Context
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
        return _after(set_default(t, key, rest[0], cx), t, cx)
    if method not in ("get", "pop"):
        return None
    looked = find_key(t, key, cx)
    if looked is None:
        return None
    lines, found = looked
    other = rest[0] if rest else ast.Constant(None)
    if not is_repeatable(other):
        held = ast.Name(cx.fresh("other"), ast.Load())
        lines += cx.code("OTHER = E", OTHER=held, E=other)
        other = held
    there, at = key_is_present(t, found, cx), cx.expr("VALUES[AT]", VALUES=t.values, AT=found.at)
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
    cx.before(*lines, *cx.code(text, THERE=there, VALUE=value, E=at, LEAVE=remove_key(t, found, cx),
                               OTHER=other))
    return value


@fires_on(ast.Assign, ast.Delete, targets=ast.Subscript, when=has_tables)
@fires_on(ast.AugAssign, target=ast.Subscript, when=has_tables)
@fires_on(ast.Expr, value=ast.Call, when=has_tables)
def table_update(node: ast.AST, cx: Context) -> list[ast.stmt] | None:
    """``d[k] = v``, ``del d[k]``, ``s.add(k)`` and the like → an insertion into the hash table, or
    a removal.

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
            return cx.whole(lambda: remove_checked(tables[name], key, cx, missing=True))
        case ast.Expr(ast.Call(ast.Attribute(ast.Name(id=name), method), args, [])) if (
            name in tables and has_method(tables[name].kind, method, len(args))
            and (rule := METHODS[method].table_statement)
        ):
            return cx.whole(lambda: statement_rule("table_methods", rule)(tables[name], args, cx))
    return None


def add_rule(t: Table, args: Sequence[ast.expr], cx: Context) -> list[ast.stmt] | None:
    """``set.add(key)``."""
    looked = find_key(t, args[0], cx)
    return None if looked is None else [*looked[0], *put_key(t, looked[1], None, cx)]


def setdefault_rule(t: Table, args: Sequence[ast.expr], cx: Context) -> list[ast.stmt] | None:
    """``dict.setdefault(key, value)``, whose result is not used."""
    return (set_default(t, args[0], args[1], cx) or (None,))[0]


def discard_rule(t: Table, args: Sequence[ast.expr], cx: Context) -> list[ast.stmt] | None:
    """``set.discard(key)``: a key that is not there is no error."""
    return remove_checked(t, args[0], cx, missing=False)


def remove_rule(t: Table, args: Sequence[ast.expr], cx: Context) -> list[ast.stmt] | None:
    """``set.remove(key)``: where the key is not there, Python raises."""
    return remove_checked(t, args[0], cx, missing=True)


def pop_rule(t: Table, args: Sequence[ast.expr], cx: Context) -> list[ast.stmt] | None:
    """``dict.pop(key)``, ``dict.pop(key, default)``, whose result is not used."""
    return remove_checked(t, args[0], cx, missing=len(args) == 1)


def clear_rule(t: Table, args: Sequence[ast.expr], cx: Context) -> list[ast.stmt] | None:
    """``dict.clear()``, ``set.clear()``."""
    return empty_table(t, cx)


def _set(
    t: Table, name: str, key: ast.expr, value: ast.expr, cx: Context
) -> list[ast.stmt] | None:
    """The value is evaluated first; where it is made of the one before, the key is found once."""
    old = _of_the_same(name, key, value)
    if old is not None and is_repeatable(key):
        return _made_of(
            t, key, old, cx, lambda before: _ReplaceLookup(old, before).within(value))
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
    looked = find_key(t, key, cx)
    return None if looked is None else [*lines, *looked[0], *put_key(t, looked[1], value, cx)]


def _of_the_same(name: str, key: ast.expr, value: ast.expr) -> ast.expr | None:
    """The one place in `value` where the table is asked, for `key`, and surely so."""
    wanted, found = tree_key(key), list[ast.expr]()
    for n in walk_nodes(value):
        match n:
            case ast.Subscript(ast.Name(id=of), at) | ast.Call(
                ast.Attribute(ast.Name(id=of), "get"), [at, ast.Constant()], []
            ) if of == name and tree_key(at) == wanted:
                assert isinstance(n, ast.expr)
                found.append(n)
    named = sum(isinstance(n, ast.Name) and n.id == name for n in walk_nodes(value))
    perhaps = (ast.BoolOp, ast.IfExp, ast.Lambda, ast.NamedExpr, ast.ListComp, ast.GeneratorExp)
    sure = not any(isinstance(n, perhaps) for n in walk_nodes(value))
    return found[0] if len(found) == named == 1 and sure else None


class _ReplaceLookup(ast.NodeTransformer):
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
    if not mentions_none(value, [name]):
        held = ast.Name(cx.fresh("key"), ast.Load())
        if not is_repeatable(key):
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
    looked = find_key(t, key, cx)
    if looked is None:
        return None
    lines, found = looked
    asked, before = value_at(t, found, old, cx)
    value = make(before)
    if isinstance(before, ast.Subscript):  # of the values: the key is there
        return [*lines, *asked, *cx.code("AT = E", AT=before, E=value)]
    new = ast.Name(cx.fresh("value"), ast.Load())
    return [*lines, *asked, *cx.code("NEW = E", NEW=new, E=value), *put_key(t, found, new, cx)]
