"""Lists of fixed length as arrays: short displays and `[value] * n`.

    v = [a, b, c]    →   v: array of 3, allocated before the kernel;  v[0] = a; v[1] = b; v[2] = c
    v = [0.0] * n    →   v: array of n, allocated before the kernel;  a loop stores 0.0 in each item

A display of at most 16 items that does not escape, and a repetition whose length does not change,
are arrays with the items' dtype. Where items are assigned that may be NumPy scalars, or floats
among ints, a second array has a type flag for each item. An assignment that turns out to need the
flags raises NeedsItemFlags, and the function is lowered again, with flags from the start.
"""
from __future__ import annotations

import ast
from collections.abc import Sequence

from loopir.algebra.constant_folding import index_const
from loopir.analysis.integers.intervals import LENGTH
from loopir.dtypes import DTYPES, INDEX
from loopir.lazy_dataclass import replace
from loopir.nodes import Call, Const, Dim, Expr, Interval, Loop, Stmt, Store, Var

from ...analysis.liveness import names_read
from ...frontend.ast_walk import is_none, walk_nodes
from ...frontend.core_nodes import source_text
from ...frontend.refusal import refuse
from ...frontend.source import span_of
from ...host_nodes import HostConst
from ...result_spec import ListResult, ObjectResult, ResultSpec
from ...types.typed_values import TRUE, Num, cast, constant, converts_exactly
from ...types.value_types import ArrayType
from ..arrays.array_allocation import clamp_length
from ..arrays.capacity_bounds import capacity_bound, is_speculative
from ..arrays.host_expressions import host_expression, known_before_kernel, new_array
from ..scalars.scalar_operands import as_word
from ..scalars.tagged_unions import lower_real
from ..state.guards_and_checks import require
from ..state.list_state import BufferType
from ..state.lowering_state import Lowering
from ..state.node_dispatch import lower_array, refuse_float
from ..state.outer_names import fresh_array_name, resolve_guarded
from ..state.symbol_values import ArrayRef
from ..state.value_ranges import bind_num, integer_num, linear_form
from .item_stores import NeedsItemFlags, require_item_type
from .item_types import (
    INT_OR_FLOAT,
    WORDS,
    encode_item,
    item_type_for,
    item_types,
    refuse_items,
)
from .list_arguments import list_items_of
from .list_uses import does_not_escape

__all__ = ["MAX_SMALL_ITEMS", "bind_repeated_list", "bind_small_list", "returned_fixed_list"]

MAX_SMALL_ITEMS = 16
"""The largest number of items of a display that is lowered to an array."""


def bind_small_list(ctx: Lowering, name: str, value: ast.expr) -> bool:
    """Lowers ``name = value`` to an array, and returns True, if `value` is a display of at most 16
    items, such as ``[a, b]``, ``(a, b)`` or ``[a] * 4``, and there is no other reference to the
    list (`does_not_escape`). Else emits nothing and returns False; the lowering of assignments,
    which calls it, then tries other forms of lists.

        v = [a, b]   →   array v of 2, allocated before the kernel;  v[0] = a;  v[1] = b

    An item that is read must have the type that it was stored with: Python's int 1, its float 1.0
    and NumPy's float64 1.0 are different. Where the items have, or get by a later assignment, two
    types, a second array of bools ("flags") tells the type of each:

    - Python ints and floats: an array of float64, and flags for the ints
      (`_bind_ints_and_floats`);
    - Python's and NumPy's numbers: an array of NumPy's dtype, and flags for Python's;
    - only one type: an array of its dtype, and no flags.

    Later assignments are known from an earlier attempt to lower the function: one that needs flags
    which are not there raises NeedsItemFlags, and ``ctx.fixed.flagged`` has `name` in the next.

    Raises Refused where no array can hold the items, as they have other combinations of types, and
    where an item of a tuple is assigned.
    """
    items = _display_items(value)
    is_tuple = isinstance(value, ast.Tuple)
    kinds: tuple[type, ...] = () if is_tuple else (list,)
    is_small = 0 < len(items) <= MAX_SMALL_ITEMS
    if not is_small or not does_not_escape(name, ctx.tree, returned=not is_tuple):
        return False
    has_item_stores = _has_item_stores(name, ctx.tree)
    if is_tuple and has_item_stores:
        refuse("LOWER_TYPE", f"`{name}` is a tuple, and items of it are set", value)
    lowered = (lower_real(ctx, e, takes_words=True) for e in items)
    numbers: list[Num] = [bind_num(ctx.b, n, "item") for n in lowered]
    types = frozenset[tuple[str, bool]]().union(*(item_types(n) or () for n in numbers))
    item_type = ctx.fixed.flagged.get(name)  # what later assignments need, if two types
    if INT_OR_FLOAT in (item_type_for(types), item_type):
        _bind_ints_and_floats(ctx, name, numbers, kinds, value)
        return True
    if WORDS in (item_type_for(types), item_type):
        numbers = [as_word(ctx.b, n, e) for n, e in zip(numbers, items, strict=True)]
        item_type = None
    python_dtype = item_type.python_dtype if item_type else None
    if item_type is not None and python_dtype is not None:
        numbers = [_as_numpy_item(n, item_type, e) for n, e in zip(numbers, items, strict=True)]
    dtype = numbers[0].dtype
    for n, e in zip(numbers, items, strict=True):
        require_item_type(ctx, n, dtype, e, python_dtype)
    is_uniform = _have_one_type(numbers, item_type, has_item_stores)
    array = _allocate_items(ctx, name, dtype, len(numbers))
    flags = None if is_uniform else _allocate_items(ctx, f"{name}_py", "bool", len(numbers))
    for k, n in enumerate(numbers):
        ctx.b.emit(Store(array, (index_const(k),), n.ir, span=span_of(value)))
        if flags is not None:
            ctx.b.emit(Store(flags, (index_const(k),), n.weak_now, span=span_of(value)))
    weak = is_uniform and numbers[0].weak is not None
    shape = (constant(len(numbers)),)
    ctx.b.env[name] = ArrayRef(
        array, dtype, 0, shape, weak=weak, flags=flags, kinds=kinds, python_dtype=python_dtype)
    ctx.fixed.named[array] = name
    return True


def _have_one_type(
    numbers: Sequence[Num], item_type: BufferType | None, has_item_stores: bool
) -> bool:
    """Whether the items of a list, `numbers`, are of one type, now and after each assignment, so
    that the array needs no flags. If the function assigns items (``has_item_stores``), their type
    must be a Python number's and `item_type` None: an assignment that needs flags sets that for the
    next attempt to lower.
    """
    is_uniform = len({n.types for n in numbers}) == 1 and not numbers[0].either
    if has_item_stores:
        is_uniform = is_uniform and numbers[0].strong is None and item_type is None
    return is_uniform


def _as_numpy_item(n: Num, item_type: BufferType, node: ast.expr) -> Num:
    """The Python number `n` as an item of a list that also gets NumPy scalars of another dtype,
    that of `item_type`. Raises Refused unless it is a constant that is exact in that dtype.
    """
    if n.strong is not None or not converts_exactly(n.ir, item_type.dtype):
        dtypes = [item_type.dtype]
        refuse_items("the items of a list have several types", node, n, dtypes=dtypes)
    return Num(cast(n.ir, item_type.dtype), item_type.dtype, n.weak, TRUE)


def _bind_ints_and_floats(
    ctx: Lowering, name: str, numbers: Sequence[Num], kinds: tuple[type, ...], value: ast.expr
) -> None:
    """Lowers ``name = value``, a short display of Python ints and floats: `numbers`, its items.
    Raises Refused where another number is among them. ``kinds``: as `ArrayRef.kinds`.
    """
    if any(not (item_types(n) or {None}) <= INT_OR_FLOAT.types for n in numbers):
        refuse_items("the items of a list have several types", value, *numbers)
    array = _allocate_items(ctx, name, INT_OR_FLOAT.dtype, len(numbers))
    flags = _allocate_items(ctx, f"{name}_int", "bool", len(numbers))
    for k, n in enumerate(numbers):
        item, is_int = _encode_int_or_float(ctx, n, value)
        for to, stored in ((array, item), (flags, is_int)):
            ctx.b.emit(Store(to, (index_const(k),), stored, span=span_of(value)))
    ctx.b.env[name] = ArrayRef(
        array, INT_OR_FLOAT.dtype, 0, (constant(len(numbers)),), weak=True, flags=flags,
        python_dtype=INT_OR_FLOAT.python_dtype, kinds=kinds)
    ctx.fixed.named[array] = name


def _encode_int_or_float(ctx: Lowering, n: Num, node: ast.AST) -> tuple[Expr, Expr]:
    """The Python number `n` as an item of a list of ints and floats, and whether it is an int,
    which is required to be exact as a float.
    """
    item, is_int, checks = encode_item(n, INT_OR_FLOAT)
    for check in checks:
        require(ctx.b, check, "GUARD_INT_RANGE", node)
    return item, is_int


def _allocate_items(ctx: Lowering, hint: str, dtype: str, length: int) -> str:
    """A new array of a constant length."""
    name = fresh_array_name(ctx, hint)
    made_by = new_array([HostConst(length)], DTYPES[dtype].numpy)
    ctx.b.allocate(name, made_by, ArrayType(dtype, 1, 0))
    return name


def _display_items(value: ast.expr) -> Sequence[ast.expr]:
    """The items of a display, or of ``[a] * 4``; empty for other expressions. A repetition with too
    many items gives one more than `MAX_SMALL_ITEMS`.
    """
    match value:
        case ast.List(elts=elts) | ast.Tuple(elts=elts):
            return elts if not any(isinstance(e, ast.Starred) for e in elts) else ()
        case ast.BinOp(
            left=ast.List(elts=[one]), op=ast.Mult(), right=ast.Constant(value=int(times))
        ) | ast.BinOp(
            left=ast.Constant(value=int(times)), op=ast.Mult(), right=ast.List(elts=[one])
        ):
            return [one] * min(times, MAX_SMALL_ITEMS + 1)
    return ()


def _has_item_stores(name: str, tree: ast.AST) -> bool:
    """Whether `tree` assigns to ``name[…]``."""
    return any(
        isinstance(n, ast.Subscript)
        and isinstance(n.ctx, ast.Store)
        and isinstance(n.value, ast.Name)
        and n.value.id == name
        for n in walk_nodes(tree)
    )


def bind_repeated_list(ctx: Lowering, name: str, value: ast.expr) -> bool:
    """Lowers ``name = value`` and returns True, if `value` is a repetition such as ``[a] * n`` or
    ``[[a] * n for _ in range(m)]`` and `name` does not escape. Else emits nothing and returns
    False.

    Raises NeedsItemFlags where the item is a NumPy scalar, Refused where no array can hold the
    items, or no capacity is known before the kernel.
    """
    repetition = _match_repeated_list(ctx, value)
    if repetition is None or not does_not_escape(
        name, ctx.tree, returned=True, sliced=True
    ):
        return False
    b, (counts, item) = ctx.b, repetition
    lengths = [_bind_list_length(ctx, _lower_list_length(ctx, n, name)) for n in counts]
    if is_none(item):
        message = f"the items of `{name}` are None at first, and no list of None is compiled"
        help = "if the other items are numbers, let one stand for none, such as `math.nan`"
        refuse("LOWER_UNSUPPORTED", message, value, help=help)
    number = bind_num(b, lower_real(ctx, item, takes_words=True), "item")
    require_item_type(ctx, number, number.dtype, value)
    if number.strong is not None and number.dtype not in ("f64", "i64", "bool"):
        refuse("LOWER_TYPE", f"the items of `{name}` are of type {number.dtype}", value)
    item_type = ctx.fixed.flagged.get(name)
    if number.is_word or item_type == WORDS:
        number, item_type = as_word(b, number, value), None
    if number.strong is not None and item_type is None:
        raise NeedsItemFlags(name, BufferType(number.dtype, False, True))
    flag = number.weak_now
    if item_type == INT_OR_FLOAT:
        ir, flag = _encode_int_or_float(ctx, number, value)
        number = Num(ir, weak=INT_OR_FLOAT.dtype)
    elif item_type is not None and item_type.python_dtype is not None:
        number, flag = _as_numpy_item(number, item_type, value), TRUE
    array, shape = _fill_list_array(ctx, name, number, lengths, value)
    flags = None
    if item_type is not None:
        flags, shape = _fill_list_array(ctx, f"{name}_py", Num(flag), shape, value)
    ctx.fixed.named[array] = name
    if any(known_before_kernel(n.ir, b) is None for n in shape):
        b.buffers.overallocated.add(array)
    kinds = (list,) * len(shape)
    weak, unit = item_type is None or item_type.weak, len(shape) - 1
    b.env[name] = ArrayRef(
        array, number.dtype, unit, shape, weak=weak, flags=flags, kinds=kinds,
        python_dtype=item_type.python_dtype if item_type else None)
    return True


def _lower_list_length(ctx: Lowering, times: ast.expr, name: str) -> Expr:
    """``max(times, 0)``, the length of ``[a] * times``. Raises Refused where it is no Python int.
    """
    n = lower_real(ctx, times)
    if not n.python_int:
        refuse_float(n, times, "LOWER_UNSUPPORTED")
        refuse("LOWER_UNSUPPORTED", f"the length of `{name}` is not an int", times)
    return n.ir if n.interval[0] >= 0 else Call("max", (n.ir, index_const(0)), "i64")


def _bind_list_length(ctx: Lowering, length: Expr) -> Num:
    """`length` as a Python int; bound to a name, unless it is a constant. One that is known at
    kernel entry, and so never changes, has its own linear form: subscripts by the variable of a
    loop over a range of that length are proved by it.
    """
    if isinstance(length, Const):
        return constant(int(length.value))
    b = ctx.b
    number = integer_num(b, b.bind(length, "length"), LENGTH)
    return replace(number, linear=linear_form(b, length)) if b.known_at_entry(length) else number


def _fill_list_array(
    ctx: Lowering, hint: str, one: Num, lengths: Sequence[Num], node: ast.expr
) -> tuple[str, tuple[Num, ...]]:
    """A new array with the capacity for `lengths`, and its shape; a loop nest, emitted here, stores
    the number `one` in each element. The shape is `lengths`, except where the capacity is computed
    from elements that the kernel may have changed since (`is_speculative`): there the length is
    checked, and clamped to the capacity. Raises Refused where a capacity is not known before the
    kernel.
    """
    name, b = fresh_array_name(ctx, hint), ctx.b
    capacities = [capacity_bound(b, n.ir) for n in lengths]
    if None in capacities:
        refuse("LOWER_UNSUPPORTED", f"the length of `{hint}` is not known before it", node)
    known = [n for n in capacities if n is not None]
    ty = ArrayType(one.dtype, len(lengths), len(lengths) - 1)
    host_lengths = [host_expression(n) for n in known]
    b.allocate(name, new_array(host_lengths, DTYPES[one.dtype].numpy), ty)
    shape = tuple(
        clamp_length(ctx, n, Dim(name, axis), node) if is_speculative(capacity) else n
        for axis, (n, capacity) in enumerate(zip(lengths, known, strict=True))
    )
    index = tuple(Var(b.name("i"), INDEX) for _ in shape)
    nest: Stmt = Store(name, index, one.ir)
    for var, length in zip(reversed(index), reversed(shape), strict=True):
        nest = Loop(var.name, Interval(index_const(0), length.ir), (nest,))
    b.emit(nest)
    return name, shape


def _match_repeated_list(ctx: Lowering, value: ast.expr) -> tuple[list[ast.expr], ast.expr] | None:
    """The lengths, the outermost first, and the item of a repetition, also of a nested one or of a
    comprehension that repeats a constant; None for other expressions.
    """
    match value:
        case ast.BinOp(left=ast.List(elts=[one]), op=ast.Mult(), right=times):
            return [times], one
        case ast.BinOp(left=times, op=ast.Mult(), right=ast.List(elts=[one])):
            return [times], one
        case ast.ListComp(
            elt=one,
            generators=[
                ast.comprehension(
                    target=ast.Name(id=name),
                    iter=ast.Call(func=func, args=[times], keywords=[]),
                    ifs=[],
                )
            ],
        ) if resolve_guarded(ctx, func) is range and name not in names_read([one]):
            if isinstance(one, ast.Constant):
                return [times], one
            inner = _match_repeated_list(ctx, one)
            return None if inner is None else ([times, *inner[0]], inner[1])
    return None


def returned_fixed_list(ctx: Lowering, node: ast.expr) -> ResultSpec | None:
    """The result specification of a list of fixed length: an argument or a global, which is
    returned itself, or a list made here; None for other nodes. Raises Refused for an item of a list
    of lists, and where the length of a list made here is only known in the kernel.
    """
    array = lower_array(ctx, node)
    items = list_items_of(ctx, array) if array is not None else None
    if array is not None and items is not None:
        if array.base_index:
            message = f"`{source_text(node)}` is a list in a list, and is returned"
            return refuse("LOWER_UNSUPPORTED", message, node)
        return ObjectResult(items.of)
    local = ctx.b.env.get(node.id) if isinstance(node, ast.Name) else None
    if not isinstance(local, ArrayRef) or not local.kinds or local.base_index:
        return None
    if local.name in ctx.b.buffers.overallocated:
        refuse("LOWER_UNSUPPORTED", f"the length of `{source_text(node)}` is not known", node)
    dtype = local.python_dtype or local.dtype if local.flags else None
    return ListResult(local.name, None, local.weak, local.flags, dtype)
