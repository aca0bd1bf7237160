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
from loopir.analysis.integers.affine import LinearForm
from loopir.nodes import Assign, Call, Check, Expr, Guard, Stmt, Var

from ...frontend.source import span_of
from ...types.typed_values import TRUE, bool_op
from .ir_builder import IRBuilder, Required
from .path_conditions import holds_on_path
from .value_ranges import learn_bound, learn_from_guard, margins_of, min_value

__all__ = ["add_guard", "require"]


def require(b: IRBuilder, cond: Expr, code: str, node: ast.AST) -> None:
    """Makes sure that the call is replayed where `cond` is false and the current path is taken.
    Lowering states its assumptions by this function, except where it always needs a guard, as for
    some bounds of subscripts (`subscript_bounds.py`): there it calls `add_guard`.

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
    only assignments and checks may lie between, since they write no array.
    """
    preceding: Iterable[Stmt] = reversed(b.block)
    if not isinstance(cond, Var):
        preceding = takewhile(lambda s: isinstance(s, Assign | Check), preceding)
    return any(isinstance(s, Check) and s.cond == cond for s in preceding)


def add_guard(
    b: IRBuilder, cond: Expr, code: str, node: ast.AST, *, even_if_empty: bool = False
) -> None:
    """Adds a guard: the kernel does not start where `cond` is false. What it implies is recorded
    (`learn_bound`, `learn_from_guard`).

        for v in x: s += v // k    (k a parameter)    →    guard(k != 0 or len(x) <= 0)

    Where an enclosing loop has no iteration, the code that needs `cond` does not run, and the guard
    holds; with ``even_if_empty`` the guard is `cond` alone. No guard is added

    - if `cond` compares ints, and follows from intervals and earlier guards (`_is_guarded`); not
      for the code "GUARD_INT_RANGE", since intervals of parameters assume what these guards test;
    - if an earlier guard has the same `cond`, and holds for no other empty loops.

    An earlier guard of the same `cond` that holds for more empty loops is replaced.
    """
    margins = margins_of(b, cond)
    if code != "GUARD_INT_RANGE" and margins and all(_is_guarded(b, m) for m in margins):
        return
    may_be_empty = [
        frame.trips for frame in b.path.frames
        if b.known_at_entry(frame.trips) and min_value(b, LinearForm.of(frame.trips)) < 1
    ]
    required = Required(cond, frozenset(() if even_if_empty else may_be_empty))
    for trips in () if even_if_empty else may_be_empty:
        cond = bool_op("or", cond, Call("le", (trips, index_const(0)), "bool"))
    if cond == TRUE:
        return
    if not any(_implies(old, required) for old in b.required_by.values()):
        _put_guard(b, Guard(cond, code, span=span_of(node)), required)
        learn_bound(b, cond)
    learn_from_guard(b, required)


def _implies(a: Required, c: Required) -> bool:
    """Whether `a` requires the condition of `c` in all cases in which `c` does."""
    return a.cond == c.cond and a.unless_empty <= c.unless_empty


def _put_guard(b: IRBuilder, guard: Guard, required: Required) -> None:
    """Adds the guard in the place of the first weaker one, else at the end, and removes all weaker
    ones: those of the same condition that hold for more empty loops.
    """
    weaker = {cond for cond, old in b.required_by.items() if _implies(required, old)}
    places = [k for k, g in enumerate(b.guards) if isinstance(g, Guard) and g.cond in weaker]
    for k in reversed(places):
        del b.guards[k]
    b.guards.insert(places[0] if places else len(b.guards), guard)
    for cond in weaker:
        del b.required_by[cond]
    b.required_by[guard.cond] = required


def _is_guarded(b: IRBuilder, margin: LinearForm) -> bool:
    """Whether `margin` is >= 0 by its intervals, or since an earlier guard requires that a linear
    form with the same terms and the same or a smaller constant is >= 0: after a guard that
    ``n - 3 >= 0``, none is needed for ``n - 1``.
    """
    return min_value(b, margin) >= 0 or any(
        g.constant <= margin.constant and g.terms == margin.terms for g in b.path.guarded
    )
