"""Conditions on the induction variable: comparisons that are constant except near the loop's ends.

    for i in loop(0, n): select(i > 0, x[i - 1], 0.0)       i > 0 is True from iteration 1 on

`partition_loops` splits a loop at these bounds, so that the interior has no tests. Both sides of a
comparison are affine forms. Where a test reads a variable of an inner loop or a counter, its
extreme value counts, so that the result holds for the whole iteration:

    for i in loop(0, n, k=0): if k < m: …; k = step(…k or k + 1…)       k < m is True before i = m

A bound is computed from the symbols of both sides. No test is taken where that, or a side of the
comparison, may leave the 64 bits of an index for certain values of these (`_fits`).
"""
from __future__ import annotations

from collections.abc import Iterator, Mapping

from ...algebra.constant_folding import constant_trip_count
from ...dtypes import INDEX
from ...ir_names import changed_names, multiply_bound_names, names_read, substitute
from ...ir_traversal import (
    bottom_up,
    counted_range,
    memoized_per_node,
    range_bounds,
    walk,
    walk_statements,
)
from ...lazy_dataclass import record, replace
from ...nodes import (
    Assign,
    Call,
    Check,
    Const,
    Expr,
    If,
    Interval,
    Kernel,
    Load,
    Loop,
    LoopLike,
    Node,
    Var,
)
from ...op_table import NEGATED_COMPARISON
from .affine import (
    Affine,
    affine_form,
    constant_form,
    extreme_form,
    nonnegative_margins,
    variable_form,
)
from .implied_conditions import implied_terms
from .intervals import Bounds, dtype_bounds, is_within
from .name_intervals import largest_step, name_intervals

__all__ = ["PositionTest", "exit_test", "fixed_differences", "position_tests"]

_ONE = constant_form(1)

_POSITION: Bounds = (-(1 << 61), 1 << 61)
"""The values that are assumed of loop variables: lowering lets no larger range in, and no array is
as long.
"""


@record(frozen=True, slots=True)
class PositionTest:
    """A comparison with one result in the interior of the loop."""

    call: Call
    then: bool  # its result in the interior
    bound: Affine  # the iteration at which the interior begins or ends
    low: bool | None  # interior: from `bound` on (True), before it (False), all but it (None)
    exact: bool = True  # outside of the interior it has the opposite result
    needs_others: bool = False  # it has the result only where the loop's other tests have theirs


def position_tests(loop: Loop, kernel: Kernel) -> list[PositionTest]:
    """The comparisons in `loop` of its variable with an invariant, each with the iterations in
    which it has one result, the interior; and that result. ``kernel``: where `loop` is, or was
    before other loops in it were split; what its guards and names say of symbols is used.

        i > 0         PositionTest(i > 0, then=True, bound=1, low=True): True from iteration 1 on
        i < n - 1     PositionTest(i < n - 1, then=True, bound=n - 1, low=False): True before it
        i == k        PositionTest(i == k, then=False, bound=k, low=None): False in all but one
        c < m         PositionTest(c < m, then=True, bound=m, low=False, exact=False): `c` starts
                      at 0, and an iteration adds 0 or 1 to it

    Of a branch, the interior is where the larger side runs (`_TestFinder._candidates`), but never
    a constant number of iterations at the start (`_is_near_start`). Both sides of a comparison must
    be affine. `partition_loops` uses this. Empty unless the loop is counted.
    """
    return _TestFinder(loop, kernel).tests() if counted_range(loop) is not None else []


def exit_test(loop: Loop, kernel: Kernel) -> PositionTest | None:
    """The comparison that alone ends `loop` early, if it is false up to a certain iteration, which
    is its bound, and true from there on; else None. ``kernel``: as for `position_tests`.

        for i in loop(0, n, left=False): left = step(i > k); until(left)    PositionTest(
            i > k, then=False, bound=k + 1, low=False)
    """
    if loop.until is None or not isinstance(loop.range, Interval):
        return None
    return _TestFinder(loop, kernel).exit_test()


def fixed_differences(loop: Loop, kernel: Kernel) -> dict[Call, Affine]:
    """The differences of positions in `loop` that are the same in all iterations, with what they
    are. ``kernel``: as for `position_tests`.

        lo = i - 1; for j in loop(lo, i + 2): …     (i + 2) - lo is 3
    """
    return _TestFinder(loop, kernel).fixed_differences()


class _TestFinder:
    """Finds the tests in a `loop`, and for each the outcome that selects the larger branch.

    ``_inner``: ranges of the inner loops; ``_values``: values of names that are assigned once;
    ``_counters``: the first and the greatest value that a counter may have in an iteration, as
    forms in the loop variable; ``_forms``: affine forms of names, None for those that vary
    otherwise.
    """

    def __init__(self, loop: Loop, kernel: Kernel) -> None:
        self._loop, self._kernel = loop, kernel
        inner = [n for n in walk_statements(loop) if isinstance(n, Loop)][1:]
        inner_variables = [n.var for n in inner]
        counted = (
            n for n in inner if isinstance(n.range, Interval) and inner_variables.count(n.var) == 1
        )
        self._inner = {n.var: n.range for n in counted}
        values = {n.name: n.value for n in walk_statements(loop) if isinstance(n, Assign)}
        rebound = multiply_bound_names(loop)
        self._values = {name: e for name, e in values.items() if name not in rebound}
        self._forms: dict[str, Affine | None] = dict.fromkeys(changed_names(loop))
        outer = _index_values(kernel)
        for name in names_read(loop) & outer.keys() - self._forms.keys():
            if (form := affine_form(outer[name])) is not None:
                self._forms[name] = form
        self._outcomes: Mapping[Call, bool] = {}
        self._counters: dict[str, tuple[Affine, Affine]] = {}
        self._counters = self._counter_ranges()
        for name, value in self._values.items():
            self._forms[name] = self._form(value)

    def tests(self) -> list[PositionTest]:
        """The tests of branches, selects and checks, and the tests of clamps ``max(0, x)`` whose
        bound is also that of one of these; those of the clamps of inner ranges, if these have one
        length without them; and if there is no other test, those of the clamps of subscripts
        (`_clamped_positions`): a split for another clamp alone would not pay.
        """
        pairs = [pair for n in walk(self._loop) for pair in self._candidates(n)]
        in_conditions = self._invariant_tests(dict(reversed(pairs)))
        if not in_conditions:
            return self._clamped_positions({})
        if tests_of_ranges := self._clamped_positions({t.call: t.then for t in in_conditions}):
            calls = {t.call for t in in_conditions}
            return in_conditions + [t for t in tests_of_ranges if t.call not in calls]
        bounds = {(t.bound, t.low) for t in in_conditions}
        return in_conditions + [
            t for t in self._invariant_tests(self._clamped()) if (t.bound, t.low) in bounds
        ]

    def fixed_differences(self) -> dict[Call, Affine]:
        """See `fixed_differences` above."""
        found = dict[Call, Affine]()
        for n in walk(self._loop):
            if not (isinstance(n, Call) and n.op == "sub" and n.dtype == INDEX):
                continue
            form = None if any(map(self._is_fixed, n.args)) else self._form(n)
            if form is not None and not form.variables and self._is_invariant(form):
                found[n] = form
        return found

    def exit_test(self) -> PositionTest | None:
        """See `exit_test` above."""
        steps = {a.name: a.step for a in self._loop.accs}
        assert self._loop.until is not None
        cond = substitute(self._loop.until, steps)
        terms = [*implied_terms(cond, False, self._values.get)]
        tests = self._invariant_tests(dict(self._implied(cond, False)))
        if len(terms) == len(tests) == 1 and tests[0].exact and tests[0].low is False:
            return tests[0]
        return None

    def _invariant_tests(self, candidates: Mapping[Call, bool]) -> list[PositionTest]:
        """The tests of `candidates` (with the wanted results) whose bound is loop-invariant."""
        tests = (self._test(call, then) for call, then in candidates.items())
        return [t for t in tests if t is not None and self._is_invariant(t.bound)]

    def _clamped(self) -> dict[Call, bool]:
        """Conditions under which clamps ``max(0, x)`` are no-ops."""
        clamps = (n for n in walk(self._loop) if isinstance(n, Call) and n.op == "max")
        return {
            Call("le", n.args, "bool"): True
            for n in clamps if n.dtype == INDEX and n.args[0] == Const(0, INDEX)
        }

    def _clamped_positions(self, outcomes: Mapping[Call, bool]) -> list[PositionTest]:
        """The tests whether the clamps of loaded elements' subscripts, and of the ranges of inner
        loops, are no-ops, so that the elements lie side by side, and windows have one length; of a
        loop that may be vectorised: its trip count is no constant, those of the loops in it are;
        or they have clamps, and do not vary without these. Of a clamp around another one also the
        test of that, which holds if both are no-ops; so of a clamped position that wraps around if
        negative::

            x[min(max(i - 1, 0), n - 1)]    0 <= i - 1, i - 1 <= n - 1, max(i - 1, 0) <= n - 1
            for j in loop(max(0, i - w), min(i + w, n))         0 <= i - w, i + w <= n

        `outcomes`: the results in the interior of other tests. If there are any, the loop is split
        anyway, and only clamps in the ranges of inner loops count.
        """
        inner = [n for s in self._loop.body for n in walk(s) if isinstance(n, LoopLike)]
        others = [n for n in inner if not _is_constant(n)]
        self._outcomes = outcomes
        if _is_constant(self._loop) or not all(map(self._has_one_length_unclamped, others)):
            return []
        bounds_of_others = [range_bounds(n.range) for n in others if isinstance(n, Loop)]
        clamped_bounds = [bounds for bounds in bounds_of_others if [*self._clamps_in(*bounds)]]
        if not clamped_bounds and (outcomes or others):
            return []
        subscripts = (i for n in walk(self._loop) if isinstance(n, Load) for i in n.index)
        ranges = (e for bounds in clamped_bounds for e in bounds)
        tests, nested = dict[Call, PositionTest](), list[PositionTest]()
        for e in self._clamps_in(*subscripts, *ranges):
            if (wraps := _wrap_around(e)) is not None:
                nested += self._wrap_around_test(wraps)
                continue
            conditions = self._no_op_conditions(e)
            found = self._invariant_tests(dict.fromkeys(conditions, True))
            tests |= {t.call: t for t in found}
            wraps_inside = (w for c in self._clamps_in(e) if (w := _wrap_around(c)) is not None)
            is_decided = all(map(self._wrap_around_test, wraps_inside))
            if len(conditions) > 1 and len(found) == len(conditions) and is_decided:
                a, b = e.args
                limit, clamped = (a, b) if self._is_fixed(a) else (b, a)
                call = _no_op_condition(e.op, clamped, limit)
                nested.append(replace(found[0], call=call, exact=False, needs_others=True))
        return [*tests.values(), *nested]

    def _wrap_around_test(self, wraps: Call) -> list[PositionTest]:
        """The test that the position of the wrap-around `wraps` is not negative where all clamps in
        it are no-ops. Empty if one of these has no test of its own.
        """
        for e in self._clamps_in(wraps.args[0]):
            conditions = self._no_op_conditions(e) if e.op in ("min", "max") else []
            found = self._invariant_tests(dict.fromkeys(conditions, True))
            if not conditions or len(found) < len(conditions):
                return []
        unclamped = replace(wraps, args=(self._unclamped(wraps.args[0]), wraps.args[1]))
        test = self._test(unclamped, False)
        if test is None or not self._is_invariant(test.bound):
            return []
        return [replace(test, call=wraps, exact=False, needs_others=True)]

    def _has_one_length_unclamped(self, inner: LoopLike) -> bool:
        """Whether the trip count of the loop `inner` does not change in this loop where all clamps
        of its bounds are no-ops.
        """
        if not isinstance(inner, Loop) or not isinstance(inner.range, Interval):
            return False
        start, end = (self._form(self._unclamped(e)) for e in range_bounds(inner.range))
        length = None if start is None or end is None else end - start
        return length is not None and not length.variables and self._is_invariant(length)

    def _unclamped(self, e: Expr) -> Expr:
        """`e` with the values of names, and with the operand of each clamp, and of each select of a
        position that wraps around, in its place; and of selects by tests in `_outcomes`.
        """
        def edit(n: Expr) -> Expr:
            match n:
                case Var(name) if name in self._values:
                    return self._unclamped(self._values[name])
                case Call("min" | "max", (a, b)) if self._is_fixed(a) != self._is_fixed(b):
                    return b if self._is_fixed(a) else a
                case Call("select", (_, _, position)) if _wrap_around(n) is not None:
                    return position
                case Call("select", (Call() as test, a, b)) if test in self._outcomes:
                    return a if self._outcomes[test] else b
            return n

        edited: Expr = bottom_up(e, edit)
        return edited

    def _clamps_in(self, *positions: Expr) -> Iterator[Call]:
        """The extrema and wrap-arounds in `positions`, and in the values of names that these read.
        """
        left = [*positions]
        seen = set[str]()
        while left:
            for n in walk(left.pop()):
                if isinstance(n, Call) and n.dtype == INDEX and (
                    n.op in ("min", "max") or _wrap_around(n) is not None
                ):
                    yield n
                elif isinstance(n, Var) and n.name in self._values and n.name not in seen:
                    seen.add(n.name)
                    left.append(self._values[n.name])

    def _no_op_conditions(self, e: Expr) -> list[Call]:
        """The conditions under which the extremum `e` and those in its operand, directly, by a name
        or in a wrap-around, are no-ops: `e` then is the innermost operand, if that does not wrap
        around. Empty if `e` is no clamp.
        """
        limits = list[tuple[str, Expr]]()
        while True:
            value = self._values.get(e.name) if isinstance(e, Var) else None
            is_clamp = isinstance(value, Call) and (
                value.op in ("min", "max") or _wrap_around(value) is not None
            )
            match value if is_clamp else e:
                case Call("min" | "max" as op, (a, b)) if self._is_fixed(a) != self._is_fixed(b):
                    limit, e = (a, b) if self._is_fixed(a) else (b, a)
                    limits.append((op, limit))
                case Call("select", (_, _, position)) as wrapped if _wrap_around(wrapped):
                    e = position
                case _:
                    return [_no_op_condition(op, e, limit) for op, limit in limits]

    def _is_fixed(self, e: Expr) -> bool:
        """Whether `e` reads no name that changes in the loop."""
        return names_read(e).isdisjoint((self._loop.var, *self._forms))

    def _is_invariant(self, form: Affine) -> bool:
        """Whether `form` is loop-invariant. (`_fits` tells whether it can be computed.)"""
        names = (name for symbol, _ in form.symbols for name in names_read(symbol))
        return all(name not in self._forms for name in names)

    def _fits(self, form: Affine) -> bool:
        """Whether `form` is within 64 bits for all values that its symbols may have. If it may not
        be, it wraps around, which a comparison of exact integers does not.

            n - 1    n a length                                 True
            10 - m   m an element of an array of i64            False: m may be -2**63
            m        the same                                   True: nothing is computed
        """
        if form.constant == 0 and [*form.terms.values()] == [1]:
            return True
        return is_within(form.bounds(self._atom_bounds), dtype_bounds(INDEX))

    def _atom_bounds(self, atom: Expr | str) -> Bounds:
        """The interval of a symbol, a loop variable or a counter."""
        if isinstance(atom, Expr):
            return name_intervals(self._kernel).of(atom)
        if atom not in self._counters:
            return _POSITION
        initial, greatest = (form.bounds(self._atom_bounds) for form in self._counters[atom])
        return initial[0], min(greatest[1], dtype_bounds(INDEX)[1])

    def _counter_ranges(self) -> dict[str, tuple[Affine, Affine]]:
        """The counters of the loop: accumulators to which an iteration adds 0 or 1
        (`largest_step`). In iteration i, the (i - lo)th, such a counter is at least its initial
        value, and at most i - lo greater.
        """
        start = self._form(range_bounds(self._loop.range)[0])
        found = dict[str, tuple[Affine, Affine]]()
        for a in self._loop.accs:
            initial = self._form(a.init)
            if initial is None or start is None or largest_step(a, self._loop.body) != 1:
                continue
            found[a.name] = initial, initial - start + variable_form(self._loop.var)
        return found

    def _candidates(self, n: Node) -> Iterator[tuple[Call, bool]]:
        """The comparisons in the condition of `n`, each with the result that is wanted in the
        interior:

        - of a branch or a select: the result that selects the side with more code;
        - of an index that wraps around (``select(i < 0, i + n, i)``, ``select(i >= n, i - n, i)``):
          the result without the wrap-around;
        - of a remainder that is needed at the ends only, ``select(c, i, i % n)``: that without it;
        - of a check: True.
        """
        match n:
            case If(cond, then, orelse, yields):
                then_size = _code_size(*then, *(y.then for y in yields))
                yield from self._implied(
                    cond, then_size >= _code_size(*orelse, *(y.orelse for y in yields))
                )
            case Call("select") if (wraps := _wrap_around(n)) is not None:
                yield from self._implied(wraps, False)
            case Call("select", (Call("ge", (a, c)) as wraps, Call("sub", less), b)) if (
                a == b and less == (a, c)
            ):
                yield from self._implied(wraps, False)
            case Call("select", (cond, a, Call("mod", (b, _)))) if a == b:
                yield from self._implied(cond, True)
            case Call("select", (cond, a, b)):
                yield from self._implied(cond, _code_size(a) >= _code_size(b))
            case Check(cond):
                yield from self._implied(cond, True)

    def _implied(self, cond: Expr, then: bool) -> Iterator[tuple[Call, bool]]:
        """The comparisons that have a fixed result where `cond` has the value `then`, each with
        that result. Of an ``and`` or ``or`` that `then` does not decide only tests of equality are
        taken: they have one result in all iterations but one anyway (`_equality_test`).
        """
        for term, value in implied_terms(cond, then, self._values.get):
            match term:
                case Call("and" | "or", parts):
                    nested = (pair for e in parts for pair in self._implied(e, value))
                    yield from (pair for pair in nested if pair[0].op in ("eq", "ne"))
                case Call(op, (a, _)) if op in NEGATED_COMPARISON and a.dtype == INDEX:
                    yield term, value

    def _form(self, e: Expr) -> Affine | None:
        """The affine form of `e` in the loop variable, the inner variables and invariants; None
        without one.
        """
        return affine_form(e, (self._loop.var, *self._inner, *self._counters), self._forms)

    def _test(self, call: Call, then: bool) -> PositionTest | None:
        """The test that the comparison `call` is, whose wanted result is `then`; None unless both
        sides are affine and its result changes at most once.
        """
        a, b = (self._form(e) for e in call.args)
        if a is None or b is None or not self._fits(a) or not self._fits(b):
            return None
        if call.op in ("eq", "ne"):
            return self._equality_test(call, a - b)
        [margin] = nonnegative_margins(call.op if then else NEGATED_COMPARISON[call.op], a, b)
        return self._inequality_test(call, then, margin)

    def _inequality_test(self, call: Call, then: bool, margin: Affine) -> PositionTest | None:
        """The test that `margin`, which has the loop variable with coefficient 1 or -1, is >= 0;
        else None.
        """
        exact = margin.variables == {self._loop.var}
        least_count = extreme_form(margin, self._counters.items(), False)
        if least_count is None:
            return None
        coefficient = least_count.coefficient(self._loop.var)
        least = self._least(least_count.without((self._loop.var,)))
        if abs(coefficient) != 1 or least is None:
            return None
        bound = least * -1 if coefficient > 0 else least + _ONE
        if not self._fits(bound):
            return None
        if exact and coefficient < 0 and self._is_near_start(bound):
            return PositionTest(call, not then, bound, True)
        return PositionTest(call, then, bound, coefficient > 0, exact)

    def _is_near_start(self, bound: Affine) -> bool:
        """Whether constantly few iterations are before `bound`, unlike from there on: these are the
        interior then, whichever result is wanted.

            i in loop(0, n), i + (n - 1) >= n:      i + (n - 1) - n is the index in all but one
        """
        start, end = map(self._form, range_bounds(self._loop.range))
        if start is None or (bound - start).number is None:
            return False
        return end is None or (end - start).number is None

    def _least(self, form: Affine) -> Affine | None:
        """The minimum of `form` over the inner loops; None where it is not affine."""
        ranges = ((var, self._first_and_last(var)) for var in reversed(self._inner))
        least = extreme_form(form, ranges, False)
        return None if least is None or least.variables else least

    def _first_and_last(self, var: str) -> tuple[Affine, Affine] | None:
        """The values of a variable of a loop inside, where these are affine."""
        first, end = map(self._form, range_bounds(self._inner[var]))
        return None if first is None or end is None else (first, end - _ONE)

    def _equality_test(self, call: Call, difference: Affine) -> PositionTest | None:
        """The test ``difference == 0`` (or ``!=``), true (or false) in one certain iteration: the
        first, the last or another. None if the step of `difference` is not 1 or -1, or if it
        depends on an inner loop.
        """
        coefficient = difference.coefficient(self._loop.var)
        if abs(coefficient) != 1 or difference.variables != {self._loop.var}:
            return None
        then, iteration = call.op == "ne", difference.without((self._loop.var,)) * -coefficient
        first, end = map(self._form, range_bounds(self._loop.range))
        if first == iteration:
            return PositionTest(call, then, iteration + _ONE, True)
        return PositionTest(call, then, iteration, False if end == iteration + _ONE else None)


@memoized_per_node
def _index_values(kernel: Kernel) -> dict[str, Expr]:
    """The integer names that `kernel` assigns in one place, each with its value."""
    rebound = multiply_bound_names(kernel)
    statements = (n for s in kernel.body for n in walk_statements(s))
    return {
        n.name: n.value for n in statements
        if isinstance(n, Assign) and n.value.dtype == INDEX and n.name not in rebound
    }


def _is_constant(loop: LoopLike) -> bool:
    """Whether the loop has a constant trip count."""
    if not isinstance(loop, Loop) or not isinstance(loop.range, Interval):
        return False
    return constant_trip_count(loop.range) is not None


def _wrap_around(e: Expr) -> Call | None:
    """The condition of a position that wraps around where it is negative, ``select(i < 0, …, i)``,
    also with a clamp, ``select(i < 0, …, min(i, n))``; None for other expressions.
    """
    match e:
        case Call("select", (Call("lt", (a, Const(0))) as wraps, _, b)):
            is_clamp = isinstance(b, Call) and b.op in ("min", "max") and a in b.args
            return wraps if a == b or is_clamp else None
    return None


def _no_op_condition(op: str, x: Expr, limit: Expr) -> Call:
    """When the clamp ``min(x, limit)``, or that by ``max``, is `x`."""
    return Call("le", (x, limit) if op == "min" else (limit, x), "bool")


def _code_size(*code: Node) -> int:
    """The number of nodes."""
    return sum(1 for n in code for _ in walk(n))
