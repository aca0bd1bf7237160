"""The state of lists during lowering: buffers under construction, fixed lists, dynamic lists."""
from __future__ import annotations

import ast
from collections.abc import Collection, Mapping
from dataclasses import field, replace

from loopir.lazy_dataclass import record

from ...host_nodes import HostExpr
from ...types.typed_values import Num

__all__ = ["BufferType", "DynamicLists", "FixedLists", "ListBuilder", "ListState"]


@record
class ListBuilder:
    """A list under construction: its buffer, element type, and length if known beforehand.

    ``taken``: an array is made of it, and nothing else; ``target``: of this dtype. ``flags``: the
    buffer that tells which elements are Python's (of dtype ``python``), if not all or none are.
    ``room``: how many elements each append of the source adds at most.
    """

    source: str
    buffer: str
    dtype: str | None = None
    weak: bool = False
    length: Num | None = None
    taken: bool = False
    target: str | None = None
    flags: str | None = None
    python: str | None = None
    room: tuple[HostExpr, ...] = ()


@record(frozen=True, slots=True)
class BufferType:
    """What a buffer holds: Python's numbers where ``weak``; where ``mixed`` some are of dtype
    ``python``, and Python's. Not ``sure``: nothing has been put into it so far, and ints
    are a guess, floats the second.
    """

    dtype: str = "i64"
    weak: bool = True
    mixed: bool = False
    sure: bool = True
    python: str | None = None

    @property
    def types(self) -> frozenset[tuple[str, bool]]:
        """The dtypes of its items, each with whether these are Python's."""
        if not self.sure:
            return frozenset()
        others = {(self.python or self.dtype, True)} if self.mixed else set()
        return frozenset({(self.dtype, self.weak), *others})


@record
class ListState:
    """Lists that are filled by ``append``, and their counters.

    ``builders``: by name. ``append_once``: those to which each iteration of one loop appends
    exactly one item. ``open``: those that a loop around the current statement appends to.
    ``counters``: names, of lists and of arrays, that count items.
    """

    append_once: set[str] = field(default_factory=set)
    builders: dict[str, ListBuilder] = field(default_factory=dict)
    open: set[str] = field(default_factory=set)
    counters: set[str] = field(default_factory=set)

    def snapshot(self) -> tuple[tuple[str, ListBuilder], ...]:
        """The builders as they are now: copies, which later changes leave alone."""
        return tuple((name, replace(builder)) for name, builder in self.builders.items())

    def restore(self, builders: tuple[tuple[str, ListBuilder], ...]) -> None:
        """Brings back the builders of a snapshot."""
        self.builders = dict(builders)


@record
class FixedLists:
    """Lists of fixed length, which are arrays.

    ``view_slices``: slices of lists that are only read, as views. ``flagged``: lists whose items
    have a flag that tells Python's numbers from NumPy's, each with NumPy's dtype if it is another.
    ``repeated``: the lists made by ``[value] * n``, by the names of their arrays.
    """

    view_slices: Collection[ast.Subscript] = ()
    flagged: Mapping[str, str | None] = field(default_factory=dict)
    repeated: dict[str, str] = field(default_factory=dict)


@record
class DynamicLists:
    """Lists that are read while they grow or shrink.

    ``widths``: the lists, each with the number of places of its tuples (0: plain numbers).
    ``types``: what their buffers hold. ``short_flag``: the result that reports too little capacity,
    of lists, and of arrays where ``tried_capacity``. ``arrays``: the array of each buffer.
    """

    widths: Mapping[str, int]
    types: Mapping[str, BufferType]
    tried_capacity: bool = False
    short_flag: str | None = None
    arrays: dict[str, str] = field(default_factory=dict)
