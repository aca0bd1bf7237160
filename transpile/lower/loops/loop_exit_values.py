"""Accumulators of a loop, and the values of its carried names after it."""
from __future__ import annotations

from dataclasses import replace
from typing import TypeGuard

import numpy as np

from loopir.dtypes import DTYPES
from loopir.nodes import Accum, Call, Const, Expr, Var

from ...frontend.core_nodes import is_search
from ...types.linear_form import ANY, INT64, LinearForm, int_constant
from ...types.typed_values import FALSE, TRUE, Num, bool_op, cast, fits_dtype
from ..arrays.capacity_bounds import upper_bound
from ..state.symbol_values import LoopFrame, Unbound, UnionCase, UnionValue, Value
from .loop_carried import Carries, LoopCarried

__all__ = ["Outcomes"]


class Outcomes(Carries):
    """Makes the accumulators of a loop, and knows their values after it."""

    @staticmethod
    def _stop(frame: LoopFrame, named: dict[str, LoopCarried], accs: list[Accum]) -> Expr | None:
        """A search, whose macro carries one bool, stops when that is sure."""
        if len(accs) != 1 or not is_search(frame.node):
            return None
        ((name, c),) = named.items()
        return bool_op("not", c.var) if name.startswith("_all") else c.var

    def _accumulators(
        self, c: LoopCarried, init: Num | Unbound, end: Num | Unbound, frame: LoopFrame
    ) -> list[Accum]:
        zero = Const(DTYPES[c.var.dtype].numpy.type(0).item(), c.var.dtype)
        start = cast(init.ir, zero.dtype) if self._may_be(init, zero.dtype) else zero
        set_by_now = end.needed if isinstance(end, Unbound) else TRUE
        end = end.value or end if isinstance(end, Unbound) else end
        step = c.var if isinstance(end, Unbound) else cast(end.ir, c.var.dtype)
        out = [Accum(c.var.name, start, step)]
        if self._has_flag(c, end, frame):
            assert isinstance(end, Num)
            flag = init.weak_now if isinstance(init, Num) else FALSE
            out.append(Accum(c.flag.name, flag, end.weak_now))
        if c.partial:
            out.append(Accum(c.bound.name, FALSE, set_by_now or c.bound))
        return out

    @staticmethod
    def _may_be(n: Num | Unbound, dtype: str) -> TypeGuard[Num]:
        """Whether `n` may be a number of `dtype`: to an int no float is converted that may be none.
        """
        if isinstance(n, Unbound):
            return False
        floats = DTYPES[n.dtype].kind, DTYPES[dtype].kind
        return floats[0] != "f" or floats[1] == "f" or fits_dtype(n.ir, dtype)

    def _has_flag(self, c: LoopCarried, end: Num | Unbound, frame: LoopFrame) -> bool:
        """Whether an accumulator tells of the name whether it is a Python scalar."""
        if not isinstance(end, Num) or (not frame.exits and self._keeps_extreme(c, end)):
            return False
        return c.flagged or (frame.exits and end.either)

    def _keeps_extreme(self, c: LoopCarried, end: Num) -> bool:
        """Whether the step is ``max(acc, NumPy value)``: the final value tells if it ever won."""
        match end.ir:
            case Call("max" | "min", (first, _), _) if first == c.var:
                return self._but(c, end.weak_now) == FALSE
            case _:
                return False

    def _but(self, c: LoopCarried, weak: Expr) -> Expr:
        """When a name is Python's though it was not before the step."""
        match weak:
            case Var(name) if weak == c.flag:
                return FALSE
            case Var(name) if name in self.b.values:
                known = self.b.values[name]
                return weak if (found := self._but(c, known)) == known else found
            case Call("and" | "or" | "not" as op, args):
                return bool_op(op, *(self._but(c, a) for a in args))
            case Call("select", (cond, a, b), "bool"):
                a, b = self._but(c, a), self._but(c, b)
                return a if a == b else Call("select", (cond, a, b), "bool")
        return weak

    def _after(
        self,
        name: str,
        c: LoopCarried,
        init: Num | Unbound,
        end: Num | Unbound,
        frame: LoopFrame,
    ) -> Value:
        some = frame.some
        self._note_most(c, init, end)
        n = Num(c.var, c.strong, c.weak)
        if c.partial:
            value = end.value if isinstance(end, Unbound) else end
            return Unbound(self._settled(n, c, None, value or Unbound(), frame), c.bound)
        if isinstance(init, Unbound):
            if isinstance(end, Unbound):
                return end
            n = replace(n, is_weak=c.flag if c.flagged else None)
            return (
                self._settled(n, c, None, end, frame)
                if some == TRUE
                else Unbound(self._settled(n, c, None, end, frame), some)
            )
        if frame.exits and self._has_flag(c, end, frame):
            assert isinstance(end, Num)
            return Num(c.var, end.strong, end.weak, c.flag, exact=end.exact)
        if c.turning:
            return self._turned(c, init, some)
        if c.flagged and isinstance(end, Num):
            if self._keeps_extreme(c, end):
                assert isinstance(end.ir, Call)
                better = "gt" if end.ir.op == "max" else "lt"
                replaced = Call(better, (c.var, cast(init.ir, c.var.dtype)), "bool")
                return replace(n, is_weak=bool_op("and", init.weak_now, bool_op("not", replaced)))
            return replace(n, is_weak=c.flag)
        return self._settled(n, c, init, end, frame)

    def _note_most(self, c: LoopCarried, init: Num | Unbound, end: Num | Unbound) -> None:
        """The greatest of several ints is at most what each of them is at most."""
        if isinstance(init, Num) and isinstance(end, Num) and DTYPES[c.var.dtype].kind in "iu":
            step = end.ir
            while isinstance(step, Var) and step.name in self.b.values:
                step = self.b.values[step.name]
            match step:
                case Call("max" | "maximum", (first, e)) if first == c.var:
                    sides = upper_bound(self.b, init.ir), upper_bound(self.b, e)
                    if sides[0] is not None and sides[1] is not None:
                        self.b.most[c.var] = Call("max", (sides[0], sides[1]), "i64")

    def _turned(self, c: LoopCarried, init: Num, some: Expr) -> Value:
        """A Python scalar before the loop that its first iteration turns into something else."""
        if c.strong is None:
            after = Num(c.var, None, c.weak)
            if some == TRUE or self.b.one_type:
                return after if some == TRUE else Unbound(after, some)
            return UnionValue((UnionCase(after, some), UnionCase(init, bool_op("not", some))))
        if some == TRUE:
            return Num(c.var, c.strong)
        empty = bool_op("and", bool_op("not", some), init.weak_now)
        self.b.empty.add(bool_op("not", some))
        if c.exact:
            return Num(c.var, c.strong, c.weak, empty)
        if not np.can_cast(DTYPES[c.var.dtype].numpy, DTYPES[init.dtype].numpy):
            return Num(c.var, c.strong, c.weak, empty, exact=False)
        wide = Call("select", (some, cast(c.var, init.dtype), init.ir), init.dtype)
        return Num(wide, c.strong, c.weak, empty)

    def _settled(
        self,
        n: Num,
        c: LoopCarried,
        init: Num | None,
        end: Num | Unbound,
        frame: LoopFrame,
    ) -> Num:
        """`n` with what is known of an integer accumulator after the loop."""
        if c.var.dtype != "i64":
            return n
        b = self.b
        b.intervals[c.var] = ANY if c.bounded else INT64
        total = self._growth(end, c.var) if isinstance(end, Num) else None
        if init is not None and total is not None and c.bounded:
            trips = self._stays(total, init, frame)
            if trips is not None:
                if b.interval(frame.trips)[1] > trips:
                    b.require(
                        Call("le", (frame.trips, int_constant(trips)), "bool"),
                        "GUARD_INT_RANGE",
                        frame.node,
                    )
                grown = (trips * min(0, total[0]), trips * max(0, total[1]))
                if (
                    init.linear is not None
                    and len(init.linear.terms) == 1
                    and not init.linear.constant
                ):
                    ((atom, k),) = init.linear.terms.items()
                    if k == 1:
                        b.deltas[c.var] = (atom, grown)
                elif init.linear is not None and not init.linear.terms:
                    b.intervals[c.var] = (init.interval[0] + grown[0], init.interval[1] + grown[1])
        return replace(n, linear=LinearForm.of(c.var), interval=b.intervals[c.var])
