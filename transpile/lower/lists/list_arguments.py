"""List arguments and captured lists: decides which become arrays, and adds these as parameters.

`targets.abi.sequence_conversion` copies the items at each call, and stores those that the kernel
changed back into the list; `call_plan.ListItems` tells the runtime of which list. The copy takes
time for each item, so it is only made for a list that some loop goes through.
"""
from __future__ import annotations

import ast

from loopir.analysis.intervals import LENGTH
from loopir.nodes import Dim

from ...call_plan import ListItems
from ...frontend.ast_names import names_used
from ...frontend.ast_walk import walk_nodes
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
    """The array with the items of the list `name`, an argument or a global (``captured``) of type
    `ty`. Raises Refused where the list escapes, or no loop goes through it.
    """
    b = ctx.b
    known = (k.name for k in b.bindings.values() if isinstance(k, ListItems) and k.of == name)
    array = next(known, None) or _new_list_items(ctx, name, ty, node, captured)
    rank = len(ty.kinds)
    shape = tuple(integer_num(b, Dim(array, k), LENGTH) for k in range(rank))
    return ArrayRef(array, ty.item.dtype, rank - 1, shape, weak=ty.item.weak, kinds=ty.kinds)


def _new_list_items(ctx: Lowering, name: str, ty: ListType, node: ast.AST, captured: bool) -> str:
    """Adds the array parameter for the items of the list `name`; see `take_list_items`."""
    for use in escaping_uses(name, ctx.tree, returned=True, sliced=True):
        refuse("LOWER_TYPE", f"`{name}` is of type {ty}, of which all is taken at once", use)
    if name not in _names_read_in_loops(ctx.tree):
        said = f"`{name}` is of type {ty}, and no loop goes through it"
        refuse("LOWER_TYPE", said, node)
    array, rank = fresh_array_name(ctx, f"{name}_items"), len(ty.kinds)
    array_type = ArrayType(ty.item.dtype, rank, rank - 1)
    ctx.b.add_list_param(ListItems(array, name, ty, captured), array_type)
    return array


def list_items_of(ctx: Lowering, array: ArrayRef) -> ListItems | None:
    """The binding of a list argument whose items `array` is; None for other arrays."""
    binding = ctx.b.bindings.get(array.name)
    return binding if isinstance(binding, ListItems) else None


def _names_read_in_loops(tree: ast.AST) -> set[str]:
    """The names that ``for`` loops use, that are sliced, or that a ``while`` subscripts by a
    variable which it changes by a constant. A ``while`` that follows links, as in a binary search,
    reads few items, for which a copy of the list is not worth while.
    """
    names: set[str] = set()
    for n in walk_nodes(tree):
        match n:
            case ast.For():
                names |= names_used(n)
            case ast.While():
                steps = {name for s in walk_nodes(n) if (name := _stepped_name(s))}
                at = (s for s in walk_nodes(n) if isinstance(s, ast.Subscript))
                names |= {x for s in at if steps & names_used(s.slice) for x in names_used(s.value)}
            case ast.Assign(value=ast.Subscript(value=of, slice=ast.Slice())):
                names |= names_used(of)
    return names


def _stepped_name(s: ast.AST) -> str:
    """The name of ``name += constant`` or ``name = name + constant``, also with ``-``; "" for
    others.
    """
    match s:
        case ast.AugAssign(target=ast.Name(id=name), op=ast.Add() | ast.Sub(), value=by):
            pass
        case ast.Assign(
            targets=[ast.Name(id=name)],
            value=ast.BinOp(left=ast.Name(id=same), op=ast.Add() | ast.Sub(), right=by),
        ) if name == same:
            pass
        case _:
            return ""
    return name if isinstance(by, ast.Constant) else ""
