"""Python wrapper of a kernel: checks, allocations, one call of the kernel, the result.

The wrapper is generated as source, with the globals and closure cells of the user's function, so
that names mean the same as there. Names ``_tp_…`` are cells of its own: `make_wrapper` explains
``fast``, ``judge`` and ``fallback``; ``failures`` are all Exceptions but what a signal handler
raises. For ``scale(x, k)``, which returns a new array:

    nonlocal _tp_calls
    try:
        if not (len is _tp_r0 and _tp_type(x) is _tp_ndarray):
            raise _tp_mismatch
        out = _np.empty(len(x), _np.float64)
        _tp_fits = True
    except _tp_failures():
        _tp_fits = False
    if not _tp_fits:
        return _tp_fallback("", (x, k, ))(x, k)
    _tp_status = _tp_fast(x, out, k)
    if _tp_status:
        _tp_code = _tp_judge(_tp_status, (x, out, k, ), ())
    if _tp_status and _tp_code is not None:
        return _tp_fallback(_tp_code, (x, k, ))(x, k)
    _tp_calls += 1
    return out
"""
from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from types import CellType, FunctionType
from typing import Any

import numpy as np

from loopir.dtypes import DTYPES
from loopir.process.signal_exceptions import failures
from targets.abi.sequence_conversion import SequenceSpec, sequence_converter

from ...call_plan import (
    Allocated,
    Argument,
    Binding,
    Captured,
    ClassGuard,
    ComplexPart,
    Field,
    IdentityGuard,
    KernelInterface,
    ListItems,
    ObjectMember,
    ResultSlot,
    field_expression,
)
from ...host_nodes import host_names, host_operand, host_source
from ...types.typeof import global_type, type_of
from ...types.value_types import ArrayType, ScalarType, scalar_class
from .float_errors import QUIET_STATE, errors_observable, errors_or_underflow_observable, errstate
from .list_capacity import grow_capacity, new_capacity
from .result_source import result_source
from .snapshot import (
    Snapshot,
    all_distinct,
    any_same_memory,
    copy_arrays,
    greatest,
    least,
    total_bytes,
)
from .stub_functions import (
    Arguments,
    arguments_source,
    forwarding_source,
    make_condition,
    make_stub,
)

__all__ = ["source_bindings", "make_binding_test", "make_wrapper"]

_HELPERS: dict[str, Any] = {
    "abs": abs, "bool": bool, "float": float, "greatest": greatest, "int": int, "least": least,
    "math": math, "max": max, "min": min, "modules": sys.modules, "np": np, "round": round,
    "type": type,
}
"""What a `HostHelper` stands for; ``draws`` is added where it is used."""


class _Mismatch(Exception):
    """The call does not match what the kernel was compiled for."""


class _WrapperSource:
    """The source of one wrapper, and the values of helper names in it.

    ``helpers``: objects by the generated names (``_tp_…``) that the source uses, which become cells
    of the wrapper. ``forwarded``: source of an argument list that forwards all arguments;
    ``fallback_end``: the end of a call of ``_tp_fallback``. ``slots``: bindings of scalar results.
    """

    def __init__(self, function: FunctionType, interface: KernelInterface) -> None:
        code = function.__code__
        self.interface = interface
        self.forwarded = forwarding_source(code)
        self.fallback_end = f"{arguments_source(code)})({self.forwarded})"
        self.helpers: dict[str, Any] = {f"_{name}": value for name, value in _HELPERS.items()}
        if interface.overflow_slot is not None:
            self.helpers |= {"_tp_room": new_capacity(), "_tp_more": grow_capacity}
        if any(capture.generator for capture in interface.captures):
            from ... import random_numbers  # most kernels do without

            self.helpers["_draws"] = random_numbers
        used = {p.name for p in interface.params}
        self.bindings = [
            b for b in interface.bindings if b.name in used or isinstance(b, Allocated)
        ]
        self.slots = [b for b in self.bindings if isinstance(b, ResultSlot)]
        self.dtypes = {b.name: b.dtype for b in self.slots}

    def add_helper(self, kind: str, value: Any) -> str:
        """A new helper name for `value`, which the source can use from now on."""
        name = f"_tp_{kind}{len(self.helpers)}"
        self.helpers[name] = value
        return name

    def cells(self) -> dict[str, CellType]:
        """The helpers as closure cells."""
        return {name: CellType(value) for name, value in self.helpers.items()}

    def value_name(self, name: str) -> str:
        """The name in the wrapper of what is passed to the kernel for its parameter `name`."""
        match next((b for b in self.bindings if b.name == name), None):
            case ResultSlot():
                return f"_tps_{name}"
            case ComplexPart():
                return f"_tpv_{name}"
            case _:
                return self.object_name(name)

    def object_name(self, name: str) -> str:
        """The name in the wrapper of the Python object `name`: a captured one has a name of its
        own, to which the value that was checked is assigned.
        """
        captured = (b.name for b in source_bindings(self.bindings) if isinstance(b, Captured))
        return f"_tpc_{name}" if name in captured else name

    def identity_guards(self) -> list[str]:
        """The conditions that names are bound to the objects that the kernel assumes, as source:
        ``np.sum is _tp_r3``, where the cell ``_tp_r3`` holds NumPy's function at compile time.

        One for each guard that `with_binding_guards` and the macros have put into the plan. They
        stand in the wrapper, so that a call where one fails raises `_Mismatch` and goes to the
        dispatcher (`_conditions`), and in `make_binding_test`. A call in C tests the same guards
        (``guarded_names_hold`` in ``targets/abi/values.c``).
        """
        return [
            f"{host_operand(ref.expr)} is {self.add_helper('r', ref.value)}"
            for ref in self.interface.identity_guards
        ]

    def captures(self) -> list[str]:
        """Source of assignments: values that the kernel takes, derived from arguments and captured
        names, such as the state of a random generator.
        """
        return [f"{c.name} = {host_source(c.expr)}" for c in self.interface.captures]

    def prologue(self) -> Iterator[str]:
        """The statements before the call of the kernel, in a ``try``: what they raise means that
        the arguments do not fit, and ``_tp_fallback`` selects what runs the call instead.
        """
        lines = [*self.captures(), *self._conditions()]
        sources = source_bindings(self.bindings)
        lines += (f"_tpc_{b.name} = {b.name}" for b in sources if isinstance(b, Captured))
        lines += self._members_of_objects()
        lines += self._lists_to_arrays()
        fields = (b for b in self.bindings if isinstance(b, Field))
        lines += (f"{b.name} = {host_source(field_expression(b.array, b.path))}" for b in fields)
        lines += self._allocations()
        lines += self._complex_parts()
        if lines:
            yield "try:"
            yield from (f"    {line}" for line in lines)
            yield "    _tp_fits = True"
            yield f"except {self.add_helper('e', partial(failures, Exception))}():"
            yield "    _tp_fits = False"
            yield "if not _tp_fits:"  # not in the handler, where an exception would get a context
            yield from (f"    {line}" for line in self.release_memory())
            yield f"    return _tp_fallback('', {self.fallback_end}"

    def _conditions(self) -> Iterator[str]:
        """Source of the conditions on which the wrapper may call the kernel. `prologue` puts it
        first, inside a ``try``: where a condition fails, ``_tp_fallback`` selects what runs the
        call instead. The types and layouts of the kernel's parameters are not tested here, but by
        its entry in C (`take_array`, `take_scalar`).

        For a kernel that was compiled for ``axis=0``, calls NumPy's ``sqrt`` and returns a new
        array as long as ``x``, the source is, with readable names in place of ``_tp_…``::

            if not ((axis is ZERO or type(axis) is int and axis == ZERO)
                    and np.sqrt is NUMPY_SQRT and type(x) is ndarray):
                raise _Mismatch

        The conditions, where the kernel needs them, in the order in which they are tested:

        1. an object whose members are read has the class, and a tuple the length, that was compiled
           for: else reading a member could run code of the user's;
        2. a parameter that was specialised by value has that value;
        3. a global name is bound to the object that was compiled in (`identity_guards`);
        4. an array of records has the dtype for which the offsets of its fields were computed;
        5. if the wrapper allocates arrays, all array arguments are arrays, since it reads their
           lengths: the ``len`` of another class could have side effects, and Python, which then
           runs the call, would repeat them.

        Yields nothing if there are no conditions.
        """
        interface = self.interface
        conditions = [
            *map(self._has_class_and_length, interface.class_guards),
            *map(self._has_constant_value, interface.constant_arguments),
        ]
        conditions += self.identity_guards()
        records = {b.array: b.of.dtype for b in self.bindings if isinstance(b, Field)}
        if records:
            type_name, ndarray_name = self.add_helper("f", type), self.add_helper("t", np.ndarray)
            for name, dtype in records.items():
                has_dtype = f"{name}.dtype == {self.add_helper('t', dtype)}"
                conditions.append(f"{type_name}({name}) is {ndarray_name} and {has_dtype}")
        if any(isinstance(b, Allocated) for b in self.bindings):
            type_name, ndarray_name = self.add_helper("f", type), self.add_helper("t", np.ndarray)
            arguments = (b for b in self.bindings if isinstance(b, Argument))
            names = (b.name for b in arguments if isinstance(b.type, ArrayType))
            conditions += [f"{type_name}({name}) is {ndarray_name}" for name in names]
        if conditions:
            yield f"if not ({' and '.join(conditions)}):"
            yield f"    raise {self.add_helper('e', _Mismatch)}"

    def _has_class_and_length(self, shape: ClassGuard) -> str:
        """The condition that an object has its class and length."""
        whole = host_source(shape.expr)
        has_class = f"{self.add_helper('f', type)}({whole}) is {self.add_helper('t', shape.kind)}"
        if shape.length is None:
            return has_class
        return f"{has_class} and {self.add_helper('f', len)}({whole}) == {shape.length}"

    def _members_of_objects(self) -> Iterator[str]:
        """Source that assigns members of objects to names; one that the kernel takes as an array
        must be an array.
        """
        type_name, ndarray_name = self.add_helper("f", type), self.add_helper("t", np.ndarray)
        for b in self.bindings:
            if isinstance(b, ObjectMember):
                yield f"{b.name} = {host_source(b.read)}"
                if isinstance(b.type, ArrayType):
                    yield f"if {type_name}({b.name}) is not {ndarray_name}:"
                    yield f"    raise {self.add_helper('e', _Mismatch)}"
            elif isinstance(b, ListItems) and b.read is not None:
                yield f"{b.of} = {host_source(b.read)}"

    def _allocations(self) -> Iterator[str]:
        """Source that allocates arrays, after a check that the scalars in their expressions have
        the types of the kernel's. Operators of other classes could run code of the user's, or wrap
        around with a warning of NumPy's, as ``n * 2`` of an int8. The kernel's entry would see the
        other type only afterwards. Where an integer of NumPy's overflows, Python makes the call: it
        warns, and most often raises.
        """
        allocated = [b for b in self.bindings if isinstance(b, Allocated)]
        read_names = {name for b in allocated for name in host_names(b.expr)}
        scalars = (b for b in self.bindings if isinstance(b, Argument | Captured | ObjectMember))
        classes = {
            b.name: scalar_class(b.type)
            for b in scalars if isinstance(b.type, ScalarType) and b.name in read_names
        }
        if classes:
            type_name = self.add_helper("f", type)
            conditions = [
                f"{type_name}({name}) is {self.add_helper('t', kind)}"
                for name, kind in classes.items()
            ]
            yield f"if not ({' and '.join(conditions)}):"
            yield f"    raise {self.add_helper('e', _Mismatch)}"
        lines = [f"{b.name} = {host_source(b.expr)}" for b in allocated]
        if any(issubclass(kind, np.generic) for kind in classes.values()):
            yield f"with {self.add_helper('f', np.errstate)}(over='raise'):"
            lines = ["    " + line for line in lines]
        yield from lines

    def _lists_to_arrays(self) -> Iterator[str]:
        """Source that converts lists to arrays. If the kernel writes one of these, all must be
        converted, and all lists and rows in them be distinct objects.
        """
        list_bindings = [b for b in self.bindings if isinstance(b, ListItems)]
        for b in list_bindings:
            arrays = b.name if b.flags is None else f"{b.name}, {b.flags}"
            yield f"{arrays} = {self.converter(b, False)}({b.of})"
        if any(True for _ in self.written_lists()):
            lists = "".join(f"{b.of}, " for b in list_bindings)
            rows = "".join(f"*{b.of}, " for b in list_bindings if b.type.kinds[1:] == (list,))
            is_unconverted = "".join(f"{b.name} is None or " for b in list_bindings)
            yield f"if {is_unconverted}not {self.add_helper('f', all_distinct)}(({lists}{rows})):"
            yield f"    raise {self.add_helper('e', _Mismatch)}"

    def written_lists(self) -> Iterator[ListItems]:
        """The lists into which items are stored back after the kernel: those whose arrays it
        writes. If Python replays the call, nothing is stored back: the lists are as they were
        before. A memoryview or an array.array shares its memory with the array, so the kernel has
        written it already.
        """
        written = {p.name for p in self.interface.params if p.written}
        return (
            b for b in self.bindings
            if isinstance(b, ListItems) and b.name in written and b.type.memory is None
        )

    def release_memory(self) -> Iterator[str]:
        """Source that drops the arrays which share the memory of an array.array. While such an
        array lives, the array.array cannot change its length, and so a replay could fail.
        """
        return (
            f"{b.name} = None" for b in self.bindings
            if isinstance(b, ListItems) and b.type.memory is not None
        )

    def converter(self, b: ListItems, back: bool) -> str:
        """The helper name of the function that converts the list of `b` to an array, or with `back`
        stores the array into it.
        """
        items = SequenceSpec(b.type.stored.dtype, b.type.stored.weak, b.type.kinds)
        if b.flags is not None:
            return self.add_helper("m", items.put_mixed if back else items.take_mixed)
        return self.add_helper("m", sequence_converter(items, back))

    def _has_constant_value(self, ref: IdentityGuard) -> str:
        """The condition that a parameter has the value for which the kernel was specialised."""
        value_name, name = self.add_helper("r", ref.value), host_operand(ref.expr)
        if ref.value is None:
            return f"{name} is None"
        type_name, class_name = self.add_helper("f", type), self.add_helper("t", type(ref.value))
        has_type = f"{type_name}({name}) is {class_name}"
        return f"({name} is {value_name} or ({has_type} and {name} == {value_name}))"

    def _complex_parts(self) -> Iterator[str]:
        """Source that assigns the parts of complex numbers to names, after checks of their types.
        """
        parts = [b for b in self.bindings if isinstance(b, ComplexPart)]
        for name, ty in dict.fromkeys((b.of.name, b.type) for b in parts):
            type_source = f"{self.add_helper('f', type)}({self.object_name(name)})"
            yield f"if {type_source} is not {self.add_helper('t', scalar_class(ty))}:"
            yield f"    raise {self.add_helper('e', _Mismatch)}"
        yield from (f"_tpv_{b.name} = {self.object_name(b.of.name)}.{b.part}" for b in parts)

    def body(self) -> Iterator[str]:
        """The statements of the wrapper."""
        yield "nonlocal _tp_calls"
        yield from self.prologue()
        if self.slots:
            yield from self._take_slots()
        generators = [
            host_source(c.generator) for c in self.interface.captures if c.generator
        ]
        if generators:
            yield f"with _draws.locked({', '.join(generators)}):"
        yield from (f"    {line}" if generators else line for line in self._call())
        yield "if _tp_status and _tp_code is not None:"
        if self.interface.overflow_slot is not None:
            slot = self.value_name(self.interface.overflow_slot)
            yield f"    if _tp_more(_tp_status, {slot}, _tp_room):"
            yield f"        return _tp_again({self.forwarded})"
        yield from (f"    {line}" for line in self.release_memory())
        yield f"    return _tp_fallback(_tp_code, {self.fallback_end}"
        yield "_tp_calls += 1"
        captures = self.interface.captures
        yield from (host_source(c.write_back) for c in captures if c.write_back)
        for b in self.written_lists():
            arrays = b.name if b.flags is None else f"{b.name}, {b.flags}"
            yield f"{self.converter(b, True)}({b.of}, {arrays})"
        result = result_source(self.interface.returned, self)
        if self.slots:
            yield f"_tp_result = {result}"
            yield f"_tp_pool.append({self._slot_names()})"
            result = "_tp_result"
        yield f"return {result}"

    def _call(self) -> Iterator[str]:
        """The call of the kernel, and of ``judge`` for a non-zero status."""
        arguments = "".join(f"{self.value_name(p.name)}, " for p in self.interface.params)
        saved, call = self._snapshot(), f"_tp_status = _tp_fast({arguments})"
        if saved == "()":
            yield call
        else:  # without memory for copies, as where the arguments do not fit
            yield "try:"
            yield f"    _tp_saved = {saved}"
            yield "    _tp_status = 0"
            yield f"except {self.add_helper('e', partial(failures, Exception))}():"
            yield "    _tp_saved, _tp_status = (), -1"
            yield "if not _tp_status:"
            yield f"    {call}"
            saved = "_tp_saved"
        yield "if _tp_status:"
        yield f"    _tp_code = _tp_judge(_tp_status, ({arguments}), {saved})"

    def _take_slots(self) -> Iterator[str]:
        """Source that takes the result slots from a pool, since to allocate them is the most
        expensive part of a small fold. Calls in several threads take different ones; `body` gives
        them back after the result was made.
        """
        dtypes = [DTYPES[b.dtype].numpy for b in self.slots]
        make = self.add_helper("f", lambda: tuple(np.empty((), dtype) for dtype in dtypes))
        self.helpers["_tp_pool"] = []
        yield "try:"
        yield f"    {self._slot_names()} = _tp_pool.pop()"
        yield f"except {self.add_helper('e', IndexError)}:"
        yield f"    {self._slot_names()} = {make}()"

    def _slot_names(self) -> str:
        return f"({''.join(f'_tps_{b.name}, ' for b in self.slots)})"

    def _snapshot(self) -> str:
        """Source of the snapshot: a tuple of pairs (array, copy) of what the kernel is going to
        overwrite, if Python may have to replay the call; else ``()``. The cases are those of the
        table in ``lower/assemble_plan.py``, in another order, as some are known here (1, 2), and
        others only in a call (3), for which a condition is generated::

            1. never                    ()
            2. always                   copy_arrays((out, ))
            3. errstate observable,     copy_arrays((out, )) if state != quiet_state and
               or small enough              errors_observable() or total_bytes((out, )) <= 32768
                                            else ()

        The number is `Plan.copied_up_to`. If that is 0, or the kernel surely reads nothing that it
        writes, the condition is the error state alone.
        """
        interface = self.interface
        if not interface.writes or not (interface.snapshot or interface.sources):
            return "()"
        written = "".join(f"{self.value_name(n)}, " for n in interface.writes)
        saved = f"{self.add_helper('f', copy_arrays)}(({written}))"
        if interface.snapshot:
            return saved
        self.helpers |= {
            "_tp_warnings": warnings,
            "_tp_quiet_state": QUIET_STATE,
            "_tp_errstate": errstate,
        }
        current = "(_tp_errstate(), _tp_warnings.filters)"
        may_underflow = any(s.status == "under" and not s.certain for s in interface.sources)
        is_observable = errors_or_underflow_observable if may_underflow else errors_observable
        observable = f"{self.add_helper('f', is_observable)}()"
        condition = f"{current} != _tp_quiet_state.error_state and {observable}"
        may_overwrite_what_it_reads = interface.rewrites or interface.in_place
        if interface.copied_up_to and may_overwrite_what_it_reads:
            condition += f" or {self._overwrites_little(written)}"
        return f"{saved} if {condition} else ()"

    def _overwrites_little(self, written: str) -> str:
        """The condition that the kernel overwrites what it reads, and little enough to be copied.
        """
        interface = self.interface
        cheap = f"{self.add_helper('f', total_bytes)}(({written})) <= {interface.copied_up_to}"
        names = ((self.value_name(a), self.value_name(b)) for a, b in interface.in_place)
        pairs = "".join(f"({a}, {b}), " for a, b in names)
        return (
            cheap
            if interface.rewrites
            else f"{cheap} and {self.add_helper('f', any_same_memory)}(({pairs}))"
        )


def source_bindings(bindings: Iterable[Binding]) -> list[Binding]:
    """The bindings, with each complex number in place of its parts."""
    return list(dict.fromkeys(b.of if isinstance(b, ComplexPart) else b for b in bindings))


def make_binding_test(
    function: FunctionType, interface: KernelInterface
) -> Callable[[Arguments], bool]:
    """The test by which a variant is chosen (`Variant.applies`): a function that tells whether the
    kernel is right for what the global and closure names that it depends on mean now. For a kernel
    that calls ``np.sqrt`` and reads a global ``WEIGHTS``, it returns the value of::

        np.sqrt is _tp_r0 and _tp_f1(WEIGHTS) == _tp_t2       # `type_of`, and the type it had

    - Functions, classes and constants were compiled in: they must be the same objects;
    - arrays, numbers and lists are read at each call: they must be of the same types.

    It takes the arguments of the call, since a guarded name may be a member of one.
    """
    source = _WrapperSource(function, interface)
    conditions = source.identity_guards()
    for b in source_bindings(interface.bindings):
        match b:
            case Captured(name, ty) | Field(array=name, of=ty, captured=True):
                reader = source.add_helper("f", type_of)
                conditions.append(f"{reader}({name}) == {source.add_helper('t', ty)}")
            case ListItems(_, name, ty, captured=True):
                reader = source.add_helper("f", global_type)
                conditions.append(f"{reader}({name}) == {source.add_helper('t', ty)}")
    return make_condition(
        function, source.captures(), " and ".join(conditions) or "True", source.cells()
    )


def make_wrapper(
    function: FunctionType,
    interface: KernelInterface,
    fast: Callable[..., int],
    *,
    fallback: Callable[[str, Arguments], Callable[..., Any]],
    judge: Callable[[int, tuple[Any, ...], Snapshot], str | None],
    calls: CellType,
    capacity: np.ndarray[Any, Any] | None = None,
) -> FunctionType:
    """The Python wrapper: a generated function with the parameters of `function`, which performs a
    call by the kernel ``fast``; the module's docstring has an example. `Variant.attach` makes it,
    and uses it for calls that C cannot perform.

    - ``fast(*parameters)``: checks and unpacks its arguments, runs the kernel, returns the status;
    - ``judge(status, given, saved)``: for a status that is not 0. None if the result is valid; else
      it has restored the arrays in the snapshot `saved`, and returns the code of the reason;
    - ``fallback(code, values)``: the function to call instead, mostly the original, after `judge`
      has returned a code, or with the code "" if the arguments do not fit;
    - ``calls``: the cell in which valid results are counted;
    - ``capacity``: how many items the lists that the kernel makes have room for; an array, as the
      builtin in C reads it, too. Where the room was too small, the wrapper enlarges it and calls
      itself again, by the name ``_tp_again`` (`list_capacity`).
    """
    source = _WrapperSource(function, interface)
    if interface.overflow_slot is not None and capacity is not None:
        source.helpers["_tp_room"] = capacity
    callbacks = {"_tp_fast": fast, "_tp_fallback": fallback, "_tp_judge": judge}
    body = [*source.body()]
    helpers = source.cells() | {name: CellType(f) for name, f in callbacks.items()}
    itself = CellType()
    wrapper = make_stub(function, body, helpers | {"_tp_calls": calls, "_tp_again": itself})
    itself.cell_contents = wrapper
    return wrapper
