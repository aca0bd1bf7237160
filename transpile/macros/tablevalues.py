"""Values of the keys of a table, and keys that come and go."""
from __future__ import annotations

import ast

from .context import Context
from .fact import Table
from .hashed import Found, find, is_there, leave, put
from .tupled import is_steady

__all__ = ["begun", "removed", "value_of"]


def value_of(
    t: Table, found: Found, asked: ast.expr | None, cx: Context
) -> tuple[list[ast.stmt], ast.expr]:
    """The value of the key that was found, in a name; of one that is not there what `asked` gives,
    or the table.
    """
    start = asked.args[1] if isinstance(asked, ast.Call) else t.start
    there, at = is_there(t, found, cx), cx.expr("VALUES[AT]", VALUES=t.values, AT=found.at)
    if start is None:
        return cx.code("if not (THERE): raise KeyError", THERE=there), at
    name = ast.Name(cx.fresh("old"), ast.Load())
    text = "if THERE:\n    NAME = E\nelse:\n    NAME = START"
    return cx.code(text, THERE=there, NAME=name, E=at, START=start), name


def begun(
    t: Table, key: ast.expr, value: ast.expr, cx: Context
) -> tuple[list[ast.stmt], Found] | None:
    """The key has this value, if it is not there."""
    looked = find(t, key, cx)
    if looked is None:
        return None
    lines, found = looked
    if not is_steady(value):
        held = ast.Name(cx.fresh("value"), ast.Load())
        lines += cx.code("VALUE = E", VALUE=held, E=value)
        value = held
    absent = ast.UnaryOp(ast.Not(), is_there(t, found, cx))
    text = "if ABSENT: PUT"
    return [*lines, *cx.code(text, ABSENT=absent, PUT=put(t, found, value, cx))], found


def removed(t: Table, key: ast.expr, cx: Context, *, missing: bool) -> list[ast.stmt] | None:
    """``missing``: it is an error if the key is not there."""
    looked = find(t, key, cx)
    if looked is None:
        return None
    lines, found = looked
    there = is_there(t, found, cx)
    if missing:
        error = cx.code("if not (THERE): raise KeyError", THERE=there)
        return [*lines, *error, *leave(t, found, cx)]
    return [*lines, *cx.code("if THERE: LEAVE", THERE=there, LEAVE=leave(t, found, cx))]
