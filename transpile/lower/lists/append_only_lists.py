"""Append-only lists: buffers that loops fill, and that are read after the loop.

    v = []                            buffer of the capacity n, allocated before the kernel
    for i in range(n):           →    for i: append x[i] to the buffer at the counter #v, if it is
        if x[i] > 0:                  positive; vector code does this with a compress store
            v.append(x[i])            v has #v items

The capacity is the sum, over all ``append`` calls in the source, of the number of times that they
can run: the product of the trip counts of the loops around, which must be known before the kernel.
A list to which each iteration of one loop appends exactly one item (`one_append_lists`) needs no
counter: the item is stored at the number of the iteration. The parameter ``built`` is what is known
of the list so far, ``stmt`` the ``append`` that is being lowered.
"""
from __future__ import annotations

import ast

from loopir.algebra.constant_folding import index_const
from loopir.nodes import Append, Call, Expr, Store, Var

from ...frontend.ast_walk import walk_nodes
from ...frontend.core_nodes import break_index
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
from ..scalars.scalar_operands import as_int64, as_numpy_if_loops_ran, as_word
from ..scalars.tagged_unions import bind_scalar, require_one_type
from ..state.generated_names import counter_name
from ..state.guards_and_checks import require
from ..state.list_state import ListBuilder
from ..state.lowering_state import Lowering
from ..state.node_dispatch import lower_scalar
from ..state.symbol_values import ListRef, UnionValue
from ..state.value_ranges import integer_num
from .item_types import INT_OR_FLOAT, encode_item, item_types, refuse_items
from .list_builders import appends_once

__all__ = [
    "VECTOR_STORE_SLACK", "NeedsAppendCounter", "lower_append", "one_append_lists",
]

VECTOR_STORE_SLACK = 64
"""How many elements a full vector store may write after the last item."""


class NeedsAppendCounter(Exception):
    """Raised for the list `name`, which was lowered without a counter, where its buffer may have
    more elements than the list gets items (`lower_append`, step 2). Lowering starts again with a
    counter for it (`Discoveries.counted_lists`).
    """

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


def lower_append(ctx: Lowering, name: str, item: ast.expr, stmt: ast.stmt) -> None:
    """Lowers ``name.append(item)`` to a store to the list's buffer, an array that is allocated
    before the kernel. `lower_statements` calls it for each such statement::

        for i in range(n):     →    v gets one item in each iteration:  store x[i] at i, no counter
            v.append(x[i])          else:   append x[i] at the counter #v, which that increments

    1. The list must be one that this function makes and only appends to; else Refused.
    2. A list without a counter (`appends_once`) may need one after all: NeedsAppendCounter is
       raised, and the function is lowered again, with a counter.
    3. The first item decides the dtype of the buffer, and each later one must have the same type;
       else Refused. There are three forms of items: a Python int or float, depending on the data,
       with a flag in a second buffer that tells which (`_append_int_or_float`); a complex number
       (`_append_complex`); a number of one type (`_as_list_item`). The first two need a list
       without a counter; else such an int or float leads to a dynamic list, a complex number to
       Refused.
    4. The capacity of the buffer grows by the number of times that this statement can run
       (`_list_buffer`). If that is not known before the kernel, or the statement is in no loop,
       UnknownListLength is raised, and the function is lowered again with a dynamic list.
    """
    b = ctx.b
    built = ctx.lists.builders.get(name)
    if built is None or b.env.get(name) != ListRef(name):
        if name in ctx.types:
            help = f"append to a list that is made here, and extend `{name}` with it in the caller"
            refuse("LOWER_UNSUPPORTED", f"the argument `{name}` is made longer", stmt, help=help)
        help = f"append to a list that is made here, and extend `{name}` with it after the loop"
        message = f"`{name}` is not a list of numbers made here"
        refuse("LOWER_UNSUPPORTED", message, stmt, help=help)
    # 2. Without a counter, all of the buffer is the list: it must have exactly one element for each
    # item. It would have more where this statement is lowered once for each array that a name may
    # be bound to, as each version adds its capacity; and where the loop runs once for each item of
    # another list, since before the kernel only the capacity of that list is known.
    if appends_once(ctx, name):
        frames = b.path.frames
        runs_per_item = bool(frames and _capacity_of_items(ctx, frames[-1].trips))
        if b.array_version_depth or runs_per_item:
            raise NeedsAppendCounter(name)
    # 3; the first two forms do step 4 themselves
    item_value = lower_scalar(ctx, item, is_item=True)
    if isinstance(item_value, UnionValue) and item_types(item_value) == INT_OR_FLOAT.types:
        _append_int_or_float(ctx, built, item_value, stmt)
        return
    number = require_one_type(ctx, item_value, item, takes_words=True)
    if isinstance(number, ComplexPair) or (built.target or built.dtype) in PARTS:
        _append_complex(ctx, built, number, stmt)
        return
    value = _as_list_item(ctx, built, number, stmt)
    if not b.path.frames:
        refuse_unknown_length(name, f"`{name}.append` stands outside a loop", stmt)
    # 4.
    buffer = _list_buffer(ctx, built, stmt)
    if appends_once(ctx, name):
        b.emit(Store(buffer, (b.path.frames[-1].var,), value, span=span_of(stmt)))
        built.length = integer_num(b, b.path.frames[-1].trips)
        return
    counter = b.env.get(counter_name(name))
    assert isinstance(counter, Num)
    assert isinstance(counter.ir, Var)
    b.emit(Append(buffer, counter.ir.name, value, span=span_of(stmt)))


def _append_int_or_float(
    ctx: Lowering, built: ListBuilder, item: UnionValue, stmt: ast.stmt
) -> None:
    """``append`` of an item that is a Python int or float, depending on the data: its value goes to
    the buffer, as a float, and a flag to a second buffer. Raises UnknownListLength, by which the
    list becomes a dynamic one, unless each iteration appends one item, and all items are of this
    kind; also for a list that is only used to make an array.
    """
    b, ty, name = ctx.b, INT_OR_FLOAT, built.source
    known_type = built.dtype is None or built.python_dtype == ty.python_dtype
    if not (b.path.frames and appends_once(ctx, name) and known_type) or built.only_for_array:
        refuse_unknown_length(name, f"the items of `{name}` have several types", stmt)
    value, is_int, checks = encode_item(bind_scalar(ctx, item, "item"), ty)
    for check in checks:
        require(b, check, "GUARD_INT_RANGE", stmt)
    built.dtype, built.weak, built.python_dtype = ty.dtype, ty.weak, ty.python_dtype
    built.flags = built.flags or b.name(f"{built.buffer}_int")
    flags = _allocate_list_buffer(ctx, built.flags, "bool", _max_executions(ctx, built, stmt))
    index = (b.path.frames[-1].var,)
    b.emit(Store(_list_buffer(ctx, built, stmt), index, value, span=span_of(stmt)))
    b.emit(Store(flags, index, is_int, span=span_of(stmt)))
    built.length = integer_num(b, b.path.frames[-1].trips)


def _append_complex(
    ctx: Lowering, built: ListBuilder, n: Num | ComplexPair, stmt: ast.stmt
) -> None:
    """``append`` of a complex number, or to a list of complex numbers. Raises Refused unless each
    iteration appends one item of one type.
    """
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
            refuse_items(f"the elements of `{built.source}` have different types", stmt, n)
        dtype, weak = n.strong or n.weak, n.strong is None and not built.only_for_array
    built.dtype, built.weak = dtype, weak
    assert dtype is not None
    span = span_of(stmt)
    index = (b.path.frames[-1].var,)
    b.block.extend(
        element_stores(ctx, _list_buffer(ctx, built, stmt), dtype, index, n, stmt, span)
    )
    built.length = integer_num(b, b.path.frames[-1].trips)


def _as_list_item(ctx: Lowering, built: ListBuilder, n: Num, stmt: ast.stmt) -> Expr:
    """The item `n` as the buffer of the list `built` holds it, whose type is set or checked. An
    item that is Python's or NumPy's, depending on the data, gets a flag in a second buffer; only
    lists that need no counter can have one. Raises Refused where the items have different types.
    """
    if n.is_word and (built.only_for_array or built.dtype not in (None, "u64")):
        n = n if built.target == "u64" else as_int64(ctx.b, n, stmt)
    elif n.python_int and built.weak and built.dtype == "u64":
        n = as_word(ctx.b, n, stmt)
    if n.either and ctx.b.known_at_entry(n.weak_now):
        n = as_numpy_if_loops_ran(ctx.b, n, stmt)
    if built.target and not n.boxed:
        built.dtype = built.target
        return convert_to_item(ctx, n, built.target, stmt)
    only_dtype_matters = built.only_for_array and n.strong == n.weak
    is_mixed = n.either and not only_dtype_matters  # needs a flag
    loses_value = not n.exact or n.boxed or (is_mixed and n.strong != n.dtype)
    has_flag = is_mixed and appends_once(ctx, built.source)
    is_python = n.strong is None and not built.only_for_array
    list_type = (built.dtype, built.weak, built.python_dtype)
    item_type = (n.dtype, is_python, n.weak if has_flag else None)
    differs_from_others = built.dtype is not None and list_type != item_type
    if loses_value or (is_mixed and not has_flag) or differs_from_others:
        message = f"the elements of `{built.source}` have different types"
        refuse_items(message, stmt, n, dtypes=[built.dtype])
    built.dtype, built.weak, built.python_dtype = item_type
    if has_flag:
        built.flags = built.flags or ctx.b.name(f"{built.buffer}_py")
        flags = _allocate_list_buffer(ctx, built.flags, "bool", _max_executions(ctx, built, stmt))
        ctx.b.emit(Store(flags, (ctx.b.path.frames[-1].var,), n.weak_now, span=span_of(stmt)))
    return n.ir


def _list_buffer(ctx: Lowering, built: ListBuilder, stmt: ast.stmt) -> str:
    """The array of the list's buffer, with room for what the ``append`` that is being lowered can
    add, too. Called for each append of the source, each of which adds a term to the capacity:

        for i in range(n):                   after the first append: n
            v.append(x[i])                   after the second one:   n + n * m
            for j in range(m): v.append(x[j])

    The array is allocated at each call, before the kernel starts; its length is a host expression
    of the call plan. While the function is lowered that expression is replaced by a larger sum at
    each further append. A list with a counter gets room for `VECTOR_STORE_SLACK` items more, since
    a vector store writes all its lanes, of which only the selected ones count.
    """
    assert built.dtype is not None
    built.capacity_terms = (*built.capacity_terms, _max_executions(ctx, built, stmt))
    slack = () if appends_once(ctx, built.source) else (HostConst(VECTOR_STORE_SLACK),)
    length = host_sum((*built.capacity_terms, *slack))
    return _allocate_list_buffer(ctx, built.buffer, built.dtype, length)


def _max_executions(ctx: Lowering, built: ListBuilder, stmt: ast.stmt) -> HostExpr:
    """How often the current statement, an ``append``, can run at most, as a host expression: the
    product of the trip counts of the loops around it.

        for i in range(n):
            for j in range(3):
                if x[i, j] > 0: v.append(j)      →    max(n, 0) * 3        (a test is not counted)

    A trip count must be known before the kernel. If it is the length of another list, the capacity
    of that list is an upper bound. Else UnknownListLength is raised, and the function is lowered
    again with this list as a dynamic one (`Discoveries.unbounded_lists`).
    """
    factors = list[HostExpr]()
    for frame in ctx.b.path.frames:
        trips = known_before_kernel(frame.trips, ctx.b)
        capacity = _capacity_of_items(ctx, frame.trips)
        if trips is not None:
            factors.append(host_expression(Call("max", (trips, index_const(0)), "i64")))
        elif capacity:
            factors.append(host_sum(capacity))
        else:
            message = f"the length of `{built.source}` is not known before the loop"
            refuse_unknown_length(built.source, message, stmt)
    return host_product(factors)


def _capacity_of_items(ctx: Lowering, trips: Expr) -> tuple[HostExpr, ...]:
    """The capacity, as terms of a sum, of the finished list whose length is the trip count `trips`;
    empty where it is no such length.
    """
    for name, built in ctx.lists.builders.items():
        counter = ctx.b.env.get(counter_name(name))
        if not isinstance(counter, Num) or name in ctx.lists.open:
            continue
        if trips in (counter.ir, Call("max", (counter.ir, index_const(0)), "i64")):
            return built.capacity_terms
    return ()


def _allocate_list_buffer(ctx: Lowering, name: str, dtype: str, length: HostExpr) -> str:
    """Adds the array parameter `name`, or replaces its allocation, and returns `name`."""
    made_by = new_array([length], ELEMENTS[dtype].numpy)
    ctx.b.allocate(name, made_by, ArrayType(dtype, 1, 0))
    return name


def _has_one_type(n: ComplexPair, built: ListBuilder) -> bool:
    """Whether the complex item `n` is Python's on all paths, or NumPy's on all paths. For a list
    that is only used to make an array, it suffices that both have the same dtype.
    """
    if n.strong and n.weak:
        return bool(built.only_for_array) and n.strong == n.weak
    return bool(n.strong or n.weak)


def one_append_lists(tree: ast.FunctionDef) -> set[str]:
    """The lists that get exactly one item in each iteration of one loop, by the form of `tree`: so
    their length is the trip count, and they need no counter. `lower_function` starts with these.

        for i in range(n): v.append(x[i])               {"v"}
        for i in range(n):
            if x[i] > 0: v.append(x[i])                 none: not in each iteration

    The ``append`` is at the top level of the body of a top-level ``for`` without a ``break``, and
    no other attribute of the name is used anywhere.
    """
    lists: set[str] = set()
    for stmt in tree.body:
        if isinstance(stmt, ast.For) and break_index(stmt.body) is None:
            lists |= {n for s in stmt.body if (n := _appended_list(s)) is not None}
    for name in list(lists):
        uses = [
            n
            for n in walk_nodes(tree)
            if isinstance(n, ast.Attribute) and isinstance(n.value, ast.Name) and n.value.id == name
        ]
        if len(uses) != 1:
            lists.discard(name)
    return lists


def _appended_list(stmt: ast.stmt) -> str | None:
    """The name of ``name.append(…)``; None for other statements."""
    match stmt:
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="append"))):
            return name
        case _:
            return None
