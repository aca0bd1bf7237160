"""Hash tables as flat lists: creation, lookup, insertion and removal of keys.

The layout is that of CPython's dicts: keys, values and other columns are lists in the order of
insertion (`flat_containers.HashTable` has their names); ``slots`` is an open-addressing index of a
power of two of entries, each the position of a key or -1. A key is an int (``_core.key`` converts
ints and bools of Python and NumPy, and raises TypeError for other objects); a key that is a tuple
has one list for each item.

- Lookup (`find_key`): CPython's order of probing (`_NEXT_SLOT`), until the key or an empty slot.
- Insertion (`put_key`): appends to each list; once the slots are more than half full, their number
  is doubled and all keys are inserted anew.
- Removal (`remove_key`): clears the key's entry in the list ``is_present``; its slot stays.
- Memory: the lists are dynamic lists (`lower.lists.dynamic_lists`). One that is full ends the
  kernel, and the call is repeated with more room (`runtime.kernel_call.list_capacity`).

Each function returns core Python statements over these lists. It is called by macros: those of
`dict_methods` and `multimaps`, and `table_creation` in this module.
"""
from __future__ import annotations

import ast
from collections.abc import Callable
from typing import NamedTuple

from ...analysis.type_inference.tuple_types import is_repeatable, items_of_tuple
from ...frontend.ast_names import bound_names, mentions_none_of
from ...frontend.ast_walk import is_suspending
from ...frontend.core_nodes import copy_location
from ...frontend.iterators.comprehensions import nested_loops, with_fresh_variables
from ...frontend.macros.firing_conditions import has_tables
from ...frontend.macros.macro_context import Context
from ...frontend.macros.macro_index import fires_on
from ...types.flat_containers import HashTable

__all__ = [
    "KeyLookup", "arguments_before_lookup", "empty_table", "find_key", "key_before_value",
    "key_is_present", "remove_key", "put_key", "set_default", "remove_checked", "value_at",
    "table_creation",
]

_INITIAL_SLOTS = 8
"""The number of slots of an empty table, a power of two."""

_SLOTS_PER_KEY = 2
"""The least number of slots for each key: at most a half of the slots is filled, so that a search
ends at an empty one (`find_key`)."""


_NEXT_SLOT = """
HASH = HASH >> 5 & 0x7FFFFFFFFFFFFFF
SLOT = 5 * SLOT + HASH + 1 & N - 1
"""
"""The slot to try after a filled one. Once all bits of the hash are used up, ``5 * SLOT + 1``
visits all slots. With the neighbour as the next one, a key whose slot is in a long run of filled
ones, such as those of ``range(n)``, would be searched for to the end of the run.
"""


class KeyLookup(NamedTuple):
    """The result of a lookup, by the names to which its statements bind it."""

    at: str  # the position of the key among the keys, or -1
    slot: str  # the slot that has the key, or would take it
    parts: tuple[str, ...]  # the key as ints, one for each item of a tuple
    key: ast.expr  # the key itself, as an expression that may be evaluated again


def empty_table(table: HashTable, cx: Context) -> list[ast.stmt]:
    """Statements that make all lists of the table empty."""
    slots = ast.List([ast.Constant(-1) for _ in range(_INITIAL_SLOTS)], ast.Load())
    lines = cx.code("SLOTS = E", SLOTS=table.slots, E=slots)
    optional = (
        table.original_keys, table.values, table.is_present, table.first_item, table.last_item,
        table.next_item,
    )
    for name in (*table.keys, *optional):
        lines += cx.code("NAME = []", NAME=name) if name else []
    return lines + (cx.code("COUNT = 0", COUNT=table.present_count) if table.is_present else [])


def find_key(
    table: HashTable, key: ast.expr, cx: Context
) -> tuple[list[ast.stmt], KeyLookup] | None:
    """Statements that evaluate `key` once and look it up in `table`, and the names of what they
    find.

        d[k]   →   _k = _core.key(k)
                   _hash = <hash of _k>
                   _slot = _hash & len(_d_slot) - 1
                   _at = _d_slot[_slot]
                   while _at >= 0 and _d_key[_at] != _k:
                       _hash, _slot = <next slot>               # `_NEXT_SLOT`
                       _at = _d_slot[_slot]                     # the index of the key, or -1

    The loop ends, since at most half of the slots are filled. None where the key is a tuple of
    another length than the table's keys, or only one of them is a tuple. All other functions for
    one key (`put_key`, `value_at`, `remove_key`) take the result.
    """
    items = items_of_tuple(cx.facts, key)
    width = 0 if items is None else len(items)
    if (items is not None) != (table.key_width > 0) or width != table.key_width:
        return None
    lines: list[ast.stmt] = []
    operands: list[ast.expr] = []
    for part in items or [key]:
        if not is_repeatable(part):
            name = cx.fresh("key")
            lines += cx.code("NAME = E", NAME=name, E=part)
            part = ast.Name(name, ast.Load())
        operands.append(part)
    parts = tuple(cx.fresh("k") for _ in operands)
    for name, part in zip(parts, operands, strict=True):
        lines += cx.code("K = _core.key(E)", K=name, E=part)
    slot, at, name_of_hash = cx.fresh("slot"), cx.fresh("at"), cx.fresh("hash")
    differs = _and_or(
        ast.Or(), [cx.expr("KEYS[AT] != K", KEYS=keys, AT=at, K=k)
                   for keys, k in zip(table.keys, parts, strict=True)])
    mixing, spread = _hash_of(parts, cx)
    lines += [*mixing, *cx.internal_code(
        """
        HASH = SPREAD
        SLOT = HASH & len(SLOTS) - 1
        AT = SLOTS[SLOT]
        while AT >= 0 and DIFFERS:
            NEXT
            AT = SLOTS[SLOT]
        """,
        HASH=name_of_hash, SPREAD=spread, SLOT=slot, SLOTS=table.slots, AT=at, DIFFERS=differs,
        NEXT=_next_slot(name_of_hash, slot, cx.expr("len(SLOTS)", SLOTS=table.slots), cx),
    )]
    key_once = operands[0] if not table.key_width else ast.Tuple(operands, ast.Load())
    return lines, KeyLookup(at, slot, parts, key_once)


def key_before_value(
    key: ast.expr, value: ast.expr, cx: Context
) -> tuple[list[ast.stmt], ast.expr]:
    """`key` for a statement that evaluates it before `value`, but reads it again afterwards. If a
    walrus in `value` rebinds a name in it, statements come before, and a name replaces it::

        d[k] += (k := 3)   →   _key = k, and _key in place of k
    """
    rebound = bound_names(value)
    return _bind_parts(key, lambda part: not mentions_none_of(part, rebound), cx)


def arguments_before_lookup(
    key: ast.expr, value: ast.expr, cx: Context
) -> tuple[list[ast.stmt], ast.expr, ast.expr]:
    """Statements that evaluate the arguments `key` and `value` of a method, in this order, and what
    takes their places after them: Python looks the key up when it has evaluated both, and `value`
    may change the table. None are needed where `value` is a name or a constant.

        d.get(k, d.pop(k) + 1)   →   _other = d.pop(k) + 1, and k and _other
    """
    if is_repeatable(value):
        return [], key, value
    rebound = bound_names(value)
    lines, new_key = _bind_parts(
        key, lambda part: not (is_repeatable(part) and mentions_none_of(part, rebound)), cx)
    other = ast.Name(cx.fresh("other"), ast.Load())
    return [*lines, *cx.code("OTHER = E", OTHER=other, E=value)], new_key, other


def _bind_parts(
    key: ast.expr, is_bound: Callable[[ast.expr], bool], cx: Context
) -> tuple[list[ast.stmt], ast.expr]:
    """Statements that bind those parts of `key` for which `is_bound` holds to fresh names, and the
    key with these names. The parts are the items of a tuple, or `key` itself.
    """
    lines, new = list[ast.stmt](), list[ast.expr]()
    for part in key.elts if isinstance(key, ast.Tuple) else [key]:
        if is_bound(part):
            name = ast.Name(cx.fresh("key"), ast.Load())
            lines += cx.code("KEY = E", KEY=name, E=part)
            new.append(name)
        else:
            new.append(part)
    return lines, ast.Tuple(new, ast.Load()) if isinstance(key, ast.Tuple) else new[0]


def _hash_of(parts: tuple[str, ...], cx: Context) -> tuple[list[ast.stmt], ast.expr]:
    """Statements that combine the `parts` of a key (the ints of a tuple) to one int, and an
    expression for its hash. `find_key` and `_append_key` take its low bits as the slot.

        (i, j)   →   _mixed = (i & 0x7FFFFFFF) * 1000003 ^ j,   _mixed ^ _mixed >> 11 ^ _mixed >> 23

    The factor is that of CPython's old hash of tuples; 31 bits of the first part keep the product
    within 64. The hash keeps low bits as they are, so that neighbouring keys have neighbouring
    slots, which are in the cache; the shifts mix in higher bits, for keys that are multiples of a
    power of 2.
    """
    lines: list[ast.stmt] = []
    mixed, *further_parts = parts
    for k in further_parts:
        name = cx.fresh("mixed")
        text = "NAME = (M & 0x7FFFFFFF) * 1000003 ^ K"
        lines += cx.code(text, NAME=name, M=mixed, K=k)
        mixed = name
    return lines, cx.expr("(M ^ M >> 11 ^ M >> 23)", M=mixed)


def _next_slot(name_of_hash: str, slot: str, slots: ast.expr, cx: Context) -> list[ast.stmt]:
    """The statements `_NEXT_SLOT`, of which `slots` is the number of slots."""
    return cx.internal_code(_NEXT_SLOT, HASH=name_of_hash, SLOT=slot, N=slots)


def key_is_present(table: HashTable, lookup: KeyLookup, cx: Context) -> ast.expr:
    """The condition that the key that was looked up is in the table."""
    if table.is_present:
        return cx.expr("AT >= 0 and THERE[AT]", AT=lookup.at, THERE=table.is_present)
    return cx.expr("AT >= 0", AT=lookup.at)


def put_key(
    table: HashTable, lookup: KeyLookup, value: ast.expr | None, cx: Context
) -> list[ast.stmt]:
    """Statements that insert the key of `lookup` if it is missing, and set its `value` (None: a
    set). Those of `find_key`, whose result `lookup` is, must come before.

        d[k] = e   →   if _at < 0: append the key and e, fill the slot      # `_append_key`
                       else:       _d_value[_at] = e

    A key that was removed keeps its entry (``is_present`` is False): it is put back in its place,
    and counted again. After an insertion that fills more than half of the slots, `_append_key`
    doubles their number and hashes all keys anew.
    """
    new = _append_key(table, lookup, value, cx)
    old = cx.code("VALUES[AT] = E", VALUES=table.values, AT=lookup.at, E=value) if value else []
    if table.is_present:
        new = [*new, *cx.code("COUNT = COUNT + 1", COUNT=table.present_count)]
        text = "if not THERE[AT]:\n    THERE[AT] = True\n    COUNT = COUNT + 1"
        old += cx.code(text, THERE=table.is_present, AT=lookup.at, COUNT=table.present_count)
    text = "if AT < 0:\n    NEW\nelse:\n    OLD" if old else "if AT < 0: NEW"
    return cx.code(text, AT=lookup.at, NEW=new, OLD=old)


def remove_key(table: HashTable, lookup: KeyLookup, cx: Context) -> list[ast.stmt]:
    """Statements that remove the key, which must be in the table."""
    text = "THERE[AT] = False\nCOUNT = COUNT - 1"
    return cx.code(text, THERE=table.is_present, AT=lookup.at, COUNT=table.present_count)


def _append_key(
    table: HashTable, lookup: KeyLookup, value: ast.expr | None, cx: Context
) -> list[ast.stmt]:
    """Statements that append a missing key to all lists, fill its slot, and double the number of
    slots, hashing all keys anew, once there are fewer than `_SLOTS_PER_KEY` for each key.
    """
    text = "SLOTS[SLOT] = len(KEYS)"
    lines = cx.code(text, SLOTS=table.slots, SLOT=lookup.slot, KEYS=table.keys[0])
    pairs: list[tuple[str, ast.expr | None]] = [
        *((keys, ast.Name(part, ast.Load()))
          for keys, part in zip(table.keys, lookup.parts, strict=True)),
        (table.original_keys, lookup.key), (table.values, value),
        (table.is_present, ast.Constant(True)),
        (table.first_item, ast.Constant(-1)), (table.last_item, ast.Constant(-1)),
    ]
    for name, e in pairs:
        lines += cx.code("NAME.append(E)", NAME=name, E=e) if name and e is not None else []
    slot, index, n, name_of_hash = (cx.fresh(name) for name in ("slot", "i", "n", "hash"))
    parts = tuple(cx.fresh("k") for _ in table.keys)
    rehash: list[ast.stmt] = []
    for k, keys in zip(parts, table.keys, strict=True):
        rehash += cx.code("K = KEYS[I]", K=k, KEYS=keys, I=index)
    mixing, spread = _hash_of(parts, cx)
    rehash += [*mixing, *cx.internal_code(
        """
        HASH = SPREAD
        SLOT = HASH & N - 1
        while SLOTS[SLOT] >= 0:
            NEXT
        SLOTS[SLOT] = I
        """,
        HASH=name_of_hash, SPREAD=spread, SLOT=slot, N=n, SLOTS=table.slots, I=index,
        NEXT=_next_slot(name_of_hash, slot, ast.Name(n, ast.Load()), cx),
    )]
    return lines + cx.internal_code(
        f"""
        if {_SLOTS_PER_KEY} * len(KEYS) > len(SLOTS):
            N = 2 * len(SLOTS)
            SLOTS.clear()
            for I in range(N):
                SLOTS.append(-1)
            for I in range(len(KEYS)):
                AGAIN
        """,
        KEYS=table.keys[0], SLOTS=table.slots, N=n, I=index, AGAIN=rehash,
    )


def _and_or(op: ast.boolop, parts: list[ast.expr]) -> ast.expr:
    """``a and b and …``, or with ``or``, of the conditions `parts`; a single one as it is."""
    return parts[0] if len(parts) == 1 else ast.BoolOp(op, parts)


def value_at(
    table: HashTable, lookup: KeyLookup, default_call: ast.expr | None, cx: Context
) -> tuple[list[ast.stmt], ast.expr]:
    """Statements, and an expression of the value of the key that was looked up. A missing key has
    the default of the call `default_call` (``d.get(k, default)``) or, if that is no call, the
    table's start value (``defaultdict``); without both, the statements raise KeyError.
    """
    start = default_call.args[1] if isinstance(default_call, ast.Call) else table.missing_value
    present = key_is_present(table, lookup, cx)
    value = cx.expr("VALUES[AT]", VALUES=table.values, AT=lookup.at)
    if start is None:
        return cx.code("if not (THERE): raise KeyError", THERE=present), value
    name = ast.Name(cx.fresh("old"), ast.Load())
    text = "if THERE:\n    NAME = E\nelse:\n    NAME = START"
    return cx.code(text, THERE=present, NAME=name, E=value, START=start), name


def set_default(
    table: HashTable, key: ast.expr, value: ast.expr, cx: Context
) -> tuple[list[ast.stmt], KeyLookup] | None:
    """Statements for ``d.setdefault(key, value)``, which insert the key if it is missing, and the
    lookup before that. None where `find_key` refuses the key.
    """
    bindings, key, value = arguments_before_lookup(key, value, cx)
    result = find_key(table, key, cx)
    if result is None:
        return None
    lines, lookup = [*bindings, *result[0]], result[1]
    absent = ast.UnaryOp(ast.Not(), key_is_present(table, lookup, cx))
    text = "if ABSENT: PUT"
    return [*lines, *cx.code(text, ABSENT=absent, PUT=put_key(table, lookup, value, cx))], lookup


def remove_checked(
    table: HashTable, key: ast.expr, cx: Context, *, missing_raises: bool
) -> list[ast.stmt] | None:
    """Statements that look the key up and remove it. A missing key raises KeyError if
    `missing_raises`, else it changes nothing. None where `find_key` refuses the key.
    """
    result = find_key(table, key, cx)
    if result is None:
        return None
    lines, lookup = result
    present = key_is_present(table, lookup, cx)
    if missing_raises:
        error = cx.code("if not (THERE): raise KeyError", THERE=present)
        return [*lines, *error, *remove_key(table, lookup, cx)]
    return [*lines, *cx.code("if THERE: LEAVE", THERE=present, LEAVE=remove_key(table, lookup, cx))]


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
    insertions = _insert_initial(name, table, value, cx)
    return None if insertions is None else [*empty_table(table, cx), *insertions]


def _insert_initial(name: str, table: HashTable, e: ast.expr, cx: Context) -> list[ast.stmt] | None:
    """Statements that insert the initial items of the table expression `e` into the empty table
    `name`, as ``name[key] = value`` and the like, which other macros expand. None where `e` is not
    understood.
    """
    if table.kind == "set":
        insert = "NAME.add(KEY)"
    else:
        insert = "NAME[KEY] += 1" if table.kind == "Counter" else "NAME[KEY] = VALUE"
    lines: list[ast.stmt] = []
    match e:
        case ast.Dict(keys=keys, values=values):
            for key, value in zip(keys, values, strict=True):
                assert key is not None
                key_name = ast.Name(cx.fresh("key"), ast.Load())
                lines += cx.code("KEY = E", KEY=key_name, E=key) if not is_repeatable(key) else []
                lines += cx.code(
                    insert, NAME=name, KEY=key if is_repeatable(key) else key_name, VALUE=value)
            return lines
        case ast.Set(elts=elts):
            return [s for key in elts for s in cx.code(insert, NAME=name, KEY=key)]
        case ast.DictComp(key=key, value=value, generators=generators):
            items = ast.GeneratorExp(ast.Tuple([key, value], ast.Load()), generators)
        case ast.SetComp(elt=elt, generators=generators):
            items = ast.GeneratorExp(elt, generators)
        case ast.Call(args=[]):
            return []
        case ast.Call(ast.Attribute(attr="fromkeys"), [keys_of, *rest]):
            return _insert_keys(name, keys_of, rest, cx)
        case ast.Call(args=[argument]) if table.kind == "defaultdict":
            return []
        case ast.Call(args=[ast.GeneratorExp() as argument]):
            items = argument
        case ast.Call(args=[argument]):
            return _insert_all(name, table, argument, insert, cx)
        case _:
            return None
    if is_suspending(items):
        return None
    renamed = with_fresh_variables(copy_location(items, e), cx)
    return nested_loops(renamed.generators, _insert_item(name, table, renamed.elt, insert, cx), cx)


def _insert_item(
    name: str, table: HashTable, e: ast.expr, text: str, cx: Context
) -> list[ast.stmt]:
    """The statement `text` that inserts the item `e` of an iterable: a pair for a dict, else a
    key. A key of a pair is evaluated before its value.
    """
    match e:
        case ast.Tuple(elts=[key, value]) if table.kind == "dict":
            if is_repeatable(key):
                return cx.code(text, NAME=name, KEY=key, VALUE=value)
            key_name = ast.Name(cx.fresh("key"), ast.Load())
            return [*cx.code("KEY = E", KEY=key_name, E=key),
                    *cx.code(text, NAME=name, KEY=key_name, VALUE=value)]
    return cx.code(text, NAME=name, KEY=e)


def _insert_all(
    name: str, table: HashTable, iterable: ast.expr, text: str, cx: Context
) -> list[ast.stmt] | None:
    """A loop that inserts all items of an iterable by the statement `text`; of a dict, all pairs.
    """
    key, value = cx.fresh("v"), cx.fresh("w")
    if table.kind == "dict":
        return cx.code(f"for V, W in X: {text}", V=key, W=value, X=iterable, NAME=name,
                       KEY=ast.Name(key, ast.Load()), VALUE=ast.Name(value, ast.Load()))
    key_name = ast.Name(key, ast.Load())
    return cx.code(f"for V in X: {text}", V=key, X=iterable, NAME=name, KEY=key_name)


def _insert_keys(
    name: str, keys: ast.expr, values: list[ast.expr], cx: Context
) -> list[ast.stmt] | None:
    """A loop for ``dict.fromkeys(keys, value)``; None without a value, which would be None."""
    if not values:
        return None
    value = ast.Name(cx.fresh("value"), ast.Load())
    v = ast.Name(cx.fresh("v"), ast.Load())
    return cx.code("VALUE = E\nfor V in X: NAME[V] = VALUE", VALUE=value, E=values[0], V=v, X=keys,
                   NAME=name)
