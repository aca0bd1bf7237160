"""Call plan: how a kernel is called, as lowering hands it to the runtime.

A `Binding` for each kernel parameter says where its value comes from; guards must hold at a call,
else Python runs; a `ResultSpec` says how the result is made of the arrays that the kernel filled.
Lowering makes a `Plan`, and the pipeline's stages add to it; `pipeline.make_contract` takes the
`Contract` out of it, which is all that a call needs besides the loaded kernel, and can be pickled
into the disk cache. `runtime.python_wrapper` and `runtime.native_call` perform a call.
"""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from loopir.lazy_dataclass import record

from .host_nodes import HostExpr, HostItem, HostName
from .result_spec import ResultSpec
from .types.value_types import PARTS, ArrayType, ListType, RecordType, ScalarType

if TYPE_CHECKING:
    from loopir.nodes import Kernel

    from .diagnostics import InlinedAt

__all__ = [
    "Argument", "Binding", "Captured", "Field", "Allocated", "ObjectMember", "ComplexPart",
    "ResultSlot", "ListItems", "NO_COPY_LIMIT", "CHEAP_COPY_BYTES", "CapturedExpr", "Plan",
    "IdentityGuard", "ClassGuard", "StatusSource", "Contract", "KernelParameter", "keeps_gil",
    "field_subscript", "writes_captured", "complex_params", "strided_params",
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
    """A field of an array of records, ``array["at"]["x"]``."""

    name: str
    """The name of the kernel parameter."""
    array: str
    """The name of the array of records."""
    path: tuple[str, ...]
    """The names of the fields: ``("at", "x")``."""
    type: ArrayType
    """The type of the field as an array."""
    of: RecordType
    """The type of the array of records."""
    captured: bool = False
    """Whether ``array`` is a global or closure variable, and no parameter."""


def field_subscript(path: tuple[str, ...]) -> str:
    """The subscripts of `Field.path` as source: ``["at"]["x"]``."""
    return "".join(f"[{field!r}]" for field in path)


@record(frozen=True, slots=True)
class ObjectMember:
    """A member of an object that is an argument."""

    name: str
    read: HostExpr
    """The expression that reads the member."""
    type: ArrayType | ScalarType


@record(frozen=True, slots=True)
class ListItems:
    """An array with the items that a list has at each call. After the kernel, items that it wrote
    are stored back into the list.
    """

    name: str
    of: str
    """The name of the list."""
    type: ListType
    captured: bool = False
    """Whether the list is a global or closure variable, and no parameter."""


@record(frozen=True, slots=True)
class ComplexPart:
    """The real or imaginary part of a complex scalar."""

    name: str
    of: Argument | Captured
    """The binding of the complex scalar."""
    part: str
    """``"real"`` or ``"imag"``."""
    type: ScalarType
    """The type of the complex scalar."""


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
"""`Plan.copied_up_to` for arrays of any size."""

CHEAP_COPY_BYTES = 1 << 15
"""Arrays of at most this size are copied before any kernel: the time is not noticed."""


@record(frozen=True, slots=True)
class IdentityGuard:
    """An expression that must evaluate to the same object as at compile time: ``np.sqrt``, ``len``,
    ``f.__code__``.
    """

    expr: HostExpr
    value: object
    """The object, compared by identity."""


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
    """A compiled region's contract with its caller.

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
class Contract:
    """The kernel's side: ``params``, the code of each guard, ``strict`` and ``in_place``: pairs of
    arrays that may be one. The caller's: as in `Plan`.
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


def python_scalar_params(contract: Contract) -> frozenset[str]:
    """Parameters of the kernel that are given as Python scalars."""
    given = (
        (b.name, b.type)
        for b in contract.bindings if isinstance(b, (Argument, Captured, ObjectMember, ComplexPart))
    )
    return frozenset(name for name, t in given if isinstance(t, ScalarType) and t.weak)


def strided_params(contract: Contract) -> frozenset[str]:
    """Parameters of the kernel that are given as arrays with no axis of unit stride."""
    given = (
        b for b in contract.bindings if isinstance(b, (Argument, Captured, Field, ObjectMember))
    )
    types = ((b.name, b.type) for b in given)
    return frozenset(
        n for n, t in types
        if isinstance(t, ArrayType) and t.rank and t.unit is None
    )


def complex_params(contract: Contract) -> frozenset[str]:
    """Parameters of the kernel that are given as arrays of complex numbers."""
    kinds = (Argument, Captured, Field, Allocated, ObjectMember)
    given = (b for b in contract.bindings if isinstance(b, kinds))
    return frozenset(b.name for b in given if b.type.dtype in PARTS)


def keeps_gil(contract: Contract) -> bool:
    """Whether no other thread may run meanwhile: it could draw from a generator that has no lock.
    """
    return any(home.family == "python" for home in contract.homes)


def writes_captured(contract: Contract) -> bool:
    """Whether a call changes what is no argument: arrays and lists known by name, or the state of a
    generator.
    """
    known = {
        b.name for b in contract.bindings
        if isinstance(b, Captured) or (isinstance(b, (Field, ListItems)) and b.captured)
    }
    written = {p.name for p in contract.params if p.written}
    return not known.isdisjoint(written) or any(home.generator for home in contract.homes)
