"""Min/max separation: a minimum and a maximum kept in one `if`/`elif` become two reductions.

`_independent_branch` looks for a branch ``value > acc`` that yields the value. Each minimum of the
same values with the same start, which the other side updates, is then updated on this side, too:
its test is false there, so nothing changes. The same with minimum and maximum exchanged.
"""
from __future__ import annotations

from ...lazy_dataclass import replace
from ...nodes import Accum, Call, Expr, If, Kernel, Loop, Stmt, Var, Yield
from ...op_table import SWAPPED_COMPARISON
from ...statement_blocks import map_statements

__all__ = ["minmax_split"]

_OPPOSITE_EXTREMUM = {"gt": ("lt", "le", "min"), "lt": ("gt", "ge", "max")}


def minmax_split(kernel: Kernel) -> Kernel:
    """Separate ``if v > high: high = v`` / ``elif v < low: low = v`` into two reductions, each of
    which can be vectorised: the minimum is updated on both sides of the branch.

    Legal if both start as the same value: what is above the maximum cannot be below the minimum, so
    the second update changes nothing there. A NaN compares false in both. Before::

        def k(x: f64[::1], top: mut(f64[()]), bottom: mut(f64[()])):
            for i in loop(0, x.shape[0], high=0.0, low=0.0):
                v = x[i]
                if v > high:
                    high_1 = give(v)
                    low_1 = give(low)
                else:
                    high_1 = give(high)
                    low_1 = give(min(low, v))
                high = step(high_1)
                low = step(low_1)
            top[()] = high
            bottom[()] = low

    after::

        def k(x: f64[::1], top: mut(f64[()]), bottom: mut(f64[()])):
            for i in loop(0, x.shape[0], high=0.0, low=0.0):
                v = x[i]
                if v > high:
                    high_1 = give(v)
                    low_1 = give(min(low, v))
                else:
                    high_1 = give(high)
                    low_1 = give(min(low, v))
                high = step(high_1)
                low = step(low_1)
            top[()] = high
            bottom[()] = low
    """

    def edit(s: Stmt) -> Stmt:
        """`s` with the branches in its body made independent."""
        if not isinstance(s, Loop):
            return s
        body = tuple(_independent_branch(x, s) if isinstance(x, If) else x for x in s.body)
        return s if body == s.body else replace(s, body=body)

    return map_statements(kernel, edit, Loop)


def _independent_branch(s: If, loop: Loop) -> If:
    """`s` with the second extremum updated on both sides of the branch; `s` itself if it has other
    statements than yields, or no such extremum.
    """
    if s.then or s.orelse:
        return s
    accs = {a.step.name: a for a in loop.accs if isinstance(a.step, Var)}
    for extremum_yield in s.yields:
        acc = accs.get(extremum_yield.name)
        if (
            acc
            and _is_accumulator(extremum_yield.orelse, acc)
            and (op := _comparison_side(s.cond, extremum_yield.then, acc))
        ):
            yields = tuple(
                _independent_yield(y, extremum_yield, acc, accs.get(y.name), op) for y in s.yields
            )
            return s if yields == s.yields else replace(s, yields=yields)
    return s


def _comparison_side(cond: Expr, value: Expr, acc: Accum) -> str | None:
    """``"gt"`` if `cond` is ``value > acc``, ``"lt"`` if it is ``value < acc``, else None."""
    match cond:
        case Call(op="gt" | "lt" as op, args=(a, b)) if a == value and _is_accumulator(b, acc):
            return op
        case Call(op="gt" | "lt" as op, args=(a, b)) if b == value and _is_accumulator(a, acc):
            return SWAPPED_COMPARISON[op]
        case _:
            return None


def _independent_yield(
    y: Yield, extremum_yield: Yield, first: Accum, acc: Accum | None, op: str
) -> Yield:
    """`y` with its update on both sides of the branch, if it is the opposite extremum of the same
    values; else `y`. ``extremum_yield``: the yield of the extremum `first` that the condition
    compares by `op`; ``acc``: the accumulator that is stepped to `y`.
    """
    is_opposite = acc is not None and acc is not first and acc.init == first.init
    if acc is None or not is_opposite or not _is_accumulator(y.then, acc):
        return y
    strict, loose, fold = _OPPOSITE_EXTREMUM[op]
    match y.orelse:
        case Call(op=found, args=(a, b)) if (
            found == fold and _is_accumulator(a, acc) and b == extremum_yield.then
        ):
            return replace(y, then=y.orelse)
        case Call(op="select", args=(Call(op=test, args=(a, b)), v, old)) if (
            _is_accumulator(old, acc) and v == extremum_yield.then
            and ((a == v and _is_accumulator(b, acc) and test in (strict, loose))
                 or (b == v and _is_accumulator(a, acc)
                     and SWAPPED_COMPARISON.get(test) in (strict, loose)))
        ):
            return replace(y, then=y.orelse)
        case _:
            return y


def _is_accumulator(e: Expr, acc: Accum) -> bool:
    """Whether `e` is the current value of `acc`."""
    return isinstance(e, Var) and e.name == acc.name
