"""Call plan: how a kernel is called, as lowering hands it to the runtime.

A `Binding` for each kernel parameter says where its value comes from; guards must hold at a call,
else Python runs; a `ResultSpec` says how the result is made of the arrays that the kernel filled.
Lowering makes a `Plan`, and the pipeline's stages add to it; `lower.kernel_interface` takes the
`KernelInterface` out of it, which is all that a call needs besides the loaded kernel, and can be
pickled into the disk cache. The modules `python_wrapper` and `native_call` of
`runtime.kernel_call` perform a call.
"""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from loopir.lazy_dataclass import record, replace

from .host_nodes import HostAttribute, HostConst, HostExpr, HostItem, HostName
from .result_spec import ResultSpec
from .types.value_types import PARTS, ArrayType, ListType, RecordType, ScalarType

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from loopir.nodes import Expr, Kernel
    from targets.abi.load_kernel import LoadedKernel
    from targets.abi.parameter_specs import MemoryOrder

    from .diagnostics import InlinedAt

__all__ = [
    "Argument",
    "ArgumentMismatch",
    "Binding",
    "Captured",
    "Field",
    "Allocated",
    "ObjectMember",
    "ComplexPart",
    "ResultSlot",
    "ListItems",
    "ItemFlags",
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
    "param_orders",
    "load_interface",
    "field_expression",
    "writes_captured",
    "complex_params",
    "strided_params",
    "python_scalar_params",
]


@record(frozen=True, slots=True)
class ArgumentMismatch:
    """Why a kernel did not accept an argument whose type fits, for the report."""

    code: str
    """The code of the guard that failed."""
    argument: str
    """The name of the function's parameter, or of a global or closure variable."""
    message: str
    help: str | None = None
    """What to do about it; None: the help of the code."""


@record(frozen=True, slots=True)
class Argument:
    """The function's own parameter ``name``."""

    name: str
    type: ArrayType | ScalarType


@record(frozen=True, slots=True)
class Captured:
    """A global or closure variable ``name``, a number or an array, that the kernel takes as a
    parameter: its value is read at each call, so that it may change between calls. Assumed is only
    its ``type``, which each call tests; a call with another type is compiled anew.

    A function, class or tuple is no parameter: it must stay the same object, see `IdentityGuard`.
    `lower_names.lower_name` makes this binding; `python_wrapper` and `native_call` read the value.
    """

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


def field_expression(array: str, path: tuple[str, ...]) -> HostExpr:
    """What reads the field `path` of the record array `array`: ``array["at"]["x"]``."""
    read: HostExpr = HostName(array)
    for field in path:
        read = HostItem(read, HostConst(field))
    return read


@record(frozen=True, slots=True)
class ObjectMember:
    """The kernel's parameter ``name`` is a member of an argument that is an object, tuple or dict;
    ``read`` is evaluated at each call.
    """

    name: str
    read: HostExpr
    """The expression that reads the member."""
    type: ArrayType | ScalarType


@record(frozen=True, slots=True)
class ListItems:
    """The kernel's parameter ``name`` is an array with the items of the list ``of``; for a list of
    floats ``x``, ``ListItems("x_items", "x", list[float])``. At each call the runtime converts the
    list (`SequenceSpec.take`); after the kernel, it stores the items that the kernel has changed
    back into the list (`SequenceSpec.put`).
    """

    name: str
    of: str
    """The name of the list."""
    type: ListType
    captured: bool = False
    """Whether the list is a global or closure variable, and no parameter."""
    flags: str | None = None
    """The name of the bool array that tells which items are ints, if some may be floats."""
    read: HostExpr | None = None
    """What reads the list, if it is a member of an argument; ``of`` is then the local name that the
    member has."""

    @property
    def counting_argument(self) -> str | None:
        """The argument whose part in the size of a call counts the items of this list: itself, or
        the object that has it as an attribute. None for lists that no call counts: globals, and
        members of other members, tuples and dicts.
        """
        if self.captured:
            return None
        match self.read:
            case None:
                return self.of
            case HostAttribute(HostName(argument)):
                return argument
        return None


@record(frozen=True, slots=True)
class ItemFlags:
    """The bool array that a `ListItems.flags` names. Each call makes it together with the array of
    the items.
    """

    name: str


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
    Argument | Captured | Field | ObjectMember | ListItems | ItemFlags | ComplexPart | Allocated
    | ResultSlot
)
"""Where the value of a kernel parameter comes from at a call."""

NO_COPY_LIMIT = (1 << 63) - 1
"""`Plan.copied_up_to` for arrays of any size."""

CHEAP_COPY_BYTES = 1 << 15
"""Arrays of at most this size may be copied before each call: the time is not noticed."""


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
    """A name that is bound before the kernel runs: a global, closure cell, default or part of a
    generator's state that an inlined function reads (`frontend.inline.captured_names`). Lowering
    meets the name as a global of the caller's: a number or array of it is a parameter by a
    `Captured` of that name.
    """

    name: str
    expr: HostExpr
    """Evaluated at each call; it may read earlier captured names."""
    generator: HostExpr | None = None
    """For the state of a random generator: the expression of the generator. Else None."""
    family: str | None = None
    """For the state of a random generator: its family (`types.generator_state`). Else None."""
    write_back: HostExpr | None = None
    """For a part of a state that is a copy: stores it in the generator, after the kernel. None: the
    part is the generator's own memory, or no state.
    """


@record(frozen=True, slots=True)
class ClassGuard:
    """An argument, or a member of one, must be of exactly this class."""

    expr: HostExpr
    kind: type
    length: int | None = None
    """The number of items that a tuple must have; None: any number, or no tuple."""


@record(frozen=True, slots=True)
class StatusSource:
    """An operation that may raise a floating-point condition, of which NumPy would warn."""

    status: str
    """The condition, in the words of ``np.errstate``: "divide", "over", "under" or "invalid"."""
    message: str
    """NumPy's message; empty if only Python can tell what it says, if anything."""
    line: int
    """The line of the operation."""
    certain: bool = True
    """Whether Python raises the condition whenever the kernel does. False: not always, as the
    kernel computes in another order.
    """
    inlined_at: InlinedAt | None = None
    """The helper's line that the operation was inlined from, until
    `inline_origins.plan_with_captures` has put it into ``line`` and ``helper``.
    """
    helper: Any = None
    """The inlined function whose line it is; None: it is a line of the compiled function."""


@record(frozen=True, slots=True)
class Plan:
    """All that is needed to build and call the kernel of one function under one signature."""

    kernel: Kernel
    bindings: tuple[Binding, ...]
    """One for each of ``kernel.params``, with the same name."""
    returned: ResultSpec
    """How a call makes its result of what the kernel has left."""
    identity_guards: tuple[IdentityGuard, ...] = ()
    """What names of the source must still mean."""
    constant_arguments: tuple[IdentityGuard, ...] = ()
    """Arguments with the constants for which the kernel was compiled. Unlike an identity guard,
    such a guard also accepts an object of the same class that is equal.
    """
    class_guards: tuple[ClassGuard, ...] = ()
    """The classes of arguments that are objects, and of objects in them."""
    writes: tuple[str, ...] = ()
    """The arrays of the caller (arguments and captured ones) that the kernel writes."""
    rewrites: bool = False
    """Whether the kernel also reads some of ``writes``: then the function can only run as Python
    after the kernel if these are restored.
    """
    snapshot: bool = False
    """Whether ``writes`` are copied before each call, so that they can be put back before a replay:
    the kernel may fail after it has written, and Python would not write the same again; or it may
    have to show a warning whose message only Python knows.
    """
    copied_up_to: int = 0
    """The most bytes of ``writes`` that are copied before a call for the sake of warnings. Where
    only a replay shows which operation warns, and the kernel also reads an array that it writes
    (``rewrites``, or two arguments are one array), the arrays must be put back before the replay.
    One of 0 (never copied), `CHEAP_COPY_BYTES` and `NO_COPY_LIMIT`.
    """
    temporaries: frozenset[str] = frozenset()
    """Arrays that the function makes, and that do not escape: they need not exist."""
    zeros: tuple[tuple[str, tuple[Expr, ...], HostExpr], ...] = ()
    """The arrays that are allocated as zeros, each with its lengths, and with the expression that
    allocates it without a fill.
    """
    blank: frozenset[str] = frozenset()
    """The arrays that the call makes by ``np.empty`` and its like."""
    sources: tuple[StatusSource, ...] = ()
    """The operations that may raise floating-point conditions, in Python's order."""
    raised_order: str | None = None
    """In a recording kernel, the name of an array: element k + 1 is the rank (from 1) at which
    ``sources[k]`` raised first, 0 if it did not. None in other kernels.
    """
    captures: tuple[CapturedExpr, ...] = ()
    """Names that are bound before everything else, in this order."""
    overflow_slot: str | None = None
    """The slot in which the kernel reports that a list outgrew its buffer; the call is then
    repeated with a larger one. None: there is no such list.
    """
    rounds_otherwise: bool = False
    """Whether the kernel has an operation with other last bits than Python's or NumPy's that the
    op table does not show: a power that was expanded to products, or to a root.
    """
    local_types: tuple[tuple[str, str], ...] = ()
    """Each local name of the function with a type that it has, as text, for the report."""

    @property
    def fresh_arrays(self) -> frozenset[str]:
        """The arrays that a call makes: no other code sees them if it ends in an exception."""
        return frozenset(b.name for b in self.bindings if isinstance(b, (Allocated, ResultSlot)))

    @property
    def generator_parts(self) -> frozenset[str]:
        """The captured names of the parts of random generators' states."""
        states = {HostName(c.name) for c in self.captures if c.generator}
        parts = ((c.name, c.expr) for c in self.captures if isinstance(c.expr, HostItem))
        return frozenset(name for name, part in parts if part.of in states)

    def without_arrays(self, removed: Collection[str]) -> Plan:
        """This plan without the bindings of arrays that were ``removed`` from the kernel."""
        return replace(self, bindings=tuple(b for b in self.bindings if b.name not in removed))

    def with_zeros_filled(self, filled: Collection[str]) -> Plan:
        """This plan for a kernel that fills these of its ``zeros`` itself."""
        unfilled = {name: expr for name, _, expr in self.zeros if name in filled}
        return replace(self, bindings=tuple(
            replace(b, expr=unfilled[b.name])
            if isinstance(b, Allocated) and b.name in unfilled else b
            for b in self.bindings
        ))

    @property
    def has_unknown_messages(self) -> bool:
        """Whether a warning may have a message that only Python knows."""
        return any(not s.message for s in self.sources)


@record(frozen=True, slots=True)
class KernelParameter:
    """A parameter of the kernel; the fields are those of ``loopir.nodes.Param``."""

    name: str
    dtype: str
    rank: int | None
    unit: int | None
    written: bool
    steps: tuple[int | None, ...] = ()
    aligned: bool = True


@record(frozen=True, slots=True)
class KernelInterface:
    """What a call of a loaded kernel needs. The first four fields describe the kernel, the last two
    tell for which calls its results are exact; the others are those of `Plan`.
    """

    params: tuple[KernelParameter, ...]
    guards: tuple[str, ...]
    """The code of each guard of the kernel, in the order of their statuses."""
    in_place: tuple[tuple[str, str], ...]
    """Pairs of parameters that must be disjoint arrays or the same array."""
    strict: tuple[str, ...]
    """The floating-point conditions that the kernel reports."""
    bindings: tuple[Binding, ...]
    returned: ResultSpec
    identity_guards: tuple[IdentityGuard, ...]
    constant_arguments: tuple[IdentityGuard, ...]
    class_guards: tuple[ClassGuard, ...]
    writes: tuple[str, ...]
    rewrites: bool
    snapshot: bool
    copied_up_to: int
    sources: tuple[StatusSource, ...]
    raised_order: str | None
    captures: tuple[CapturedExpr, ...] = ()
    overflow_slot: str | None = None
    exact_up_to: int | None = None
    """The largest size up to which the results of a call have Python's bits; None: any size."""
    exact_arguments: tuple[int, ...] | None = None
    """The positions of the arguments whose sizes count for that; None: all."""


def python_scalar_params(interface: KernelInterface) -> frozenset[str]:
    """The kernel parameters whose values are Python scalars."""
    kinds = (Argument, Captured, ObjectMember, ComplexPart)
    types = ((b.name, b.type) for b in interface.bindings if isinstance(b, kinds))
    return frozenset(name for name, t in types if isinstance(t, ScalarType) and t.weak)


def strided_params(interface: KernelInterface) -> frozenset[str]:
    """The kernel parameters whose values are aligned arrays without an axis of unit stride."""
    return frozenset(
        name for name, t in _arrays(interface) if t.rank and t.unit is None and t.aligned
    )


def param_orders(interface: KernelInterface) -> dict[str, MemoryOrder]:
    """The memory orders of the arrays of several axes that are kernel parameters, if known."""
    orders = ((name, t.axis_order) for name, t in _arrays(interface) if t.rank > 1)
    return {name: order for name, order in orders if order is not None}


def _arrays(interface: KernelInterface) -> Iterator[tuple[str, ArrayType]]:
    """The names and types of the kernel parameters that are arrays of the caller."""
    kinds = (Argument, Captured, Field, ObjectMember)
    types = ((b.name, b.type) for b in interface.bindings if isinstance(b, kinds))
    return ((name, t) for name, t in types if isinstance(t, ArrayType))


def complex_params(interface: KernelInterface) -> frozenset[str]:
    """The kernel parameters whose values are arrays of complex numbers."""
    kinds = (Argument, Captured, Field, Allocated, ObjectMember)
    bindings = (b for b in interface.bindings if isinstance(b, kinds))
    return frozenset(b.name for b in bindings if b.type.dtype in PARTS)


def keeps_gil(interface: KernelInterface) -> bool:
    """Whether the kernel must run with the GIL held, however large its arguments are: it draws from
    a ``random.Random``, whose state another thread could change meanwhile. Python's generator is
    protected by the GIL alone; NumPy's have locks, which the wrapper takes.

    Else the GIL is released while the kernel runs, unless all arguments are small
    (``MAX_EXTENT_WITH_GIL`` in `entry.c`).
    """
    return any(capture.family == "python" for capture in interface.captures)


def writes_captured(interface: KernelInterface) -> bool:
    """Whether a call changes anything but arguments: captured arrays and lists, or the state of a
    generator.
    """
    captured = {
        b.name for b in interface.bindings
        if isinstance(b, Captured) or (isinstance(b, (Field, ListItems)) and b.captured)
    }
    written = {p.name for p in interface.params if p.written}
    draws = any(capture.generator for capture in interface.captures)
    return draws or not captured.isdisjoint(written)


def load_interface(
    path: str, interface: KernelInterface, *, may_wait: bool = True,
    trampoline_path: str | None = None, pool_path: str | None = None,
) -> LoadedKernel:
    """The kernel of `interface`, in the shared object at `path`, as a callable. The options are
    those of `load_kernel`. Raises BuildError where the object cannot be opened.
    """
    from targets.abi.load_kernel import load_kernel

    return load_kernel(
        path, interface,
        weak=python_scalar_params(interface), strided=strided_params(interface),
        orders=param_orders(interface),
        paired=complex_params(interface), keeps_gil=keeps_gil(interface),
        may_wait=may_wait, trampoline_path=trampoline_path, pool_path=pool_path,
    )
