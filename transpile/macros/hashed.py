"""Tables as lists: where a key stands, and what becomes of the lists when it comes or goes.

Open addressing with linear probing: D. E. Knuth, The Art of Computer Programming, volume 3,
section 6.4. At least half of the slots are free.
"""
from __future__ import annotations

import ast
from typing import NamedTuple

from .context import Context
from .fact import Table
from .tupled import is_steady

__all__ = ["Found", "cleared", "find", "is_there", "leave", "put"]

_FIRST = 8
"""Slots of an empty table: a power of two, as ever."""


class Found(NamedTuple):
    """Where a key was looked for: ``at`` is its place, or -1, ``slot`` where it stands, or would;
    ``parts``, its parts as Python's ints; ``key``, as it came.
    """

    at: str
    slot: str
    parts: tuple[str, ...]
    key: ast.expr


def cleared(t: Table, cx: Context) -> list[ast.stmt]:
    """An empty table."""
    slots = ast.List([ast.Constant(-1) for _ in range(_FIRST)], ast.Load())
    lines = cx.code("SLOTS = E", SLOTS=t.slots, E=slots)
    for name in (*t.keys, t.shown, t.values, t.there, t.first, t.last, t.after):
        lines += cx.code("NAME = []", NAME=name) if name else []
    return lines + (cx.code("COUNT = 0", COUNT=t.held) if t.there else [])


def find(t: Table, key: ast.expr, cx: Context) -> tuple[list[ast.stmt], Found] | None:
    """The lines that look for `key`; None where it is no such key as the table's are."""
    items = cx.facts.items(key)
    if (items is not None) != (t.width > 0) or (items is not None and len(items) != t.width):
        return None
    lines: list[ast.stmt] = []
    held: list[ast.expr] = []
    for part in items or [key]:
        if not is_steady(part):
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
    mixing, spread = _spread(parts, cx)
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
    return lines, Found(at, slot, parts, whole)


def _spread(parts: tuple[str, ...], cx: Context) -> tuple[list[ast.stmt], ast.expr]:
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


def is_there(t: Table, found: Found, cx: Context) -> ast.expr:
    """Whether the key is in the table."""
    if t.there:
        return cx.expr("AT >= 0 and THERE[AT]", AT=found.at, THERE=t.there)
    return cx.expr("AT >= 0", AT=found.at)


def put(t: Table, found: Found, value: ast.expr | None, cx: Context) -> list[ast.stmt]:
    """The key comes to the table, if it is not in it; and has the `value`, of a dict."""
    new = _pushed(t, found, value, cx)
    old = cx.code("VALUES[AT] = E", VALUES=t.values, AT=found.at, E=value) if value else []
    if t.there:
        new = [*new, *cx.code("COUNT = COUNT + 1", COUNT=t.held)]
        text = "if not THERE[AT]:\n    THERE[AT] = True\n    COUNT = COUNT + 1"
        old += cx.code(text, THERE=t.there, AT=found.at, COUNT=t.held)
    text = "if AT < 0:\n    NEW\nelse:\n    OLD" if old else "if AT < 0: NEW"
    return cx.code(text, AT=found.at, NEW=new, OLD=old)


def leave(t: Table, found: Found, cx: Context) -> list[ast.stmt]:
    """The key, which is in the table, leaves it."""
    text = "THERE[AT] = False\nCOUNT = COUNT - 1"
    return cx.code(text, THERE=t.there, AT=found.at, COUNT=t.held)


def _pushed(t: Table, found: Found, value: ast.expr | None, cx: Context) -> list[ast.stmt]:
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
    mixing, spread = _spread(parts, cx)
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
