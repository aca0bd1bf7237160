"""Flat containers: hash tables, linked rows and lists of arrays, by the names of their flat lists.

Macros keep these records, one for each local name of such a container (`Facts.tables`,
`Facts.linked_rows`, `Facts.array_lists`), and expand what reads or changes it to code on the lists.
"""
from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Literal, NamedTuple, TypeAlias

from loopir.lazy_dataclass import record

__all__ = ["ArrayList", "HashTable", "Kind", "LinkedRows"]


@record(slots=True)
class ArrayList:
    """A list of arrays of one dtype and rank, which becomes one list of all their elements."""

    dtype: str
    rank: int
    items: str
    """The name of the list of all elements, those of one array after those of another."""
    count: str
    """The name of the number of arrays."""
    most: tuple[str, ...]
    """For each axis, the name of the greatest length of an array."""
    lengths: Sequence[ast.expr] = ()
    """The lengths that all arrays are expected to have, by the first that is appended; empty: no
    append was expanded yet. A test where they are stacked compares (`containers.array_lists`)."""


Kind: TypeAlias = Literal["dict", "set", "Counter", "defaultdict"]


class LinkedRows(NamedTuple):
    """Growing lists as one flat list: the names of the list of all ``items``, in the order in which
    they were appended, and of the lists of their links; see `containers.linked_rows`.

        g = [[], []]; g[1].append(7); g[0].append(8); g[1].append(9)
        items [7, 8, 9], next_item [2, -1, -1], first_item [1, 0], last_item [1, 2], counts [1, 2]
    """

    items: str
    next_item: str  # for each item, the index of the next item of the same row, or -1
    first_item: str  # for each row, the index of its first item, or -1
    last_item: str  # for each row, the index of its last item, or -1
    counts: str = ""  # for each row, its number of items; "" where no length of a row is used


class HashTable(NamedTuple):
    """A dict or set as flat lists: a hash table with open addressing. The fields have the names of
    the lists, "" for a list that it does not need. Entry i of ``keys``, ``values`` and
    ``is_present`` is one key; see `containers.tables.hash_tables`.

        d = {}; d[9] = 0.5; d[2] = 1.5     keys [9, 2], values [0.5, 1.5], slots [-1, 0, 1, -1, …]
    """

    kind: Kind
    key_width: int
    """The number of items of each key, which is a tuple; 0: keys are no tuples."""
    keys: tuple[str, ...]
    """The keys as Python ints, by which they are compared: one list for each item of a key."""
    original_keys: str
    """The keys as they were given, where the function reads them."""
    values: str
    """The values of a dict; of a multimap, the items of all its lists."""
    slots: str
    """The hash slots: each the index of an entry, or -1."""
    is_present: str
    """Where keys are deleted: for each entry, whether it is still in the table."""
    present_count: str
    """Where keys are deleted: the name of the number of entries that are in the table."""
    missing_value: ast.expr | None = None
    """The value of a missing key, for ``defaultdict`` and ``Counter``; None: it raises."""
    first_item: str = ""
    """Of a multimap (the values are lists): for each key, the index in ``values`` of its first
    item.
    """
    last_item: str = ""
    """Of a multimap: for each key, the index of its last item."""
    next_item: str = ""
    """Of a multimap: for each item, the index of the next item of the same key, or -1."""
    value_width: int = 0
    """The number of items of each value, which is a tuple; 0: values are no tuples."""

    @property
    def linked(self) -> LinkedRows:
        """The lists of a multimap."""
        return LinkedRows(self.values, self.next_item, self.first_item, self.last_item)
