"""Each row of the method table agrees with Python: the methods exist, and change what they say."""
from __future__ import annotations

import collections
from typing import Any

import pytest

from transpile.containers import method_table
from transpile.containers.method_table import METHODS, Method, is_mutating, statement_rule

pytestmark = pytest.mark.share(1)  # each row is met in a plain run

TYPES: dict[str, Any] = {
    "list": lambda: [3, 1, 2], "deque": lambda: collections.deque([3, 1, 2]),
    "dict": lambda: {3: 3, 1: 1}, "set": lambda: {3, 1},
}
ARGUMENTS: dict[tuple[str, str], tuple[Any, ...]] = {
    ("list", "append"): (7,), ("list", "extend"): ([7],), ("list", "insert"): (0, 7),
    ("list", "remove"): (3,), ("list", "count"): (3,), ("list", "index"): (3,),
    ("dict", "pop"): (3,), ("dict", "get"): (3,), ("dict", "setdefault"): (7, 7),
    ("dict", "update"): ({7: 7},), ("set", "update"): ({7},), ("set", "add"): (7,),
    ("set", "discard"): (3,), ("set", "remove"): (3,),
}
each_row = pytest.mark.parametrize("row", METHODS.values(), ids=lambda row: row.name)


@each_row
def test_the_method_changes_what_the_row_says(row: Method) -> None:
    for of in row.of:
        value, before = TYPES[of](), TYPES[of]()
        args = ARGUMENTS.get((of.replace("deque", "list"), row.name), ())
        getattr(value, row.name)(*args)
        assert (value != before) is row.mutates
        assert (len(value) != len(before)) is row.resizes
        if row.grows:
            assert len(value) > len(before)
    assert is_mutating(row.name) is row.mutates


@each_row
def test_rules_exist(row: Method) -> None:
    if row.statement:
        assert row.mutates
        assert callable(statement_rule("list_methods", row.statement))
    if row.table_statement:
        assert row.use is not None
        assert callable(statement_rule("tables.dict_methods", row.table_statement))


@each_row
def test_table_uses_have_arguments(row: Method) -> None:
    assert (row.use is None) is (row.arguments == ())
    if row.keyed:
        assert row.use is not None


def test_two_rows_for_one_method_are_refused() -> None:
    with pytest.raises(ValueError, match="two rows for f"):
        method_table._by_name([Method("f", ("list",)), Method("f", ("list",))])
