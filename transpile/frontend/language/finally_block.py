"""``finally`` → its block behind the body, and before each exit from it.

Where an exception leaves the function, the call is replayed: Python runs the block then. Where a
handler of a ``try`` around this one catches it, the block must run before that handler: the ``try``
around rewrites both (`try_except._TryRewriter._final_block`).
"""
from __future__ import annotations

import ast

from ..ast_walk import copy_tree, walk_nodes
from ..core_nodes import copy_location
from ..macros.macro_context import Context
from ..macros.macro_index import fires_on
from .structure_exits import NotStructured, always_leaves, exits_of_block, run_before_exits
from .try_except import try_statement

__all__ = ["finally_statement"]


@fires_on(ast.Try)
def finally_statement(node: ast.AST, cx: Context) -> list[ast.stmt] | None:
    """The statements of a ``try``, whose ``finally`` block runs however these are left.

        try:
            return x[i]
        finally:
            x[i] = 0
    →
        _result = x[i]
        x[i] = 0
        return _result

    None, so that lowering refuses the ``try``, where

    - its handlers cannot be rewritten (`try_statement`);
    - the block itself has an exit, which would discard an exception on its way out;
    - a ``try`` or ``with`` that stays inside of it has an exit: the block cannot be run before that
      exit;
    - a helper is being inlined into a ``try`` with handlers (``cx.handlers_around``): the block
      must run before such a handler, so the ``try`` around rewrites both.
    """
    if not isinstance(node, ast.Try) or not node.finalbody or cx.handlers_around:
        return None
    lines: list[ast.stmt] | None = [*node.body, *node.orelse]
    if node.handlers:
        attempt = copy_location(ast.Try(node.body, node.handlers, node.orelse, []), node)
        lines = try_statement(attempt, cx)
    if lines is None:
        return None
    if any(isinstance(n, ast.Try) for n in walk_nodes(*lines)):
        # expanded first: an exit inside of it could not run the block
        known = dict(cx.facts.known)
        lines = [new for s in lines for new in cx.expanded(copy_tree(s))]
        cx.facts.known = known
    try:
        if exits_of_block(node.finalbody):
            return None
        lines = run_before_exits(lines, node.finalbody, cx)
    except NotStructured:  # left from within a `try` or `with` in it
        return None
    return lines if always_leaves(lines) else [*lines, *map(copy_tree, node.finalbody)]
