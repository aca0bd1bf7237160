"""Recognise stream compaction: a loop appends what passes a test, then the array is cut to size.

`match_compaction` has the form of the source; macros rewrite boolean indexing (``x[x > 0]``), for
one, to it. It is lowered to a loop with an `Append`, which vector code performs for several
elements at once, with a compress store. As an ordinary loop it would stay scalar, since each
iteration needs the subscript that the iteration before has reached.
"""
from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from loopir.analysis.integers.intervals import LENGTH
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
from .capacity_bounds import capacity_bound
from .element_access import convert_to_item
from .host_expressions import host_expression, host_sum, new_array
from .numpy_allocators import allocation_type

__all__ = [
    "Compaction", "can_compact", "lower_compaction", "lower_compaction_append", "match_append",
    "match_compaction",
]


class Compaction(NamedTuple):
    """A matched stream compaction.

    ``array``: the name of the array, allocated by ``allocation``; ``counter``: the name of the
    variable that counts its elements; ``nest``: the loops that fill it.
    """

    array: str
    counter: str
    allocation: ast.Call
    nest: ast.For


def match_compaction(block: Sequence[ast.stmt]) -> Compaction | None:
    """The stream compaction with which `block` begins; None where it begins with another form. The
    four statements must stand in this order, and the allocation must have these two arguments.

    Each iteration appends one element at most, nothing else reads or writes the array or the
    counter in the loops, and the array is as long as there are iterations.

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
            ast.Assign(
                targets=[ast.Name(id=array)], value=ast.Call(args=[capacity, _]) as allocation
            ),
            ast.Assign(targets=[ast.Name(id=count)], value=ast.Constant(value=0)),
            ast.For() as nest,
            ast.Expr(
                value=ast.Call(
                    func=ast.Attribute(value=ast.Name(id=resized), attr="resize"),
                    args=[ast.Name(id=length)],
                )
            ),
        ] if (resized, length) == (array, count):
            pass
        case _:
            return None
    compaction = Compaction(array, count, allocation, nest)
    return compaction if _appends_at_most_once(compaction, capacity) else None


def _appends_at_most_once(compaction: Compaction, capacity: ast.expr) -> bool:
    """Whether the nest has `capacity` iterations and each appends one element at most, so that the
    array has room for all of them::

        for i in range(n):                capacity: ``n * m``, the product of the lengths in this
            for j in range(m):            order. The lengths and the test do not read the array or
                if TEST:                  its counter, and the nest binds nothing but its variables
                    a[k] = E; k += 1      and the counter
    """
    lengths: list[ast.expr] = []
    inner: ast.stmt = compaction.nest
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
            value = match_append([store, step], {compaction.array: compaction.counter})
        case _:
            return False
    targets = {compaction.array, compaction.counter}
    return (
        same_tree(product, capacity)
        and names_read(lengths).isdisjoint(variables | targets)
        and value is not None
        and names_read([test, value]).isdisjoint(targets)
        and names_assigned([compaction.nest]) == variables | {compaction.counter}
    )


def match_append(pair: Sequence[ast.stmt], counters: dict[str, str]) -> ast.expr | None:
    """The value ``e`` of the two statements ``a[k] = e; k = k + 1``, where `counters` has the
    counter ``k`` for the array ``a``; None for others.
    """
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
        ] if counters.get(array) == count == counted == before:
            return value
    return None


def can_compact(ctx: Lowering, compaction: Compaction) -> bool:
    """Whether the array is made by ``np.empty`` and has one axis of real numbers."""
    if resolve_object(ctx, compaction.allocation.func) is not np.empty:
        return False
    ty, _ = _empty_type(ctx, compaction.allocation)
    return ty.rank == 1 and ty.dtype in DTYPES


def _empty_type(ctx: Lowering, call: ast.Call) -> tuple[ArrayType, tuple[Num, ...]]:
    """The type and shape of the array that `call`, a call of ``np.empty``, makes."""
    return allocation_type(ctx, resolve_guarded(ctx, call.func), call)


def lower_compaction(ctx: Lowering, compaction: Compaction, live: frozenset[str]) -> None:
    """Lowers a compaction: allocates the array with its capacity, and lowers the nest with an
    `Append` in place of the store. Then the counter is the array's length, and the array is
    truncated when it is returned. Raises Refused where no capacity is known before the kernel.
    """
    b = ctx.b
    ty, (length,) = _empty_type(ctx, compaction.allocation)
    capacity = capacity_bound(b, length.ir)
    if capacity is None:
        refuse("LOWER_UNSUPPORTED", "a length is not known before the loop", compaction.allocation)
    name = fresh_array_name(ctx, compaction.array)
    size = host_sum([host_expression(capacity), HostConst(VECTOR_STORE_SLACK)])
    b.allocate(name, new_array([size], ELEMENTS[ty.dtype].numpy), ty)
    b.buffers.truncated.add(name)
    b.env[compaction.array] = ArrayRef(name, ty.dtype, 0, (length,))
    b.env[compaction.counter] = constant(0)
    ctx.lists.counters.add(compaction.counter)
    ctx.arrays.appending[compaction.array] = compaction.counter
    try:
        lower_loop(ctx, compaction.nest, live)
    finally:
        del ctx.arrays.appending[compaction.array]
    count = b.env[compaction.counter]
    assert isinstance(count, Num)
    count = integer_num(b, count.ir, LENGTH)
    b.numbers.upper_bounds[count.ir] = capacity
    b.env[compaction.counter] = count
    b.env[compaction.array] = ArrayRef(name, ty.dtype, 0, (count,))


def lower_compaction_append(ctx: Lowering, stmt: ast.stmt, value: ast.expr) -> None:
    """Lowers ``a[k] = value; k = k + 1``, of which `stmt` is the first statement, to an `Append`,
    which advances the counter.
    """
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
