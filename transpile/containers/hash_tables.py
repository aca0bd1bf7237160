"""Hash tables as flat lists: creation, lookup, insertion and removal of keys."""
from __future__ import annotations

import ast
from typing import NamedTuple

from ..analysis.tuple_types import is_repeatable
from ..analysis.type_facts import Table
from ..frontend.core_nodes import copy_location
from ..frontend.language.comprehensions import is_suspending, nested_loops, with_fresh_variables
from ..frontend.macros.firing_conditions import has_tables
from ..frontend.macros.macro_context import Context
from ..frontend.macros.macro_index import fires_on

__all__ = [
    "KeyLookup", "empty_table", "find_key", "key_is_present", "remove_key", "put_key",
    "set_default", "remove_checked", "value_at", "table_creation",
]

_FIRST = 8
"""Slots of an empty table: a power of two, as ever."""


class KeyLookup(NamedTuple):
    """The result of a lookup: ``at`` is the index of the key among the keys, or -1; ``slot`` the
    slot that holds it or would take it; ``parts`` the key as Python ints, one for each item of a
    tuple; ``key`` the key as it was given.
    """

    at: str
    slot: str
    parts: tuple[str, ...]
    key: ast.expr


def empty_table(t: Table, cx: Context) -> list[ast.stmt]:
    """An empty table."""
    slots = ast.List([ast.Constant(-1) for _ in range(_FIRST)], ast.Load())
    lines = cx.code("SLOTS = E", SLOTS=t.slots, E=slots)
    for name in (*t.keys, t.shown, t.values, t.there, t.first, t.last, t.after):
        lines += cx.code("NAME = []", NAME=name) if name else []
    return lines + (cx.code("COUNT = 0", COUNT=t.held) if t.there else [])


def find_key(t: Table, key: ast.expr, cx: Context) -> tuple[list[ast.stmt], KeyLookup] | None:
    """The statements that look `key` up, and the names of the result; None where its type is not
    that of the table's keys.
    """
    items = cx.facts.items(key)
    if (items is not None) != (t.width > 0) or (items is not None and len(items) != t.width):
        return None
    lines: list[ast.stmt] = []
    held: list[ast.expr] = []
    for part in items or [key]:
        if not is_repeatable(part):
            name = cx.fresh("key")
            lines += cx.code("NAME = E", NAME=name, E=part)
            part = ast.Name(name, ast.Load())
        held.append(part)
    parts = tuple(cx.fresh("k") for _ in held)
    for name, part in zip(parts, held, strict=True):
        lines += cx.code("K = _ops.key(E)", K=name, E=part)
    slot, at = cx.fresh("slot"), cx.fresh("at")
    differs = _joined(
        ast.Or(), [cx.expr("KEYS[AT] != K", KEYS=keys, AT=at, K=k)
                   for keys, k in zip(t.keys, parts, strict=True)])
    mixing, spread = _hash_of(parts, cx)
    lines += [*mixing, *cx.code(
        """
        SLOT = SPREAD & len(SLOTS) - 1
        AT = SLOTS[SLOT]
        while AT >= 0 and DIFFERS:
            SLOT = SLOT + 1 & len(SLOTS) - 1
            AT = SLOTS[SLOT]
        """,
        SLOT=slot, SPREAD=spread, SLOTS=t.slots, AT=at, DIFFERS=differs,
    )]
    whole = held[0] if not t.width else ast.Tuple(held, ast.Load())
    return lines, KeyLookup(at, slot, parts, whole)


def _hash_of(parts: tuple[str, ...], cx: Context) -> tuple[list[ast.stmt], ast.expr]:
    """What slots are told apart by: near keys stand near to one another, and of those that are far
    the higher bits count, too.
    """
    lines: list[ast.stmt] = []
    mixed, *others = parts
    for k in others:
        name = cx.fresh("mixed")
        text = "NAME = (M & 0x7FFFFFFF) * 1000003 ^ K"
        lines += cx.code(text, NAME=name, M=mixed, K=k)
        mixed = name
    return lines, cx.expr("(M ^ M >> 11 ^ M >> 23)", M=mixed)


def key_is_present(t: Table, found: KeyLookup, cx: Context) -> ast.expr:
    """Whether the key is in the table."""
    if t.there:
        return cx.expr("AT >= 0 and THERE[AT]", AT=found.at, THERE=t.there)
    return cx.expr("AT >= 0", AT=found.at)


def put_key(t: Table, found: KeyLookup, value: ast.expr | None, cx: Context) -> list[ast.stmt]:
    """Statements that insert the key, if it is not in the table, and set its `value` if the table
    is a dict.
    """
    new = _pushed(t, found, value, cx)
    old = cx.code("VALUES[AT] = E", VALUES=t.values, AT=found.at, E=value) if value else []
    if t.there:
        new = [*new, *cx.code("COUNT = COUNT + 1", COUNT=t.held)]
        text = "if not THERE[AT]:\n    THERE[AT] = True\n    COUNT = COUNT + 1"
        old += cx.code(text, THERE=t.there, AT=found.at, COUNT=t.held)
    text = "if AT < 0:\n    NEW\nelse:\n    OLD" if old else "if AT < 0: NEW"
    return cx.code(text, AT=found.at, NEW=new, OLD=old)


def remove_key(t: Table, found: KeyLookup, cx: Context) -> list[ast.stmt]:
    """Statements that remove the key, which must be in the table."""
    text = "THERE[AT] = False\nCOUNT = COUNT - 1"
    return cx.code(text, THERE=t.there, AT=found.at, COUNT=t.held)


def _pushed(t: Table, found: KeyLookup, value: ast.expr | None, cx: Context) -> list[ast.stmt]:
    lines = cx.code("SLOTS[SLOT] = len(KEYS)", SLOTS=t.slots, SLOT=found.slot, KEYS=t.keys[0])
    pairs: list[tuple[str, ast.expr | None]] = [
        *((keys, ast.Name(k, ast.Load())) for keys, k in zip(t.keys, found.parts, strict=True)),
        (t.shown, found.key), (t.values, value), (t.there, ast.Constant(True)),
        (t.first, ast.Constant(-1)), (t.last, ast.Constant(-1)),
    ]
    for name, e in pairs:
        lines += cx.code("NAME.append(E)", NAME=name, E=e) if name and e is not None else []
    slot, place, n = cx.fresh("slot"), cx.fresh("i"), cx.fresh("n")
    parts = tuple(cx.fresh("k") for _ in t.keys)
    again: list[ast.stmt] = []
    for k, keys in zip(parts, t.keys, strict=True):
        again += cx.code("K = KEYS[I]", K=k, KEYS=keys, I=place)
    mixing, spread = _hash_of(parts, cx)
    again += [*mixing, *cx.code(
        """
        SLOT = SPREAD & N - 1
        while SLOTS[SLOT] >= 0:
            SLOT = SLOT + 1 & N - 1
        SLOTS[SLOT] = I
        """,
        SLOT=slot, SPREAD=spread, N=n, SLOTS=t.slots, I=place,
    )]
    return lines + cx.code(
        """
        if 2 * len(KEYS) > len(SLOTS):
            N = 2 * len(SLOTS)
            SLOTS.clear()
            for I in range(N):
                SLOTS.append(-1)
            for I in range(len(KEYS)):
                AGAIN
        """,
        KEYS=t.keys[0], SLOTS=t.slots, N=n, I=place, AGAIN=again,
    )


def _joined(op: ast.boolop, parts: list[ast.expr]) -> ast.expr:
    return parts[0] if len(parts) == 1 else ast.BoolOp(op, parts)


def value_at(
    t: Table, found: KeyLookup, asked: ast.expr | None, cx: Context
) -> tuple[list[ast.stmt], ast.expr]:
    """A fresh name bound to the value of the key that was looked up. If the key is missing it is
    the default `asked` (``d.get(k, asked)``), or else the table's own start value
    (``defaultdict``).
    """
    start = asked.args[1] if isinstance(asked, ast.Call) else t.start
    there, at = key_is_present(t, found, cx), cx.expr("VALUES[AT]", VALUES=t.values, AT=found.at)
    if start is None:
        return cx.code("if not (THERE): raise KeyError", THERE=there), at
    name = ast.Name(cx.fresh("old"), ast.Load())
    text = "if THERE:\n    NAME = E\nelse:\n    NAME = START"
    return cx.code(text, THERE=there, NAME=name, E=at, START=start), name


def set_default(
    t: Table, key: ast.expr, value: ast.expr, cx: Context
) -> tuple[list[ast.stmt], KeyLookup] | None:
    """Statements for ``d.setdefault(key, value)``: insert the key with that value if it is missing.
    """
    looked = find_key(t, key, cx)
    if looked is None:
        return None
    lines, found = looked
    if not is_repeatable(value):
        held = ast.Name(cx.fresh("value"), ast.Load())
        lines += cx.code("VALUE = E", VALUE=held, E=value)
        value = held
    absent = ast.UnaryOp(ast.Not(), key_is_present(t, found, cx))
    text = "if ABSENT: PUT"
    return [*lines, *cx.code(text, ABSENT=absent, PUT=put_key(t, found, value, cx))], found


def remove_checked(t: Table, key: ast.expr, cx: Context, *, missing: bool) -> list[ast.stmt] | None:
    """Statements that look the key up and remove it. If it is missing, Python answers the call (and
    raises) where `missing` is true, else nothing happens.
    """
    looked = find_key(t, key, cx)
    if looked is None:
        return None
    lines, found = looked
    there = key_is_present(t, found, cx)
    if missing:
        error = cx.code("if not (THERE): raise KeyError", THERE=there)
        return [*lines, *error, *remove_key(t, found, cx)]
    return [*lines, *cx.code("if THERE: LEAVE", THERE=there, LEAVE=remove_key(t, found, cx))]


@fires_on(ast.Assign, targets=ast.Name, when=has_tables)
def table_creation(node: ast.AST, cx: Context) -> list[ast.stmt] | None:
    """``d = {}``, ``set()`` and the like → empty flat lists for keys and values, and the slots of
    the hash table.

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
    return None if filled is None else [*empty_table(table, cx), *filled]


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
                lines += cx.code("KEY = E", KEY=held, E=key) if not is_repeatable(key) else []
                lines += cx.code(
                    one, NAME=name, KEY=key if is_repeatable(key) else held, VALUE=value)
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
    if is_suspending(of):
        return None
    own = with_fresh_variables(copy_location(of, e), cx)
    return nested_loops(own.generators, _one(name, t, own.elt, one, cx), cx)


def _one(name: str, t: Table, e: ast.expr, text: str, cx: Context) -> list[ast.stmt]:
    """One item of what a table is made of."""
    match e:
        case ast.Tuple(elts=[key, value]) if t.kind == "dict":
            if is_repeatable(key):
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
