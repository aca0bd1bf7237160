"""Dynamic lists, read while they grow or shrink: buffers with a capacity, and a count of items.

`expand_dynamic_lists.py` has replaced each such list by its buffers, which are arrays, and its
count, an int variable; ``ListPush`` and ``ListPop`` are what is left of its methods::

    #stack = ListPush([stack], #stack, [x])   →   fits = #stack < len(stack)
                                                  if fits: stack[#stack] = x
                                                  else:    short = True
                                                  check fits;  #stack += 1 if fits else 0
    #stack = ListPop(#stack)                  →   #stack = max(#stack - 1, 0)

A list that grows in each iteration alike has a number of items that follows from the numbers of
the iterations, and so a capacity that is known before the kernel (`finish_dynamic_lists`): its
items are stored without a test. For others no capacity is known to be enough. The kernel stores
True in the result slot ``short`` where it was too small (`_lower_push`);
`runtime.kernel_call.list_capacity.grow_capacity` multiplies it by 8, and the wrapper repeats the
call.

The type of the items is only known from the pushes: it is that of the first one, or Python ints
where the list is read before. A later push of another type raises WiderBufferType, and the function
is lowered again with a wider type: one dtype for NumPy scalars and Python numbers, with a second
array of flags that tells which items are of the other type (`BufferType`).
"""
from __future__ import annotations

import ast
from collections.abc import Collection

from loopir.algebra.constant_folding import index_const
from loopir.algebra.index_builder import index_add, index_less, index_max
from loopir.analysis.integers.affine import LinearForm
from loopir.analysis.integers.intervals import LENGTH
from loopir.dtypes import DTYPES
from loopir.lazy_dataclass import replace
from loopir.nodes import Call, Dim, Expr, If, Param, Stmt, Store

from ...call_plan import ResultSlot
from ...frontend.core_nodes import ListPop, ListPush
from ...frontend.source import span_of
from ...host_nodes import HostCapacity, HostExpr
from ...result_spec import ListResult, ResultSpec, ZippedResult
from ...types.typed_values import FALSE, TRUE, Num, constant
from ...types.value_types import ArrayType
from ..arrays.host_expressions import host_expression, known_before_kernel, new_array
from ..scalars.tagged_unions import bind_scalar, cases_with_number, lower_real
from ..state.generated_names import buffer_names, counter_name
from ..state.guards_and_checks import require
from ..state.ir_builder import IRBuilder
from ..state.list_state import BufferType
from ..state.lowering_state import Lowering
from ..state.node_dispatch import lower_scalar
from ..state.outer_names import fresh_array_name
from ..state.path_conditions import loop_extremum
from ..state.symbol_values import ArrayRef, Scalar, UnionValue
from ..state.value_ranges import integer_num, linear_form, linear_num
from .item_types import encode_item, item_type_for, item_types, refuse_items

__all__ = [
    "NeedsTriedCapacity", "WiderBufferType", "buffer_array", "finish_dynamic_lists",
    "lower_list_count",
    "note_buffer_item", "report_short_capacity", "returned_dynamic_list", "start_dynamic_lists",
]


class WiderBufferType(Exception):
    """Raised where the item type of a buffer has to be wider than it was assumed to be. Code before
    has stored or read items of the narrower type, so lowering starts again, with the type that
    `DynamicLists.types` has now.
    """


class NeedsTriedCapacity(Exception):
    """Raised where the capacity of a list or an array must be found by retrying the call; lowering
    starts again with a ``short`` slot (`report_short_capacity`). ``lists``: the lists of which it
    was assumed to be known (`DynamicLists.counted`).
    """

    def __init__(self, lists: Collection[str] = ()) -> None:
        super().__init__(*lists)
        self.lists = frozenset(lists)


def start_dynamic_lists(ctx: Lowering) -> None:
    """Called before the first statement: sets the counts of all dynamic lists to 0, and adds the
    result slot ``short``, if a capacity is tried.
    """
    b = ctx.b
    tried = ctx.dynamic.widths.keys() - ctx.dynamic.counted
    for name in ctx.dynamic.widths:
        ctx.lists.counters.add(counter_name(name))
        b.env[counter_name(name)] = constant(0)
    if tried or ctx.dynamic.tried_capacity:
        ctx.dynamic.overflow_slot = b.name("short")
        b.params[ctx.dynamic.overflow_slot] = Param(
            ctx.dynamic.overflow_slot, "bool", 0, None, written=True
        )
        b.bindings[ctx.dynamic.overflow_slot] = ResultSlot(ctx.dynamic.overflow_slot, "bool")
        b.emit(Store(ctx.dynamic.overflow_slot, (), FALSE))


def finish_dynamic_lists(ctx: Lowering) -> None:
    """Called after the last statement: allocates the buffers of the lists whose number of items is
    known wherever they grow, with room for the greatest. Raises NeedsTriedCapacity if it is not
    known of one of them.

        v = [x[0]]                                                     room for 1, and for
        for i in range(n - 1): v.append(v[-1] * x[i])                  1 + (n - 2) + 1 = n items
    """
    rooms = {name: ctx.b.buffers.needed_room.get(name, ()) for name in ctx.dynamic.counted}
    if unknown := [name for name, room in rooms.items() if None in room]:
        raise NeedsTriedCapacity(unknown)
    for name, room in rooms.items():
        most: Expr = index_const(0)
        for needed in room:
            assert needed is not None
            most = index_max(most, needed)
        for part in buffer_names(name, ctx.dynamic.widths[name]):
            if part in ctx.dynamic.arrays:
                _allocate_buffer(ctx, part, ctx.dynamic.types[part].dtype, host_expression(most))
                if ctx.dynamic.types[part].mixed:
                    _allocate_buffer(ctx, f"{part}_py", "bool", host_expression(most))


def report_short_capacity(ctx: Lowering, enough: Expr, node: ast.AST) -> None:
    """Emits code that reports a capacity that is too small, where the bool `enough` is false; the
    call is then repeated with a larger one. Raises NeedsTriedCapacity where there is no ``short``
    slot.
    """
    if ctx.dynamic.overflow_slot is None:
        raise NeedsTriedCapacity
    report = Store(ctx.dynamic.overflow_slot, (), TRUE)
    ctx.b.emit(If(enough, (), (report,), span=span_of(node)))


def buffer_array(ctx: Lowering, name: str, count: Num) -> ArrayRef:
    """The buffer `name` of a dynamic list as an array of `count` items. Where its item type is not
    known so far, ints are guessed.
    """
    item_type = ctx.dynamic.types.setdefault(name, BufferType(sure=False))
    array = _allocate_buffer(ctx, name, item_type.dtype)
    flags = _allocate_buffer(ctx, f"{name}_py", "bool") if item_type.mixed else None
    shape = (integer_num(ctx.b, count.ir, LENGTH),)
    return ArrayRef(
        array, item_type.dtype, 0, shape, weak=item_type.weak, flags=flags,
        python_dtype=item_type.python_dtype, kinds=(list,),
    )


def _allocate_buffer(
    ctx: Lowering, name: str, dtype: str, length: HostExpr | None = None
) -> str:
    """The kernel's array for the buffer `name`, which is allocated when it is first needed, and
    again once its ``length`` is known.
    """
    b = ctx.b
    array = f"{name.replace('.', '_')}_items"
    if array not in b.params:
        array = ctx.dynamic.arrays.get(name) or fresh_array_name(ctx, array)
        ctx.dynamic.arrays[name] = array
    if array not in b.params or length is not None:
        b.names.add(array)
        made_by = new_array([length or HostCapacity()], DTYPES[dtype].numpy)
        b.allocate(array, made_by, ArrayType(dtype, 1, 0))
    return array


def note_buffer_item(ctx: Lowering, name: str, value: Scalar, node: ast.AST) -> None:
    """Notes that `value` becomes an item of the buffer `name` of a dynamic list. Nothing happens if
    it has the item type that the buffer is assumed to have. If that is unknown, it is known now.
    Else the assumption was wrong, and lowering starts again with a better one::

        v.append(1)         nothing is assumed                  →   Python ints
        v.append(x[i])      x: float64, Python ints assumed     →   WiderBufferType: both and flags
        v.append(z)         z: complex                          →   Refused: no type has them all

    A type stays known where the statement is lowered again (`trial`), as for a loop whose variables
    turn out to have other types: it can only be too wide then.
    """
    item_type = ctx.dynamic.types.get(name)
    types, known_types = item_types(value), item_type.types if item_type else frozenset()
    needed = None if types is None else item_type_for(types | known_types)
    if needed is None:
        dtypes = [item_type.dtype] if item_type else []
        refuse_items("the items of a list have several types", node, value, dtypes=dtypes)
    ctx.dynamic.types[name] = needed
    if item_type is not None and needed != replace(item_type, sure=True):
        raise WiderBufferType(name)


def lower_list_count(ctx: Lowering, name: str, value: ast.expr, stmt: ast.stmt) -> bool:
    """Lowers ``name = value``, if `value` is a ListPush or a ListPop of the list whose count is
    `name`, and returns whether it is.
    """
    match value:
        case ListPush():
            _lower_push(ctx, name, value, stmt)
        case ListPop():
            count = ctx.b.env[name]
            assert isinstance(count, Num)
            decremented = Call("sub", (count.ir, index_const(1)), "i64")
            new_count = ctx.b.bind(Call("max", (decremented, index_const(0)), "i64"), "count")
            ctx.b.env[name] = integer_num(ctx.b, new_count, LENGTH)
        case _:
            return False
    return True


def _lower_push(ctx: Lowering, target: str, push: ListPush, stmt: ast.stmt) -> None:
    """``target = push``: stores the items of each buffer of the list behind its last one, and adds
    their number to the count `target`. Called for each ``ListPush`` node; the module's docstring
    has the code for one item.

    If the capacity is not enough for all items, nothing is stored, the result slot ``short`` is
    set, and a check fails: the wrapper repeats the call with more (`list_capacity.grow_capacity`),
    or replays it. The kernel may run on after a failed check, so the count does not grow then: it
    never exceeds the capacity, and later stores stay in the buffer.

    A list of tuples has one buffer for each item of a tuple. An item whose type is Python's int or
    float, by the data, also stores a flag (`encode_item`).
    """
    b, list_name = ctx.b, push.buffers[0].id.partition(".")[0]
    names = [buffer.id for buffer in push.buffers]
    items = [bind_scalar(ctx, _lower_list_item(ctx, e), "item") for e in push.items]
    pushed, odd = divmod(len(items), len(names))
    assert not odd
    for name, item in zip(names * pushed, items, strict=True):
        note_buffer_item(ctx, name, item, stmt)
    count = b.env[target]
    assert isinstance(count, Num)
    arrays = [buffer_array(ctx, name, count) for name in names]
    last = index_add(count.ir, pushed - 1)
    stores: list[Stmt] = []
    for k, (name, item) in enumerate(zip(names * pushed, items, strict=True)):
        array, place = arrays[k % len(names)], (index_add(count.ir, k // len(names)),)
        value, flag, checks = encode_item(item, ctx.dynamic.types[name])
        for check in checks:
            require(b, check, "GUARD_INT_RANGE", stmt)
        stores.append(Store(array.name, place, value, span=span_of(stmt)))
        if array.flags is not None:
            stores.append(Store(array.flags, place, flag, span=span_of(stmt)))
    if list_name in ctx.dynamic.counted:
        b.block.extend(stores)
        _note_needed_room(b, list_name, linear_form(b, last))
        b.env[target] = linear_num(b, linear_form(b, count.ir) + LinearForm({}, pushed))
        return
    assert ctx.dynamic.overflow_slot is not None
    fits = b.bind(index_less(last, Dim(arrays[0].name, 0)), "fits")
    report = Store(ctx.dynamic.overflow_slot, (), TRUE)
    b.emit(If(fits, tuple(stores), (report,), span=span_of(stmt)))
    require(b, fits, "GUARD_BOUNDS", stmt)
    increment = Call("select", (fits, index_const(pushed), index_const(0)), "i64")
    new_count = b.bind(Call("add", (count.ir, increment), "i64"), "count")
    b.env[target] = integer_num(b, new_count, LENGTH)


def _note_needed_room(b: IRBuilder, name: str, last: LinearForm) -> None:
    """Notes that the list `name` gets an item at `last`, in each iteration of the loops around."""
    most = loop_extremum(b, last, True)
    is_known = all(map(b.known_at_entry, most.terms))
    room = known_before_kernel(index_add(most.expr(), 1), b) if is_known else None
    b.buffers.needed_room[name] = (*b.buffers.needed_room.get(name, ()), room)


def _lower_list_item(ctx: Lowering, e: ast.expr) -> Scalar:
    """The item `e` of a push: a real number, or a union of numbers. Raises Refused for others."""
    value = lower_scalar(ctx, e, is_item=True)
    if isinstance(value, UnionValue):
        return UnionValue(tuple(cases_with_number(ctx, value, e)))
    return value if isinstance(value, Num) and value.is_word else lower_real(ctx, e)


def returned_dynamic_list(ctx: Lowering, name: str, slot: str) -> ResultSpec:
    """The result specification of the dynamic list `name`, whose length is in `slot`: a list made
    of its buffer, or of tuples of the items of its buffers.
    """
    items = []
    count = ctx.b.env[counter_name(name)]
    assert isinstance(count, Num)
    for part in buffer_names(name, ctx.dynamic.widths[name]):
        array = buffer_array(ctx, part, count)
        dtype = array.python_dtype or array.dtype if array.flags else None
        items.append(ListResult(array.name, slot, array.weak, array.flags, dtype))
    return ZippedResult(tuple(items)) if ctx.dynamic.widths[name] else items[0]
