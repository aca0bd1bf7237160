"""Method table: one row for each method of lists, dicts, sets and deques that the compiler knows.

A row holds what the method does to its object, how many arguments it may have, and which rule
expands it. Effects, inference of tables and lists, and the macros ask the table. To add a method of
lists, add a row here and, if a call becomes statements, a rule in `list_methods`.
``tests/unit/transpile/containers/test_method_table.py`` checks each row against Python. The table
imports nothing of this project but on first use of a rule.
"""
from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Iterable
from typing import Any, Literal, NamedTuple, TypeAlias

__all__ = [
    "DICT_METHODS", "GROWING", "LIST_METHODS", "METHODS", "RESIZING", "SET_METHODS", "Method",
    "TableUse", "is_mutating", "statement_rule",
]

TableUse: TypeAlias = Literal[
    "made", "asked", "set", "removed", "cleared", "walked", "ordered", "counted", "returned",
]
"""What a statement does with a table (a dict or set whose keys are data)."""


class Method(NamedTuple):
    """One method, of each of the types in ``of``.

    mutates: it changes its object in place.
    resizes: it changes how many items the object has, or may.
    grows: items may come that were not there.
    local: of a list, the items that the call adds are seen at the call, and it makes no other
        reference to the list.
    arguments: how many a table's method may have where it is compiled.
    keyed: the first argument is a key.
    use: of a table, what the call does.
    statement: the rule in `list_methods` for a call whose result is not used, or "".
    table_statement: likewise of tables, in `table_methods`.
    """

    name: str
    of: tuple[str, ...]
    mutates: bool = True
    resizes: bool = False
    grows: bool = False
    local: bool = False
    arguments: tuple[int, ...] = ()
    keyed: bool = False
    use: TableUse | None = None
    statement: str = ""
    table_statement: str = ""


_LISTS, _DICTS, _SETS = ("list", "deque"), ("dict",), ("set",)

_ROWS = (
    Method("append", _LISTS, resizes=True, grows=True, local=True),
    Method("extend", _LISTS, resizes=True, grows=True, local=True),
    Method("insert", _LISTS, resizes=True, grows=True, statement="insert_rule"),
    Method("pop", ("list", "deque", "dict"), resizes=True, local=True,
        arguments=(1, 2), keyed=True, use="removed", table_statement="pop_rule"),
    Method("popleft", ("deque",), resizes=True),
    Method("remove", ("list", "deque", "set"), resizes=True, arguments=(1,), keyed=True,
        use="removed", statement="remove_rule", table_statement="remove_rule"),
    Method("clear", ("list", "deque", "dict", "set"), resizes=True, local=True, arguments=(0,),
        use="cleared", table_statement="clear_rule"),
    Method("reverse", _LISTS, local=True, statement="reverse_rule"),
    Method("sort", ("list",), local=True),
    Method("copy", ("list", "deque", "dict", "set"), mutates=False, local=True),
    # `count` and `index`: their value is used, so they are macros: `list_methods.list_search`
    Method("count", _LISTS, mutates=False, local=True),
    Method("index", _LISTS, mutates=False, local=True),
    Method("get", _DICTS, mutates=False, arguments=(1, 2), keyed=True, use="asked"),
    Method("setdefault", _DICTS, resizes=True, grows=True, arguments=(2,), keyed=True, use="set",
        table_statement="setdefault_rule"),
    Method("update", ("dict", "set"), resizes=True, grows=True),
    Method("items", _DICTS, mutates=False),
    Method("keys", _DICTS, mutates=False),
    Method("values", _DICTS, mutates=False),
    Method("add", _SETS, resizes=True, grows=True, arguments=(1,), keyed=True, use="set",
        table_statement="add_rule"),
    Method("discard", _SETS, resizes=True, arguments=(1,), keyed=True, use="removed",
        table_statement="discard_rule"),
)


def _by_name(rows: Iterable[Method]) -> dict[str, Method]:
    found: dict[str, Method] = {}
    for row in rows:
        if row.name in found:
            raise ValueError(f"two rows for {row.name}")
        found[row.name] = row
    return found


METHODS = _by_name(_ROWS)
LIST_METHODS = {name: row for name, row in METHODS.items() if "list" in row.of}
DICT_METHODS = {name: row for name, row in METHODS.items() if "dict" in row.of}
SET_METHODS = {name: row for name, row in METHODS.items() if "set" in row.of}

_ARRAY_MUTATORS = frozenset(("fill", "put", "resize", "sort"))
_ARRAY_RESIZING = frozenset(("resize",))

RESIZING = frozenset(n for n, row in LIST_METHODS.items() if row.resizes) | _ARRAY_RESIZING
"""Methods of lists and arrays that change how many elements there are."""

GROWING = frozenset(n for n, row in LIST_METHODS.items() if row.grows) | _ARRAY_RESIZING
"""Those by which other elements may come."""


def is_mutating(name: str) -> bool:
    """Whether a method of that name changes its object in place, be it a container or an array."""
    return name in _ARRAY_MUTATORS or (name in METHODS and METHODS[name].mutates)


@functools.cache
def statement_rule(module: str, name: str) -> Callable[..., Any]:
    """The function of that `name` in a module of this package, imported on first use.

    In `list_methods` it takes the list, the arguments, the statement and the Context; in
    `table_methods` the table, the arguments and the Context. It returns the statements that replace
    the call, or None.
    """
    rule: Callable[..., Any] = getattr(importlib.import_module(f"{__package__}.{module}"), name)
    return rule
