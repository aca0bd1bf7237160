"""Differential checks: compiled calls against Python, and kernels against the IR interpreter.

``verify=`` runs a share of calls both ways, the original on copies of the arguments
(`run_and_compare`). With ``TRANSPILE_CHECK=1`` one call of each kernel is compared with the IR
interpreter (`compare_first_call`), and the pipeline verifies the IR after each stage.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from functools import partial
from itertools import combinations
from types import FunctionType
from typing import Any

import numpy as np

from loopir.ir_interpreter import run_kernel
from loopir.ir_traversal import walk
from loopir.nodes import Append, Kernel
from loopir.process.signal_exceptions import failures
from targets.abi.portable_call import complex_as_floats
from targets.abi.sequence_conversion import shared_array

from ..errors import FuseError, call_signature_text, source_location
from ..frontend.suppress_warnings import suppress_warnings
from ..types.typeof import call_with_values, parameter_names, type_of
from ..types.value_types import ListType, ObjectType
from .kernel_call.stub_functions import Arguments

__all__ = [
    "compare_first_call", "same_results", "run_and_compare", "copy_arguments",
]


def compare_first_call(fast: Callable[..., int], kernel: Kernel) -> Callable[..., int]:
    """`fast`, with one call compared to the interpreter: the first one whose arguments can be
    copied (`copy_arguments`) and fit the kernel. Compared are the status, and the arrays that the
    call leaves, except those that only the kernel uses (`KernelParameter.owned`).

    Raises AssertionError where they differ.
    """
    pending = [kernel]

    def call(*args: Any) -> int:
        """`fast(*args)`; the first time it is compared."""
        if not pending:
            return fast(*args)
        copies = copy_arguments(args)
        status = fast(*args)
        if status >= 0 and copies is not None:
            _compare(pending.pop(), args, copies, status)
        return status

    return call


def _compare(kernel: Kernel, args: Sequence[Any], copies: list[Any], status: int) -> None:
    """Assert that the kernel gave the status and arrays that the interpreter gives on `copies`."""
    names = [param.name for param in kernel.params]
    owned = {param.name for param in kernel.params if param.owned}
    appended = {n.array for n in walk(kernel) if isinstance(n, Append)}
    before = {n: a.copy() for n, a in zip(names, copies, strict=True) if n in appended}
    outcome = run_kernel(kernel, dict(zip(names, map(complex_as_floats, copies), strict=True)))
    is_same = outcome.status == status
    assert is_same, f"{kernel.name}: status {status}, but {outcome.status} as interpreted"
    for name, compiled, expected in zip(names, args, copies, strict=True):
        if name in appended:  # what is behind the elements may differ
            stored = _changed(before[name], expected)
            compiled, expected = compiled[stored], expected[stored]
        is_same = name in owned or same_results(compiled, expected)
        assert is_same, f"{kernel.name}: {name} is {compiled}, but {expected} as interpreted"


def _changed(before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """Which elements of an array of rank 1 have other bytes than before."""
    old, new = (a.view(np.uint8).reshape(len(a), a.itemsize) for a in (before, after))
    return (old != new).any(axis=1)  # type: ignore[no-any-return]


MISMATCH = "VERIFY_MISMATCH"
"""The code of the FuseError that is raised where compiled code and Python differ."""

TOLERANCE = {4: 1e-4, 8: 1e-9}
"""Tolerance by the bytes of a float, relative and absolute: vectors add in another order, and some
functions differ in the last bits (ULP). 0 for floats of other sizes, which no kernel computes with.
"""


def run_and_compare(function: FunctionType, values: Arguments, chosen: Callable[..., Any]) -> Any:
    """Calls `chosen`, the callee that the dispatcher selected, compares it with Python, and returns
    its result. The original runs first, on copies of the arguments.
    `Dispatcher._select_verified_callee` calls this for the share of calls that ``verify=`` selects.

    Raises FuseError (VERIFY_MISMATCH) where the results, or the arguments afterwards, differ by
    more than rounding (`same_results`). A call is not compared if arguments cannot be copied one by
    one, as arrays that overlap (`copy_arguments`), or if the original raises.
    """
    code, copies = function.__code__, copy_arguments(values)
    if copies is None:
        return call_with_values(chosen, code, values)
    try:
        with suppress_warnings():  # the compiled call shows them
            expected_result = call_with_values(function, code, copies)
    except failures(Exception):
        return call_with_values(chosen, code, values)
    result = call_with_values(chosen, code, values)
    pairs = [("the result", result, expected_result)]
    pairs += zip((f"`{name}`" for name in parameter_names(code)), values, copies, strict=True)
    for what, compiled, expected in pairs:
        if not same_results(compiled, expected):
            call = call_signature_text(function, tuple(map(type_of, values)))
            difference = _difference(what, compiled, expected)
            message = f"{MISMATCH} at {source_location(function)}: {call}: {difference}"
            raise FuseError(message, MISMATCH)
    return result


def _difference(what: str, compiled: Any, expected: Any) -> str:
    """A description of the difference; of arrays, the first element that differs."""
    are_arrays = isinstance(compiled, np.ndarray) and isinstance(expected, np.ndarray)
    if are_arrays and compiled.shape == expected.shape and compiled.dtype == expected.dtype:
        pairs = ((at, compiled[at], expected[at]) for at in np.ndindex(compiled.shape))
        at, value, expected_value = next(pair for pair in pairs if not same_results(*pair[1:]))
        element = f"element {', '.join(map(str, at))} of {what}"
        return f"{element} is {value!r}, but {expected_value!r} as Python"
    return f"{what} is {compiled!r}, but {expected!r} as Python"


def copy_arguments(values: Sequence[Any]) -> list[Any] | None:
    """Copies of the arguments, as the original is to run on them: an array or list that is passed
    twice is copied once. None where the copies could not stand for the arguments: two arrays
    overlap, or an argument is a plain object (`ObjectType`), which may contain the same array.
    """
    types = [*map(type_of, values)]
    if any(isinstance(ty, ObjectType) for ty in types):
        return None
    arrays = {id(v): v for v in values if isinstance(v, np.ndarray)}
    memory = {
        id(v): shared_array(v, ty.memory.dtype) for v, ty in zip(values, types, strict=True)
        if isinstance(ty, ListType) and ty.memory is not None
    }
    lists: dict[int, Any] = {}
    pairs = combinations([*arrays.values(), *memory.values()], 2)
    if any(np.may_share_memory(a, b) for a, b in pairs):
        return None
    copies: dict[int, Any] = {key: a.copy(order="K") for key, a in arrays.items()}
    copies |= {id(v): memoryview(memory[id(v)].copy()) for v in values if type(v) is memoryview}
    return [
        copies[id(v)] if id(v) in copies
        else deepcopy(v, lists) if isinstance(ty, ListType) else v
        for v, ty in zip(values, types, strict=True)
    ]


def same_results(a: Any, b: Any) -> bool:
    """Whether two results are the same up to rounding: of one type, shape and dtype; floats and
    complex numbers within `TOLERANCE`, relative to their magnitude, or absolute near 0, and NaN
    equal to NaN; all else exactly equal. Lists, tuples and fields of records are compared item by
    item::

        same_results((1.0, [2]), (1.0 + 1e-12, [2]))   →   True
        same_results(1, 1.0)                           →   False
    """
    if type(a) is not type(b):
        return False
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(same_results, a, b))
    if isinstance(a, (np.ndarray, np.generic, float, complex)):
        x, y = np.asarray(a), np.asarray(b)
        if x.dtype != y.dtype or x.shape != y.shape:
            return False
        if x.dtype.names:  # padding bytes are unspecified
            return all(same_results(x[name], y[name]) for name in x.dtype.names)
        if x.dtype.kind not in "fc":
            return x.tobytes() == y.tobytes() or bool(np.array_equal(x, y))
        return bool(np.all(_are_close(x, y)))
    return bool(a is b or a == b)


def _are_close(x: np.ndarray, y: np.ndarray) -> Any:
    """Whether floats or complex numbers are the same up to rounding, for each element. A complex
    number may be off relative to its magnitude. If a part is infinite or NaN, the parts are
    compared one by one, each relative to itself.
    """
    tolerance = TOLERANCE.get(x.real.dtype.itemsize, 0.0)
    is_close = partial(np.isclose, rtol=tolerance, atol=tolerance, equal_nan=True)
    if x.dtype.kind == "f":
        return is_close(x, y)
    parts = is_close(x.real, y.real) & is_close(x.imag, y.imag)
    return np.where(np.isfinite(x) & np.isfinite(y), is_close(x, y), parts)
