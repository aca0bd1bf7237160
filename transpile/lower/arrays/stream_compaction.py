"""Recognise stream compaction: a loop appends what passes a test, then the array is cut to size."""
from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from loopir.analysis.intervals import LENGTH
from loopir.dtypes import DTYPES
from loopir.nodes import Append, Var

from ...analysis.liveness import names_assigned, names_read
from ...frontend.ast_walk import same_tree
from ...frontend.refusal import refuse
from ...frontend.source import span_of
from ...host_nodes import HostConst
from ...types.typed_values import Num, constant
from ...types.value_types import ELEMENTS, ArrayType
from ..lists.append_only_lists import VECTOR_STORE_SLACK
from ..loops.lower_loops import lower_loop
from ..scalars.tagged_unions import lower_real
from ..state.lowering_state import Lowering
from ..state.outer_names import fresh_array_name, resolve_guarded, resolve_object
from ..state.symbol_values import ArrayRef
from ..state.value_ranges import integer_num
from .array_allocators import allocation_type
from .capacity_bounds import capacity_bound
from .element_access import convert_to_item
from .host_expressions import host_expression, host_sum, new_array

__all__ = [
    "Compaction", "can_compact", "lower_compaction", "lower_compaction_append", "match_append",
    "match_compaction",
]


class Compaction(NamedTuple):
    """``array`` of ``made``, filled by ``nest`` which counts in ``counter``, and cut to that."""

    array: str
    counter: str
    made: ast.Call
    nest: ast.For


def match_compaction(block: Sequence[ast.stmt]) -> Compaction | None:
    """What `block` begins with, where each iteration appends one element at most, and nothing else
    reads or writes the array or the count meanwhile; it has room for one each.

        a = np.empty(n, np.float64)
        k = 0
        for i in range(n):
            if test:
                a[k] = e
                k = k + 1
        a.resize(k, refcheck=False)
    """
    match block[:4]:
        case [
            ast.Assign(targets=[ast.Name(id=array)], value=ast.Call(args=[room, _]) as made),
            ast.Assign(targets=[ast.Name(id=count)], value=ast.Constant(value=0)),
            ast.For() as nest,
            ast.Expr(
                value=ast.Call(
                    func=ast.Attribute(value=ast.Name(id=cut), attr="resize"),
                    args=[ast.Name(id=length)],
                )
            ),
        ] if (cut, length) == (array, count):
            pass
        case _:
            return None
    found = Compaction(array, count, made, nest)
    return found if _appends_once_each(found, room) else None


def _appends_once_each(found: Compaction, room: ast.expr) -> bool:
    """Whether the nest has as many iterations as there is `room`, and appends once in each."""
    lengths: list[ast.expr] = []
    inner: ast.stmt = found.nest
    variables: set[str] = set()
    while isinstance(inner, ast.For):
        match inner:
            case ast.For(
                target=ast.Name(id=name), iter=ast.Call(func=ast.Name(id="range"), args=[length]),
                body=[body], orelse=[],
            ):
                lengths.append(length)
                variables.add(name)
                inner = body
            case _:
                return False
    product = lengths[0]
    for length in lengths[1:]:
        product = ast.BinOp(product, ast.Mult(), length)
    match inner:
        case ast.If(test=test, body=[store, step], orelse=[]):
            value = match_append([store, step], {found.array: found.counter})
        case _:
            return False
    own = {found.array, found.counter}
    same = same_tree(product, room) and names_read(lengths).isdisjoint(variables | own)
    return same and value is not None and names_read([test, value]).isdisjoint(own) and (
        names_assigned([found.nest]) == variables | {found.counter}
    )


def match_append(pair: Sequence[ast.stmt], counts: dict[str, str]) -> ast.expr | None:
    """What ``a[k] = e; k = k + 1`` appends to one of the arrays that have such `counts`."""
    match pair:
        case [
            ast.Assign(
                targets=[ast.Subscript(value=ast.Name(id=array), slice=ast.Name(id=count))],
                value=value,
            ),
            ast.Assign(
                targets=[ast.Name(id=counted)],
                value=ast.BinOp(
                    left=ast.Name(id=before), op=ast.Add(), right=ast.Constant(value=1)
                ),
            ),
        ] if counts.get(array) == count == counted == before:
            return value
    return None


def can_compact(ctx: Lowering, found: Compaction) -> bool:
    """Whether the array of a compaction has one axis of real numbers."""
    if resolve_object(ctx, found.made.func) is not np.empty:
        return False
    ty, _ = _empty_type(ctx, found.made)
    return ty.rank == 1 and ty.dtype in DTYPES


def _empty_type(ctx: Lowering, call: ast.Call) -> tuple[ArrayType, tuple[Num, ...]]:
    return allocation_type(ctx, resolve_guarded(ctx, call.func), call)


def lower_compaction(ctx: Lowering, found: Compaction, live: frozenset[str]) -> None:
    """Elements are appended, as to a list: vectors of them go where they pass the test."""
    b = ctx.b
    ty, (length,) = _empty_type(ctx, found.made)
    most = capacity_bound(b, length.ir)
    if most is None:
        refuse("LOWER_UNSUPPORTED", "a length is not known before the loop", found.made)
    name = fresh_array_name(ctx, found.array)
    size = host_sum([host_expression(most), HostConst(VECTOR_STORE_SLACK)])
    b.allocate(name, new_array([size], ELEMENTS[ty.dtype].numpy), ty)
    b.buffers.truncated.add(name)
    b.env[found.array] = ArrayRef(name, ty.dtype, 0, (length,))
    b.env[found.counter] = constant(0)
    ctx.lists.counters.add(found.counter)
    ctx.arrays.appending[found.array] = found.counter
    try:
        lower_loop(ctx, found.nest, live)
    finally:
        del ctx.arrays.appending[found.array]
    count = b.env[found.counter]
    assert isinstance(count, Num)
    count = integer_num(b, count.ir, LENGTH)
    b.numbers.upper_bounds[count.ir] = most
    b.env[found.counter] = count
    b.env[found.array] = ArrayRef(name, ty.dtype, 0, (count,))


def lower_compaction_append(ctx: Lowering, stmt: ast.stmt, value: ast.expr) -> None:
    """The first half of ``a[k] = value; k = k + 1``, and the second."""
    match stmt:
        case ast.Assign(
            targets=[ast.Subscript(value=ast.Name(id=name), slice=ast.Name(id=counter))]
        ):
            array, count = ctx.b.env[name], ctx.b.env[counter]
    assert isinstance(array, ArrayRef)
    assert isinstance(count, Num)
    assert isinstance(count.ir, Var)
    item = convert_to_item(ctx, lower_real(ctx, value), array.dtype, stmt)
    ctx.b.emit(Append(array.name, count.ir.name, item, span=span_of(stmt)))
