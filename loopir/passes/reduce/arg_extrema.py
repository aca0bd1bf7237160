"""Extrema with payload (argmin, argmax): accumulators that are updated where a comparison holds.

    m = x[i] < least                            ArgExtremum: least, with the payload k
    least = step(select(m, x[i], least))    →
    k = step(select(m, i, k))

`match_arg_extremum` recognises them; the pass `arg_reduction` finds them by vectors.
"""
from __future__ import annotations

from ...algebra.constant_folding import literal, worst_value
from ...algebra.rewrite_rules import rewrite
from ...dtypes import DTYPES
from ...ir_names import names_read, substitute
from ...ir_traversal import bottom_up
from ...lazy_dataclass import record
from ...nodes import Accum, Assign, Call, Expr, Loop, Var
from ...op_table import SWAPPED_COMPARISON
from ...statement_blocks import backward_slice

__all__ = ["ArgExtremum", "match_arg_extremum"]


@record(frozen=True, slots=True)
class ArgExtremum:
    """An extremum with payload: where ``value`` beats ``acc``, all followers are updated."""

    acc: Accum  # the running extremum
    mask: str  # the name of the condition on which it and its followers are updated
    op: str  # "min" or "max"
    ties_win: bool  # an equal value also wins, so that the last of several remains
    value: Expr  # the term
    cond: Expr | None  # a further condition of the update
    followers: tuple[tuple[Accum, Expr], ...]  # the payload: accumulators with their new values

    @property
    def best(self) -> Var:
        return Var(self.acc.name, self.value.dtype)

    @property
    def worst(self) -> Expr:
        """The value that no term is worse than: inf (or the greatest integer) for a minimum."""
        return worst_value(self.op, self.value.dtype)

    @property
    def may_be_empty(self) -> bool:
        """Whether a block's extremum may be the neutral value because none of its terms takes part.
        """
        return self.ties_win and (self.cond is not None or DTYPES[self.value.dtype].kind == "f")

    def where(self, test: Expr) -> Expr:
        """The condition that a term takes part in the extremum, and `test` holds for it."""
        return test if self.cond is None else Call("and", (self.cond, test), "bool")


def match_arg_extremum(mask: Assign, loop: Loop) -> ArgExtremum | None:
    """The accumulators that are updated exactly where `mask` is true, if one of them is an extremum
    and at least one more is updated; else None.
    """
    test = _match_comparison(mask.value, loop)
    if test is None:
        return None
    op, value, acc, cond = test
    followers = []
    for a in loop.accs:
        if mask.name in names_read(a.step):
            if_false, if_true = (_assume_value(a.step, mask.name, x) for x in (False, True))
            if if_false != a.current or _depends_on_accumulator(if_true, loop):
                return None
            followers.append((a, if_true))
    if (acc, value) not in followers or len(followers) < 2:
        return None
    followers.remove((acc, value))
    extremum = "min" if op in ("lt", "le") else "max"
    return ArgExtremum(acc, mask.name, extremum, op in ("le", "ge"), value, cond, tuple(followers))


def _match_comparison(cond: Expr, loop: Loop) -> tuple[str, Expr, Accum, Expr | None] | None:
    """Match ``value op acc``, possibly under another condition: (op, value, acc, other condition);
    None if `cond` has another form.
    """
    match cond:
        case Call(op="and", args=(a, b)):
            for test, other in ((b, a), (a, b)):
                comparison = _match_comparison(test, loop)
                if (
                    comparison
                    and comparison[3] is None
                    and not _depends_on_accumulator(other, loop)
                ):
                    return (*comparison[:3], other)
        case Call(op=op, args=(a, b)) if op in SWAPPED_COMPARISON and a.dtype != "bool":
            for name, value, relation in ((b, a, op), (a, b, SWAPPED_COMPARISON[op])):
                acc = next((x for x in loop.accs if x.current == name), None)
                if acc and not _depends_on_accumulator(value, loop):
                    return relation, value, acc, None
    return None


def _depends_on_accumulator(e: Expr, loop: Loop) -> bool:
    """Whether `e` depends on an accumulator of `loop`."""
    accs = {a.name for a in loop.accs}
    return bool(accs & names_read(e, *backward_slice(loop.body, e)))


def _assume_value(e: Expr, name: str, value: bool) -> Expr:
    """`e`, simplified, where the bool `name` has this value."""
    simplified: Expr = bottom_up(substitute(e, {name: literal(value, "bool")}), rewrite)
    return simplified
