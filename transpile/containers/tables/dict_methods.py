"""Methods and subscripts of dicts and sets: lookups in hash tables, and updates of them.

`table_lookup` expands expressions (``d[k]``, ``d.get(k)``, ``k in d``, ``len(d)``, ``if d``),
`table_update` statements (``d[k] = v``, ``d[k] += v``, ``del d[k]``, ``s.add(k)``), for the names
that `table_inference` recorded as tables. `hash_tables` makes the statements.
"""
from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

from ...analysis.type_inference.tuple_types import is_repeatable, items_of_tuple
from ...frontend.ast_names import mentions_none_of
from ...frontend.ast_walk import replace_node, tree_key, truth_operands, walk_nodes
from ...frontend.core_nodes import copy_location
from ...frontend.macros.firing_conditions import has_tables
from ...frontend.macros.macro_context import Context
from ...frontend.macros.macro_index import EXPRESSIONS, fires_on
from ...types.flat_containers import HashTable
from ..method_table import METHODS, statement_rule
from .hash_tables import (
    KeyLookup,
    arguments_before_lookup,
    empty_table,
    find_key,
    key_before_value,
    key_is_present,
    put_key,
    remove_checked,
    remove_key,
    set_default,
    value_at,
)
from .table_kinds import has_method, is_dict

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
        _k_2 = _core.key(j)
        _hash_2 = _k_2 ^ _k_2 >> 11 ^ _k_2 >> 23
        _slot_2 = _hash_2 & len(_d_slot) - 1
        _at_1 = _d_slot[_slot_2]
        while _at_1 >= 0 and _d_key[_at_1] != _k_2:
            _hash_2 = _hash_2 >> 5 & 576460752303423487
            _slot_2 = 5 * _slot_2 + _hash_2 + 1 & len(_d_slot) - 1
            _at_1 = _d_slot[_slot_2]
        if not _at_1 >= 0:
            raise KeyError
        t = _d_value[_at_1]
    """
    match node:
        case ast.Compare(key, [ast.In() | ast.NotIn() as op], [ast.Name(id=name)]) if (
            name in cx.facts.tables
        ):
            table = cx.facts.tables[name]
            result = find_key(table, key, cx)
            if result is None:
                return None
            cx.before(*result[0])
            present = key_is_present(table, result[1], cx)
            return cx.expr("not (E)", E=present) if isinstance(op, ast.NotIn) else present
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
            return _method_value(cx.facts.tables[name], method, key, rest, cx)
        case ast.Call(args=[ast.Name(id=name)], keywords=[]) if (
            name in cx.facts.tables and cx.builtin(node) in ("len", "bool")
        ):
            count = _count(cx.facts.tables[name], cx)
            return cx.expr("N > 0", N=count) if cx.builtin(node) == "bool" else count
    return None


def _is_truth_test(test: ast.expr, cx: Context) -> bool:
    """Whether `test` uses the truth value of a table."""
    return any(isinstance(e, ast.Name) and e.id in cx.facts.tables for e in truth_operands(test))


def _truth(test: ast.expr, cx: Context) -> ast.expr:
    """`test` with each table in it replaced by the condition that it has keys."""
    match test:
        case ast.BoolOp(op, values):
            return copy_location(ast.BoolOp(op, [_truth(e, cx) for e in values]), test)
        case ast.Name(id=name) if name in cx.facts.tables:
            return cx.expr("N > 0", N=_count(cx.facts.tables[name], cx))
    return test


def _count(table: HashTable, cx: Context) -> ast.expr:
    """The number of keys in the table."""
    if table.is_present:
        return cx.expr("COUNT", COUNT=table.present_count)
    return cx.expr("len(KEYS)", KEYS=table.keys[0])


def _item(table: HashTable, key: ast.expr, cx: Context) -> ast.expr | None:
    """The expression for ``d[key]``; its statements run before the current one. A ``defaultdict``
    inserts a missing key. None where `find_key` refuses the key.
    """
    if table.kind == "defaultdict":
        assert table.missing_value is not None
        return _value_after_default(set_default(table, key, table.missing_value, cx), table, cx)
    result = find_key(table, key, cx)
    if result is None:
        return None
    lines, value = value_at(table, result[1], None, cx)
    cx.before(*result[0], *lines)
    return value


def _value_after_default(
    inserted: tuple[list[ast.stmt], KeyLookup] | None, table: HashTable, cx: Context
) -> ast.expr | None:
    """The value of a key after `set_default`, whose result is `inserted`: a key that was missing is
    now the last one. None where that is None.
    """
    if inserted is None:
        return None
    lines, lookup = inserted
    text = "if AT < 0: AT = len(KEYS) - 1"
    cx.before(*lines, *cx.code(text, AT=lookup.at, KEYS=table.keys[0]))
    return cx.expr("VALUES[AT]", VALUES=table.values, AT=lookup.at)


def _method_value(
    table: HashTable, method: str, key: ast.expr, defaults: list[ast.expr], cx: Context
) -> ast.expr | None:
    """The expression for a call of ``get``, ``pop`` or ``setdefault`` whose result is used;
    `defaults`: the arguments after the key. None where the key or the default is refused.
    """
    if method == "setdefault" and defaults:
        return _value_after_default(set_default(table, key, defaults[0], cx), table, cx)
    if method not in ("get", "pop"):
        return None
    other = defaults[0] if defaults else ast.Constant(None)
    bindings, key, other = arguments_before_lookup(key, other, cx)
    result = find_key(table, key, cx)
    if result is None:
        return None
    lines, lookup = [*bindings, *result[0]], result[1]
    present = key_is_present(table, lookup, cx)
    entry = cx.expr("VALUES[AT]", VALUES=table.values, AT=lookup.at)
    if method == "get":
        default_items = items_of_tuple(cx.facts, other) or ()
        if len(default_items) != table.value_width:
            return None
        cx.before(*lines)
        if not default_items:
            return cx.expr("E if THERE else OTHER", E=entry, THERE=present, OTHER=other)
        text = "E[K] if THERE else OTHER"
        items = [cx.expr(text, E=entry, K=ast.Constant(k), THERE=present, OTHER=e)
                 for k, e in enumerate(default_items)]
        return ast.Tuple(items, ast.Load())
    value = ast.Name(cx.fresh("value"), ast.Load())
    if defaults:
        text = "if THERE:\n    VALUE = E\n    LEAVE\nelse:\n    VALUE = OTHER"
    else:
        text = "if not (THERE): raise KeyError\nVALUE = E\nLEAVE"
    leave = remove_key(table, lookup, cx)
    cx.before(*lines, *cx.code(text, THERE=present, VALUE=value, E=entry, LEAVE=leave, OTHER=other))
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
            _k = _core.key(i)
            _hash = _k ^ _k >> 11 ^ _k >> 23
            _slot = _hash & len(_d_slot) - 1
            _at = _d_slot[_slot]
            while _at >= 0 and _d_key[_at] != _k:
                _hash = _hash >> 5 & 576460752303423487
                _slot = 5 * _slot + _hash + 1 & len(_d_slot) - 1
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
                        _hash_1 = _k_1 ^ _k_1 >> 11 ^ _k_1 >> 23
                        _slot_1 = _hash_1 & _n - 1
                        while _d_slot[_slot_1] >= 0:
                            _hash_1 = _hash_1 >> 5 & 576460752303423487
                            _slot_1 = 5 * _slot_1 + _hash_1 + 1 & _n - 1
                        _d_slot[_slot_1] = _i
            else:
                _d_value[_at] = _value
    """
    tables = cx.facts.tables
    match node:
        case ast.Assign([ast.Subscript(ast.Name(id=name), key)], value) if is_dict(name, cx):
            return cx.with_before(lambda: _set(tables[name], name, key, value, cx))
        case ast.AugAssign(ast.Subscript(ast.Name(id=name), key), op, value) if is_dict(name, cx):
            return cx.with_before(lambda: _augmented(tables[name], name, key, op, value, cx))
        case ast.Delete([ast.Subscript(ast.Name(id=name), key)]) if is_dict(name, cx):
            return cx.with_before(
                lambda: remove_checked(tables[name], key, cx, missing_raises=True)
            )
        case ast.Expr(ast.Call(ast.Attribute(ast.Name(id=name), method), args, [])) if (
            name in tables and has_method(tables[name].kind, method, len(args))
            and (rule := METHODS[method].table_statement)
        ):
            expand = statement_rule("tables.dict_methods", rule)
            return cx.with_before(lambda: expand(tables[name], args, cx))
    return None


def add_rule(table: HashTable, args: Sequence[ast.expr], cx: Context) -> list[ast.stmt] | None:
    """``set.add(key)``."""
    result = find_key(table, args[0], cx)
    return None if result is None else [*result[0], *put_key(table, result[1], None, cx)]


def setdefault_rule(
    table: HashTable, args: Sequence[ast.expr], cx: Context
) -> list[ast.stmt] | None:
    """``dict.setdefault(key, value)``, whose result is not used."""
    return (set_default(table, args[0], args[1], cx) or (None,))[0]


def discard_rule(table: HashTable, args: Sequence[ast.expr], cx: Context) -> list[ast.stmt] | None:
    """``set.discard(key)``: a key that is not there is no error."""
    return remove_checked(table, args[0], cx, missing_raises=False)


def remove_rule(table: HashTable, args: Sequence[ast.expr], cx: Context) -> list[ast.stmt] | None:
    """``set.remove(key)``: where the key is not there, Python raises."""
    return remove_checked(table, args[0], cx, missing_raises=True)


def pop_rule(table: HashTable, args: Sequence[ast.expr], cx: Context) -> list[ast.stmt] | None:
    """``dict.pop(key)``, ``dict.pop(key, default)``, whose result is not used."""
    other = args[1] if len(args) > 1 else ast.Constant(None)
    bindings, key, _ = arguments_before_lookup(args[0], other, cx)
    lines = remove_checked(table, key, cx, missing_raises=len(args) == 1)
    return None if lines is None else [*bindings, *lines]


def clear_rule(table: HashTable, args: Sequence[ast.expr], cx: Context) -> list[ast.stmt] | None:
    """``dict.clear()``, ``set.clear()``."""
    return empty_table(table, cx)


def _set(
    table: HashTable, name: str, key: ast.expr, value: ast.expr, cx: Context
) -> list[ast.stmt] | None:
    """Statements for ``name[key] = value``; the value is evaluated before the key. Where `value`
    itself looks up ``name[key]`` once, one lookup serves both (`_update_value`).
    """
    previous = _lookup_of_same_key(name, key, value)
    if previous is not None and is_repeatable(key):
        return _update_value(
            table, key, previous, cx, lambda before: replace_node(value, previous, before))
    lines: list[ast.stmt] = []
    if table.value_width and isinstance(value, ast.Tuple):
        item_names = [ast.Name(cx.fresh("value"), ast.Load()) for _ in value.elts]
        for item, e in zip(item_names, value.elts, strict=True):
            lines += cx.code("VALUE = E", VALUE=item, E=e)
        value = ast.Tuple([*item_names], ast.Load())
    elif not isinstance(value, ast.Constant):
        value_name = ast.Name(cx.fresh("value"), ast.Load())
        lines = cx.code("VALUE = E", VALUE=value_name, E=value)
        value = value_name
    result = find_key(table, key, cx)
    return None if result is None else [*lines, *result[0], *put_key(table, result[1], value, cx)]


def _lookup_of_same_key(name: str, key: ast.expr, value: ast.expr) -> ast.expr | None:
    """The lookup of the same `key` in `value`, if that is the only use of the table `name` there
    and is evaluated unconditionally; else None.
    """
    key_text, lookups = tree_key(key), list[ast.expr]()
    for n in walk_nodes(value):
        match n:
            case ast.Subscript(ast.Name(id=table), other_key) | ast.Call(
                ast.Attribute(ast.Name(id=table), "get"), [other_key, ast.Constant()], []
            ) if table == name and tree_key(other_key) == key_text:
                assert isinstance(n, ast.expr)
                lookups.append(n)
    mentions = sum(isinstance(n, ast.Name) and n.id == name for n in walk_nodes(value))
    conditional = (ast.BoolOp, ast.IfExp, ast.Lambda, ast.NamedExpr, ast.ListComp, ast.GeneratorExp)
    unconditional = not any(isinstance(n, conditional) for n in walk_nodes(value))
    return lookups[0] if len(lookups) == mentions == 1 and unconditional else None


def _augmented(
    table: HashTable, name: str, key: ast.expr, op: ast.operator, value: ast.expr, cx: Context
) -> list[ast.stmt] | None:
    """Statements for ``name[key] op= value``, with one lookup. Where `value` uses the table, the
    statement is rewritten as ``name[key] = name[key] op value``.
    """
    lines, key = key_before_value(key, value, cx)
    if not mentions_none_of(value, [name]):
        key_name = ast.Name(cx.fresh("key"), ast.Load())
        if not is_repeatable(key):
            lines, key = [*lines, *cx.code("KEY = E", KEY=key_name, E=key)], key_name
        entry = ast.Subscript(ast.Name(name, ast.Load()), key, ast.Load())
        return [*lines, *cx.code("X = E", X=entry, E=ast.BinOp(entry, op, value))]
    update = _update_value(table, key, None, cx, lambda before: ast.BinOp(before, op, value))
    return None if update is None else [*lines, *update]


def _update_value(
    table: HashTable, key: ast.expr, old: ast.expr | None, cx: Context,
    make: Callable[[ast.expr], ast.expr],
) -> list[ast.stmt] | None:
    """Statements that set the value of `key` to ``make(previous value)`` with one lookup. `old` is
    the expression that reads the previous value, with its default if it is a ``get``; None: a
    subscript.
    """
    result = find_key(table, key, cx)
    if result is None:
        return None
    lines, lookup = result
    read, previous = value_at(table, lookup, old, cx)
    value = make(previous)
    if isinstance(previous, ast.Subscript):  # an entry of the values: the key is in the table
        return [*lines, *read, *cx.code("AT = E", AT=previous, E=value)]
    new = ast.Name(cx.fresh("value"), ast.Load())
    return [*lines, *read, *cx.code("NEW = E", NEW=new, E=value), *put_key(table, lookup, new, cx)]
