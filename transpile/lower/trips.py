"""``range(…)``: where it starts, its step, and how many iterations that makes."""
from __future__ import annotations

import ast

from loopir.nodes import Call, Const, Expr
from loopir.types import DTYPES

from ..infer import cast
from ..ranges import INT64, LENGTH, Linear, integer
from .outcomes import Outcomes
from .refusal import refuse

__all__ = ["Trips"]


class Trips(Outcomes):
    """Lowers the arguments of a range."""

    def range_of(self, call: ast.Call) -> tuple[Linear, int, Expr, Linear]:
        """Start and step, the trip count, and that count's linear form where it is positive."""
        args = [self._range_argument(a) for a in call.args]
        if not 1 <= len(args) <= 3:
            refuse("LOWER_UNSUPPORTED", f"`{ast.unparse(call)}` is not a range", call)
        start, stop = (Linear(), args[0]) if len(args) == 1 else (args[0], args[1])
        step = 1
        if len(args) == 3:
            if args[2].terms or args[2].constant == 0:
                refuse("LOWER_UNSUPPORTED", "the step of the range is not a constant", call)
            step = args[2].constant
        b = self.b
        span_ = stop - start if step > 0 else start - stop
        if abs(step) == 1:
            count, trips = span_, span_.expr()
        else:
            ceil = span_ + Linear({}, abs(step) - 1)
            trips = (
                Call("floordiv", (ceil.expr(), integer(abs(step))), "i64")
                if ceil.terms
                else integer(ceil.constant // abs(step))
            )
            lo, hi = b.low(ceil) // abs(step), b.high(ceil) // abs(step)
            if not isinstance(trips, Const):
                b.intervals[trips] = (lo, hi)
            count = Linear.of(trips)
        if b.high(count) > LENGTH[1] or b.low(count) < INT64[0]:
            self._bounded_trips(trips, call)
        if b.low(count) < 0:
            trips = (
                integer(max(0, int(trips.value)))
                if isinstance(trips, Const)
                else Call("max", (trips, integer(0)), "i64")
            )
        if not isinstance(trips, Const):
            b.intervals[trips] = (max(0, b.low(count)), min(max(0, b.high(count)), LENGTH[1]))
        return start, step, trips, count

    def _bounded_trips(self, trips: Expr, node: ast.AST) -> None:
        """Loops longer than memory are Python's."""
        self.b.require(Call("le", (trips, integer(LENGTH[1])), "bool"), "GUARD_INT_RANGE", node)

    def _range_argument(self, node: ast.expr) -> Linear:
        n = self.num(node)
        if (
            n.weak in ("f64", "bool")
            or (n.strong and DTYPES[n.strong].kind not in "iu")
            or n.dtype == "u64"
        ):
            refuse("LOWER_UNSUPPORTED", f"`{ast.unparse(node)}` is not an int", node)
        if n.linear is not None and n.python_int:
            return n.linear
        return Linear.of(self.b.bind(cast(n.ir, "i64"), "bound"))
