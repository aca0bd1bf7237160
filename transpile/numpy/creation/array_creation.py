"""Array creation: ``np.zeros`` and its kin hoisted out of loops and refilled; random arrays.

Lowering hoists an allocation out of loops, so that an array that is made in a loop must be filled
again in each iteration: `reuse_filled_array` expands ``np.zeros(n)`` to ``np.empty(n, np.float64)``
and a loop of stores. `random_array` expands ``rng.random(n)`` to a loop of single draws.
"""
from __future__ import annotations

import ast
import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from ...frontend.ast_walk import integer_constant
from ...frontend.core_nodes import copy_location
from ...frontend.macros.bind_operands import bind_fresh
from ...frontend.macros.macro_context import Context
from ...frontend.macros.macro_index import BOUND, METHOD, fires_on
from ...frontend.macros.replay_guards import guarded
from ...random_numbers import array_draw_of
from ..array_nests import allocate_array, has_known_layout, loop_nest, unit_length_tests
from ..array_views import element_at, named_array_view, scalar_overflow_checks, scalar_view
from ..call_arguments import as_python_int
from ..function_table import ALLOCATING, function_row, functions_where
from .allocation_forms import is_allocation_form

__all__ = ["reuse_filled_array", "random_array"]

_ALLOCATORS = functions_where(lambda row: row.fill in ALLOCATING)
"""Functions that make an array of a shape: ``np.zeros``, ``np.full_like`` …"""

_EMPTY = functions_where(lambda row: row.fill == "nothing")
"""Those of `_ALLOCATORS` that leave the array uninitialised."""

_BLANK_FUNCTIONS = functions_where(lambda row: row.fill in ("nothing", "zeros"))
"""Those of `_ALLOCATORS` that need no stores if the memory is new: it is all zeros, or may be
anything.
"""

_LIKE = functions_where(lambda row: row.fill in ALLOCATING and row.rank == "like")
"""Those of `_ALLOCATORS` whose first argument is an array that has the shape."""

_FILL_VALUES: dict[str, float] = {"zeros": 0, "ones": 1}
"""The initial elements by the column ``fill``; for others they are an argument, or undefined."""

MAX_REGISTER_ELEMENTS = 16
"""The greatest number of elements of an array that is kept in registers."""


@fires_on(ast.Assign, targets=ast.Name, value=ast.Call, calls=_ALLOCATORS)
@fires_on(ast.Call, calls=_ALLOCATORS)
def reuse_filled_array(node: ast.AST, cx: Context) -> list[ast.stmt] | ast.expr | None:
    """``np.full``, ``np.ones`` and, in loops or branches, ``np.zeros`` → ``np.empty``, and a loop
    that fills it; lowering hoists the allocation. Outside of loops and branches ``empty`` and
    ``zeros`` stay as they are, except zeros of a few elements (`_fits_registers`).

        for i in range(n):
            u = np.full(n, 0.5)
            y[i] = u[i]
    →
        for i in range(n):
            u = np.empty(n, np.float64)
            for _i in range(n):
                u[_i] = 0.5
            y[i] = u[i]
    """
    match node:
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call() as call) if (
            any(cx.resolve(call.func) is f for f in _ALLOCATORS)
            and is_allocation_form(call, cx.resolve(call.func))
            and not _is_canonical_call(call, cx)
            and (shape := _shape_argument(call)) is not None
            and (cx.depth or _fits_registers(call, shape, cx) or not _needs_no_fill(call, cx))
        ):
            return cx.with_before(lambda: _refill_loop(name, call, shape, cx))
        case ast.Call() as call if (
            any(cx.resolve(call.func) is f for f in _ALLOCATORS) and not _needs_no_fill(call, cx)
            and is_allocation_form(call, cx.resolve(call.func))
            and (shape_argument := _shape_argument(call)) is not None
        ):
            name = cx.fresh("full")
            return cx.bound_name(name, partial(_refill_loop, name, call, shape_argument, cx))
    return None


def _needs_no_fill(call: ast.Call, cx: Context) -> bool:
    """Whether a new array needs no stores: its elements are zeros, or uninitialised."""
    return any(cx.resolve(call.func) is f for f in _BLANK_FUNCTIONS)


def _is_canonical_call(call: ast.Call, cx: Context) -> bool:
    """Whether `call` is already in the form that the macro produces, ``np.empty(n, np.float64)``.
    """
    return cx.resolve(call.func) is np.empty and not call.keywords


def _shape_argument(call: ast.Call) -> ast.expr | None:
    """The argument of the shape, or of the array to be like; None where it is missing."""
    named = (k.value for k in call.keywords if k.arg in ("shape", "a", "prototype"))
    return call.args[0] if call.args else next(named, None)


def _fill_arguments(call: ast.Call) -> list[ast.expr]:
    """The fill value, in a list, which is empty where it is missing."""
    by_keyword = [k.value for k in call.keywords if k.arg == "fill_value"]
    position = 0 if any(k.arg in ("shape", "a", "prototype") for k in call.keywords) else 1
    return [*call.args[position : position + 1], *by_keyword][:1]


def _fits_registers(call: ast.Call, argument: ast.expr, cx: Context) -> bool:
    """Whether the new array has a constant shape of at most `MAX_REGISTER_ELEMENTS` elements, which
    is not that of another array, and initial elements.
    """
    function = cx.resolve(call.func)
    if any(function is f for f in (*_LIKE, *_EMPTY)):
        return False
    shape = _shape_lengths(function, argument, cx)
    lengths = [integer_constant(n, None) for n in shape or [None]]
    return (
        math.prod(n if n and n > 0 else MAX_REGISTER_ELEMENTS + 1 for n in lengths)
        <= MAX_REGISTER_ELEMENTS
    )


def _refill_loop(
    name: str, call: ast.Call, argument: ast.expr, cx: Context
) -> list[ast.stmt] | None:
    """Statements that bind `name` to ``np.empty`` of the array that `call` makes, and fill it;
    `argument` is its shape argument. None where the shape, dtype or fill value is not known.
    """
    fact, function = cx.fact(call), cx.resolve(call.func)
    row = function_row(function)
    value = _FILL_VALUES.get(row.fill) if row is not None else None
    is_empty = any(function is f for f in _EMPTY)
    fill_value = _fill_arguments(call) if value is None else [ast.Constant(value)]
    shape = _shape_lengths(function, argument, cx)
    if fact.array is None or fact.order != "C" or shape is None or not (fill_value or is_empty):
        return None
    lines = [allocate_array(name, shape, fact.array.dtype, cx)]
    if is_empty:
        return lines
    layout_tests: list[ast.expr] = []
    if function in _LIKE and len(shape) > 1:  # NumPy sorts the axes by the strides of `argument`
        if cx.fact(argument).order != "C":
            return None
        if not has_known_layout(argument, cx):
            layout_tests = unit_length_tests(shape, cx)
            if len(layout_tests) < len(shape):
                return None
    fill = scalar_view(fill_value[0], cx)

    def body(at: Any) -> list[ast.stmt]:
        place = element_at(ast.Name(name, ast.Load()), at, cx)
        return cx.code("PLACE = E", PLACE=place, E=fill.at(()))

    (original,) = cx.code("NAME = E", NAME=name, E=call)
    # NumPy converts the fill value even if there are no elements.
    overflows = scalar_overflow_checks(fill_value[0], fill, fact.array.dtype, cx)
    return guarded([*layout_tests, *overflows], original, lines + loop_nest(shape, body, cx), cx)


def _shape_lengths(function: Any, argument: ast.expr, cx: Context) -> tuple[ast.expr, ...] | None:
    """The lengths that `argument` gives: those of an array for the functions "like", of
    ``x.shape``, an integer, or a display of integers. None where they are not understood.
    """
    if function in _LIKE:
        is_array = isinstance(argument, ast.Name) and cx.fact(argument).array
        return named_array_view(argument, cx).shape if is_array else None
    match argument:
        case ast.Attribute(value=array, attr="shape") if cx.fact(array).rank:
            return named_array_view(array, cx).shape if isinstance(array, ast.Name) else None
    given = argument.elts if isinstance(argument, (ast.Tuple, ast.List)) else [argument]
    lengths = tuple(n for e in given if (n := as_python_int(e, cx)) is not None)
    return lengths if lengths and len(lengths) == len(given) else None


@fires_on(ast.Call, calls=[BOUND, METHOD])
def random_array(node: ast.AST, cx: Context) -> ast.expr | None:
    """``rng.random(n)`` and its kin → an array filled by one draw after the other. Not if another
    argument than the shape is an array.

        y = np.random.rand(n)
    →
        _a = np.empty(n, np.float64)
        for _i in range(n):
            _a[_i] = np.random.rand()
        y = _a
    """
    if not isinstance(node, ast.Call):
        return None
    array_draw = array_draw_of(node, cx.facts.type_of, cx.resolve)
    if array_draw is None or cx.fact(node).array is None:
        return None
    element_draw = array_draw.element_draw
    arguments = [*element_draw.args, *(k.value for k in element_draw.keywords)]
    if any(cx.fact(e).rank != 0 for e in arguments):
        return None

    def once(e: ast.expr) -> ast.expr:
        return e if isinstance(e, ast.Constant) else bind_fresh(e, "s", cx)

    lengths = [
        e if cx.facts.is_invariant(e) else bind_fresh(e, "n", cx) for e in array_draw.lengths
    ]
    named = [ast.keyword(k.arg, once(k.value)) for k in element_draw.keywords]
    args = [once(e) for e in element_draw.args]
    single_draw = copy_location(ast.Call(element_draw.func, args, named), node)
    name = cx.fresh("a")

    def store_draw(at: Sequence[ast.expr]) -> list[ast.stmt]:
        index = at[0] if len(at) == 1 else ast.Tuple([*at], ast.Load())
        return cx.code("NAME[AT] = E", NAME=name, AT=index, E=single_draw)

    allocation = allocate_array(name, lengths, array_draw.dtype, cx)
    lines = [allocation, *loop_nest(lengths, store_draw, cx)]
    (original,) = cx.code("NAME = E", NAME=name, E=node)
    # NumPy checks the arguments of the distribution even if there are no elements to draw.
    empty = [cx.expr("N < 1", N=n) for n in lengths]
    cx.before(*guarded(empty if arguments else [], original, lines, cx))
    return cx.expr("NAME", NAME=name)
