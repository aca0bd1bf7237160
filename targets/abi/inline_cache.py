"""Polymorphic inline cache: a builtin that forwards a call to the best target for its arguments.

Each row has a key for each argument (its class; of an array also dtype, rank and layout, of a
sequence the class of its first item), a range of sizes, and a target. The first row that fits gets
the call; a call that no row fits, or whose row has used up its calls, goes to ``miss``. A row is
only a guess which target is the best: every target gives the right answer for any arguments (a
variant checks them), so a key need not tell all arguments apart. `inline_cache.c` does this in
about 20 ns.
"""
from __future__ import annotations

import sys
from array import array
from collections.abc import Callable, Sequence
from dataclasses import field
from types import CodeType, FunctionType
from typing import Any

import numpy as np

from loopir.lazy_dataclass import record
from loopir.process.signal_exceptions import suppress_failures

from .c_api import opened_trampoline
from .native_entry import METH_FLAGS, Packer, ParameterList, Pointer, Spec, Word
from .object_layout import code_offset

__all__ = [
    "ArgumentKey", "CacheRow", "LAYOUT", "SIZE_LIMIT", "argument_key", "inline_cache",
    "native_binding", "original_test", "size_of_call",
]

SIZE_LIMIT = 1 << 30
"""Larger sizes count as this one; as in `inline_cache.c`."""

_PACKED = bytes, bytearray, memoryview, array, str
"""The classes of sequences whose items are numbers without objects of their own."""

_EMPTY_SEQUENCE = -1
LAYOUT = 0x503
"""NumPy's flags of C order, Fortran order, aligned, writeable."""

_FIRST_FLEXIBLE = 17
"""From this one on, a type number of NumPy (of object, str, …) stands for several dtypes: a key has
the dtype itself, too."""
_METH_FASTCALL = 0x80
_WORDS_OF_DEFINITION = 4  # of the struct `definition` of values.c
_MAX_PARAMETERS = 62  # each argument of `CacheRow.part` is a bit of one 64-bit word


@record(frozen=True, slots=True)
class ArgumentKey:
    """What an argument must be for a row to fit. A field that is None is not compared."""

    kind: type  # its class
    value: Pointer | None = None  # the object itself
    item: object = None
    """The class of its first item, `_EMPTY_SEQUENCE` if it has none; of an array the dtype."""
    inner: object = None  # if the first item is a list or tuple: the class of its first item
    array: tuple[int, int, int, int] | None = None
    """Of an array the number of its dtype, rank, flags of the layout, and byte order."""
    code: CodeType | None = None  # of a Python function
    items: tuple[type, ...] | None = None  # of a tuple the classes of all items
    sized: tuple[str, ...] = ()
    """The attributes of a plain object that are part of the size of a call (`size_of_call`); C
    does not compare them."""

    def words(self, packer: Packer) -> tuple[Word, ...]:
        """The words of an `argument_key` struct of `inline_cache.c`."""
        code = 0 if self.code is None else Pointer(self.code)
        item, inner = (
            0 if k is None else k if isinstance(k, int) else Pointer(k)
            for k in (self.item, self.inner)
        )
        items = packer.address_of_words([Pointer(k) for k in self.items]) if self.items else 0
        names: list[Word] = [*(Pointer(sys.intern(name)) for name in self.sized), 0]
        sized = packer.address_of_words(names) if self.sized else 0
        length = -1 if self.items is None else len(self.items)
        array = self.array or [-1] * 4
        return Pointer(self.kind), self.value or 0, item, inner, code, items, sized, length, *array


def argument_key(
    value: object, *, by_identity: bool = False, all_items: bool = False,
    sized: tuple[str, ...] = (),
) -> ArgumentKey:
    """The key of an argument; with `by_identity` only this object fits. ``all_items``: of a tuple
    the length and the classes of all items count, not that of the first alone. ``sized``: see
    `ArgumentKey`.
    """
    kind = type(value)
    if by_identity:
        return ArgumentKey(kind, Pointer(value))
    if kind is np.ndarray:
        assert isinstance(value, np.ndarray)
        dtype = value.dtype
        array = dtype.num, value.ndim, value.flags.num & LAYOUT, ord(dtype.byteorder)
        return ArgumentKey(kind, item=dtype if dtype.num >= _FIRST_FLEXIBLE else None, array=array)
    if kind is list or kind is tuple:
        assert isinstance(value, (list, tuple))
        item = _type_of_first(value)
        inner = _type_of_first(value[0]) if value else None
        items = tuple(map(type, value)) if all_items and kind is tuple else None
        return ArgumentKey(kind, None, item, inner, items=items)
    if kind is FunctionType and code_offset():
        assert isinstance(value, FunctionType)
        return ArgumentKey(kind, code=value.__code__)
    return ArgumentKey(kind, sized=sized)


def _type_of_first(value: object) -> type | int | None:
    """The class of the first item of a list or tuple; None for other objects."""
    if type(value) is not list and type(value) is not tuple:
        return None
    assert isinstance(value, (list, tuple))
    return type(value[0]) if value else _EMPTY_SEQUENCE


def size_of_call(values: Sequence[object], keys: Sequence[ArgumentKey] = ()) -> int:
    """A measure of the work of a call, by which `CallSelection` groups calls, at most `SIZE_LIMIT`:
    the elements of its arrays and sequences, plus the magnitudes of its ints, which may be trip
    counts. Of a list of lists the first row counts for all; anything else counts 0::

        size_of_call((np.zeros((3, 4)), [1.0, 2.0], 100, 2.5))   →   12 + 2 + 100 + 0

    ``keys``: those of the values; the attributes that they name (`ArgumentKey.sized`) count, too.
    It reads no item but the first, so it is fast, and runs no user code. `size_of_call` in
    `inline_cache.c` must give the same.
    """
    size, named = 0, zip(values, keys, strict=False)
    members: list[object] = [getattr(of, name, None) for of, key in named for name in key.sized]
    for value in (*values, *members):
        kind = type(value)
        if kind is np.ndarray:
            size += value.size  # type: ignore[attr-defined]
        elif kind is int:
            # the magnitude of a negative int as -(v + 1), which no int64 overflows
            size += value if value >= 0 else -(value + 1)  # type: ignore[operator]
        elif kind in _PACKED:
            with suppress_failures(TypeError, ValueError):  # a memoryview without axes, or released
                size += len(value)  # type: ignore[arg-type]
        elif kind is list or kind is tuple:
            first = value[0] if value else None  # type: ignore[index]
            nested = type(first) is list or type(first) is tuple
            size += len(value) * (len(first) if nested else 1)  # type: ignore[arg-type]
    return min(size, SIZE_LIMIT)


@record(slots=True, eq=False)
class CacheRow:
    """A target, and the calls that are forwarded to it."""

    target: Callable[..., Any]
    keys: tuple[ArgumentKey, ...] | None  # one for each parameter; None: any arguments
    low: int = 0
    high: int = SIZE_LIMIT
    """The sizes of calls (`size_of_call`), both included; no upper bound if it is SIZE_LIMIT."""
    counters: np.ndarray = field(default_factory=lambda: np.array([0, -1], np.int64))
    """The number of calls forwarded so far, and how many more to forward before a call goes to
    ``miss``; negative: all."""
    part: tuple[int, ...] = ()
    """The positions of some arguments: the size of these alone must be in ``part_low`` …
    ``part_high``, too. Empty: there is no such condition."""
    part_low: int = 0
    part_high: int = SIZE_LIMIT
    checks_arguments: bool = False
    """Whether the target checks its arguments itself, and passes a call that it cannot serve back
    to the dispatcher."""
    is_for_these_sizes: bool = False
    """Whether the target must not serve calls of other sizes, as its results would have other
    bits there than those of the target that does."""
    shortest: np.ndarray | None = None
    """If given, the calls are timed: the nanoseconds of the shortest one so far."""
    asks_plain: bool = False
    """Whether all arguments must be plain: Python's numbers, strs, None, and lists, tuples and
    dicts of plain values, so that their operators run no code of the user's."""
    limit: np.ndarray | None = None
    """How many items are looked at to tell that, at most. It is set by the time of the first call,
    and of one in 16 after it; rows may share it. Given if ``asks_plain``."""

    @property
    def serves_all(self) -> bool:
        """Whether it is for calls of any size, and any number of them."""
        all_sizes = self.low == 0 and self.high == SIZE_LIMIT and not self.part
        return all_sizes and self.counters[1] < 0


def inline_cache(
    name: str, parameters: ParameterList, rows: Sequence[CacheRow], miss: Callable[..., Any],
    original: Callable[..., Any] | None = None,
) -> Callable[..., Any] | None:
    """The builtin for these rows, which are tried in order. None if C cannot perform calls on this
    machine (`opened_trampoline`), or the function has more than `_MAX_PARAMETERS` parameters.

    ``original``: the target of which `original_test` tells whether it serves a call.
    """
    opened = opened_trampoline()
    if opened is None or len(parameters.names) > _MAX_PARAMETERS:
        return None
    packer = Packer(miss, original, *rows)
    row_words: list[Word] = []
    addresses = {id(None): 0}
    for row in rows:
        if (keys := addresses.get(id(row.keys), -1)) < 0:
            words_of_keys = [word for key in row.keys or () for word in key.words(packer)]
            keys = addresses[id(row.keys)] = packer.address_of_words(words_of_keys)
        counters = packer.address_of(row.counters)
        part = sum(1 << k for k in row.part)
        row_words += [
            Pointer(row.target), counters, row.low, row.high, keys, part, row.part_low,
            row.part_high, packer.address_of(row.shortest),
            row.asks_plain, packer.address_of(row.limit),
        ]
    name_address = packer.address_of(np.frombuffer(name.encode() + b"\0", np.uint8))
    words = [
        *(name_address, opened.inline_cache, METH_FLAGS, 0),
        *(name_address, opened.is_for_original, _METH_FASTCALL, 0),
        Pointer(miss),
        Pointer(original),
        *parameters.words(packer),
        code_offset(),
        len(rows),
        packer.address_of_words(row_words),
    ]
    spec = packer.pack(words).view(Spec)
    spec.kept = tuple(packer.alive)
    return opened.builtin(packer.address_of(spec), spec)


def native_binding(owner: type) -> Any:
    """A method descriptor to be the ``__get__`` of the class `owner`, whose objects it binds as
    methods, in a third of the time of a Python function; None as long as the trampoline is not
    open.
    """
    opened = opened_trampoline()
    return None if opened is None else opened.descriptor(owner, opened.get)


def original_test(cache: Callable[..., Any]) -> Callable[..., bool]:
    """The test of an inline cache (`inline_cache`): a builtin that takes arguments by position, and
    returns whether the ``original`` serves a call with them, which then counts as served. The
    caller runs the statements of the original itself, and so saves the call.
    """
    opened, spec = opened_trampoline(), cache.__self__  # type: ignore[attr-defined]  # a builtin's
    assert opened is not None
    return opened.builtin(spec.ctypes.data + _WORDS_OF_DEFINITION * spec.itemsize, spec)
