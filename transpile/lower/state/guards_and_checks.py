"""Guards before a kernel starts, and checks inside: where one fails, Python must answer."""
from __future__ import annotations

import ast
from collections.abc import Iterable
from itertools import takewhile

from loopir.algebra.constant_folding import index_const
from loopir.analysis.affine import LinearForm
from loopir.nodes import Assign, Call, Check, Expr, Guard, Stmt, Var

from ...frontend.source import span_of
from ...types.typed_values import TRUE, bool_op
from .ir_builder import IRBuilder
from .path_conditions import holds_on_path
from .value_ranges import learn_bound, min_value

__all__ = ["add_guard", "require"]


def require(b: IRBuilder, cond: Expr, code: str, node: ast.AST) -> None:
    """Python must decide unless `cond` holds here.

    If possible it is a guard before the first store, else a check on the spot.
    """
    cond = holds_on_path(b, cond)
    if cond == TRUE:
        return
    if b.path.branches == 0 and b.invariant(cond):
        add_guard(b, cond, code, node)
    elif not _has_checked(b, cond):
        b.emit(Check(cond, "replay", span=span_of(node)))


def _has_checked(b: IRBuilder, cond: Expr) -> bool:
    """Whether `cond`, a name, was checked in this block; or another, and only values since."""
    before: Iterable[Stmt] = reversed(b.block)
    if not isinstance(cond, Var):
        before = takewhile(lambda s: isinstance(s, Assign | Check), before)
    return any(isinstance(s, Check) and s.cond == cond for s in before)


def add_guard(b: IRBuilder, cond: Expr, code: str, node: ast.AST, *, anyway: bool = False) -> None:
    """`cond` must hold before the kernel starts, unless an enclosing loop has no iteration, or
    `anyway`.
    """
    for frame in b.path.frames if not anyway else ():
        if b.invariant(frame.trips) and min_value(b, LinearForm.of(frame.trips)) < 1:
            cond = bool_op("or", cond, Call("le", (frame.trips, index_const(0)), "bool"))
    if cond != TRUE and not any(isinstance(g, Guard) and g.cond == cond for g in b.guards):
        b.guards.append(Guard(cond, code, span=span_of(node)))
        learn_bound(b, cond)
