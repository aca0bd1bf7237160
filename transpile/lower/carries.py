"""Scalars that a loop carries: the types that they settle on, and how far integers can go."""
from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace
from typing import NoReturn

from loopir.nodes import Call, Expr, Var
from loopir.record import record

from ..infer import Num, exactly, logic
from ..pair import Pair
from ..ranges import ANY, ENDLESS, INT64, LENGTH, Linear, integer
from .cases import MOST, cases_of, kind_of
from .names import Names
from .parts import IsComplex
from .progressions import progression, step_of, turns
from .refusal import refuse
from .several import MoreTypes
from .values import Cases, Frame, Unbound, Value

__all__ = ["Carries", "Carry"]

_SAFE_TRIPS = 1 << 31


@record(frozen=True, slots=True)
class Carry:
    """How one name is carried: the accumulator's dtype, its types inside, and whether they change
    after the first iteration. A ``partial`` one has no value before some iteration gives it one.
    With a ``step`` it is an int that grows by it and needs none.
    """

    var: Var
    strong: str | None
    weak: str | None
    turning: bool = False
    flagged: bool = False
    exact: bool = True
    bounded: bool = True
    partial: bool = False
    step: int | None = None

    @property
    def flag(self) -> Var:
        """Whether it is a Python scalar now."""
        return Var(self.var.name + "py", "bool")

    @property
    def bound(self) -> Var:
        """Whether it has a value by now."""
        return Var(self.var.name + "set", "bool")


class Carries(Names):
    """Finds the types of what a loop carries, and what is known of it."""

    counters: set[str]
    arguments: dict[str, object]

    def _initial(self, name: str, node: ast.For | ast.While) -> Num | Unbound | Cases:
        got: Value | None = self.b.env.get(name)
        if got is None and name in self.arguments:
            got = self._name(name, node)
        if isinstance(got, Cases) or (isinstance(got, Unbound) and got.value is not None):
            return got
        if isinstance(got, Pair):
            raise IsComplex(name, python=got.strong is None)
        return got if isinstance(got, Num) else Unbound()

    def _first_guess(self, name: str, init: Num | Unbound, absorbing: str | None) -> Carry:
        var = Var(f"{name}.", init.dtype if isinstance(init, Num) else "i64")
        if (
            absorbing
            and isinstance(init, Num)
            and init.weak in ("i64", "f64")
            and exactly(init.ir, absorbing)
        ):
            return Carry(replace(var, dtype=absorbing), absorbing, init.weak, flagged=True)
        if isinstance(init, Num):
            return Carry(var, init.strong, init.weak, flagged=init.either, exact=init.exact)
        return Carry(var, None, "i64")

    def _entry(self, carry: Carry, init: Num | Unbound, frame: Frame) -> Value:
        """The name's value at the start of an iteration."""
        if isinstance(init, Unbound):
            known = Num(carry.var, carry.strong, carry.weak)
            return Unbound(known, carry.bound) if carry.partial else Unbound()
        if carry.step is not None:
            return self.b.from_linear(progression(init, carry.step, Linear.of(frame.var)))
        n = Num(carry.var, carry.strong, carry.weak, exact=carry.exact)
        self.b.accumulators.add(carry.var)
        if carry.turning and carry.weak:
            n = replace(n, is_weak=logic("and", _first(frame), init.weak_now))
            self.b.starts[carry.var] = init
        elif carry.flagged:
            n = replace(n, is_weak=carry.flag)
        if carry.var.dtype == "i64":
            interval = ANY if carry.bounded else INT64
            self.b.intervals[carry.var] = interval
            n = replace(n, linear=Linear.of(carry.var), interval=interval)
        return n

    def _refine(
        self,
        name: str,
        carry: Carry,
        init: Num | Unbound,
        end: Num | Unbound,
        stay: Num | Unbound,
        frame: Frame,
    ) -> Carry:
        """What is known of `carry` when an iteration ends with `end`, or `stay` if it is not the
        last.
        """
        if isinstance(end, Unbound) and end.value is not None and isinstance(init, Unbound):
            carry, end = replace(carry, partial=True), end.value
        if isinstance(end, Unbound):
            return carry
        if end.boxed:
            refuse("LOWER_TYPE", f"`{name}` is a 0-d array, not a scalar", frame.node)
        if isinstance(init, Unbound):
            return replace(
                carry,
                var=replace(carry.var, dtype=end.dtype),
                strong=end.strong,
                weak=end.weak,
                flagged=end.either,
                bounded=ANY[0] <= end.interval[0] and end.interval[1] <= ANY[1],
            )
        if not isinstance(stay, Num) or stay.dtype != end.dtype:
            stay = end
        if carry.step is not None:
            now = progression(init, carry.step, Linear.of(frame.var))
            still = stay.linear is not None and stay.linear - now == Linear({}, carry.step)
            return carry if still else replace(carry, step=None)
        longest = ENDLESS[1] if isinstance(frame.node, ast.While) else LENGTH[1]
        step = None if name in self.counters else step_of(init, stay, carry.var, longest)
        if step is not None:
            return replace(carry, step=step)
        carry = self._retype(name, carry, init, stay, frame)
        if carry.var.dtype == "i64" and carry.bounded and end.linear is not None:
            total = self._growth(end, carry.var)
            return replace(
                carry, bounded=total is not None and self._stays(total, init, frame) is not None
            )
        if carry.var.dtype == "i64" and carry.bounded and name not in self.counters:
            return replace(carry, bounded=end.ir == carry.var)
        return carry

    def _retype(self, name: str, carry: Carry, init: Num, end: Num, frame: Frame) -> Carry:
        node = frame.node
        if end.types == init.types and not end.either and end.dtype == init.dtype:
            return replace(
                carry, var=replace(carry.var, dtype=end.dtype), strong=end.strong, weak=end.weak
            )
        if init.strong and end.strong and init.strong != end.strong:
            said = f"`{name}` is {init.strong} before the loop and {end.strong} after it"
            self.more_types(name, (init, end), said, node)
        if init.weak and end.weak and init.weak != end.weak:
            if exactly(init.ir, end.dtype) and not init.strong and not end.strong:
                return replace(
                    carry, var=replace(carry.var, dtype=end.dtype), weak=end.weak, turning=True
                )
            said = f"the type of `{name}` changes in the loop"
            self.more_types(name, (init, end), said, node)
        strong, weak = end.strong or init.strong, end.weak or init.weak
        held = init.dtype == end.dtype or exactly(init.ir, end.dtype)
        still = _first(frame) if carry.turning else carry.flag
        if init.weak and (not end.weak or turns(init, end, carry.var, still)):
            return replace(
                carry,
                var=replace(carry.var, dtype=end.dtype),
                strong=strong,
                weak=weak,
                turning=True,
                flagged=False,
                exact=held,
            )
        if not held:
            said = f"`{name}` may be a Python or a NumPy number, depending on the data"
            self.more_types(name, (init, end), said, node)
        narrow = end.dtype  # a later one tells whether what it may end with is as narrow as it is
        if end.strong and not carry.flagged and exactly(init.ir, end.strong):
            narrow = end.strong
        return replace(
            carry, var=replace(carry.var, dtype=narrow), strong=strong, weak=weak, flagged=True,
            turning=False,
        )

    def more_types(
        self, name: str, values: Sequence[Value], said: str, node: ast.AST
    ) -> NoReturn:
        """The name has all these values in a loop: it is of several types, or refused."""
        cases = [cases_of(self.b, v) for v in values]
        kinds = dict.fromkeys(kind_of(c.value) for of in cases for c in of or ())
        if self.b.one_type or None in cases or len(kinds) > MOST:
            refuse("LOWER_JOIN", said, node)
        raise MoreTypes(name, kinds)

    def growth_from(self, linear: Linear | None, base: Expr) -> tuple[int, int] | None:
        """An interval of ``linear - base``; None where it is not known."""
        if linear is None:
            return None
        lo = hi = 0
        while True:
            known = [
                a for a, c in linear.terms.items() if c == 1 and a in self.b.deltas and a != base
            ]
            if not known:
                break
            origin, (dlo, dhi) = self.b.deltas[known[0]]
            linear, lo, hi = linear.substitute(known[0], Linear.of(origin)), lo + dlo, hi + dhi
        rest = linear - Linear.of(base)
        if base in rest.terms:
            return None
        return lo + self.b.low(rest), hi + self.b.high(rest)

    def _growth(self, end: Num, var: Var) -> tuple[int, int] | None:
        return self.growth_from(end.linear, var)

    def _stays(self, step: tuple[int, int], init: Num, frame: Frame) -> int | None:
        """The trip count up to which an accumulator with these steps stays in its interval."""
        lo, hi = min(0, step[0]), max(0, step[1])
        start = init.interval if init.linear is not None else INT64
        longest = self.b.interval(frame.trips)[1]
        if isinstance(frame.node, ast.While):
            reached = start[0] + longest * lo >= ANY[0] and start[1] + longest * hi <= ANY[1]
            return longest if reached else None
        longest = min(LENGTH[1], longest)
        for trips in (min(longest, _SAFE_TRIPS),) if self.b.frames else (longest, _SAFE_TRIPS):
            if start[0] + trips * lo >= ANY[0] and start[1] + trips * hi <= ANY[1]:
                return trips
            if (
                start == ANY and trips * max(-lo, hi) < ANY[1]
            ):  # the enclosing loop answers for the sum
                return trips
        return None


def _first(frame: Frame) -> Expr:
    """Whether it is the loop's first iteration."""
    return Call("eq", (frame.var, integer(0)), "bool")
