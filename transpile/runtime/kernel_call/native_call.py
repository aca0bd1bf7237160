"""Native call: a kernel interface compiled to rows of words, from which C performs the whole call.

The rows describe three things: where C finds each value of the call (arguments, global names,
members of objects); the arrays that it allocates, from their host expressions; and the result.
``np.empty((len(x), max(n - 1, 0)), np.float32)`` becomes one row for the array and one for each
number and operation in its shape. A call that C cannot perform, such as one with a random number
generator, is left to the Python wrapper: `NotNative` says why, and `Variant.not_native` keeps it.
"""
from __future__ import annotations

import ast
import math
import sys
from collections.abc import Callable, Mapping
from inspect import CO_VARARGS, CO_VARKEYWORDS
from types import CodeType, FunctionType
from typing import Any, get_args

import numpy as np

from loopir.process.signal_exceptions import failures
from targets.abi.load_kernel import LoadedKernel
from targets.abi.native_entry import (
    ADD,
    AT,
    ATTRIBUTE,
    CHECKED,
    CLASS,
    CODE,
    DEFAULTS,
    DIV,
    EMPTY,
    ENTRY,
    EXTENT,
    GLOBALS,
    HAS,
    INTEGER,
    ITEM,
    ITEMS,
    KEYED,
    LEAST,
    LIKE,
    MEMBER,
    MOST,
    MUL,
    NAMED_DEFAULTS,
    NUMBER,
    SIZE,
    SLOT,
    STORED,
    SUB,
    ZEROS,
    CallSpec,
    DerivedValue,
    NameBinding,
    ParameterList,
    Pointer,
    Program,
    Word,
    native_entry,
)
from targets.abi.sequence_conversion import SequenceSpec, converter_words

from ...call_plan import (
    Allocated,
    Argument,
    Binding,
    Captured,
    ComplexPart,
    Field,
    KernelInterface,
    ListItems,
    ObjectMember,
    ResultSlot,
)
from ...frontend.ast_walk import walk_nodes
from ...host_nodes import (
    Helper,
    HostAttribute,
    HostCall,
    HostCapacity,
    HostConst,
    HostDisplay,
    HostExpr,
    HostHelper,
    HostItem,
    HostName,
    HostOp,
    host_source,
    numpy_function,
    to_ast,
)
from ...types.typeof import parameter_names
from ...types.value_types import ELEMENTS, ScalarType, WrappedFunction
from .float_errors import native_detects_changes
from .native_result import ResultProgram
from .not_native import NotNative
from .status_judgement import OnStatus, judged_in_c

__all__ = ["CallFrameLayout", "add_allocation", "call_spec", "native_call"]

_BINARY = {"add": ADD, "sub": SUB, "mul": MUL, "floordiv": DIV}
_HELPERS: dict[HostExpr, Any] = {
    numpy_function("empty"): np.empty, numpy_function("zeros"): np.zeros,
    HostHelper("max"): max, HostHelper("min"): min,
}
"""The functions whose calls have rows, by the host expressions that name them."""

_FIXED: dict[str, object] = {"math": math, "modules": sys.modules, "np": np}
"""Helpers from whose members or entries a path may start (`NameBinding.fixed`)."""

_HELPER_NAMES = {host_source(HostHelper(name)): name for name in get_args(Helper)}
"""The names of helpers in the source of a wrapper, and in a message."""


def _not_evaluated(e: HostExpr) -> NotNative:
    """The exception which says that C has no row for the expression `e`."""
    tree = to_ast(e)
    for name in (n for n in walk_nodes(tree) if isinstance(n, ast.Name)):
        name.id = _HELPER_NAMES.get(name.id, name.id)
    return NotNative(f"only Python can evaluate `{ast.unparse(tree)}`")


def add_allocation(
    program: Program,
    allocated: Allocated,
    layout: CallFrameLayout,
    refs: Mapping[HostExpr, object],
    capacity: np.ndarray,
) -> int:
    """Add rows to `program` that allocate the array; returns the start of its row.

    `layout`: the frame of the call; `refs`: the objects that names and attributes in the expression
    are bound to; `capacity`: see `list_capacity`. Raises NotNative.
    """
    if not isinstance(allocated.expr, HostCall):
        raise _not_evaluated(allocated.expr)
    reader = _AllocationReader(program, layout, _HELPERS | dict(refs), capacity)
    return reader.array(allocated.expr, allocated)


class _AllocationReader:
    """Translates the host expression of an allocation to rows of a `Program`.

    ``_objects``: the objects that names and attributes in it are bound to. All methods raise
    NotNative for expressions without a row.
    """

    def __init__(
        self, program: Program, layout: CallFrameLayout, objects: Mapping[HostExpr, object],
        capacity: np.ndarray,
    ) -> None:
        self._program, self._layout, self._objects = program, layout, objects
        self._capacity = capacity

    def array(self, call: HostCall, allocated: Allocated) -> int:
        """The row of an array: its constructor, dtype, and a row for each length."""
        constructor = self._bound_object(call.function)
        arguments = dict(zip(("shape", "dtype"), call.args, strict=False)) | dict(call.keywords)
        if len(arguments) < len(call.args) + len(call.keywords) or "shape" not in arguments:
            raise _not_evaluated(call)
        shape, dtype = arguments.pop("shape"), arguments.pop("dtype", None)
        if arguments:
            raise _not_evaluated(call)
        if constructor is np.empty or constructor is np.zeros:
            match shape:
                case HostDisplay(axes, is_list=False):
                    pass
                case _:
                    axes = (shape,)
            extents = [self._integer(axis) for axis in axes]
            descr, like = self._dtype(dtype, allocated)
            kind = ZEROS if constructor is np.zeros else EMPTY
        elif constructor is np.empty_like or constructor is np.zeros_like:
            descr = 0 if dtype is None else self._dtype(dtype, allocated)[0]
            if dtype is not None and not descr:
                raise _not_evaluated(call)
            made = ELEMENTS[allocated.type.dtype].numpy
            zeroed = made.itemsize if constructor is np.zeros_like else 0
            like, rank = self._argument(shape), allocated.type.rank
            return self._program.row(LIKE, descr, like, rank, zeroed, Pointer(made))
        else:
            raise _not_evaluated(call)
        return self._program.row(kind, descr, like, len(extents), *extents)

    def _dtype(self, dtype: HostExpr | None, allocated: Allocated) -> tuple[Word, int]:
        """The dtype of the array as two words: a dtype object and 0, or 0 and the place of an array
        that has the dtype. It must be the one that lowering has assumed.
        """
        expected = ELEMENTS[allocated.type.dtype].numpy
        match dtype:
            case HostAttribute(of, "dtype"):
                return 0, self._argument(of)
            case None:
                requested: Any = np.float64
            case HostConst(str(name)):
                requested = name
            case _:
                requested = self._bound_object(dtype)
        if np.dtype(requested) != expected:
            raise _not_evaluated(allocated.expr)
        return Pointer(expected), 0

    def _integer(self, e: HostExpr) -> int:
        """The row of an integer expression."""
        row = self._program.row
        match e:
            case HostConst(int(value)) if 0 <= value < 1 << 62:
                return row(NUMBER, value, 0)
            case HostName(name):
                return row(INTEGER, self._argument(e), Pointer(self._layout.integer_class(name)))
            case HostItem(HostAttribute(of, "shape"), HostConst(int(axis))) if axis >= 0:
                return row(EXTENT, self._argument(of), axis)
            case HostAttribute(of, "size"):
                return row(SIZE, self._argument(of), 0)
            case HostOp(op, (left, right)) if op in _BINARY:
                return row(_BINARY[op], self._integer(left), self._integer(right))
            case HostCall(function, (of,), ()) if self._bound_object(function) is len:
                return row(EXTENT, self._argument(of), 0)
            case HostCall(function, (a, b), ()) if self._bound_object(function) is max:
                return row(MOST, self._integer(a), self._integer(b))
            case HostCall(function, (a, b), ()) if self._bound_object(function) is min:
                return row(LEAST, self._integer(a), self._integer(b))
            case HostCapacity():
                return row(STORED, self._capacity.ctypes.data, 0)
        raise _not_evaluated(e)

    def _argument(self, e: HostExpr) -> int:
        """The index of the value of a name."""
        if isinstance(e, HostName) and e.name in self._layout.lengths:
            return self._layout.lengths[e.name]
        raise _not_evaluated(e)

    def _bound_object(self, e: HostExpr) -> object:
        """The object that a name or attribute is bound to."""
        try:
            return self._objects[e]
        except failures(KeyError):
            raise _not_evaluated(e) from None


class CallFrameLayout:
    """The frame of a call in C: each value of the call has a *place* in it, a number. They are in
    the order of `native_entry.CallSpec.sources`: arguments, captured values, derived values
    (members of objects, arrays of lists), allocated arrays.

    ``places``: the place of each value by its name; ``slots``: of a result slot, the index of its
    kernel parameter and its dtype; ``lengths``: as ``places``, but the name of a list means its
    array. Raises NotNative for values that only Python can compute.
    """

    def __init__(self, function: FunctionType, interface: KernelInterface) -> None:
        code = function.__code__
        self._cells = dict(zip(code.co_freevars, function.__closure__ or (), strict=True))
        self._parameters = parameter_names(code)
        self._captured_expressions = {c.name: c.expr for c in interface.captures}
        self.bindings: dict[str, Binding] = {b.name: b for b in interface.bindings}
        self.slots: dict[str, tuple[int, str]] = {}
        self._wrapped = {
            g.expr: g.value.__wrapped__ for g in interface.identity_guards
            if isinstance(g.value, WrappedFunction)
        }
        self.guarded_names = [
            self._name_binding(g.expr, Pointer(g.value)) for g in interface.identity_guards
        ]
        self.captured: list[NameBinding] = []
        self.derived: list[DerivedValue] = []
        self._derived_places: dict[HostExpr, int] = {}
        self.places = {name: place for place, name in enumerate(self._parameters)}
        self._count = len(self._parameters)
        for k, p in enumerate(interface.params):
            match self.bindings.get(p.name):
                case ResultSlot(name, dtype):
                    self.slots[name] = k, dtype
                case Captured(name) | ListItems(of=name, captured=True) if (
                    name not in self.places
                ):
                    self.captured.append(self._name_binding(HostName(name)))
                    self._add(name)
        self._add_derived_values(interface)
        self.lengths = dict(self.places)
        for b in interface.bindings:
            if isinstance(b, ListItems):
                self.lengths[b.of] = self.places[b.name]
        self.allocated = [b for b in interface.bindings if isinstance(b, Allocated)]
        for b in self.allocated:
            self._add(b.name)

    def _add(self, name: str) -> int:
        """Give the value of this name the next place."""
        self.places[name] = self._count
        self._count += 1
        return self.places[name]

    def _add_derived_values(self, interface: KernelInterface) -> None:
        """Add class checks of objects, and rows for the members of objects and items of lists."""
        for shape in interface.class_guards:
            number = -1 if shape.length is None else shape.length
            self.derived.append(
                DerivedValue(CHECKED, self._place_of(shape.expr), Pointer(shape.kind), number)
            )
        self.constants = [
            (self._place_of(g.expr), Pointer(g.value)) for g in interface.constant_arguments
        ]
        for b in interface.bindings:
            if isinstance(b, ObjectMember):
                self.places[b.name] = self._place_of(b.read)
        list_arguments = [b for b in interface.bindings if isinstance(b, ListItems)]
        stored_back = {p.name for p in interface.params if p.written} & {
            b.name for b in list_arguments if b.type.memory is None
        }
        if stored_back and any(len(b.type.kinds) > 1 for b in list_arguments):
            raise NotNative("only Python checks that the rows of a list are distinct objects")
        for b in list_arguments:
            items = SequenceSpec(b.type.stored.dtype, b.type.stored.weak, b.type.kinds)
            whole = self._place_of(b.read or HostName(b.of))
            words = Pointer(converter_words(items))
            self.derived.append(DerivedValue(ITEMS, whole, words, int(b.name in stored_back)))
            self._add(b.name)

    def _place_of(self, e: HostExpr) -> int:
        """The place of the value of `e`, a name, or an attribute or constant subscript of one; adds
        derived values for its parts. Raises NotNative for other expressions.
        """
        match e:
            case HostName(name) if name in self.places:
                return self.places[name]
            case HostAttribute() | HostItem() if e in self._derived_places:
                return self._derived_places[e]
            case HostAttribute(of, name):
                part = DerivedValue(ATTRIBUTE, self._place_of(of), Pointer(sys.intern(name)))
            case HostItem(of, HostConst(int(k))) if k >= 0:
                part = DerivedValue(ITEM, self._place_of(of), None, k)
            case HostItem(of, HostConst(str(key))):
                part = DerivedValue(KEYED, self._place_of(of), Pointer(sys.intern(key)))
            case _:
                raise _not_evaluated(e)
        self.derived.append(part)
        self._derived_places[e] = self._count
        self._count += 1
        return self._derived_places[e]

    def integer_class(self, name: str) -> type:
        """The class of the integer that has this name. In C, those of Python and NumPy's of 64 bits
        are added as Python does; where one overflows, Python does it.
        """
        ty = getattr(self.bindings.get(name), "type", None)
        is_of_numpy = isinstance(ty, ScalarType) and not ty.weak and ty.dtype == "i64"
        return np.int64 if is_of_numpy else int

    def place_of_parameter(self, name: str) -> int:
        """The place of the value of a kernel parameter; SLOT for a result slot."""
        match self.bindings.get(name):
            case Argument() | Captured() | Allocated() | ObjectMember() | ListItems() if (
                name in self.places
            ):
                return self.places[name]
            case ResultSlot() if name in self.slots:
                return SLOT
            case Field():
                raise NotNative(f"only Python reads the field of records that `{name}` is")
            case ComplexPart(of=whole):
                raise NotNative(f"only Python unpacks the complex number `{whole.name}`")
        raise NotNative(f"only Python can compute the parameter `{name}` of the kernel")

    def place_of_object(self, name: str) -> int:
        """The place of the object that a name of the result is bound to."""
        if name in self._parameters and name not in self.bindings:
            return self.places[name]
        return self.place_of_parameter(name)

    def pairs(self, interface: KernelInterface) -> list[tuple[int, int]]:
        """Pairs of places of arrays that may be one array."""
        place_of = self.place_of_parameter
        return [(place_of(a), place_of(b)) for a, b in interface.in_place]

    def _name_binding(self, expr: HostExpr, expected: Pointer | None = None) -> NameBinding:
        """A name outside of the function, or what is reached from it in steps, that C looks up at
        each call: ``np.sqrt`` is the global ``np`` and the step MEMBER "sqrt". The steps to an
        attribute of a fused function begin at the function that is in it, since C looks up none of
        other objects; that the name is bound to the fused function is another guard.
        """
        steps: list[tuple[int, str | int | None]] = []
        step: tuple[int, str | int | None]
        e = expr
        wrapped: tuple[FunctionType, int] | None = None
        while not isinstance(e, HostHelper):
            if steps and wrapped is None and e in self._wrapped:
                wrapped = self._wrapped[e], len(steps)
            match e:
                case HostName(name) if name in self._captured_expressions:
                    e = self._captured_expressions[name]
                    continue
                case HostName(name):
                    break
                case HostCall(HostHelper("type"), (of,), ()):
                    step = CLASS, None
                case HostAttribute(of, "__code__"):
                    step = CODE, None
                case HostAttribute(of, "__globals__"):
                    step = GLOBALS, None
                case HostAttribute(of, "__defaults__"):
                    step = DEFAULTS, None
                case HostAttribute(of, "__kwdefaults__"):
                    step = NAMED_DEFAULTS, None
                case HostAttribute(of, attribute) if "__" not in attribute:
                    step = MEMBER, attribute
                case HostItem(of, HostConst(str(key))):
                    step = ENTRY, key
                case HostItem(HostAttribute(_, "__defaults__") as of, HostConst(int(index))):
                    step = AT, index
                case HostOp("in", (HostConst(str(key)), of)):
                    step = HAS, key
                case _:
                    raise _not_evaluated(expr)
            steps.append(step)
            e = of
        way = tuple(reversed(steps))
        if isinstance(e, HostHelper):
            if e.name not in _FIXED:
                raise _not_evaluated(expr)
            return NameBinding(e.name, way, fixed=Pointer(_FIXED[e.name]), expected=expected)
        is_mangled = "__" in name and not name.endswith("__")  # perhaps, in a class
        if name in self._parameters or is_mangled:
            raise _not_evaluated(expr)
        if wrapped is not None:
            function, count = wrapped
            start = len(way) - count
            return NameBinding(name, way[start:], None, Pointer(function), expected, way[:start])
        return NameBinding(name, way, self._cells.get(name), expected=expected)


def native_call(
    function: FunctionType, interface: KernelInterface, entry: LoadedKernel, python: FunctionType,
    on_status: OnStatus, calls: np.ndarray, silent: np.ndarray, capacity: np.ndarray,
) -> Callable[..., Any]:
    """The builtin that performs calls of `function` in C (`tp_whole` of whole.c), and passes those
    whose arguments do not fit to ``python``, the wrapper.

    `call_spec` describes the call, from the interface of the kernel, as a `CallSpec`;
    `native_entry` encodes that for C. Raises NotNative where some part has no description, so that
    `python` performs all calls; `Variant.attach` catches it, and keeps the reason.

    ``on_status``: judges a status that is not 0 (`Variant.attach`); ``calls``: its element counts
    the calls performed in C; ``silent``, ``capacity``: see `CallSpec`.
    """
    call = call_spec(function, interface, python, on_status, calls, silent, capacity)
    builtin = native_entry(entry, call)
    if builtin is None:
        raise NotNative("the call has too many values, or C cannot perform calls on this machine")
    return builtin


def _require_native(code: CodeType, interface: KernelInterface, needs_quiet_state: bool) -> None:
    """Raise NotNative for functions with ``*args`` or ``**kwargs``; for kernels whose replay
    depends on an error state that C cannot compare; and for random generators.
    """
    if code.co_flags & (CO_VARARGS | CO_VARKEYWORDS):
        raise NotNative("the function has `*args` or `**kwargs`")
    if needs_quiet_state and not native_detects_changes():
        raise NotNative("C cannot tell here whether `np.errstate` has changed")
    if any(capture.generator for capture in interface.captures):
        raise NotNative("the function draws from a random number generator")


def call_spec(
    function: FunctionType, interface: KernelInterface, python: FunctionType, on_status: OnStatus,
    calls: np.ndarray, silent: np.ndarray, capacity: np.ndarray,
) -> CallSpec:
    """The `CallSpec` of the whole call. Raises NotNative for calls that cannot be made natively."""
    code, namespace = function.__code__, function.__globals__
    builtins = getattr(python, "__builtins__", None)
    needs_quiet_state = bool(interface.writes and interface.sources) and not interface.snapshot
    _require_native(code, interface, needs_quiet_state)
    if not type(namespace) is type(builtins) is dict:
        raise NotNative("the globals or the builtins of the function are no plain dict")
    places, program = CallFrameLayout(function, interface), Program()
    ResultProgram(places, program).add(interface.returned)
    identities = {guard.expr: guard.value for guard in interface.identity_guards}
    allocated = [
        add_allocation(program, b, places, identities, capacity)
        for b in places.allocated
    ]
    sources = [places.place_of_parameter(p.name) for p in interface.params]
    written = [k for k, p in enumerate(interface.params) if p.name in interface.writes]
    parameters = ParameterList.of(function)
    assert parameters is not None  # `_require_native`
    always = interface.snapshot
    pairs = () if always or interface.rewrites else tuple(places.pairs(interface))
    may_overwrite_input = bool(interface.rewrites or pairs)
    most = sys.maxsize if always else interface.copied_up_to
    copying, on_raw_status = judged_in_c(sources, written, pairs, most, on_status)
    return CallSpec(
        name=function.__name__,
        parameters=parameters,
        constants=places.constants,
        names=namespace,
        builtins=builtins,
        guarded_names=places.guarded_names,
        captured=places.captured,
        derived=places.derived,
        allocated=allocated,
        sources=sources,
        program=program,
        needs_quiet_state=needs_quiet_state,
        python=python,
        on_status=on_raw_status,
        copying=(
            copying if always or (interface.copied_up_to and may_overwrite_input) else None
        ),
        calls=calls,
        silent=silent,
        capacity=capacity,
    )
