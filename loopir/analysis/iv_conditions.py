"""Conditions on the induction variable: comparisons that are constant except near the loop's ends.

`partition_loops` splits a loop at their bounds, so that the interior has no tests.
"""
from __future__ import annotations

from collections.abc import Iterator, Mapping

from ..dtypes import INDEX
from ..ir_names import bound_names, multiply_bound_names, used_names
from ..ir_traversal import range_bounds, walk
from ..lazy_dataclass import record
from ..nodes import Assign, Call, Check, Const, Expr, If, Interval, Loop, Node
from ..op_table import NEGATED_COMPARISON
from .affine import Affine, affine_form, constant_form, extreme_form, nonnegative_margins
from .conditions import implied_terms

__all__ = ["PositionTest", "position_tests"]

_ONE = constant_form(1)

_MAX_BOUND = 1 << 61


@record(frozen=True, slots=True)
class PositionTest:
    """A comparison that is ``then`` in the interior of the loop.

    ``low`` True: from iteration ``bound`` on; False: before ``bound``; None: everywhere except at
    ``bound``. ``exact``: in the rest of the loop it is the opposite.
    """

    call: Call
    then: bool
    bound: Affine
    low: bool | None
    exact: bool = True


def position_tests(loop: Loop) -> list[PositionTest]:
    """The comparisons in `loop` whose result follows from the iteration number, near one of its
    ends.
    """
    counted = isinstance(loop.range, Interval) and loop.until is None
    return _TestFinder(loop).tests() if counted else []


class _TestFinder:
    """Finds the tests in a `loop`, and for each the outcome that selects the larger branch."""

    def __init__(self, loop: Loop) -> None:
        self._loop = loop
        inner = [n for n in walk(loop) if isinstance(n, Loop)][1:]
        names = [n.var for n in inner]
        counted = (n for n in inner if isinstance(n.range, Interval) and names.count(n.var) == 1)
        self._inner = {n.var: n.range for n in counted}
        values = {n.name: n.value for n in walk(loop) if isinstance(n, Assign)}
        again = multiply_bound_names(loop)
        self._values = {name: e for name, e in values.items() if name not in again}
        self._forms: dict[str, Affine | None] = dict.fromkeys(bound_names(loop))
        for name, value in self._values.items():
            self._forms[name] = self._form(value)

    def tests(self) -> list[PositionTest]:
        pairs = [pair for n in walk(self._loop) for pair in self._candidates(n)]
        candidates = dict(reversed(pairs))
        found = self._found(candidates)
        ends = {(t.bound, t.low) for t in found}
        return found + [t for t in self._found(self._clamped()) if (t.bound, t.low) in ends]

    def _found(self, candidates: Mapping[Call, bool]) -> list[PositionTest]:
        found = (self._test(call, then) for call, then in candidates.items())
        return [t for t in found if t is not None and self._is_invariant(t.bound)]

    def _clamped(self) -> dict[Call, bool]:
        """Conditions under which clamps ``max(0, x)`` are no-ops."""
        clamps = (n for n in walk(self._loop) if isinstance(n, Call) and n.op == "max")
        return {
            Call("le", n.args, "bool"): True
            for n in clamps if n.dtype == INDEX and n.args[0] == Const(0, INDEX)
        }

    def _is_invariant(self, form: Affine) -> bool:
        """Whether `form` is loop-invariant and small enough that adding to it does not overflow."""
        names = (name for symbol, _ in form.symbols for name in used_names(symbol))
        return abs(form.constant) < _MAX_BOUND and all(name not in self._forms for name in names)

    def _candidates(self, n: Node) -> Iterator[tuple[Call, bool]]:
        match n:
            case If(cond, then, orelse, yields):
                more = _code_size(*then, *(y.then for y in yields))
                yield from self._atoms(
                    cond, more >= _code_size(*orelse, *(y.orelse for y in yields))
                )
            case Call("select", (Call("lt", (a, Const(0))) as wraps, _, b)) if a == b:
                yield from self._atoms(wraps, False)
            case Call("select", (Call("ge", (a, c)) as wraps, Call("sub", less), b)) if (
                a == b and less == (a, c)
            ):
                yield from self._atoms(wraps, False)
            case Call("select", (cond, a, Call("mod", (b, _)))) if a == b:
                yield from self._atoms(cond, True)
            case Call("select", (cond, a, b)):
                yield from self._atoms(cond, _code_size(a) >= _code_size(b))
            case Check(cond):
                yield from self._atoms(cond, True)

    def _atoms(self, cond: Expr, then: bool) -> Iterator[tuple[Call, bool]]:
        """The comparisons that have a fixed result where `cond` is `then`, with that result."""
        for term, value in implied_terms(cond, then, self._values.get):
            match term:
                case Call("and" | "or", parts):
                    asked = (pair for e in parts for pair in self._atoms(e, value))
                    yield from (pair for pair in asked if pair[0].op in ("eq", "ne"))
                case Call(op, (a, _)) if op in NEGATED_COMPARISON and a.dtype == INDEX:
                    yield term, value

    def _form(self, e: Expr) -> Affine | None:
        return affine_form(e, (self._loop.var, *self._inner), self._forms)

    def _test(self, call: Call, then: bool) -> PositionTest | None:
        a, b = (self._form(e) for e in call.args)
        if a is None or b is None:
            return None
        if call.op in ("eq", "ne"):
            return self._end(call, a - b)
        [margin] = nonnegative_margins(call.op if then else NEGATED_COMPARISON[call.op], a, b)
        return self._margin(call, then, margin)

    def _margin(self, call: Call, then: bool, margin: Affine) -> PositionTest | None:
        """The test that `margin` >= 0."""
        sign = margin.coefficient(self._loop.var)
        least = self._least(margin.without((self._loop.var,)))
        if abs(sign) != 1 or least is None:
            return None
        exact = margin.variables == {self._loop.var}
        return PositionTest(
            call, then, least * -1 if sign > 0 else least + _ONE, sign > 0, exact
        )

    def _least(self, form: Affine) -> Affine | None:
        """The minimum of `form` over the inner loops; None where it is not affine."""
        ranges = ((var, self._first_and_last(var)) for var in reversed(self._inner))
        least = extreme_form(form, ranges, False)
        return None if least is None or least.variables else least

    def _first_and_last(self, var: str) -> tuple[Affine, Affine] | None:
        """The values of a variable of a loop inside, where these are affine."""
        first, behind = map(self._form, range_bounds(self._inner[var]))
        return None if first is None or behind is None else (first, behind - _ONE)

    def _end(self, call: Call, apart: Affine) -> PositionTest | None:
        """The test that this is not one certain iteration: the first, the last or another."""
        sign = apart.coefficient(self._loop.var)
        if abs(sign) != 1 or apart.variables != {self._loop.var}:
            return None
        then, place = call.op == "ne", apart.without((self._loop.var,)) * -sign
        first, behind = map(self._form, range_bounds(self._loop.range))
        if first == place:
            return PositionTest(call, then, place + _ONE, True)
        return PositionTest(call, then, place, False if behind == place + _ONE else None)


def _code_size(*code: Node) -> int:
    return sum(1 for n in code for _ in walk(n))
