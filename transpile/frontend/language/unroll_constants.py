"""Full unrolling of loops over a few constants, or over a few arrays.

The copies of the body have the constant itself in place of the loop variable, so that index ranges
and branches are known; a loop over arrays has no single element type and could not be lowered.
"""
from __future__ import annotations

import ast
from collections.abc import Collection, Sequence

from ..ast_names import bound_names, mentions_none_of
from ..ast_walk import copy_tree, walk_nodes
from ..fold_branches import display_of_range, unrolled_loop
from ..macros.firing_conditions import loops_over_constants
from ..macros.macro_context import Context
from ..macros.macro_index import fires_on
from .structure_exits import NotStructured, exits_of_block

__all__ = ["decided_range", "unroll_constant_loop"]


@fires_on(ast.For, iter=ast.Call, when=loops_over_constants)
def decided_range(node: ast.AST, cx: Context) -> list[ast.stmt] | None:
    """A loop over a short range of constants in which a test reads nothing but its variable, and
    those of such loops around it, is unrolled as one over these constants, which decides the test.
    So is one with a slice that begins or ends at its variable: constants tell the slice's length,
    and the copies become one loop over the elements.

        for d in range(-1, 2):
            if d != 0:
                s = s + x[(i + d) % n]
    →
        d = -1
        s = s + x[(i + -1) % n]
        d = 0
        d = 1
        s = s + x[(i + 1) % n]
    """
    if not isinstance(node, ast.For) or not isinstance(node.iter, ast.Call):
        return None
    displays = _decided_ranges(node, frozenset(), cx)
    if node not in displays:
        return None
    new = copy_tree(node)
    pairs = zip(_loops_in(node), _loops_in(new), strict=True)
    for loop, copied in pairs:
        copied.iter = displays.get(loop, copied.iter)
    return unrolled_loop(new, unknown=cx.facts.written_by_closures)


def _loops_in(s: ast.stmt) -> list[ast.For]:
    """The ``for`` loops in `s`, itself included."""
    return [n for n in walk_nodes(s) if isinstance(n, ast.For)]


def _decided_ranges(
    loop: ast.For, outer: frozenset[str], cx: Context
) -> dict[ast.AST, ast.expr]:
    """The display for `loop` and each loop in it that `decided_range` unrolls, if it does;
    ``outer``: the variables of the loops around it that iterate over constants.
    """
    match loop.iter, loop.target:
        case ast.Call(func=func), ast.Name(id=name) if cx.resolve(func) is range:
            display = display_of_range(loop.iter)
        case (ast.Tuple() | ast.List()) as display, ast.Name(id=name):
            pass
        case _:
            return {}
    if display is None:
        return {}
    variables = outer | {name}
    inner = [n for s in loop.body for n in _loops_in(s)]
    found = {k: e for n in inner for k, e in _decided_ranges(n, variables, cx).items()}
    if found or any(_is_decided(n, variables) for n in walk_nodes(*loop.body)):
        return {loop: display, **found}
    return {}


def _is_decided(n: ast.AST, variables: Collection[str]) -> bool:
    """Whether `n` is a test of `variables` alone, or a slice whose length constants may tell."""
    match n:
        case ast.If(test=test) | ast.IfExp(test=test):
            return _reads_only(variables, test)
        case ast.Slice(lower=low, upper=high):
            return any(e and not mentions_none_of(e, variables) for e in (low, high))
    return False


def _reads_only(variables: Collection[str], test: ast.expr) -> bool:
    """Whether the condition `test` reads some of `variables`, and no other values."""
    functions = {n.func for n in walk_nodes(test) if isinstance(n, ast.Call)}
    read = {n.id for n in walk_nodes(test) if isinstance(n, ast.Name) and n not in functions}
    return bool(read) and read <= {*variables}


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
