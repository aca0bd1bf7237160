"""Why a kernel did not accept arguments whose types fit: the guard's code, and the argument.

The kernel's prologue in C only says that something did not fit. `Variant.mismatch` asks here after
such a call, so that the report can name the argument: ``GUARD_READONLY, "`y` is written, and the
array is read-only"``.
"""
from __future__ import annotations

import inspect
import operator
from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from types import FunctionType
from typing import Any

import numpy as np

from targets.abi.portable_call import has_internal_overlap
from targets.abi.sequence_conversion import shared_array

from ...call_plan import (
    Argument,
    ArgumentMismatch,
    Captured,
    Field,
    KernelInterface,
    ListItems,
    ObjectMember,
)
from ...host_nodes import HostAttribute, HostExpr, HostName, host_names, host_source
from ...types.int_limits import INT64, help_for_long_int
from ...types.typeof import parameter_names, type_of
from ...types.value_types import Constant, ListType, ScalarType

__all__ = ["argument_mismatch"]


def argument_mismatch(
    function: FunctionType, interface: KernelInterface, call_arguments: Sequence[object],
    *, lists: bool,
) -> ArgumentMismatch | None:
    """What was wrong with the arguments of a call whose types are those of the kernel, but which
    its prologue has not accepted: found by looking at the arguments again. The first that applies:

    - an array that the kernel writes is read-only: GUARD_READONLY. Python raises ValueError;
    - elements of such an array share memory, as with a stride of 0: GUARD_ALIAS, since passes
      reorder its stores. (Two arrays that overlap have the same code, but another guard: a
      `Disjoint` of the kernel, whose status `Variant._judge_and_restore` reads.);
    - a Python int that is an argument, a member of one, or a global or closure variable does not
      fit 64 bits: GUARD_INT_RANGE;
    - with ``lists``, which takes time, an item of a list is of another type or length than the
      first one, GUARD_DTYPE, or an int that does not fit 64 bits, GUARD_INT_RANGE; or two of
      these lists, or of their rows, are the same object, GUARD_ALIAS.

    None where it is none of them, as after an allocation that failed.
    """
    values: dict[str, Any] = dict(
        zip(parameter_names(function.__code__), call_arguments, strict=True)
    )
    written = [*_written_arrays(interface, values)]
    for name, array in written:
        if not array.flags.writeable:
            what = "the array" if isinstance(values[name], np.ndarray) else "its memory"
            message = f"`{name}` is written, and {what} is read-only"
            return ArgumentMismatch("GUARD_READONLY", name, message)
    for name, array in written:
        if has_internal_overlap(array):
            message = f"elements of `{name}` share memory with each other"
            return ArgumentMismatch("GUARD_ALIAS", name, message)
    captured: dict[str, HostExpr] = {c.name: c.expr for c in interface.captures}
    for read in _ints_that_are_read(interface):
        expr = captured.get(read.name, read) if isinstance(read, HostName) else read
        value = _value_of(expr, values, function)
        if isinstance(value, int) and _is_long(value):
            return _too_long(next(host_names(expr)), host_source(expr), value)
    for items in interface.bindings if lists else ():
        if isinstance(items, ListItems):
            expr = items.read or captured.get(items.of, HostName(items.of))
            value, place = _value_of(expr, values, function), host_source(expr)
            odd_items = _odd_items(value, items.type, place, next(host_names(expr)))
            if isinstance(value, (list, tuple)) and (odd := next(odd_items, None)) is not None:
                return odd
    return _shared_lists(interface, values, function) if lists else None


def _ints_that_are_read(interface: KernelInterface) -> Iterator[HostExpr]:
    """The expressions of the Python ints that the kernel takes: arguments, captured names, members
    of objects.
    """
    for b in interface.bindings:
        if isinstance(b, Argument | Captured) and b.type == _INT:
            yield HostName(b.name)
        elif isinstance(b, ObjectMember) and b.type == _INT:
            yield b.read


_INT = ScalarType("i64", weak=True)


def _value_of(e: HostExpr, values: Mapping[str, Any], function: FunctionType) -> object:
    """The value of `e`, a name or an attribute, in a call of `function` with the arguments
    ``values``; None for other expressions, and where code of the user's would run.
    """
    match e:
        case HostName(name):
            names, closure = function.__code__.co_freevars, function.__closure__ or ()
            cells = dict(zip(names, closure, strict=True))
            if name in values:
                return values[name]
            if name in cells:
                return cells[name].cell_contents
            return function.__globals__.get(name)
        case HostAttribute(of, name):
            return inspect.getattr_static(_value_of(of, values, function), name, None)
    return None


def _written_arrays(
    interface: KernelInterface, values: Mapping[str, Any]
) -> Iterator[tuple[str, Any]]:
    """The arrays of the caller that the kernel writes, each with the name of its argument: an array
    itself, a field of an array of records, or the memory of a packed sequence such as a bytearray.
    ``values``: the arguments, by name.
    """
    written = [b for b in interface.bindings if b.name in interface.writes]
    for b in written:
        if isinstance(b, Argument):
            yield b.name, values[b.name]
    for b in written:
        if isinstance(b, Field) and not b.captured:
            yield b.array, reduce(operator.getitem, b.path, values[b.array])
    for b in written:
        if isinstance(b, ListItems) and b.type.memory and b.of in values:
            yield b.of, shared_array(values[b.of], b.type.memory.dtype)


def _shared_lists(
    interface: KernelInterface, values: Mapping[str, Any], function: FunctionType
) -> ArgumentMismatch | None:
    """Two lists of numbers among the arguments, their attributes and their rows that are the same
    object, so that a store to one changes the other; None if there are none.
    """
    first: dict[int, str] = {}
    for items in interface.bindings:
        if not isinstance(items, ListItems) or items.captured:
            continue
        expr = items.read or HostName(items.of)
        for place, numbers in _rows(_value_of(expr, values, function), host_source(expr)):
            if (known := first.setdefault(id(numbers), place)) != place:
                help = "make each list anew, for instance `[[0] * n for _ in range(m)]`"
                message = f"`{known}` and `{place}` are the same list"
                argument = next(host_names(expr))
                return ArgumentMismatch("GUARD_ALIAS", argument, message, help)
    return None


def _rows(value: Any, place: str) -> Iterator[tuple[str, list[Any]]]:
    """The lists in `value` whose items are no lists, with the text that subscripts them."""
    if isinstance(value, list) and not (value and isinstance(value[0], (list, tuple))):
        yield place, value
    elif isinstance(value, (list, tuple)):
        for index, item in enumerate(value):
            yield from _rows(item, f"{place}[{index}]")


def _is_long(value: object) -> bool:
    """Whether this is an int that does not fit 64 bits."""
    return isinstance(value, int) and not INT64[0] <= value <= INT64[1]


def _too_long(argument: str, place: str, value: int) -> ArgumentMismatch:
    """The int `value` at `place` in an argument, or that itself, does not fit 64 bits."""
    message = f"`{place}` does not fit an int of 64 bits"
    help = help_for_long_int(value) if place == argument else None  # of an item that of the code
    return ArgumentMismatch("GUARD_INT_RANGE", argument, message, help)


def _odd_items(
    items: Any, expected: ListType, name: str, argument: str
) -> Iterator[ArgumentMismatch]:
    """For the report: the items of the list `name` that do not fit its type `expected`, which came
    from the first item. For ``x = [1.0, 2, 3.0]``, a list of floats, it says that ``x[1]`` is an
    int. In the order of the list: items of another type, rows of another class or length, ints of
    more than 64 bits. Rows are gone through in the same way (``x[2][0]``). ``argument``: the
    parameter that is the list, or has it as an item.
    """
    lengths = set[int]()
    for index, item in enumerate(items):
        place = f"{name}[{index}]"
        if isinstance(expected.inner, ListType):
            kind = expected.inner.kinds[0]
            if type(item) is not kind:
                yield _odd_type(place, item, expected.inner, argument)
                continue
            assert isinstance(item, (list, tuple))
            lengths.add(len(item))
            if len(lengths) > 1:
                count = f"{len(item)} item{'s' * (len(item) != 1)}"
                message = f"`{place}` has {count}, and `{name}[0]` has {len(items[0])}"
                help = f"give all items of `{argument}` one length, or pass one list of all " \
                       "numbers and a list of the lengths"
                yield ArgumentMismatch("GUARD_DTYPE", argument, message, help)
            yield from _odd_items(item, expected.inner, place, argument)
        elif type_of(item) != expected.item:
            yield _odd_type(place, item, expected.item, argument)
        elif _is_long(item):
            yield _too_long(argument, place, item)


def _odd_type(place: str, item: object, expected: object, argument: str) -> ArgumentMismatch:
    """The `item` at `place` is of another type than the first one."""
    ty = type_of(item)
    found = type(item).__name__ if isinstance(ty, Constant) else ty
    message = f"`{place}` is of type {found}, and the first item is of type {expected}"
    help = f"give all items of `{argument}` one type, or pass `np.array({argument}, dtype=float)`"
    if item is None:
        help = "put a number in place of None, such as `math.nan` in a list of floats, and test " \
               "for that"
    if isinstance(item, str):
        help = "strings are not compiled: put a number in its place, such as its code or length"
    return ArgumentMismatch("GUARD_DTYPE", argument, message, help)
