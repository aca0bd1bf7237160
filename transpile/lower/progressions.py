"""Carried names that need no accumulator, or no flag: what they are follows from the iteration."""

from __future__ import annotations

from loopir.nodes import Call, Const, Expr, Var

from ..infer import FALSE, TRUE, Num, logic
from ..ranges import INT64, Linear

__all__ = ["progression", "step_of", "turns"]


def step_of(init: Num, end: Num, var: Var, longest: int) -> int | None:
    """By how much each iteration, of `longest` at most, changes a Python int that is `init` before
    the loop and `end` after an iteration that began with `var`; None where that is not a constant.
    """
    if init.linear is None or end.linear is None or not (init.python_int and end.python_int):
        return None
    step = end.linear - Linear.of(var)
    if step.terms:
        return None
    reach = [bound + step.constant * longest for bound in init.interval]
    return step.constant if INT64[0] <= min(reach) and max(reach) <= INT64[1] else None


def progression(init: Num, step: int, iterations: Linear) -> Linear:
    """The value after so many iterations."""
    assert init.linear is not None
    return init.linear + iterations * step


def turns(init: Num, end: Num, var: Var, still: Expr) -> bool:
    """Whether the first iteration makes a NumPy scalar, for good, of a Python scalar `init` whose
    accumulator is `var`; `still` says that it is Python's when an iteration starts.
    """
    if not isinstance(init.ir, Const) or init.strong or not end.either:
        return False
    first = _known(end.weak_now, {var: init.ir, still: TRUE})
    return first == FALSE and _known(end.weak_now, {still: FALSE}) == FALSE


def _known(e: Expr, values: dict[Expr, Const]) -> Expr:
    """A bool expression where some names are known."""
    if e in values:
        return values[e]
    if isinstance(e, Call) and e.op in ("and", "or", "not"):
        return logic(e.op, *(_known(a, values) for a in e.args))
    return e
