"""Native entry: a whole call as one C builtin (`whole.c`), without Python frame before the kernel.

`CallSpec` describes the call; `native_entry` encodes it as the words that `whole.c` and `values.c`
interpret. Unusual calls are passed on to a Python function. `transpile.runtime.native_call` builds
the CallSpec.
"""
from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from types import CellType
from typing import Any, Final, TypeAlias

import numpy as np

from loopir.lazy_dataclass import record

from .load_kernel import LoadedKernel
from .trampoline import opened_trampoline

__all__ = [
    "ADD", "ATTRIBUTE", "CALLED", "CHECKED", "CHOSEN", "EMPTY", "EXTENT", "GIVEN", "INTEGER",
    "ITEM", "ITEMS", "LEAST", "LIKE", "LIST", "LITERAL", "MAX_GIVEN", "MOST", "MUL", "NUMBER",
    "PYTHON", "SCALAR", "SLOT", "SUB", "TUPLE", "ZEROS", "CallSpec", "SnapshotSpec", "NameBinding",
    "DerivedValue", "Pointer", "Program", "Word", "declare_quiet_state", "native_entry",
]

MAX_GIVEN = 64
LITERAL, GIVEN, PYTHON, SCALAR, CHOSEN, TUPLE, LIST, CALLED = range(8)
EMPTY, ZEROS, LIKE = range(3)
NUMBER, INTEGER, EXTENT, ADD, SUB, MUL, LEAST, MOST = range(8)
CHECKED, ATTRIBUTE, ITEM, ITEMS = range(4)
SLOT: Final = -1
"""Source of a kernel parameter that receives storage for a result."""

_METH_FLAGS = 0x3  # METH_VARARGS | METH_KEYWORDS


@record(frozen=True, slots=True)
class Pointer:
    """The address of an object, which must stay alive as long as the builtin."""

    value: object


Word: TypeAlias = int | Pointer


class Program:
    """Rows of words; a row refers to another one by its start index."""

    def __init__(self) -> None:
        self.words: list[Word] = []

    def row(self, *words: Word) -> int:
        """Append a row; returns its start index."""
        self.words.extend(words)
        return len(self.words) - len(words)


@record(frozen=True, slots=True)
class NameBinding:
    """A name, or ``root.attribute`` of a module, and the object that it must be bound to
    (``wanted``).

    ``cell``: the closure cell of the name, if it is a free variable.
    """

    root: str
    attribute: str | None = None
    cell: CellType | None = None
    wanted: Pointer | None = None

    def words(self) -> tuple[Word, ...]:
        attribute = Pointer(sys.intern(self.attribute)) if self.attribute else 0
        cell = Pointer(self.cell) if self.cell else 0
        return cell, Pointer(sys.intern(self.root)), attribute, self.wanted or 0


@record(frozen=True, slots=True)
class DerivedValue:
    """A value derived from the value at index ``place``, by ``what``.

    CHECKED: the same value, checked to be of class ``of`` and to have ``number`` items (-1: any
    number). ATTRIBUTE ``of``; ITEM ``number``; or ITEMS: an array of its items by the converter
    words ``of``, stored back after the call if ``number`` is 1.
    """

    what: int
    place: int
    of: Pointer | None = None
    number: int = 0

    def words(self) -> tuple[Word, ...]:
        return self.what, self.place, self.of or 0, self.number


@record(frozen=True, slots=True)
class SnapshotSpec:
    """How arrays that the kernel writes are copied before the call, so that it can be replayed.

    ``writes``: parameters to copy, into the preallocated buffer described by ``buffer`` (address,
    bytes, in use); if that is in use or too small, ``saves(*given)`` copies instead. Nothing is
    copied beyond ``most`` bytes; with ``pairs`` of parameters, only if the two arrays of a pair
    overlap.
    """

    writes: Sequence[int]
    pairs: Sequence[tuple[int, int]]
    most: int
    buffer: np.ndarray
    saves: Callable[..., Any]


@record(frozen=True, slots=True)
class CallSpec:
    """A native call: how to bind arguments, check names, derive values, call, and convert the
    result.

    ``parameters`` (None: positional only), with ``defaults`` by index; ``constants``: parameters
    that must have given values. ``meanings``: names in the dicts ``names`` and ``builtins`` that
    must be bound to given objects; ``captured``: names whose values are passed to the kernel.
    ``parts``: derived values; ``fresh``: rows of ``program`` for arrays to allocate. ``sources``:
    for each parameter of the kernel the index of an argument, then of a captured value, a part or a
    fresh array (in this order), or SLOT. ``program``: rows for `values.c`; the first one describes
    the result.

    ``wary``: the kernel writes arrays that a replay would write again; ``copying``: how these are
    copied before. ``python(*args, **kwargs)`` is called instead where anything is unusual.
    ``ended(status, saved, *given)`` interprets a non-zero status: None if the result is valid, else
    a callable to call instead. ``saved``: True if the copies are in the shelf's buffer, None
    without copies, else the copies. ``calls``: counts calls.
    """

    name: str
    parameters: Sequence[str | None]
    defaults: Mapping[int, object]
    constants: Sequence[tuple[int, Pointer]]
    names: dict[str, Any]
    builtins: dict[str, Any]
    meanings: Sequence[NameBinding]
    captured: Sequence[NameBinding]
    parts: Sequence[DerivedValue]
    fresh: Sequence[int]
    sources: Sequence[int]
    program: Program
    wary: bool
    python: Callable[..., Any]
    ended: Callable[..., Any]
    copying: SnapshotSpec | None
    calls: np.ndarray


class _Spec(np.ndarray):
    """The words of a `native_entry`; ``kept`` keeps the objects alive that they point to."""

    kept: tuple[object, ...]


def native_entry(entry: LoadedKernel, call: CallSpec) -> Callable[..., Any] | None:
    """The builtin for `call`; None if the native path is not available, or there are too many
    values.
    """
    opened = opened_trampoline()
    made = sum(p.what != CHECKED for p in call.parts)
    values = len(call.captured) + made + len(call.fresh)
    if opened is None or not entry.native or len(call.parameters) + values > MAX_GIVEN:
        return None
    kept: list[object] = [call]

    def packed(words: Sequence[Word]) -> np.ndarray:
        kept.extend(w.value for w in words if isinstance(w, Pointer))
        numbers = [id(w.value) if isinstance(w, Pointer) else int(w) for w in words]
        return np.array(numbers, dtype=np.int64)

    def at(array: np.ndarray) -> int:
        kept.append(array)
        return int(array.__array_interface__["data"][0])

    places, copying = range(len(call.parameters)), call.copying
    meanings = sorted(call.meanings, key=lambda m: m.root)
    defaults = [Pointer(call.defaults[i]) if i in call.defaults else 0 for i in places]
    keywords = [Pointer(sys.intern(name)) if name else 0 for name in call.parameters]
    name = np.frombuffer(call.name.encode() + b"\0", np.uint8)
    spec = packed([
        at(name), opened.whole, _METH_FLAGS, 0,
        entry.address, entry.raised, at(call.calls),
        Pointer(call.python), Pointer(call.ended), Pointer(call.names), Pointer(call.builtins),
        at(packed(defaults)), at(packed(keywords)),
        len(places), len(call.constants), len(call.meanings), len(call.captured), len(call.parts),
        len(call.fresh), values, len(entry.rows), call.wary,
        any(p.what == ITEMS and p.number for p in call.parts),
        at(packed([word for place, wanted in call.constants for word in (place, wanted)])),
        at(packed([word for m in meanings for word in m.words()])),
        at(packed([word for m in call.captured for word in m.words()])),
        at(packed([word for p in call.parts for word in p.words()])),
        at(packed([field for row in entry.rows for field in row.fields()])),
        at(packed(call.fresh)), at(packed(call.sources)), at(packed(call.program.words)),
        *([0] * 7 if copying is None else [
            Pointer(copying.saves), at(copying.buffer), copying.most,
            len(copying.writes), len(copying.pairs),
            at(packed(copying.writes)), at(packed([k for pair in copying.pairs for k in pair])),
        ]),
    ]).view(_Spec)
    spec.kept = tuple(kept)
    return opened.builtin(at(spec), spec)


def declare_quiet_state(
    variable: object, names: dict[str, Any], filters: str, state: object, known: Any
) -> None:
    """Tell the trampoline under which error state no floating-point condition can raise.

    While the context variable has this `state`, and ``names[filters]`` equals `known`, status flags
    need no further inspection.
    """
    opened = opened_trampoline()
    if opened is not None:
        opened.calm(variable, names, sys.intern(filters), state, known)
