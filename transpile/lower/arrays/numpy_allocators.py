"""Allocator functions (`np.zeros` and the like): dtype, shape and fill of the array they make.

The functions are rows of the function table with a ``fill``: "nothing" (``np.empty``), "zeros", a
value, or "numpy", where NumPy computes the elements before the kernel starts. `array_allocation.py`
uses the answers to allocate the array.
"""
from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

import numpy as np

from loopir.analysis.integers.intervals import LENGTH
from loopir.dtypes import INDEX
from loopir.lazy_dataclass import replace
from loopir.nodes import Const, Dim, Interval, Loop, Stmt, Store, Var
from loopir.process.signal_exceptions import failures

from ...analysis.type_inference.type_probe import bounded_sample, probe_types
from ...frontend.core_nodes import NUMPY_NAME, copy_location, source_text
from ...frontend.refusal import refuse
from ...numpy.creation.allocation_forms import is_allocation_form
from ...numpy.function_table import ALLOCATING, functions_where
from ...types.result_types import ExactSample, Sample
from ...types.typed_values import Num, cast
from ...types.value_types import ELEMENTS, ArrayType, ScalarType
from ..scalars.tagged_unions import lower_real
from ..state.lowering_state import Lowering
from ..state.node_dispatch import lower_array, lower_value, refuse_float
from ..state.outer_names import resolve_guarded
from ..state.value_ranges import integer_num

__all__ = [
    "FILLED_ALLOCATORS", "UNFILLED_ALLOCATORS", "allocation_type", "dtype_argument", "dtype_name",
    "fill_true_loop", "filled_array_type", "is_allocator", "lower_length", "lower_lengths",
    "without_fill",
]

_LIKE = functions_where(lambda row: row.fill in ALLOCATING and row.rank == "like")
_ALLOCATORS = functions_where(lambda row: row.fill in ALLOCATING)

UNFILLED_ALLOCATORS = functions_where(lambda row: row.fill in ("nothing", "zeros"))
"""Functions whose arrays start as zeros, or uninitialised."""

FILLED_ALLOCATORS = functions_where(lambda row: row.fill == "numpy")
"""Functions whose arrays NumPy fills before the kernel starts, such as ``np.eye``."""


def is_allocator(function: object) -> bool:
    """Whether `function` is an allocator: its array is allocated for each call of the kernel."""
    return any(function is f for f in _ALLOCATORS + FILLED_ALLOCATORS)


def allocation_type(
    ctx: Lowering, function: Any, node: ast.Call
) -> tuple[ArrayType, tuple[Num, ...]]:
    """The type and shape of the array that `node`, a call of an allocator, makes.

    Raises Refused for a call that has another form than `is_allocation_form` describes, for another
    ``order`` than "C" or "F", for a prototype (``np.zeros_like(x)``) that is not known to be in C
    order, and for an array without axes.
    """
    names = (
        ("shape", "fill_value", "dtype")
        if function in (np.full, np.full_like)
        else ("shape", "dtype")
    )
    if not is_allocation_form(node, function):
        refuse("LOWER_CALL", f"`{source_text(node)}` has an argument that is not compiled", node)
    arguments: dict[str, ast.expr] = dict(zip(names, node.args, strict=False))
    for keyword in node.keywords:
        is_prototype = keyword.arg in ("a", "prototype")
        arguments["shape" if is_prototype else keyword.arg or ""] = keyword.value
    dtype = dtype_argument(ctx, arguments.get("dtype"), node)
    order = arguments.get("order", ast.Constant("C"))
    if not (isinstance(order, ast.Constant) and order.value in (None, "C", "F")):
        refuse("LOWER_CALL", f"`{source_text(node)}` has an order that is not compiled", node)
    if function in _LIKE:
        prototype = lower_array(ctx, arguments["shape"])
        if (
            prototype is None
            or (prototype.rank > 1 and prototype.base_index)
            or prototype.unit not in (None, prototype.rank - 1)
        ):
            message = f"`{source_text(node)}` is not like an array in C order"
            return refuse("LOWER_CALL", message, node)
        if prototype.unit is None and prototype.rank > 1:
            message = f"`{source_text(node)}` takes over a layout that is not known"
            refuse("LOWER_CALL", message, node)
        ty = ArrayType(dtype or prototype.dtype, prototype.rank, prototype.rank - 1)
        return ty, prototype.shape
    shape = lower_lengths(ctx, arguments["shape"])
    if not shape:
        return refuse("LOWER_UNSUPPORTED", f"`{source_text(node)}` has no axis", node)
    if dtype is None and function is np.full:
        value = lower_real(ctx, arguments["fill_value"])
        dtype = value.strong or value.weak
    unit = 0 if order.value == "F" else len(shape) - 1
    return ArrayType(dtype or "f64", len(shape), unit), shape


def without_fill(function: Any, call: ast.Call) -> ast.Call | None:
    """For a `call` of ``ones``, or of ``full`` with True as its second positional argument (or of
    their ``_like``), a call that makes the same array uninitialised; None for other calls. The
    caller makes sure that the array is one of bools, so that ``ones`` means True, too.
    """
    like = function in (np.ones_like, np.full_like)
    args, keywords = call.args, call.keywords
    if function in (np.full, np.full_like):
        match args:
            case [shape, ast.Constant(value=True), *rest]:
                args = [shape, *rest]
            case _:
                return None
        if len(args) == 1 and not any(k.arg == "dtype" for k in keywords):
            keywords = [*keywords, ast.keyword("dtype", ast.Constant("bool"))]
    elif function not in (np.ones, np.ones_like):
        return None
    numpy = ast.Name(NUMPY_NAME, ast.Load())
    made = ast.Attribute(numpy, "empty_like" if like else "empty", ast.Load())
    return copy_location(ast.Call(made, args, keywords), call)


def fill_true_loop(array: str, rank: int, name: Callable[[str], str]) -> Loop:
    """A loop nest that stores True in all elements of `array`. Its loops have no span, since they
    do not stand for code of the user's. ``name`` makes new names.
    """
    at = [Var(name("i"), INDEX) for _ in range(rank)]
    body: Stmt = Store(array, tuple(at), Const(True, "bool"))
    for axis in reversed(range(rank)):
        body = Loop(at[axis].name, Interval(Const(0, INDEX), Dim(array, axis)), (body,))
    assert isinstance(body, Loop)
    return body


def filled_array_type(
    ctx: Lowering, function: Any, node: ast.Call
) -> tuple[ArrayType, tuple[Num, ...]]:
    """The type of the array that a function of `FILLED_ALLOCATORS` makes, found by probing it on
    samples of the arguments' types; and the arguments that are numbers, other than constants.

    Raises Refused where the probe gives no array.
    """
    numbers: list[Num] = []

    def sample(e: ast.expr) -> Sample:
        if isinstance(e, ast.Constant):
            return bounded_sample(function, ExactSample(e.value, type(e.value)))
        if isinstance(value := resolve_guarded(ctx, e), type):
            return ExactSample(value, type(value))
        numbers.append(n := lower_real(ctx, e))
        return ScalarType(n.strong or n.weak or "f64", weak=n.strong is None)

    arguments = [*node.args, *(k.value for k in node.keywords)]
    names = [k.arg for k in node.keywords if k.arg]
    types = probe_types(function, [[sample(e)] for e in arguments], *names)
    for ty in types:
        if isinstance(ty, ArrayType) and len(names) == len(node.keywords):
            return ty, tuple(numbers)
    return refuse("LOWER_CALL", f"`{source_text(node)}` is not an array that is known", node)


def dtype_argument(
    ctx: Lowering, argument: ast.expr | None, node: ast.AST
) -> str | None:
    """The dtype that the argument ``dtype`` of the call `node` names: a string, an object such as
    ``np.float32``, or ``x.dtype``. None for None and for no argument.
    """
    match argument:
        case None | ast.Constant(value=None):
            return None
        case ast.Attribute(value=owner, attr="dtype") if (
            array := lower_array(ctx, owner)
        ) is not None:
            return array.dtype
        case ast.Constant(value=str() as text):
            return dtype_name(text, node)
        case _:
            return dtype_name(resolve_guarded(ctx, argument), node)


def dtype_name(argument: object | None, node: ast.AST) -> str:
    """The name, such as "f64", of the dtype that NumPy makes of `argument`. Raises Refused
    (LOWER_TYPE) for None, and where that is no dtype that is compiled.
    """
    try:
        dtype = np.dtype(argument) if argument is not None else None  # type: ignore[call-overload]
    except failures(TypeError):
        dtype = None
    name = next((n for n, d in ELEMENTS.items() if dtype is not None and d.numpy == dtype), None)
    if name is None:
        return refuse(
            "LOWER_TYPE", "the dtype of the new array is not one that can be compiled", node
        )
    return name


def lower_lengths(ctx: Lowering, node: ast.expr) -> tuple[Num, ...]:
    """The lengths of the shape argument `node`: a tuple, a list, ``x.shape`` or one int."""
    match node:
        case ast.Tuple(elts=elts) | ast.List(elts=elts):
            return tuple(lower_length(ctx, e) for e in elts)
        case _:
            if isinstance(node, (ast.Attribute, ast.Name)):
                value = lower_value(ctx, node)
                if isinstance(value, tuple):
                    return value
            return (lower_length(ctx, node),)


def lower_length(ctx: Lowering, node: ast.expr) -> Num:
    """A length as a Python int, assumed to be in the range of lengths; NumPy raises for others when
    the array is allocated. Raises Refused where it is no int.
    """
    n = lower_real(ctx, node)
    if n.weak is None and n.strong in ("i8", "i16", "i32", "i64", "u8", "u16", "u32"):
        n = integer_num(ctx.b, cast(n.ir, "i64"), n.interval)
    if not n.python_int:
        refuse_float(n, node, "LOWER_UNSUPPORTED")
        refuse("LOWER_UNSUPPORTED", f"the length `{source_text(node)}` is not an int", node)
    return replace(n, interval=(max(0, n.interval[0]), min(LENGTH[1], n.interval[1])))
