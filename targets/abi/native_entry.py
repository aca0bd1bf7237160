"""Native entry: a whole call as one C builtin (`whole.c`), with no Python frame before the kernel.

`CallSpec` describes the call; `native_entry` encodes it as an int64 array of words, which the C
code reads as structs (`values.c` declares them, in the same order). A word is a number or the
address of an object. A call that C cannot perform, as its arguments do not fit, is passed on to a
Python function. `transpile.runtime.kernel_call.native_call` builds the CallSpec.
"""
from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from inspect import CO_VARARGS, CO_VARKEYWORDS
from types import CellType, FunctionType
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np

from loopir.lazy_dataclass import record

from .c_api import opened_trampoline
from .object_layout import dict_version_offset

if TYPE_CHECKING:
    from .load_kernel import LoadedKernel

__all__ = [
    "ADD", "ATTRIBUTE", "CALLED", "CHECKED", "CHOSEN", "CLASS", "CODE", "DIV", "EMPTY", "ENTRY",
    "EXTENT", "GIVEN", "GLOBALS", "HAS", "INTEGER", "ITEM", "ITEMS", "KEYED", "LEAST", "LIKE",
    "LIST", "LISTED", "LITERAL", "MAX_GIVEN", "MEMBER", "METH_FLAGS", "MIXED", "MOST", "MUL",
    "NUMBER", "PYTHON", "SCALAR", "SHRUNK", "SIZE", "SLOT", "STORED", "SUB", "TUPLE", "ZEROS",
    "ZIPPED",
    "CallSpec", "DerivedValue", "NameBinding", "Packer", "ParameterList", "Pointer", "Program",
    "SnapshotSpec", "Spec", "Word", "declare_quiet_state", "native_entry",
]

# The enums of `values.c`, in its order.
MAX_STAMPS = 6
MAX_GIVEN = 64  # limit on arguments and derived values together
LITERAL, GIVEN, PYTHON, SCALAR, CHOSEN, TUPLE, LIST, CALLED, LISTED, MIXED = range(10)
SHRUNK, ZIPPED = 10, 11
EMPTY, ZEROS, LIKE = range(3)
NUMBER, INTEGER, EXTENT, ADD, SUB, MUL, LEAST, MOST, DIV, STORED, SIZE = range(11)
CHECKED, ATTRIBUTE, ITEM, ITEMS, KEYED = range(5)
MEMBER, ENTRY, HAS, CLASS, CODE, GLOBALS, DEFAULTS, NAMED_DEFAULTS, AT = range(9)
SLOT: Final = -1
"""Source of a kernel parameter that receives storage for a result."""

METH_FLAGS = 0x82  # METH_FASTCALL | METH_KEYWORDS


@record(frozen=True, slots=True)
class Pointer:
    """The address of an object, which must stay alive as long as the builtin."""

    value: object  # the object


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
    """A name that is looked up at each call, and steps from the object that it is bound to: a
    member of a module, an entry of a dict, and so on.
    """

    root: str
    steps: tuple[tuple[int, str | int | None], ...] = ()  # (MEMBER, "sqrt"), (CODE, None), …
    cell: CellType | None = None  # the closure cell of the name, if it is a free variable
    fixed: Pointer | None = None  # an object in place of the name
    expected: Pointer | None = None  # the object to which the steps must lead; None: any
    wrapper: tuple[tuple[int, str | int | None], ...] | None = None
    """Where ``fixed`` is the function in what `fuse` returned: the steps to that from the name."""

    @property
    def is_in_dicts(self) -> bool:
        """Whether dicts alone, of modules and global namespaces, decide what the name is bound to:
        as long as their versions stay, it is bound to the same object. False for a name in a
        closure cell, and for steps to the code, the defaults or the class of an object, which may
        be assigned.
        """
        is_global = self.cell is None and self.fixed is None
        return is_global and all(kind in (MEMBER, ENTRY, HAS, GLOBALS) for kind, _ in self.steps)

    def words(self, packer: Packer) -> tuple[Word, ...]:
        """The words of a `name_binding` struct of `values.c`."""
        steps = [
            word for kind, key in self.steps
            for word in (kind, Pointer(sys.intern(key)) if isinstance(key, str) else key or 0)
        ]
        return (
            Pointer(self.cell) if self.cell else 0, Pointer(sys.intern(self.root)),
            self.fixed or 0, len(self.steps), packer.address_of_words(steps), self.expected or 0,
        )


@record(frozen=True, slots=True)
class ParameterList:
    """The parameters that a call is bound to."""

    names: Sequence[str | None]  # None: positional only
    defaults: Mapping[int, object]  # by the index of the parameter
    positional: int  # how many are not keyword-only; these come first
    function: FunctionType  # whose defaults must still be these where one is used
    last: tuple[object, ...] | None  # ``function.__defaults__``
    takes_further: bool = False
    """Whether a call may have further keywords, which are not bound (``**options``)."""
    takes_rest: bool = False
    """Whether a call may have further positional arguments (``*args``). They count as one argument,
    a tuple, after those that have names.
    """

    @classmethod
    def of(cls, function: FunctionType, *, takes_further: bool = False) -> ParameterList | None:
        """The parameters of `function` that have names of their own; None if it has ``*args`` or
        ``**options``, unless ``takes_further``.
        """
        code = function.__code__
        if code.co_flags & (CO_VARARGS | CO_VARKEYWORDS) and not takes_further:
            return None
        positional = code.co_argcount
        names = code.co_varnames[: positional + code.co_kwonlyargcount]
        last = function.__defaults__
        defaults = dict(enumerate(last or (), positional - len(last or ())))
        named = function.__kwdefaults__ or {}
        defaults |= {k: named[n] for k, n in enumerate(names) if k >= positional and n in named}
        return cls(
            [None if k < code.co_posonlyargcount else n for k, n in enumerate(names)], defaults,
            positional, function, last, bool(code.co_flags & CO_VARKEYWORDS),
            bool(code.co_flags & CO_VARARGS),
        )

    def words(self, packer: Packer) -> list[Word]:
        """The words of a `parameter_list` struct of `values.c`."""
        places = range(len(self.names))
        defaults = [Pointer(self.defaults[k]) if k in self.defaults else 0 for k in places]
        keywords = [Pointer(sys.intern(name)) if name else 0 for name in self.names]
        last = 0 if self.last is None else Pointer(self.last)
        arrays = packer.address_of_words(defaults), packer.address_of_words(keywords)
        counts = len(places), self.positional, self.takes_further, self.takes_rest
        return [*arrays, *counts, Pointer(self.function), last]


@record(frozen=True, slots=True)
class DerivedValue:
    """A value derived from another value of the call."""

    kind: int
    """CHECKED: the same value, checked to be of class ``of`` and to have ``number`` items (-1: any
    number). ATTRIBUTE ``of``. ITEM ``number`` of a tuple. KEYED: the item of a dict with the key
    ``of``. ITEMS: an array of its items by the converter words ``of``, stored back after the call
    if ``number`` is 1."""
    place: int  # of the other value
    of: Pointer | None = None
    number: int = 0

    def words(self) -> tuple[Word, ...]:
        """The words of a `derived_value` struct of `values.c`."""
        return self.kind, self.place, self.of or 0, self.number


@record(frozen=True, slots=True)
class SnapshotSpec:
    """How arrays that the kernel writes are copied before the call, so that it can be replayed."""

    writes: Sequence[int]  # the parameters to copy
    pairs: Sequence[tuple[int, int]]  # if any: copied only where the arrays of a pair are the same
    max_bytes: int  # more are not copied
    max_bytes_calm: int  # more are not copied once many calls in a row have raised nothing
    buffer: np.ndarray  # the preallocated buffer: `CopyPool.state`
    saves: Callable[..., Any]  # `saves(*values)` copies where the buffer cannot be used


@record(frozen=True, slots=True)
class CallSpec:
    """A native call: how to bind arguments, check names, derive values, call, and convert the
    result.

    Each value of a call has a *place*, a number: first its arguments, then captured values, derived
    values that are not CHECKED, and allocated arrays.
    """

    name: str  # of the function
    parameters: ParameterList
    constants: Sequence[tuple[int, Pointer]]  # parameters that must be these objects
    names: dict[str, Any]  # the globals of the function
    builtins: dict[str, Any]  # and its builtins
    guarded_names: Sequence[NameBinding]  # names that must be bound to their objects
    captured: Sequence[NameBinding]  # names whose values are passed to the kernel
    derived: Sequence[DerivedValue]
    allocated: Sequence[int]  # rows of `program` for arrays to allocate
    sources: Sequence[int]  # for each parameter of the kernel the place of a value, or SLOT
    program: Program  # rows for `values.c`; the first one describes the result
    needs_quiet_state: bool  # the kernel writes arrays that a replay would write again
    python: Callable[..., Any]  # performs a call that C cannot perform, given its arguments
    on_status: Callable[..., Any]
    """``on_status(status, saved, *values)`` judges a status that is not 0: None if the result is
    valid, else a callable to call instead. ``saved``: True if the copies are in the preallocated
    buffer, None without copies, else the copies."""
    copying: SnapshotSpec | None  # how written arrays are copied before; None: they are not
    calls: np.ndarray  # counts calls
    capacity: np.ndarray  # read by rows STORED of ``program``
    silent: np.ndarray
    """Status bits that have no effect, and the number of the quiet state in which they have none
    (`declare_quiet_state`)."""


class Spec(np.ndarray):
    """The words of a `native_entry`; ``kept`` keeps the objects alive that they point to."""

    kept: tuple[object, ...]


class Packer:
    """Packs words into arrays, and keeps alive the objects and arrays that they point to."""

    def __init__(self, *alive: object) -> None:
        self.alive = [*alive]

    def pack(self, words: Sequence[Word]) -> np.ndarray:
        """The words as an array."""
        self.alive.extend(w.value for w in words if isinstance(w, Pointer))
        numbers = [id(w.value) if isinstance(w, Pointer) else int(w) for w in words]
        return np.array(numbers, dtype=np.int64)

    def address_of(self, array: np.ndarray | None) -> int:
        """The address of the memory of an array; 0 for None."""
        if array is None:
            return 0
        self.alive.append(array)
        return int(array.__array_interface__["data"][0])

    def address_of_words(self, words: Sequence[Word]) -> int:
        """The address of an array of the words."""
        return self.address_of(self.pack(words))


def native_entry(entry: LoadedKernel, call: CallSpec) -> Callable[..., Any] | None:
    """The builtin that performs `call` with the kernel `entry`. None if the native path is not
    available, or the call has more than `MAX_GIVEN` values.
    """
    opened = opened_trampoline()
    derived_values = sum(p.kind != CHECKED for p in call.derived)
    value_count = len(call.captured) + derived_values + len(call.allocated)
    if opened is None or not entry.native or len(call.parameters.names) + value_count > MAX_GIVEN:
        return None
    packer = Packer(call, entry.library)
    name = np.frombuffer(call.name.encode() + b"\0", np.uint8)
    words = [
        packer.address_of(name),
        opened.whole,
        METH_FLAGS,
        0,
        entry.address,
        entry.raised,
        *_call_words(entry, call, value_count, packer),
        *_snapshot_words(call.copying, packer),
    ]
    spec = packer.pack(words).view(Spec)
    spec.kept = tuple(packer.alive)
    return opened.builtin(packer.address_of(spec), spec)


def _call_words(
    entry: LoadedKernel, call: CallSpec, value_count: int, packer: Packer
) -> list[Word]:
    """The words of the `call_spec` struct of `values.c` from ``calls`` on, without the snapshot's.
    `value_count`: how many values the call has besides its arguments.
    """
    guarded_names = sorted(
        call.guarded_names, key=lambda m: (not m.is_in_dicts, m.root, m.fixed is not None)
    )
    stamps = np.zeros(1 + 2 * MAX_STAMPS, np.int64)
    captured = np.zeros(len(call.captured), np.int64)
    is_kept = dict_version_offset() and all(m.is_in_dicts for m in call.captured)
    return [
        packer.address_of(call.calls),
        packer.address_of(call.silent),
        Pointer(call.python),
        Pointer(call.on_status),
        Pointer(call.names),
        Pointer(call.builtins),
        *call.parameters.words(packer),
        len(call.constants),
        len(call.guarded_names),
        len(call.captured),
        len(call.derived),
        len(call.allocated),
        value_count,
        len(entry.rows),
        call.needs_quiet_state,
        any(p.kind == ITEMS and p.number for p in call.derived),
        packer.address_of_words([word for pair in call.constants for word in pair]),
        packer.address_of_words([word for m in guarded_names for word in m.words(packer)]),
        packer.address_of_words([word for m in call.captured for word in m.words(packer)]),
        sum(m.is_in_dicts for m in guarded_names),
        packer.address_of(stamps),
        packer.address_of(captured) if is_kept else 0,
        packer.address_of_words([word for p in call.derived for word in p.words()]),
        packer.address_of_words([field for row in entry.rows for field in row.fields()]),
        packer.address_of_words(call.allocated),
        packer.address_of_words(call.sources),
        packer.address_of_words(call.program.words),
    ]


def _snapshot_words(copying: SnapshotSpec | None, packer: Packer) -> list[Word]:
    """The last words of the `call_spec` struct: how written arrays are copied. Zeros if they are
    not.
    """
    if copying is None:
        return [0] * 8
    return [
        Pointer(copying.saves),
        packer.address_of(copying.buffer),
        copying.max_bytes,
        copying.max_bytes_calm,
        len(copying.writes),
        len(copying.pairs),
        packer.address_of_words(copying.writes),
        packer.address_of_words([k for pair in copying.pairs for k in pair]),
    ]


def declare_quiet_state(
    variable: object, names: dict[str, Any], filters: str, state: object, expected: Any,
    number: int,
) -> None:
    """Tell the trampoline under which error state no floating-point condition can raise in the
    middle of a loop (the quiet state): while the context variable has this `state`, and
    ``names[filters]`` equals `expected`. `number`: a number that differs from those of other states
    (`CallSpec.silent` has it).
    """
    opened = opened_trampoline()
    if opened is not None:
        opened.set_quiet_state(variable, names, sys.intern(filters), state, expected, number)
