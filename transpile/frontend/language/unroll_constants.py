"""Full unrolling of loops over a few constants, or over a few arrays.

The copies of the body have the constant itself in place of the loop variable, so that index ranges
and branches are known; a loop over arrays has no single element type and could not be lowered.
"""
from __future__ import annotations

import ast
from collections.abc import Sequence

from ..ast_names import bound_names, mentions_none_of
from ..ast_walk import copy_tree
from ..core_nodes import copy_location, fix_missing_locations
from ..macros.macro_context import Context
from ..macros.macro_index import fires_on
from .structure_exits import NotStructured, exits_of_block

__all__ = ["unroll_constant_loop"]

MAX_NODES = 600
"""The maximal number of nodes of the unrolled code."""


@fires_on(ast.For, iter=(ast.Tuple, ast.List))
def unroll_constant_loop(node: ast.AST, cx: Context) -> list[ast.stmt] | None:
    """A loop over a few constants, or over a few arrays, becomes a copy of its body for each item,
    in which the loop variable is bound to that item. Subscripts and tests of a constant can then be
    decided. Constants are numbers and tuples of numbers.

        for d in (-1, 1):
            s = s + x[(i + d) % n]
        for u in (x, y):
            s = s + u[0]
    →
        d = -1
        s = s + x[(i + d) % n]
        d = 1
        s = s + x[(i + d) % n]
        u = x
        s = s + u[0]
        u = y
        s = s + u[0]

    None, so that the loop stays, where

    - the copies have more than `MAX_NODES` nodes together;
    - the loop has an ``else``, or its body a ``break``, ``continue`` or ``return`` that leaves it;
    - of constants: the body has other statements than assignments, expressions, ``if`` and further
      loops over constants (`_is_unrollable`);
    - of arrays: the loop binds a name of one of them.
    """
    if not isinstance(node, ast.For):
        return None
    arrays = _arrays(node, cx)
    items = arrays or _items(node)
    nodes = len(arrays) * _size(node) if arrays else _size(node)  # `_size` unrolls constants itself
    if not items or nodes > MAX_NODES:
        return None
    out: list[ast.stmt] = []
    for item in items:
        binding = ast.Assign([copy_tree(node.target)], copy_tree(item))
        out += [copy_location(binding, node), *map(copy_tree, node.body)]
    return [fix_missing_locations(s) for s in out]


def _arrays(node: ast.For, cx: Context) -> Sequence[ast.expr]:
    """The names that `node` iterates over, if all are arrays that it does not rebind, and no
    iteration leaves the loop; else none.
    """
    match node:
        case ast.For(iter=ast.Tuple(elts=items) | ast.List(elts=items), orelse=[]) if all(
            isinstance(e, ast.Name) and cx.fact(e).array for e in items
        ):
            fixed = all(mentions_none_of(e, bound_names(node)) for e in items)
            return items if fixed and _has_no_exits(node) else ()
    return ()


def _has_no_exits(node: ast.For) -> bool:
    """Whether the body has no ``break``, ``continue`` and ``return`` of this loop."""
    try:
        return not exits_of_block(node.body)
    except NotStructured:
        return False


def _items(node: ast.For) -> Sequence[ast.expr]:
    """The constants that `node` iterates over, if its body has only statements that can be copied
    (`_is_unrollable`); else none.
    """
    match node:
        case ast.For(iter=ast.Tuple(elts=items) | ast.List(elts=items), orelse=[]) if (
            all(map(_is_constant, items)) and all(map(_is_unrollable, node.body))
        ):
            return items
    return ()


def _is_constant(e: ast.expr) -> bool:
    """Whether `e` is a number, or a tuple of numbers."""
    match e:
        case ast.Constant(value=int() | float()) | ast.UnaryOp(ast.USub(), ast.Constant()):
            return True
        case ast.Tuple(elts=parts):
            return all(map(_is_constant, parts))
    return False


def _is_unrollable(s: ast.stmt) -> bool:
    """Whether `s` is an assignment, an expression, an ``if`` of such statements, or a loop over
    constants that is unrolled itself. So it has no exit.
    """
    match s:
        case ast.For():
            return bool(_items(s))
        case ast.If():
            return all(map(_is_unrollable, (*s.body, *s.orelse)))
        case _:
            return isinstance(s, ast.Assign | ast.AugAssign | ast.AnnAssign | ast.Expr)


def _size(s: ast.AST) -> int:
    """The number of nodes of `s` with its loops over constants unrolled."""
    times = len(_items(s)) if isinstance(s, ast.For) else 0
    return max(1, times) * (1 + sum(map(_size, ast.iter_child_nodes(s))))
