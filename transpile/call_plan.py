"""Call plan: how a kernel is called, as lowering hands it to the runtime.

Bindings say where each kernel parameter comes from; guards say what must still hold at a call;
the plan has both with the kernel; the kernel interface is the part without the code, which
can be pickled into the disk cache.
"""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from loopir.lazy_dataclass import record

from .host_nodes import HostConst, HostExpr, HostItem, HostName
from .result_spec import ResultSpec
from .types.value_types import PARTS, ArrayType, ListType, RecordType, ScalarType

if TYPE_CHECKING:
    from loopir.nodes import Kernel

    from .diagnostics import InlinedAt

__all__ = [
    "Argument",
    "Binding",
    "Captured",
    "Field",
    "Allocated",
    "ObjectMember",
    "ComplexPart",
    "ResultSlot",
    "ListItems",
    "NO_COPY_LIMIT",
    "CHEAP_COPY_BYTES",
    "CapturedExpr",
    "Plan",
    "IdentityGuard",
    "ClassGuard",
    "StatusSource",
    "KernelInterface",
    "KernelParameter",
    "keeps_gil",
    "field_expression",
    "writes_captured",
    "complex_params",
    "strided_params",
    "python_scalar_params",
]


@record(frozen=True, slots=True)
class Argument:
    """The function's own parameter ``name``."""

    name: str
    type: ArrayType | ScalarType


@record(frozen=True, slots=True)
class Captured:
    """A global or closure variable ``name``, read at each call under the type it had."""

    name: str
    type: ArrayType | ScalarType


@record(frozen=True, slots=True)
class Field:
    """``array["at"]["x"]`` of an array of records, a parameter of the function or ``captured``;
    ``path`` are the fields.
    """

    name: str
    array: str
    path: tuple[str, ...]
    type: ArrayType
    of: RecordType
    captured: bool = False


def field_expression(array: str, path: tuple[str, ...]) -> HostExpr:
    """What reads the field `path` of the record array `array`: ``array["at"]["x"]``."""
    read: HostExpr = HostName(array)
    for field in path:
        read = HostItem(read, HostConst(field))
    return read


@record(frozen=True, slots=True)
class ObjectMember:
    """What an object holds that is an argument; ``read`` reads it."""

    name: str
    read: HostExpr
    type: ArrayType | ScalarType


@record(frozen=True, slots=True)
class ListItems:
    """An array of what the list ``of`` holds at each call, a parameter of the function or
    ``captured``. What the kernel writes into it is put back into the list.
    """

    name: str
    of: str
    type: ListType
    captured: bool = False


@record(frozen=True, slots=True)
class ComplexPart:
    """The ``part`` (``"real"`` or ``"imag"``) of a complex number of this type."""

    name: str
    of: Argument | Captured
    part: str
    type: ScalarType


@record(frozen=True, slots=True)
class Allocated:
    """An array made for this call by ``expr``, over the function's parameters and globals, and
    bindings before this one.
    """

    name: str
    expr: HostExpr
    type: ArrayType


@record(frozen=True, slots=True)
class ResultSlot:
    """A rank-0 array that receives a scalar result."""

    name: str
    dtype: str


Binding: TypeAlias = (
    Argument | Captured | Field | ObjectMember | ListItems | ComplexPart | Allocated | ResultSlot
)


NO_COPY_LIMIT = (1 << 63) - 1
CHEAP_COPY_BYTES = 1 << 15
"""What is copied beside its being computed, hardly noticed, whatever is done to it."""


@record(frozen=True, slots=True)
class IdentityGuard:
    """A name of the source that must still mean ``value``, by identity: ``np.sqrt``, ``len``."""

    expr: HostExpr
    value: object


@record(frozen=True, slots=True)
class CapturedExpr:
    """``name`` stands for what ``expr`` gives at each call: something that an inlined function
    knows by a name of its own. It may be the state of a ``generator`` of this ``family``.
    ``after`` is evaluated after the kernel.
    """

    name: str
    expr: HostExpr
    generator: HostExpr | None = None
    family: str | None = None
    after: HostExpr | None = None


@record(frozen=True, slots=True)
class ClassGuard:
    """An argument, or what it holds, must be of this very class; a tuple of so many items."""

    expr: HostExpr
    kind: type
    length: int | None = None


@record(frozen=True, slots=True)
class StatusSource:
    """An operation that may raise the class ``status`` of np.errstate, with NumPy's message and the
    line it stands on. Not ``certain``: it may not be raised when Python does the same, in order.
    Without a message only Python can tell what it says, if anything. ``of``: the function whose
    line it is, if that is another. ``inlined_at``: the helper's line that it came from, until
    `inline_origins.plan_with_captures` has put ``line`` and ``of`` in its place.
    """

    status: str
    message: str
    line: int
    certain: bool = True
    inlined_at: InlinedAt | None = None
    of: Any = None


@record(frozen=True, slots=True)
class Plan:
    """A compiled region with what its caller has to do.

    ``kernel.params`` and ``bindings`` correspond one to one, by name. ``given``: arguments that
    must be these constants, or equal; ``objects``: what must be of these classes. ``writes``:
    parameters of the caller (arguments, captured) that the kernel writes. ``rewrites``: some of
    those are also read, so the original cannot be run again after the kernel unless they are
    restored. ``snapshot``: Python may have to take over after the kernel has written, so the
    ``writes`` are copied before each call. ``copied_up_to``: what the kernel overwrites and reads
    is copied if it is no more bytes, for only Python knows which of several operations warns first,
    or whether any does. ``temporaries``: fresh arrays that do not escape. ``raised_order``: an
    array of a recording kernel; element k + 1 is the rank (from 1) at which ``sources[k]`` first
    raised; 0 if it did not. ``homes``: names that are read before all else, in order. ``short``:
    the slot that tells that a list had too little room; the call is then done again with more.
    ``typed``: names that the function binds, each with the types that it has, in words.
    """

    kernel: Kernel
    bindings: tuple[Binding, ...]
    returned: ResultSpec
    refs: tuple[IdentityGuard, ...] = ()
    given: tuple[IdentityGuard, ...] = ()
    objects: tuple[ClassGuard, ...] = ()
    writes: tuple[str, ...] = ()
    rewrites: bool = False
    snapshot: bool = False
    copied_up_to: int = 0
    temporaries: frozenset[str] = frozenset()
    sources: tuple[StatusSource, ...] = ()
    raised_order: str | None = None
    homes: tuple[CapturedExpr, ...] = ()
    short: str | None = None
    typed: tuple[tuple[str, str], ...] = ()

    @property
    def made(self) -> frozenset[str]:
        """Arrays that the function makes: nobody sees them if a call ends in an exception."""
        return frozenset(b.name for b in self.bindings if isinstance(b, (Allocated, ResultSlot)))

    @property
    def drawn(self) -> frozenset[str]:
        """The parts of the states of random generators."""
        states = {HostName(h.name) for h in self.homes if h.generator}
        parts = ((h.name, h.expr) for h in self.homes if isinstance(h.expr, HostItem))
        return frozenset(name for name, part in parts if part.of in states)

    @property
    def wordless(self) -> bool:
        """Whether it may warn in words that only Python knows."""
        return any(not s.message for s in self.sources)


@record(frozen=True, slots=True)
class KernelParameter:
    """A parameter of the kernel, as ``loopir.nodes.Param`` has it."""

    name: str
    dtype: str
    rank: int | None
    unit: int | None
    written: bool
    steps: tuple[int | None, ...] = ()


@record(frozen=True, slots=True)
class KernelInterface:
    """What is needed to call a finished kernel: a `Plan` without the code of the kernel.

    Of the kernel it has ``params``, the code of each guard, ``strict``, and ``in_place``: pairs of
    arrays that may be one. The other fields are as in `Plan`.
    """

    params: tuple[KernelParameter, ...]
    guards: tuple[str, ...]
    in_place: tuple[tuple[str, str], ...]
    strict: tuple[str, ...]
    bindings: tuple[Binding, ...]
    returned: ResultSpec
    refs: tuple[IdentityGuard, ...]
    given: tuple[IdentityGuard, ...]
    objects: tuple[ClassGuard, ...]
    writes: tuple[str, ...]
    rewrites: bool
    snapshot: bool
    copied_up_to: int
    sources: tuple[StatusSource, ...]
    raised_order: str | None
    homes: tuple[CapturedExpr, ...] = ()
    short: str | None = None


def python_scalar_params(interface: KernelInterface) -> frozenset[str]:
    """Parameters of the kernel that are given as Python scalars."""
    given = (
        (b.name, b.type)
        for b in interface.bindings
        if isinstance(b, (Argument, Captured, ObjectMember, ComplexPart))
    )
    return frozenset(name for name, t in given if isinstance(t, ScalarType) and t.weak)


def strided_params(interface: KernelInterface) -> frozenset[str]:
    """Parameters of the kernel that are given as arrays with no axis of unit stride."""
    given = (
        b for b in interface.bindings if isinstance(b, (Argument, Captured, Field, ObjectMember))
    )
    types = ((b.name, b.type) for b in given)
    return frozenset(
        n for n, t in types
        if isinstance(t, ArrayType) and t.rank and t.unit is None
    )


def complex_params(interface: KernelInterface) -> frozenset[str]:
    """Parameters of the kernel that are given as arrays of complex numbers."""
    kinds = (Argument, Captured, Field, Allocated, ObjectMember)
    given = (b for b in interface.bindings if isinstance(b, kinds))
    return frozenset(b.name for b in given if b.type.dtype in PARTS)


def keeps_gil(interface: KernelInterface) -> bool:
    """Whether no other thread may run meanwhile: it could draw from a generator that has no lock.
    """
    return any(home.family == "python" for home in interface.homes)


def writes_captured(interface: KernelInterface) -> bool:
    """Whether a call changes what is no argument: arrays and lists known by name, or the state of a
    generator.
    """
    known = {
        b.name for b in interface.bindings
        if isinstance(b, Captured) or (isinstance(b, (Field, ListItems)) and b.captured)
    }
    written = {p.name for p in interface.params if p.written}
    return not known.isdisjoint(written) or any(home.generator for home in interface.homes)
