"""Full unrolling of loops over a few constants, or over a few arrays.

The copies of the body have the constant itself in place of the loop variable, so that index ranges
and branches are known; a loop over arrays has no single element type and could not be lowered.
"""
from __future__ import annotations

import ast
from collections.abc import Sequence

from ..ast_names import bound_names, mentions_none_of
from ..fold_branches import unrolled_loop
from ..macros.macro_context import Context
from ..macros.macro_index import fires_on
from .structure_exits import NotStructured, exits_of_block

__all__ = ["unroll_constant_loop"]


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

    - the copies have more than `fold_branches.MAX_NODES` nodes together;
    - the loop has an ``else``, or its body a ``break``, ``continue`` or ``return`` that leaves it;
    - of constants: the body has other statements than assignments, expressions, ``if`` and further
      loops over constants;
    - of arrays: the loop binds a name of one of them.
    """
    if not isinstance(node, ast.For):
        return None
    return unrolled_loop(node, _arrays(node, cx), cx.facts.written_by_closures)


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
