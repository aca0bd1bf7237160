"""Native entry: a whole call as one C builtin (`whole.c`), no Python frame before the kernel.

`CallSpec` describes the call; `native_entry` encodes it as the words that `whole.c` and
`values.c` read. Whatever is unusual is left to a Python function.
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
"""In place of the object that a parameter of the kernel is given: it gets room for a result."""

_METH_FLAGS = 0x3  # METH_VARARGS | METH_KEYWORDS: a class has the arguments in a tuple


@record(frozen=True, slots=True)
class Pointer:
    """The address of an object that must live as long as the builtin."""

    value: object


Word: TypeAlias = int | Pointer


class Program:
    """Rows of words, which refer to others by where they begin."""

    def __init__(self) -> None:
        self.words: list[Word] = []

    def row(self, *words: Word) -> int:
        """Adds a row."""
        self.words.extend(words)
        return len(self.words) - len(words)


@record(frozen=True, slots=True)
class NameBinding:
    """A name, or ``root.attribute`` of a module, and what it must mean, if anything.

    ``cell`` is that of a name of the closure.
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
    """What comes of the value at ``place``: CHECKED to be of the class ``of``, and of ``number``
    items if that is not -1; or another value, its ATTRIBUTE ``of``, its ITEM ``number``, or an
    array of its ITEMS as the spec ``of`` says, put back after the call where ``number`` is 1.
    """

    what: int
    place: int
    of: Pointer | None = None
    number: int = 0

    def words(self) -> tuple[Word, ...]:
        return self.what, self.place, self.of or 0, self.number


@record(frozen=True, slots=True)
class SnapshotSpec:
    """The parameters ``writes`` of the kernel are copied to the ``shelf``, of which this is the
    address, the bytes, and whether it is in use; where there is no room, ``saves(*given)`` does it.
    More bytes than ``most`` are not copied; with ``pairs`` of places none are where no two have one
    memory.
    """

    writes: Sequence[int]
    pairs: Sequence[tuple[int, int]]
    most: int
    shelf: np.ndarray
    saves: Callable[..., Any]


@record(frozen=True, slots=True)
class CallSpec:
    """A function's ``parameters`` (None: positional only), with defaults by place, and those that
    must be ``constants``; what names must mean in the dicts ``names`` and ``builtins``, and those
    whose values are given to the kernel; parts of all these; where the rows of arrays begin that
    are made for the call; for each parameter of the kernel the place of an argument, of a captured
    value after those, of a part after these, of such an array last, or SLOT; the rows, as
    `values.c` reads them, of which the first is the result.

    ``wary``: the kernel writes what Python may have to write again; ``copying``: how that is copied
    ahead. ``python(*args, **kwargs)`` does it all where anything is unusual. ``ended(status, saved,
    *given)`` tells what a status means: None where the result stands, or what to call. ``saved``:
    True for what lies on the shelf, None for nothing, or those copies. ``calls`` counts.
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
    """The words of a `native_entry`, and what they point to."""

    kept: tuple[object, ...]


def native_entry(entry: LoadedKernel, call: CallSpec) -> Callable[..., Any] | None:
    """The builtin; None where the fast road is not open, or there are too many values."""
    road = opened_trampoline()
    made = sum(p.what != CHECKED for p in call.parts)
    values = len(call.captured) + made + len(call.fresh)
    if road is None or not entry.native or len(call.parameters) + values > MAX_GIVEN:
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
        at(name), road.whole, _METH_FLAGS, 0,
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
            Pointer(copying.saves), at(copying.shelf), copying.most,
            len(copying.writes), len(copying.pairs),
            at(packed(copying.writes)), at(packed([k for pair in copying.pairs for k in pair])),
        ]),
    ]).view(_Spec)
    spec.kept = tuple(kept)
    return road.builtin(at(spec), spec)


def declare_quiet_state(
    variable: object, names: dict[str, Any], filters: str, state: object, known: Any
) -> None:
    """While the context variable has this `state`, and ``names[filters]`` equals `known`, no
    floating-point condition raises in mid-loop.
    """
    road = opened_trampoline()
    if road is not None:
        road.calm(variable, names, sys.intern(filters), state, known)
