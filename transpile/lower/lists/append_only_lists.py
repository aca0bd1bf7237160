"""Append-only lists: buffers that loops fill, and that are read after the loop."""
from __future__ import annotations

import ast
from typing import Any

import numpy as np

from loopir.algebra.constant_folding import index_const
from loopir.nodes import Append, Call, Expr, Store, Var

from ...frontend.ast_walk import walk_nodes
from ...frontend.refusal import refuse, refuse_unknown_length
from ...frontend.source import span_of
from ...host_nodes import HostConst, HostExpr
from ...types.typed_values import ComplexPair, Num
from ...types.value_types import ELEMENTS, PARTS, ArrayType
from ..arrays.element_access import convert_to_item, element_stores
from ..arrays.host_expressions import (
    host_expression,
    host_product,
    host_sum,
    known_before_kernel,
    new_array,
)
from ..loops.loop_exits import break_index
from ..scalars.scalar_arithmetic import as_numpy_if_loops_ran
from ..scalars.tagged_unions import lower_number
from ..state.generated_names import counter_name
from ..state.list_state import ListBuilder
from ..state.lowering_state import Lowering
from ..state.symbol_values import ListRef
from ..state.value_ranges import integer_num
from .list_builders import appends_once

__all__ = [
    "LIST_TO_ARRAY", "VECTOR_STORE_SLACK", "NeedsAppendCounter", "lower_append", "one_append_lists",
]

LIST_TO_ARRAY: tuple[Any, ...] = (np.array, np.asarray, np.fromiter)
"""What makes an array of a list; its elements are converted as item assignment does."""
VECTOR_STORE_SLACK = 64  # elements that a full vector store may write beyond the last one


class NeedsAppendCounter(Exception):
    """The list of this name takes other numbers of elements on other paths."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


def lower_append(ctx: Lowering, name: str, item: ast.expr, stmt: ast.stmt) -> None:
    """``name.append(item)``. Raises NeedsAppendCounter where the list needs a counter of items."""
    b = ctx.b
    built = ctx.lists.builders.get(name)
    if built is None or b.env.get(name) != ListRef(name):
        refuse("LOWER_UNSUPPORTED", f"`{name}` is not a list made here", stmt)
    if appends_once(ctx, name) and (
        b.alias_versions or (b.path.frames and _capacity_of_items(ctx, b.path.frames[-1].trips))
    ):
        raise NeedsAppendCounter(name)
    number = lower_number(ctx, item)
    if isinstance(number, ComplexPair) or (built.target or built.dtype) in PARTS:
        _append_complex(ctx, built, number, stmt)
        return
    value = _as_list_item(ctx, built, number, stmt)
    if not b.path.frames:
        refuse_unknown_length(name, f"`{name}.append` stands outside a loop", stmt)
    buffer = _list_buffer(ctx, built, stmt)
    if appends_once(ctx, name):
        b.emit(Store(buffer, (b.path.frames[-1].var,), value, span=span_of(stmt)))
        built.length = integer_num(b, b.path.frames[-1].trips)
        return
    counter = b.env.get(counter_name(name))
    assert isinstance(counter, Num)
    assert isinstance(counter.ir, Var)
    b.emit(Append(buffer, counter.ir.name, value, span=span_of(stmt)))


def _append_complex(
    ctx: Lowering, built: ListBuilder, n: Num | ComplexPair, stmt: ast.stmt
) -> None:
    """A complex number, in a list to which each iteration appends one."""
    b = ctx.b
    if not (b.path.frames and appends_once(ctx, built.source)):
        refuse("LOWER_COMPLEX", "a list of complex numbers grows by one each iteration", stmt)
    dtype, weak = built.target, False
    if dtype is None:
        if (
            not isinstance(n, ComplexPair)
            or n.mixed
            or n.re.boxed
            or not _has_one_type(n, built)
        ):
            refuse("LOWER_JOIN", f"the elements of `{built.source}` have different types", stmt)
        dtype, weak = n.strong or n.weak, n.strong is None and not built.taken
    built.dtype, built.weak = dtype, weak
    assert dtype is not None
    place = span_of(stmt)
    index = (b.path.frames[-1].var,)
    b.block.extend(
        element_stores(ctx, _list_buffer(ctx, built, stmt), dtype, index, n, stmt, place)
    )
    built.length = integer_num(b, b.path.frames[-1].trips)


def _as_list_item(ctx: Lowering, built: ListBuilder, n: Num, stmt: ast.stmt) -> Expr:
    """`n` as it stands in the buffer."""
    if n.either and ctx.b.invariant(n.weak_now):
        n = as_numpy_if_loops_ran(ctx, n, stmt)
    if built.target and not n.boxed:
        built.dtype = built.target
        return convert_to_item(ctx, n, built.target, stmt)
    mixed = n.either and not (built.taken and n.strong == n.weak)
    single = n.exact and not n.boxed and not (mixed and n.strong != n.dtype)
    weak, flagged = n.strong is None, mixed and appends_once(ctx, built.source)
    known = (built.dtype, built.weak, built.python)
    now = (n.dtype, weak and not built.taken, n.weak if flagged else None)
    if not single or (mixed and not flagged) or (built.dtype and known != now):
        refuse("LOWER_JOIN", f"the elements of `{built.source}` have different types", stmt)
    built.dtype, built.weak, built.python = now
    if flagged:
        built.flags = built.flags or ctx.b.name(f"{built.buffer}_py")
        flags = _allocate_list_buffer(ctx, built.flags, "bool", _max_executions(ctx, built, stmt))
        ctx.b.emit(Store(flags, (ctx.b.path.frames[-1].var,), n.weak_now, span=span_of(stmt)))
    return n.ir


def _list_buffer(ctx: Lowering, built: ListBuilder, stmt: ast.stmt) -> str:
    """The list's array, with room for what an append at this place adds."""
    assert built.dtype is not None
    built.room = (*built.room, _max_executions(ctx, built, stmt))
    slack = () if appends_once(ctx, built.source) else (HostConst(VECTOR_STORE_SLACK),)
    length = host_sum((*built.room, *slack))
    return _allocate_list_buffer(ctx, built.buffer, built.dtype, length)


def _max_executions(ctx: Lowering, built: ListBuilder, stmt: ast.stmt) -> HostExpr:
    """How often a statement at this place is executed, at most."""
    factors = list[HostExpr]()
    for frame in ctx.b.path.frames:
        trips, room = known_before_kernel(frame.trips, ctx.b), _capacity_of_items(ctx, frame.trips)
        if trips is not None:
            factors.append(host_expression(Call("max", (trips, index_const(0)), "i64")))
        elif room:
            factors.append(host_sum(room))
        else:
            said = f"the length of `{built.source}` is not known before the loop"
            refuse_unknown_length(built.source, said, stmt)
    return host_product(factors)


def _capacity_of_items(ctx: Lowering, trips: Expr) -> tuple[HostExpr, ...]:
    """That of a finished list, where a loop goes through its items."""
    for name, built in ctx.lists.builders.items():
        counter = ctx.b.env.get(counter_name(name))
        if not isinstance(counter, Num) or name in ctx.lists.open:
            continue
        if trips in (counter.ir, Call("max", (counter.ir, index_const(0)), "i64")):
            return built.room
    return ()


def _allocate_list_buffer(ctx: Lowering, name: str, dtype: str, length: HostExpr) -> str:
    made_by = new_array([length], ELEMENTS[dtype].numpy)
    ctx.b.allocate(name, made_by, ArrayType(dtype, 1, 0))
    return name


def _has_one_type(n: ComplexPair, built: ListBuilder) -> bool:
    """Whether all such elements are Python's, or NumPy's; for an array it is all the same."""
    if n.strong and n.weak:
        return bool(built.taken) and n.strong == n.weak
    return bool(n.strong or n.weak)


def one_append_lists(tree: ast.FunctionDef) -> set[str]:
    """Lists that one top-level loop fills by exactly one append an iteration."""
    out: set[str] = set()
    for stmt in tree.body:
        if isinstance(stmt, ast.For) and break_index(stmt.body) is None:
            out |= {n for s in stmt.body if (n := _appended_list(s)) is not None}
    for name in list(out):
        uses = [
            n
            for n in walk_nodes(tree)
            if isinstance(n, ast.Attribute) and isinstance(n.value, ast.Name) and n.value.id == name
        ]
        if len(uses) != 1:
            out.discard(name)
    return out


def _appended_list(stmt: ast.stmt) -> str | None:
    match stmt:
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="append"))):
            return name
        case _:
            return None
