"""Core Python nodes: what Python's ``ast`` has no room for, as typed fields and node classes.

Core Python is a tree of ``ast`` nodes. Two things are added to it. `Origin` is a field of any node
that has a position: where the node was inlined from, and how NumPy evaluates the operation that it
is a part of. `ReplayIf` is a statement: the original code beside what is compiled in its place.

Whoever makes a node in the place of another one uses `copy_location`, which takes the origin over
together with the position; whoever fills in positions uses `fix_missing_locations`.
"""
from __future__ import annotations

import ast
from dataclasses import replace
from typing import TypeVar

from loopir.lazy_dataclass import record

from ..diagnostics import InlinedAt
from .ast_walk import copy_tree, walk_nodes

__all__ = [
    "NUMPY_NAME", "OPS_NAME", "Origin", "ReplayIf", "copy_location", "fix_missing_locations",
    "inlined_at", "is_atomic", "is_fold", "is_search", "is_step", "location_node", "mark_atomic",
    "mark_fold", "mark_search", "mark_step", "relocate", "with_plain_ifs",
]

_Tree = TypeVar("_Tree", bound=ast.AST)

NUMPY_NAME, OPS_NAME = "_np", "_ops"
"""Names in core Python of NumPy and `transpile.ops`, whatever the user's own names mean."""


@record(frozen=True, slots=True)
class Origin:
    """Where a node of core Python came from, and what it does beside Python's own meaning.

    ``inlined_at``: the helper's line, None for code of the function itself. ``step``: part of a
    NumPy operation that warns in words of its own, so that a warning must not name this node's
    operation. ``atomic``: a loop that writes nothing where it raises, as NumPy does. ``fold``: a
    loop that NumPy runs in another order. ``search``: a loop that evaluates nothing more once the
    bool that it carries has changed.
    """

    inlined_at: InlinedAt | None = None
    step: bool = False
    atomic: bool = False
    fold: bool = False
    search: bool = False


_PLAIN = Origin()
_ORIGIN = "core_origin"
"""The attribute of an ``ast`` node that holds its Origin, where that is not the plain one."""


def _origin(node: ast.AST) -> Origin:
    found: Origin = node.__dict__.get(_ORIGIN, _PLAIN)
    return found


def _set_origin(node: ast.AST, origin: Origin) -> None:
    if origin is not _PLAIN:
        node.__dict__[_ORIGIN] = origin
    else:
        node.__dict__.pop(_ORIGIN, None)


def copy_location(new: _Tree, old: ast.AST) -> _Tree:
    """`new`, with the position and the origin of `old`: ``ast.copy_location``, and the origin."""
    if new._attributes and old._attributes:
        source, target = old.__dict__, new.__dict__
        if source.get("lineno") is not None:
            target["lineno"], target["col_offset"] = source["lineno"], source["col_offset"]
        target["end_lineno"] = source.get("end_lineno")
        target["end_col_offset"] = source.get("end_col_offset")
        _set_origin(new, source.get(_ORIGIN, _PLAIN))
    return new


def fix_missing_locations(tree: _Tree) -> _Tree:
    """`tree`, whose nodes without a position have that of the node around them, and its origin."""
    _inherit(tree, _PLAIN)
    return ast.fix_missing_locations(tree)


def _inherit(node: ast.AST, outer: Origin) -> None:
    if "end_col_offset" in node._attributes:
        if node.__dict__.get("end_col_offset") is None:
            _set_origin(node, outer)
        else:
            outer = _origin(node)
    for child in ast.iter_child_nodes(node):
        _inherit(child, outer)


def inlined_at(node: ast.AST) -> InlinedAt | None:
    """The helper's line that `node` came from; None if it stands where its position says."""
    return _origin(node).inlined_at


def mark_step(node: ast.AST) -> None:
    """Marks `node`, and nodes that take its location from now on, as a step of NumPy's."""
    _set_origin(node, replace(_origin(node), step=True))


def is_step(node: ast.AST) -> bool:
    """Whether a warning must not name the operation of `node`, since NumPy does more at once."""
    return _origin(node).step


def mark_atomic(node: ast.AST) -> None:
    """Marks loops that take the location of `node` from now on: no writes if they raise."""
    _set_origin(node, replace(_origin(node), atomic=True))


def is_atomic(node: ast.AST) -> bool:
    """Whether the loop `node` writes nothing where it raises."""
    return _origin(node).atomic


def mark_fold(node: ast.AST) -> None:
    """Marks loops that take the location of `node` from now on: NumPy folds in its own order."""
    _set_origin(node, replace(_origin(node), fold=True))


def is_fold(node: ast.AST) -> bool:
    """Whether NumPy folds in another order than the loop `node` does."""
    return _origin(node).fold


def mark_search(node: ast.AST) -> None:
    """Marks loops that take the location of `node` from now on: they end once their bool is set."""
    _set_origin(node, replace(_origin(node), search=True))


def is_search(node: ast.AST) -> bool:
    """Whether the loop `node` evaluates nothing more once the bool that it carries has changed."""
    return _origin(node).search


def location_node(e: ast.AST, at: ast.AST) -> ast.AST:
    """A node at the location of `e` (of `at`, if `e` has none); a step where `at` is one."""
    found = copy_location(ast.Pass(), e if hasattr(e, "lineno") else at)
    if is_step(at):
        mark_step(found)
    return found


def relocate(node: ast.AST, at: ast.AST, line: InlinedAt) -> None:
    """Moves `node` to where `at` is, as inlined from `line`; it keeps its other marks."""
    own = _origin(node)
    copy_location(node, at)
    if "end_col_offset" in node._attributes:
        call = _origin(at)
        _set_origin(node, Origin(
            line, own.step or call.step, own.atomic or call.atomic, own.fold or call.fold,
            own.search or call.search,
        ))


class ReplayIf(ast.If):
    """A guard whose branch replays: ``body`` is the original code, ``orelse`` what is compiled.

    Lowering turns ``test`` into a guard of the kernel and compiles ``orelse`` alone; where the
    guard fails, the whole call runs as Python again (`transpile.runtime.python_wrapper`). So
    ``body`` is never compiled, and no macro rewrites it. The macros make it by
    `frontend.macros.replay_guards.guarded`. As Python, it means what the ``if`` does.
    """


_SHOWN = "Python's to answer"
"""Printed first in the branch of a `ReplayIf`."""


def with_plain_ifs(tree: _Tree) -> _Tree:
    """`tree`, to be printed: a plain ``if`` for each `ReplayIf`, whose branch a string begins."""
    if not any(isinstance(n, ReplayIf) for n in walk_nodes(tree)):
        return tree

    class Plain(ast.NodeTransformer):
        def visit_ReplayIf(self, node: ReplayIf) -> ast.If:
            self.generic_visit(node)
            original = [s for s in node.body if not isinstance(s, ast.Pass)]
            body = [ast.Expr(ast.Constant(_SHOWN)), *original]
            return copy_location(ast.If(node.test, body, node.orelse), node)

    plain: _Tree = Plain().visit(copy_tree(tree))
    return ast.fix_missing_locations(plain)
