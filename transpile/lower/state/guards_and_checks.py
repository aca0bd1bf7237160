"""Guards before a kernel starts, and checks inside: where one fails, Python replays the call.

`require` is how lowering states a condition without which its code would be wrong. A condition that
can be evaluated at kernel entry becomes a guard there, which costs nothing in loops; any other one
becomes a check at the current place. (LLVM: a guard intrinsic, widened to the entry if it can be;
HotSpot: an uncommon trap. Here the whole call is replayed, not the rest of it.)
"""
from __future__ import annotations

import ast
from collections.abc import Iterable
from itertools import takewhile

from loopir.algebra.constant_folding import index_const
from loopir.analysis.integers.affine import LinearForm, nonnegative_margins
from loopir.dtypes import INDEX
from loopir.nodes import Assign, Call, Check, Expr, Guard, Stmt, Var
from loopir.op_table import NEGATED_COMPARISON

from ...frontend.source import span_of
from ...types.typed_values import TRUE, bool_op
from .ir_builder import IRBuilder
from .path_conditions import holds_on_path
from .value_ranges import (
    learn_bound,
    learn_equality,
    linear_form,
    min_value,
    with_equal_atoms,
)

__all__ = ["add_guard", "require"]


def require(b: IRBuilder, cond: Expr, code: str, node: ast.AST) -> None:
    """Makes sure that the call is replayed where `cond` is false and the current path is taken. All
    of lowering states its assumptions by this function.

        n != 0        n a parameter         →    guard(n != 0), tested once before the kernel starts
        x[i] != 0.0                         →    check(x[i] != 0.0, "replay"), tested here

    - Where the value of the current expression is not used, `cond` need not hold (`holds_on_path`):
      ``a / b if b else 0`` does not require ``b != 0``.
    - A guard, if `cond` can be evaluated at kernel entry, and the current statement is in no
      branch: Python does not run a branch that is not taken, so a guard might fail in vain.
    - Else a check, unless the block has the same one already.

    ``code``: why, such as "GUARD_DIVISION", for the report of a replay; `node`: the place there.
    """
    cond = holds_on_path(b, cond)
    if cond == TRUE:
        return
    if b.path.branches == 0 and b.known_at_entry(cond):
        add_guard(b, cond, code, node)
    elif not _has_checked(b, cond):
        b.emit(Check(cond, "replay", span=span_of(node), cause=code))


def _has_checked(b: IRBuilder, cond: Expr) -> bool:
    """Whether the current block has a check of `cond` whose result still holds. A variable keeps
    its value, so that any statements may lie between. Any other expression may read an array: then
    only assignments and checks may, which write none.
    """
    preceding: Iterable[Stmt] = reversed(b.block)
    if not isinstance(cond, Var):
        preceding = takewhile(lambda s: isinstance(s, Assign | Check), preceding)
    return any(isinstance(s, Check) and s.cond == cond for s in preceding)


def add_guard(
    b: IRBuilder, cond: Expr, code: str, node: ast.AST, *, even_if_empty: bool = False
) -> None:
    """Adds a guard: the kernel does not start where `cond` is false. The bounds and the equality of
    lengths that the guard implies are recorded.

        for v in x: s += v // k    (k a parameter)    →    guard(k != 0 or len(x) <= 0)

    Where an enclosing loop has no iteration, the code that needs `cond` does not run, and the guard
    holds; with ``even_if_empty`` it is `cond` alone. Nothing is added if earlier guards imply it.
    """
    margins = _margins(b, cond)
    # GUARD_INT_RANGE: what these guards test is what intervals of parameters assume
    if code != "GUARD_INT_RANGE" and margins and all(_is_guarded(b, m) for m in margins):
        return
    required = cond
    for frame in () if even_if_empty else b.path.frames:
        if b.known_at_entry(frame.trips) and min_value(b, LinearForm.of(frame.trips)) < 1:
            cond = bool_op("or", cond, Call("le", (frame.trips, index_const(0)), "bool"))
    if cond == TRUE:
        return
    if cond not in {g.cond for g in b.guards if isinstance(g, Guard)}:
        b.guards.append(Guard(cond, code, span=span_of(node)))
        learn_bound(b, cond)
    b.path.guarded = (*b.path.guarded, *margins)
    match required:
        case Call("eq", (p, q)) if p.dtype == INDEX:
            learn_equality(b, linear_form(b, p), linear_form(b, q))


def _margins(b: IRBuilder, cond: Expr) -> list[LinearForm]:
    """Linear forms that are all >= 0 exactly where `cond`, a comparison of lengths or other int64,
    holds. Empty for other conditions.
    """
    match cond:
        case Call("not", (Call(op, (p, q)),)) if p.dtype == INDEX and op in NEGATED_COMPARISON:
            op = NEGATED_COMPARISON[op]
        case Call(op, (p, q)) if p.dtype == INDEX:
            pass
        case _:
            return []
    margins = nonnegative_margins(op, linear_form(b, p), linear_form(b, q))
    return [with_equal_atoms(b, margin) for margin in margins]


def _is_guarded(b: IRBuilder, margin: LinearForm) -> bool:
    """Whether `margin` is >= 0 by its intervals, or by an earlier guard of a form that differs from
    it by a constant.
    """
    return min_value(b, margin) >= 0 or any(
        g.constant <= margin.constant and g.terms == margin.terms for g in b.path.guarded
    )
