"""List arguments and captured lists: decides which become arrays, and adds these as parameters.

`targets.abi.sequence_conversion` copies the items at each call, and after it stores in the list the
items that the kernel has changed; `call_plan.ListItems` tells the runtime of which list. The copy
takes time for each item, so it is only made for a list that some loop goes through, or that is
sliced; other lists are refused.
The array of a memoryview or an array.array is no copy, but shares its memory.
"""
from __future__ import annotations

import ast
from collections.abc import Iterator

from loopir.analysis.integers.intervals import LENGTH
from loopir.nodes import Dim

from ...call_plan import ItemFlags, ListItems
from ...containers.method_table import LIST_METHODS
from ...frontend.ast_names import bound_names, name_bindings, names_used
from ...frontend.ast_walk import child_nodes, walk_nodes
from ...frontend.refusal import refuse
from ...types.value_types import ArrayType, ListType
from ..state.lowering_state import Lowering
from ..state.outer_names import fresh_array_name
from ..state.symbol_values import ArrayRef
from ..state.value_ranges import integer_num
from .list_uses import escaping_uses

__all__ = ["list_items_of", "take_list_items"]


def take_list_items(
    ctx: Lowering, name: str, ty: ListType, node: ast.AST, *, captured: bool = False
) -> ArrayRef:
    """The array that stands for the list `name` in the kernel, an argument or a global
    (``captured``) of type `ty`: a new parameter, or the one that the list has already. Called by
    lowering where the function uses the list. Its lengths are those of the array::

        for i in range(len(x)): s += x[i]     →    for i in range(x_items.shape[0]): s += x_items[i]

    Raises Refused where the list escapes, or no loop goes through it (`_traversed_names`): to
    convert a long list takes longer than to read a few of its items. A loop that may stop at an
    early item counts as going through it, so the list is converted; if Python is then faster,
    `CallSelection` finds that out by measured time.
    """
    b = ctx.b
    known = (k for k in b.bindings.values() if isinstance(k, ListItems) and k.of == name)
    items = next(known, None) or _new_list_items(ctx, name, ty, node, captured)
    array = items.name
    rank = len(ty.kinds)
    shape = tuple(integer_num(b, Dim(array, k), LENGTH) for k in range(rank))
    python_dtype = ty.item.dtype if ty.is_packed or ty.is_mixed else None
    return ArrayRef(
        array, ty.stored.dtype, _array_type(ty).unit, shape, weak=ty.item.weak, kinds=ty.kinds,
        python_dtype=python_dtype, flags=items.flags)


def _new_list_items(
    ctx: Lowering, name: str, ty: ListType, node: ast.AST, captured: bool
) -> ListItems:
    """Adds the array parameter for the items of the list `name`; see `take_list_items`."""
    for use in escaping_uses(name, ctx.tree, returned=True, sliced=True):
        if _is_changed_by_method(use, ctx.tree):
            said = f"the argument `{name}` itself is changed here"
            help = f"make a list here, for instance `list({name})`, change that, and return it"
            if name in bound_names(*ctx.tree.body):
                said = f"`{name}` is changed here, and may be the argument or another list"
                help = "give the list that is made here another name than the argument's"
            refuse("LOWER_UNSUPPORTED", said, use, help=help)
        said = f"`{name}` is of type {ty}, and is used as a whole, not item by item"
        refuse("LOWER_TYPE", said, use, help=_help_for_whole(name, ty, use, ctx.tree))
    if name not in _traversed_names(ctx.tree):
        said = f"`{name}` is of type {ty}, and no loop goes through it"
        refuse("LOWER_TYPE", said, node, help=_as_array(name, ty))
    array = fresh_array_name(ctx, f"{name}_items")
    flags = fresh_array_name(ctx, f"{name}_are_ints") if ty.is_mixed else None
    items = ListItems(array, name, ty, captured, flags, ctx.members.reads.get(name))
    ctx.b.add_list_param(items, _array_type(ty))
    if flags is not None:
        ctx.b.add_list_param(ItemFlags(flags), ArrayType("bool", 1, 0))
    return items


def _is_changed_by_method(use: ast.AST, tree: ast.AST) -> bool:
    """Whether a method that changes a list, such as ``remove``, is called on `use` in `tree`."""
    for n in walk_nodes(tree):
        match n:
            case ast.Call(func=ast.Attribute(value=value, attr=method)) if value is use:
                return method in LIST_METHODS and LIST_METHODS[method].mutates
    return False


def _as_array(name: str, ty: ListType) -> str:
    """The help for the list `name`, if it is not converted for a few of its items."""
    made = f"np.array({name})"
    if ty.kinds[0] in (bytes, bytearray):
        made = f"np.frombuffer({name}, np.uint8)"
    elif ty.kinds == (str,):
        made = f"np.array([*map(ord, {name})])"
    elif ty.memory:
        made = f"np.asarray({name})"
    return f"pass `{name}` as an array, made once by `{made}`, before the calls"


def _help_for_whole(name: str, ty: ListType, use: ast.AST, tree: ast.AST) -> str:
    """The help for `use` of the list `name` as a whole. It proposes an array only where this means
    the same: operators of arrays are elementwise, and several items have no truth value.
    """
    for n in walk_nodes(tree):
        match n:
            case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test) if test is use:
                return f"write `len({name}) > 0`"
            case ast.UnaryOp(operand=operand) if operand is use:
                return f"write `len({name}) == 0`"
            case ast.BoolOp(values=values) if use in values:
                return f"write `len({name}) > 0`"
            case ast.BinOp(left=left, right=right) if use in (left, right):
                return "compute with the items in a loop, and append to a new list"
            case ast.Compare(left=left, comparators=others) if use in (left, *others):
                return "compare the items in a loop"
    return _as_array(name, ty)


def _array_type(ty: ListType) -> ArrayType:
    """The type of the array with the items of a list of type `ty`."""
    rank = len(ty.kinds)
    return ty.memory or ArrayType(ty.stored.dtype, rank, rank - 1)


def list_items_of(ctx: Lowering, array: ArrayRef) -> ListItems | None:
    """The binding of a list argument whose items `array` is; None for other arrays."""
    binding = ctx.b.bindings.get(array.name)
    return binding if isinstance(binding, ListItems) else None


def _traversed_names(tree: ast.AST) -> set[str]:
    """The names that may stand for lists of which many items are read: those that a ``for`` loop
    uses, that are sliced, or that a ``while`` subscripts by a variable which moves on through the
    list (`_moving_names`).
    """
    names: set[str] = set()
    for n in walk_nodes(tree):
        match n:
            case ast.For():
                names |= names_used(n)
            case ast.While():
                moving = _moving_names(n)
                for s in walk_nodes(n):
                    if isinstance(s, ast.Subscript) and moving & names_used(s.slice):
                        names |= names_used(s.value)
            case ast.Assign(value=ast.Subscript(value=of, slice=ast.Slice())):
                names |= names_used(of)
    return names


def _moving_names(loop: ast.While) -> set[str]:
    """The variables that a ``while`` changes by a step, as ``i += 1`` or ``j += p``, or sets to an
    item, as ``i = following[i]`` or ``v = stack.pop()``: such a loop may read many items.

    Not those that it halves, doubles, or changes by steps that are halved, as in a binary search
    and in a heap: such a loop reads few items, for which a copy of the list is not worth while.
    """
    direct = [pair for s in walk_nodes(loop) for pair in _new_values(s)]
    # ``i, j = i + 1, j - 1`` has become ``new = i + 1; j = j - 1; i = new``.
    values = [
        (name, v) for name, value in direct
        for v in (
            [e for n, e in direct if n == value.id] if isinstance(value, ast.Name) else [value]
        )
    ]
    scaled = {name for name, value in values if _is_scaled(value)}
    return {
        name for name, value in values
        if _is_item(value) or (_is_step(name, value) and not scaled & {name, *names_used(value)})
    }


def _new_values(s: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """The variables that the statement `s` sets, each with its value."""
    if isinstance(s, ast.AugAssign) and isinstance(s.target, ast.Name):
        yield s.target.id, ast.BinOp(ast.Name(s.target.id, ast.Load()), s.op, s.value)
    yield from ((target.id, value) for target, value in name_bindings(s))


def _is_step(name: str, value: ast.expr) -> bool:
    """Whether `value` is ``name + …`` or ``name - …``."""
    match value:
        case ast.BinOp(left=ast.Name(id=left), op=ast.Add() | ast.Sub()):
            return left == name
        case ast.BinOp(op=ast.Add(), right=ast.Name(id=right)):
            return right == name
    return False


def _is_scaled(value: ast.expr) -> bool:
    """Whether there is a quotient, a product or a shift in `value`, outside of subscripts."""
    match value:
        case ast.Subscript():
            return False
        case ast.BinOp(op=ast.FloorDiv() | ast.Div() | ast.Mult() | ast.RShift() | ast.LShift()):
            return True
    return any(_is_scaled(e) for e in child_nodes(value) if isinstance(e, ast.expr))


def _is_item(value: ast.expr) -> bool:
    """Whether `value` is an item of a list, perhaps with a number added to it or subtracted."""
    match value:
        case ast.Subscript(slice=ast.expr() as at):
            return not isinstance(at, ast.Slice)
        case ast.Call(func=ast.Attribute(attr="pop")):
            return True
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub(), right=right):
            return _is_item(left) or _is_item(right)
    return False
