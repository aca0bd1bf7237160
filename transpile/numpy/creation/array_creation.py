"""Array creation: ``np.zeros`` and its kin hoisted out of loops and refilled; random arrays.

An array drawn from a generator becomes a loop that draws its elements one by one.
"""
from __future__ import annotations

import ast
import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from ...frontend.core_nodes import copy_location
from ...frontend.int_exprs import integer_constant
from ...frontend.macros.macro_context import Context
from ...frontend.macros.macro_index import BOUND, METHOD, fires_on
from ...frontend.macros.replay_guards import bind_fresh, guarded
from ...random_numbers import array_draw_of
from ..array_nests import allocate_array, loop_nest
from ..array_views import element_at, named_array_view, scalar_view
from ..function_table import ALLOCATING, function_row, functions_where

__all__ = ["reuse_filled_array", "random_array"]

_ALLOCATORS = functions_where(lambda row: row.fill in ALLOCATING)
_EMPTY = functions_where(lambda row: row.fill == "nothing")
_BLANK_FUNCTIONS = functions_where(lambda row: row.fill in ("nothing", "zeros"))

_FILL_VALUES: dict[str, float] = {"zeros": 0, "ones": 1}
"""What an array is filled with, by ``fill`` of the function; others: the second argument, or
nothing.
"""

MAX_REGISTER_ELEMENTS = 16
"""Elements of an array that may live in registers."""

_LIKE = functions_where(lambda row: row.fill in ALLOCATING and row.rank == "like")


@fires_on(ast.Assign, targets=ast.Name, value=ast.Call, calls=_ALLOCATORS)
@fires_on(ast.Call, calls=_ALLOCATORS)
def reuse_filled_array(node: ast.AST, cx: Context) -> list[ast.stmt] | ast.expr | None:
    """``np.full``, ``np.ones`` and, in loops or branches, ``np.zeros`` → ``np.empty``, and a loop
    that fills it; lowering hoists the allocation. Outside of loops and branches ``empty`` and
    ``zeros`` stay as they are, unless the array is small.

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
            and not _is_canonical_call(call, cx)
            and (of := _shape_argument(call)) is not None
            and (cx.depth or _fits_registers(call, of, cx) or not _needs_no_fill(call, cx))
        ):
            return cx.whole(lambda: _refill_loop(name, call, of, cx))
        case ast.Call() as call if (
            any(cx.resolve(call.func) is f for f in _ALLOCATORS) and not _needs_no_fill(call, cx)
            and (like := _shape_argument(call)) is not None
        ):
            return cx.made(made := cx.fresh("full"), partial(_refill_loop, made, call, like, cx))
    return None


def _needs_no_fill(call: ast.Call, cx: Context) -> bool:
    """Whether nothing is filled, or it is with what new memory holds."""
    return any(cx.resolve(call.func) is f for f in _BLANK_FUNCTIONS)


def _is_canonical_call(call: ast.Call, cx: Context) -> bool:
    """Whether it is as it is to be: ``np.empty(n, np.float64)``."""
    return cx.resolve(call.func) is np.empty and not call.keywords


def _shape_argument(call: ast.Call) -> ast.expr | None:
    """The lengths, or the array that it is to be like."""
    named = (k.value for k in call.keywords if k.arg in ("shape", "a", "prototype"))
    return call.args[0] if call.args else next(named, None)


def _fill_arguments(call: ast.Call) -> list[ast.expr]:
    """What comes after the lengths, or the array."""
    given = [k.value for k in call.keywords if k.arg == "fill_value"]
    place = 0 if any(k.arg in ("shape", "a", "prototype") for k in call.keywords) else 1
    return [*call.args[place : place + 1], *given][:1]


def _fits_registers(call: ast.Call, of: ast.expr, cx: Context) -> bool:
    """Whether it may live in registers."""
    function = cx.resolve(call.func)
    if any(function is f for f in (*_LIKE, *_EMPTY)):
        return False
    shape = _shape_lengths(function, of, cx)
    lengths = [integer_constant(n, None) for n in shape or [None]]
    return (
        math.prod(n if n and n > 0 else MAX_REGISTER_ELEMENTS + 1 for n in lengths)
        <= MAX_REGISTER_ELEMENTS
    )


def _refill_loop(name: str, call: ast.Call, of: ast.expr, cx: Context) -> list[ast.stmt] | None:
    fact, function = cx.fact(call), cx.resolve(call.func)
    row = function_row(function)
    value = _FILL_VALUES.get(row.fill) if row is not None else None
    empty = any(function is f for f in _EMPTY)
    fill = _fill_arguments(call) if value is None else [ast.Constant(value)]
    shape = _shape_lengths(function, of, cx)
    if fact.array is None or fact.order != "C" or shape is None or not (fill or empty):
        return None
    lines = [allocate_array(name, shape, fact.array.dtype, cx)]
    if empty:
        return lines
    each = scalar_view(fill[0], cx).at(())

    def body(at: Any) -> list[ast.stmt]:
        place = element_at(ast.Name(name, ast.Load()), at, cx)
        return cx.code("PLACE = E", PLACE=place, E=each)

    return lines + loop_nest(shape, body, cx)


def _shape_lengths(function: Any, given: ast.expr, cx: Context) -> tuple[ast.expr, ...] | None:
    if function in _LIKE:
        known = isinstance(given, ast.Name) and cx.fact(given).array
        return named_array_view(given, cx).shape if known else None
    if isinstance(given, ast.Attribute) and given.attr == "shape" and cx.fact(given.value).rank:
        return (
            named_array_view(given.value, cx).shape if isinstance(given.value, ast.Name) else None
        )
    lengths = given.elts if isinstance(given, (ast.Tuple, ast.List)) else [given]
    return tuple(lengths) if lengths and all(cx.fact(n).is_int for n in lengths) else None


@fires_on(ast.Call, calls=[BOUND, METHOD])
def random_array(node: ast.AST, cx: Context) -> ast.expr | None:
    """``rng.random(n)`` and its kin → an array filled by one draw after the other.

        y = np.random.rand(n)
    →
        _a = np.empty(n, np.float64)
        for _i in range(n):
            _a[_i] = np.random.rand()
        y = _a
    """
    if not isinstance(node, ast.Call):
        return None
    many = array_draw_of(node, cx.facts.type_of, cx.resolve)
    if many is None or cx.fact(node).array is None:
        return None
    element_draw = many.element_draw
    arguments = [*element_draw.args, *(k.value for k in element_draw.keywords)]
    if any(cx.fact(e).rank != 0 for e in arguments):
        return None

    def steady(e: ast.expr) -> ast.expr:
        return e if isinstance(e, ast.Constant) else bind_fresh(e, "s", cx)

    lengths = [e if cx.facts.lasting(e) else bind_fresh(e, "n", cx) for e in many.lengths]
    named = [ast.keyword(k.arg, steady(k.value)) for k in element_draw.keywords]
    args = [steady(e) for e in element_draw.args]
    one = copy_location(ast.Call(element_draw.func, args, named), node)
    name = cx.fresh("a")

    def draw(at: Sequence[ast.expr]) -> list[ast.stmt]:
        index = at[0] if len(at) == 1 else ast.Tuple([*at], ast.Load())
        return cx.code("NAME[AT] = E", NAME=name, AT=index, E=one)

    lines = [allocate_array(name, lengths, many.dtype, cx), *loop_nest(lengths, draw, cx)]
    (whole,) = cx.code("NAME = E", NAME=name, E=node)
    none = [cx.expr("N < 1", N=n) for n in lengths]  # what is wrong is said of none, too
    cx.before(*guarded(none if arguments else [], whole, lines, cx))
    return cx.expr("NAME", NAME=name)
