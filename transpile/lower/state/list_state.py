"""The state of lists during lowering: buffers under construction, fixed lists, dynamic lists.

A list is lowered in one of three ways, by how the function uses it:

- append-only: loops append to it, and it is read after them (`ListState`);
- fixed: its length does not change after it was made; it is an array (`FixedLists`);
- dynamic: it is read, changed and popped from while it grows (`DynamicLists`).
"""
from __future__ import annotations

import ast
from collections.abc import Collection, Mapping
from dataclasses import field

from loopir.lazy_dataclass import record, replace

from ...host_nodes import HostExpr
from ...types.typed_values import Num

__all__ = ["BufferType", "DynamicLists", "FixedLists", "ListBuilder", "ListState"]


@record
class ListBuilder:
    """An append-only list under construction.

    ``source``: its name in Python. ``buffer``: the array that holds its items.
    ``dtype``: of the items; None: nothing was appended so far. ``weak``: they are Python numbers.
    ``length``: of a list that needs no counter, the trip count of the loop that fills it; else
    None.
    ``only_for_array``: the list is only used to make an array. ``target``: the dtype of that array;
    None: that of the items.
    ``flags``: the bool buffer that tells which items are Python numbers (of dtype
    ``python_dtype``), if some are and some are not.
    ``capacity_terms``: for each ``append`` in the source, how many items it adds at most.
    """

    source: str
    buffer: str
    dtype: str | None = None
    weak: bool = False
    length: Num | None = None
    only_for_array: bool = False
    target: str | None = None
    flags: str | None = None
    python_dtype: str | None = None
    capacity_terms: tuple[HostExpr, ...] = ()


@record(frozen=True, slots=True)
class BufferType:
    """The type of the items of a dynamic list's buffer, or of a list of fixed length with flags.

    ``dtype``: of the buffer. ``weak``: the items are Python numbers. ``mixed``: the items are of
    two types; some are Python numbers of dtype ``python_dtype`` (None: `dtype`), the others are
    NumPy scalars, or with ``weak`` Python numbers too, of the dtype of the buffer. ``sure``:
    False if nothing was put into the list so far; the type is then a guess, ints first, floats
    next.
    """

    dtype: str = "i64"
    weak: bool = True
    mixed: bool = False
    sure: bool = True
    python_dtype: str | None = None

    @property
    def types(self) -> frozenset[tuple[str, bool]]:
        """The types of the items as pairs (dtype, whether Python's); empty where not ``sure``."""
        if not self.sure:
            return frozenset()
        others = {(self.python_dtype or self.dtype, True)} if self.mixed else set()
        return frozenset({(self.dtype, self.weak), *others})


@record
class ListState:
    """Append-only lists, and counters of items.

    ``append_once``: lists to which each iteration of one loop appends exactly one item; they need
    no counter. ``builders``: lists under construction, by name. ``open``: lists to which a loop
    around the current statement appends. ``counters``: names of variables that count the items of
    a list, or of an array that is filled like one.
    """

    append_once: set[str] = field(default_factory=set)
    builders: dict[str, ListBuilder] = field(default_factory=dict)
    open: set[str] = field(default_factory=set)
    counters: set[str] = field(default_factory=set)

    def snapshot(self) -> tuple[tuple[str, ListBuilder], ...]:
        """Copies of the current builders, for `restore`."""
        return tuple((name, replace(builder)) for name, builder in self.builders.items())

    def restore(self, builders: tuple[tuple[str, ListBuilder], ...]) -> None:
        """Restores the builders of a snapshot."""
        self.builders = dict(builders)


@record
class FixedLists:
    """Lists of fixed length, which are arrays.

    ``view_slices``: slices of lists that are lowered to views, since nobody writes to list or
    slice. ``flagged``: lists of numbers of two types, which need an array of flags; each with the
    type of its items. ``named``: for the array of a list that was made by ``[value] * n`` or by a
    short display, the name of the list.
    """

    view_slices: Collection[ast.Subscript] = ()
    flagged: Mapping[str, BufferType] = field(default_factory=dict)
    named: dict[str, str] = field(default_factory=dict)


@record
class DynamicLists:
    """Lists that are read while they grow or shrink.

    ``widths``: the lists, each with the number of items of its tuples (0: its items are numbers).
    ``types``: the item type of each buffer as far as it is known; a list of tuples has a buffer for
    each of their items.
    ``tried_capacity``: the capacity of some array that is no list's is a guess, too, with which the
    kernel is tried, and called again with a larger one if it was too small.
    ``overflow_slot``: the result slot that reports a capacity that was too small; None: not needed.
    ``arrays``: the kernel's array for each buffer.
    ``counted``: the lists that are assumed to have a known number of items wherever they grow, so
    that their capacity is known before the kernel (`dynamic_lists.finish_dynamic_lists`).
    """

    widths: Mapping[str, int]
    types: dict[str, BufferType]
    tried_capacity: bool = False
    overflow_slot: str | None = None
    arrays: dict[str, str] = field(default_factory=dict)
    counted: frozenset[str] = frozenset()
