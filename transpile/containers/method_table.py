"""Method table: one row for each method of lists, dicts, sets and deques.

A row tells what the method does to its object, how many arguments it may have, and which rule
expands it. For example ``Method("reverse", _LISTS, local=True, statement="reverse_rule")``: a
method of lists and deques that mutates its object (the default), keeps its length, and whose call
on a list, as a statement, is expanded by ``list_methods.reverse_rule``. Deque methods are listed
for effect analysis only: a deque that is compiled is a list by then (`local_deques`).

Effect analysis, the inference of lists and tables, and the macros query the table. To add a
method, add a row here. If a call of it stands as a statement and is expanded to other statements,
the row names the rule that does so: for lists in `list_methods` (column ``statement``), for dicts
and sets in `tables.dict_methods` (``table_statement``). For a call whose value is used, write a
macro in `list_methods`, or, for a dict, a branch in `tables.dict_methods._method_value`.
``tests/unit/transpile/containers/test_method_table.py`` checks each row against Python. The table
imports no module of this project until the first call of `statement_rule`.
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
    "bind",  # to a name
    "lookup",  # of a key
    "store",  # inserts or updates a key
    "remove",  # of a key
    "clear",  # removes all keys
    "iterate",  # over keys or values, in insertion order
    "any_order",  # over keys or values, in an order that does not matter: ``max(d.values())``
    "count",  # asks for their number
    "return",
]
"""What an expression or statement does with a table (a dict or set whose keys are data). A method
that removes the last key, as ``popitem``, cannot be a "remove": after a removal the entries are not
in Python's insertion order, on which it depends.
"""


class Method(NamedTuple):
    """One method name, and the types that have it."""

    name: str
    of: tuple[str, ...]
    """The types that have it: "list", "deque", "dict", "set"."""
    mutates: bool = True
    """Whether it changes its object in place."""
    resizes: bool = False
    """Whether it may change the number of items."""
    grows: bool = False
    """Whether it may add items."""
    local: bool = False
    """Of lists: whether the call tells inference all that it does to the list. It makes no other
    reference to the list; and if it adds items, `tuple_types.appended_by` finds them: the ``x`` of
    ``l.append(x)``. (`list_escapes` leaves out ``l.extend(x)`` of anything but a list display.)"""
    arguments: tuple[int, ...] = ()
    """Of tables: the numbers of arguments with which it is compiled; empty: it is not."""
    keyed: bool = False
    """Of tables: whether the first argument is a key: in ``d.get(k, 0)`` and ``s.add(k)``, not in
    ``d.update(other)``."""
    use: TableUse | None = None
    """Of tables: what the call does; None: it is not compiled."""
    statement: str = ""
    """The rule in `list_methods` for a call whose result is not used; "": none."""
    table_statement: str = ""
    """The rule in `dict_methods` for such a call of a dict or set; "": none."""


_LISTS, _DICTS, _SETS = ("list", "deque"), ("dict",), ("set",)

_ROWS = (
    # `append`, and `copy` and `clear` of lists, need no rule here: `transpile/lower/lists/` has
    # them. `extend`: macro `list_construction`; `pop` of lists: `list_pop`; `sort`: `list_sort`
    Method("append", _LISTS, resizes=True, grows=True, local=True),
    Method("extend", _LISTS, resizes=True, grows=True, local=True),
    # not `local`: `tuple_types.appended_by` does not look for items that are inserted
    Method("insert", _LISTS, resizes=True, grows=True, statement="insert_rule"),
    Method("pop", ("list", "deque", "dict"), resizes=True, local=True,
        arguments=(1, 2), keyed=True, use="remove", table_statement="pop_rule"),
    Method("popleft", ("deque",), resizes=True),
    Method("remove", ("list", "deque", "set"), resizes=True, arguments=(1,), keyed=True,
        use="remove", statement="remove_rule", table_statement="remove_rule"),
    Method("clear", ("list", "deque", "dict", "set"), resizes=True, local=True, arguments=(0,),
        use="clear", table_statement="clear_rule"),
    Method("rotate", ("deque",)),
    Method("reverse", _LISTS, local=True, statement="reverse_rule"),
    Method("sort", ("list",), local=True),
    Method("copy", ("list", "deque", "dict", "set"), mutates=False, local=True),
    # `count` and `index`: their value is used, so they are macros: `list_methods.list_search`
    Method("count", _LISTS, mutates=False, local=True),
    Method("index", _LISTS, mutates=False, local=True),
    Method("get", _DICTS, mutates=False, arguments=(1, 2), keyed=True, use="lookup"),
    Method("setdefault", _DICTS, resizes=True, grows=True, arguments=(2,), keyed=True, use="store",
        table_statement="setdefault_rule"),
    Method("update", ("dict", "set"), resizes=True, grows=True),
    Method("items", _DICTS, mutates=False),
    Method("keys", _DICTS, mutates=False),
    Method("values", _DICTS, mutates=False),
    Method("add", _SETS, resizes=True, grows=True, arguments=(1,), keyed=True, use="store",
        table_statement="add_rule"),
    Method("discard", _SETS, resizes=True, arguments=(1,), keyed=True, use="remove",
        table_statement="discard_rule"),
)


def _by_name(rows: Iterable[Method]) -> dict[str, Method]:
    """The rows by name. Raises ValueError where a name has two rows."""
    table: dict[str, Method] = {}
    for row in rows:
        if row.name in table:
            raise ValueError(f"two rows for {row.name}")
        table[row.name] = row
    return table


METHODS = _by_name(_ROWS)
"""The rows by name, as "append"; `Method` explains the columns. A method is recognised by its name,
where the object is surely a list (`list_methods`) or a table (`table_kinds`). A name that several
types have, as "pop", has one row, whose columns tell the types apart.
"""
LIST_METHODS = {name: row for name, row in METHODS.items() if "list" in row.of}
DICT_METHODS = {name: row for name, row in METHODS.items() if "dict" in row.of}
SET_METHODS = {name: row for name, row in METHODS.items() if "set" in row.of}

_ARRAY_MUTATORS = frozenset(("fill", "put", "resize", "sort"))
"""Methods of arrays that change the array in place."""

_ARRAY_RESIZING = frozenset(("resize",))

RESIZING = frozenset(n for n, row in LIST_METHODS.items() if row.resizes) | _ARRAY_RESIZING
"""Methods of lists and arrays that may change the number of elements."""

GROWING = frozenset(n for n, row in LIST_METHODS.items() if row.grows) | _ARRAY_RESIZING
"""Methods of lists and arrays that may add elements."""


def is_mutating(name: str) -> bool:
    """Whether a method of that name, of a container or an array, changes its object in place."""
    return name in _ARRAY_MUTATORS or (name in METHODS and METHODS[name].mutates)


@functools.cache
def statement_rule(module: str, name: str) -> Callable[..., Any]:
    """The rule `name` of a module of this package, which is imported on first use.

    `module` is its name in this package. A rule of `list_methods` takes the list, the arguments,
    the statement and the Context; a rule of `tables.dict_methods` the table, the arguments and the
    Context. It returns the statements that replace the call, or None where it refuses it.
    """
    rule: Callable[..., Any] = getattr(importlib.import_module(f"{__package__}.{module}"), name)
    return rule
