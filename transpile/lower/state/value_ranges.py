"""Value ranges of integer expressions: an interval for each, and linear forms."""
from __future__ import annotations

from dataclasses import field

from loopir.analysis.affine import LinearForm, linearize
from loopir.analysis.intervals import Bounds, expression_bounds
from loopir.dtypes import INDEX
from loopir.lazy_dataclass import record
from loopir.nodes import Call, Const, Expr, Param, Var

from ...types.int_limits import ARGUMENT
from ...types.typed_values import Num

__all__ = ["ValueRanges"]

_UNBOUNDED = frozenset(("add", "sub", "mul", "neg", "min", "max"))
"""Results of these are Python's integers: lowering proves, or checks, that they do not overflow."""


@record
class ValueRanges:
    """``intervals``: noted for an expression. ``deltas``: that an accumulator is another expression
    and a summand in an interval. ``spans``: linear forms between which an expression lies.
    ``relied``: parameters whose interval was asked for.
    """

    params: dict[str, Param] = field(default_factory=dict)
    intervals: dict[Expr, Bounds] = field(default_factory=dict)
    deltas: dict[Expr, tuple[Expr, Bounds]] = field(default_factory=dict)
    spans: dict[Expr, tuple[LinearForm, LinearForm]] = field(default_factory=dict)
    relied: set[str] = field(default_factory=set)

    def interval(self, atom: Expr) -> Bounds:
        """An interval of an i64 expression."""
        if atom in self.intervals:
            return self.intervals[atom]
        if isinstance(atom, Var) and atom.name in self.params and atom.dtype == INDEX:
            self.relied.add(atom.name)
            return ARGUMENT
        return expression_bounds(atom, self.interval, _UNBOUNDED)

    def linear(self, e: Expr) -> LinearForm:
        """The linear form of an i64 expression made of sums and multiples."""
        form = linearize(e, self.linear_atom)
        assert form is not None
        return form

    def linear_atom(self, e: Expr) -> LinearForm:
        """The linear form of what is not a sum or a multiple."""
        return LinearForm.of(e)

    def low(self, linear: LinearForm) -> int:
        """The least value that `linear` can have."""
        return linear.bounds(self.interval)[0]

    def high(self, linear: LinearForm) -> int:
        """The greatest value that `linear` can have."""
        return linear.bounds(self.interval)[1]

    def learn(self, cond: Expr) -> None:
        """Notes what a lower bound of an integer, which holds from the start, says of it."""
        match cond:
            case Call("not", (Call("lt", (e, Const(least, "i64"))),)):
                pass
            case Call("ge", (e, Const(least, "i64"))):
                pass
            case _:
                return
        linear = self.linear(e)
        match [*linear.terms.items()]:
            case [(atom, 1)]:
                lo, hi = self.interval(atom)
                self.intervals[atom] = max(lo, int(least) - linear.constant), hi

    def narrow(self, fact: LinearForm, atoms: frozenset[Expr]) -> None:
        """Notes what `fact`, which is at least 0, says of each of `atoms` by itself."""
        for atom, c in ((a, c) for a, c in fact.terms.items() if a in atoms):
            lo, hi = self.interval(atom)
            most = self.high(fact.substitute(atom, LinearForm()))
            self.intervals[atom] = (
                (max(lo, -(most // c)), hi) if c > 0 else (lo, min(hi, most // -c))
            )

    def from_linear(self, linear: LinearForm) -> Num:
        """A Python int with a known linear form."""
        lo, hi = linear.bounds(self.interval)
        return Num(linear.expr(), weak="i64", linear=linear, interval=(lo, hi))

    def integer_num(self, e: Expr, interval: Bounds | None = None) -> Num:
        """A Python int with `e` as its only atom."""
        if interval is not None:
            self.intervals[e] = interval
        return Num(e, weak="i64", linear=LinearForm.of(e), interval=self.interval(e))
