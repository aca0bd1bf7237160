"""Inductive range checks: a loop whose subscripts stay inside, by their ends, runs without checks.

The subscript ``start + k``, or ``end - k``, of a loop over k is greatest and least in its first and
its last iteration. So two tests before the loop tell whether it is inside of an array in all of
them, and never negative. (LLVM: inductive range check elimination; Bodík, Gupta, Sarkar, ABCD,
2000, has the problem.) The same for values of narrow integers, which a table of 256 elements has
for each byte; and for values that grow with k, as ``int(k * scale)`` in the resizing of an image:
their rounding never changes the order of two of them.

Other passes come first: `check_elimination` drops what the bounds of loops and guards imply,
`partition_loops` splits a loop where a test changes its result, `hoist_checks` moves the checks of
a whole nest before it. Left are the loops that begin anew for each iteration of another one.
"""
from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from typing import NamedTuple

from ...algebra.constant_folding import index_const, literal
from ...algebra.index_builder import index_add, index_mul, index_sub, is_nonempty, logical_and
from ...algebra.may_raise import may_raise_flags, replay_checks
from ...algebra.rewrite_rules import rewrite
from ...analysis.integers.implied_conditions import conjuncts
from ...analysis.integers.intervals import Bounds, Intervals
from ...analysis.integers.name_intervals import name_intervals
from ...analysis.mod_ref import arrays_written
from ...dtypes import DTYPES, INDEX
from ...ir_names import FreshNames, changed_names, expand_names, names_read, substitute
from ...ir_traversal import (
    bottom_up,
    contains,
    counted_range,
    has_early_exit,
    is_innermost,
    walk,
    walk_statements,
)
from ...lazy_dataclass import replace
from ...nodes import (
    Assign,
    Call,
    Const,
    Expr,
    If,
    Interval,
    Kernel,
    Load,
    Local,
    Loop,
    Node,
    Stmt,
    Var,
    Yield,
)
from ...op_table import SWAPPED_COMPARISON
from ...statement_blocks import map_statements
from ..canonical.simplify import simplify
from ..scalar.common_subexpressions import name_shared_values

__all__ = ["inductive_ranges"]

_MAX_NODES = 600  # size limit of a loop that is copied
_MAX_COPIES = 12  # of loops in a kernel
_MAX_FACTOR, _MAX_TRIPS = 1 << 31, 1 << 31
"""Of a subscript ``step * k + start``: `step` at most, and how often such a loop runs at most, so
that it does not wrap around between two values that are inside.
"""
_ZERO, _BACKWARD = index_const(0), index_const(-1)
_FAR = 1 << 61
"""Two integers of which one is less than twice as far from zero as this have no sum or difference
that wraps around to one that is not negative, and no farther than this and `_NARROW`.
"""
_NARROW = 1 << 17
"""Values are narrow if there are fewer than this."""


def inductive_ranges(kernel: Kernel) -> Kernel:
    """Copy an innermost loop of which some check holds if the ends of its subscripts are inside of
    the arrays: where they are, the copy runs, without these checks and without tests for negative
    subscripts. It may then be vectorised.

    Before::

        def k(p: i64[::1], x: f64[::1], y: mut(f64[::1])):
            disjoint(p, y)
            disjoint(x, y)
            for i in loop(0, y.shape[0]):
                start = p[i]
                for j in loop(0, 8, s=0.0):
                    at = start + j
                    inside = (at >= 0) & (at < x.shape[0])
                    check(inside, "replay")
                    s = step(s + x[select(inside, at, 0)])
                y[i] = s

    after::

        def k(p: i64[::1], x: f64[::1], y: mut(f64[::1])):
            disjoint(p, y)
            disjoint(x, y)
            for i in loop(0, y.shape[0]):
                start = p[i]
                if (start >= 0) & (start + 7 >= start) & (start + 7 < x.shape[0]):
                    for j_1 in loop(0, 8, s_1=0.0):
                        s_1 = step(s_1 + x[start + j_1])
                    s = give(s_1)
                else:
                    for j_2 in loop(0, 8, s_2=0.0):
                        at_2 = start + j_2
                        inside_2 = (at_2 >= 0) & (at_2 < x.shape[0])
                        check(inside_2, "replay")
                        s_2 = step(s_2 + x[select(inside_2, at_2, 0)])
                    s = give(s_2)
                y[i] = s
    """
    fresh, copies = FreshNames(kernel), 0
    branches = [n for n in walk_statements(kernel) if isinstance(n, If)]
    versions = {id(n.orelse[0]) for n in branches if _is_versions(n)}
    versions |= {id(n) for branch in branches for n in _beside_tables(branch)}

    def edit(s: Stmt) -> Stmt | tuple[Stmt, ...]:
        """`s` in two versions, if it is a loop for which that pays."""
        nonlocal copies
        if not isinstance(s, Loop) or id(s) in versions or not is_innermost(s):
            return s
        if copies >= _MAX_COPIES or sum(1 for _ in walk(s)) > _MAX_NODES:
            return s
        assumed = _Assumptions(s, name_intervals(kernel))
        if not assumed.conditions:
            return s
        copies += 1
        return _versions(s, assumed, fresh)

    new = map_statements(kernel, edit, Loop)
    return kernel if new is kernel else _with_names_before_branches(simplify(new))


def _with_names_before_branches(kernel: Kernel) -> Kernel:
    """`kernel` with names for values that loops without checks compute twice: of a copy, a branch
    may now compute what its condition does, which `if_convert` would compute under a mask.
    """
    fresh = FreshNames(kernel)

    def edit(s: Stmt) -> Stmt:
        """`s` with such a copy that has branches."""
        if not isinstance(s, If) or not _is_versions(s) or not contains(s.then[0], If):
            return s
        return replace(s, then=(name_shared_values(s.then[0], kernel, fresh),))

    return map_statements(kernel, edit, If)


def _is_versions(s: If) -> bool:
    """Whether `s` chooses between two versions of a loop."""
    match s:
        case If(then=(Loop(range=p),), orelse=(Loop(range=q),)):
            return p == q
    return False


def _beside_tables(s: If) -> Iterator[Node]:
    """The loops that `tabulate` has made beside the one that reads tables, if it has made `s`: the
    loop that fills them, and the code without. A test costs little in the one, and code in both.
    """
    if contains(s, Local):
        tables = {n.name for n in walk_statements(s) if isinstance(n, Local)}
        for n in walk_statements(s):
            if isinstance(n, Loop) and is_innermost(n) and tables & arrays_written(n.body):
                yield n
        yield from (n for other in s.orelse for n in walk_statements(other))


class _Linear(NamedTuple):
    """``factor * k + rest``, where k is the variable of the loop, which changes neither `factor`
    nor `rest`.
    """

    factor: Expr
    rest: Expr


class _Assumption(NamedTuple):
    """That the comparison `term` holds, and that some subscripts are never negative, which follows
    from `conditions` before the loop. (That the term does not hold, if `holds` is False.)
    """

    term: Call
    conditions: list[Expr]
    never_negative: tuple[_Linear | Expr, ...]
    holds: bool = True


class _Assumptions:
    """What is assumed of the comparisons in a loop, so that some of its checks hold: `outcomes`,
    and the `conditions` before the loop from which that follows; none if no check would.
    ``intervals``: of the names of the kernel.
    """

    def __init__(self, loop: Loop, intervals: Intervals) -> None:
        self.loop = loop
        self.changing = changed_names(loop)
        self.values: dict[str, Expr] = {
            s.name: s.value for s in loop.body if isinstance(s, Assign) and s.value.lanes == 1
        }
        self.intervals = intervals
        self.outcomes: dict[Call, bool] = {}
        self.conditions: dict[Expr, None] = {}  # in their order
        self.never_negative: set[_Linear | Expr] = set()
        self.near: set[_Linear] = set()  # those that are less than `_FAR`, too
        for check in replay_checks(loop):
            self.is_always_made = any(check is s for s in loop.body) and not has_early_exit(loop)
            self._assume_all(check.cond)

    def _assume_all(self, cond: Expr) -> None:
        """Assume all comparisons of which `cond` consists, if each of them can be assumed."""
        terms = [*self._terms(cond)]
        found = [f for t in terms if (f := self._assumption(t)) is not None]
        if not terms or len(found) < len(terms):
            return
        for assumption in found:
            self.outcomes[assumption.term] = assumption.holds
            self.conditions.update(dict.fromkeys(assumption.conditions))
            self.never_negative.update(assumption.never_negative)
            op, (value, bound) = assumption.term.op, assumption.term.args
            if value.dtype != INDEX or not assumption.holds:
                continue
            if op in ("gt", "ge"):
                value, bound = bound, value
            if self._interval(bound)[1] <= _FAR + _NARROW and (
                linear := self.linear(value)
            ) is not None:
                self.near.add(linear)

    def _terms(self, cond: Expr) -> Iterator[Expr]:
        """The terms that must hold so that `cond` does, with the values of names."""
        for term in conjuncts(cond):
            value = self.values.get(term.name) if isinstance(term, Var) else None
            yield from (term,) if value is None else self._terms(value)

    def _assumption(self, term: Expr) -> _Assumption | None:
        """What is to be assumed so that the comparison `term` holds; None if it has none of the
        forms that are looked for.
        """
        match term:
            case Call("lt" | "le" | "gt" | "ge", (a, b)) if a.dtype == b.dtype:
                is_swapped = self._fixed(a) is not None
            case Call("not", (Call("add_over", (a, Const(more))) as over,)) if a.dtype == INDEX:
                ends = self._of_growing_values(a, "le", index_const(_FAR))
                if ends is None or self.linear(a) is not None or not 0 <= more <= _FAR:
                    return None
                return _Assumption(over, ends, (a,), holds=False)
            case _:
                return None
        op, value, bound = (SWAPPED_COMPARISON[term.op], b, a) if is_swapped else (term.op, a, b)
        limit = self._fixed(bound)
        if limit is None:
            return None
        linear, conditions = self.linear(value), None
        if linear is None and (ends := self._of_growing_values(value, op, limit)) is not None:
            return _Assumption(term, ends, (value,) if value.dtype == INDEX else ())
        if linear is None or linear.factor == _ZERO:
            conditions = self._of_narrow_values(value, op, limit) if value.dtype == INDEX else None
            return None if conditions is None else _Assumption(term, conditions, ())
        conditions = self._at_ends(linear, op, limit)
        return None if conditions is None else _Assumption(term, conditions, (linear,))

    def _at_ends(self, subscript: _Linear, op: str, bound: Expr) -> list[Expr] | None:
        """The conditions that `subscript` is never negative, and that it compares so with `bound`
        at that of its ends where this is least likely; with a lower bound that it may be, as for
        Python's negative subscripts, that the bound is not positive.
        """
        counted, factor = counted_range(self.loop), subscript.factor
        if counted is None or self._fixed(counted.lo) is None:
            return None
        first = index_add(subscript.rest, index_mul(counted.lo, factor))
        last = index_add(subscript.rest, index_mul(index_sub(counted.hi, 1), factor))
        conditions = [] if counted.lo == _ZERO else [_compare("ge", counted.lo, _ZERO)]
        least, greatest = (last, first) if factor == _BACKWARD else (first, last)
        conditions.append(_compare("ge", least, _ZERO))
        if not isinstance(factor, Const):
            conditions.append(_compare("ge", factor, index_const(1)))
            conditions.append(_compare("le", factor, index_const(_MAX_FACTOR)))
        elif factor != _BACKWARD and not 1 <= int(factor.value) <= _MAX_FACTOR:
            return None
        if factor not in (index_const(1), _BACKWARD):
            conditions.append(_compare("le", counted.hi, index_const(_MAX_TRIPS)))
        if op in ("lt", "le"):
            conditions.append(_compare(op, greatest, bound))
        elif bound != _ZERO:
            conditions.append(_compare("le", bound, index_const(0 if op == "ge" else -1)))
        elif op == "gt":
            conditions.append(_compare("gt", least, bound))
        # an end that wraps around is negative, or on the other side of the other one
        conditions.append(_compare("ge", greatest, least))
        return conditions

    def _of_growing_values(self, value: Expr, op: str, bound: Expr) -> list[Expr] | None:
        """The conditions that `value` grows with the loop's variable, and that it compares so with
        `bound` where this is least likely; and, of an integer, is never negative. None if it may
        not grow, or if to compute it before the loop may raise a flag that the loop does not.
        """
        counted, growth = counted_range(self.loop), self._growth(value)
        if counted is None or growth is None or self._fixed(value) is not None:
            return None
        first, last = self._at(value, counted.lo), self._at(value, index_sub(counted.hi, 1))
        if first is None or last is None:
            return None
        end = last if op in ("lt", "le") else first
        is_float = value.dtype != INDEX
        in_order = _compare("le", first, last) if is_float else _compare("ge", first, _ZERO)
        conditions = [*growth, in_order, _compare(op, end, bound)]
        raises = any(map(may_raise_flags, conditions)) and not self.is_always_made
        return None if raises else conditions

    def _growth(self, e: Expr) -> list[Expr] | None:
        """The conditions under which `e` is never less than in the iteration before. It may be a
        NaN in some iteration only if it is in the first or the last one, too. None if it may not
        grow.

            trunc(f64(k * width) / scale) + 1.0     k * width never wraps around, and scale > 0
        """
        if self._fixed(e) is not None:
            return []
        match e:
            case Var(name) if name in self.values:
                return self._growth(self.values[name])
            case Call("cast", (a,)) if a.dtype == INDEX and DTYPES[e.dtype].kind == "f":
                linear = self.linear(a)
                if linear is None or linear.factor == _BACKWARD:
                    return None
                return self._at_ends(linear, "ge", _ZERO)
            case Call("select", (cond, a, Const())) if self._is_assumed(cond):
                return self._growth(a)
            case Call("cast", (a,)) if DTYPES[a.dtype].kind == "f" and e.dtype == INDEX:
                return self._growth(a)
            case Call("trunc" | "floor" | "ceil", (a,)):
                return self._growth(a)
            case Call("min" | "max", (a, b)) if e.dtype == INDEX:
                grown = self._growth(a), self._growth(b)
                return None if grown[0] is None or grown[1] is None else [*grown[0], *grown[1]]
            case Call("add", (a, Const(more))) if e.dtype == INDEX and 0 <= more <= _FAR:
                return self._of_growing_values(a, "le", index_const(_FAR))
            case Call("add" | "sub" | "mul" | "div" as op, (a, b)) if DTYPES[e.dtype].kind == "f":
                return self._growth_of_float(op, a, b)
        return None

    def _growth_of_float(self, op: str, a: Expr, b: Expr) -> list[Expr] | None:
        """As `_growth`, of ``a op b``, one of which does not change. A product that is added to
        something is refused: with contraction (``contract=True``) its rounding is left out in some
        places, perhaps only in the loop.
        """
        if op in ("add", "mul") and self._fixed(a) is not None:
            a, b = b, a
        fixed, growth = self._fixed(b), self._growth(a)
        if fixed is None or growth is None:
            return None
        if op in ("add", "sub"):
            value = self.values.get(a.name) if isinstance(a, Var) else a
            return None if isinstance(value, Call) and value.op == "mul" else growth
        return [*growth, _compare("gt", fixed, literal(0.0, fixed.dtype))]

    def _is_assumed(self, cond: Expr) -> bool:
        """Whether all terms of `cond` are assumed to hold."""
        return all(self.outcomes.get(t) is True for t in self._terms(cond) if isinstance(t, Call))

    def _at(self, e: Expr, k: Expr) -> Expr | None:
        """`e` where the loop's variable is `k`; None if that is too large."""
        expanded = expand_names(e, self.values)
        return None if expanded is None else substitute(expanded, {self.loop.var: k})

    def _of_narrow_values(self, value: Expr, op: str, bound: Expr) -> list[Expr] | None:
        """The condition that all values that the dtype of `value` has compare so with `bound`."""
        low, high = self._interval(value)
        if high - low >= _NARROW:
            return None
        return [_compare(op, index_const(high if op in ("lt", "le") else low), bound)]

    def _interval(self, e: Expr) -> Bounds:
        """The least and the greatest value of `e`, by its operations and dtypes."""
        expanded = expand_names(e, self.values)
        return self.intervals.of(e if expanded is None else expanded)

    def _fixed(self, e: Expr) -> Expr | None:
        """`e`, in names that the loop does not bind, if it does not change it either; else None."""
        expanded = expand_names(e, self.values)
        if expanded is None or contains(expanded, Load):
            return None
        return expanded if names_read(expanded).isdisjoint(self.changing) else None

    def linear(self, e: Expr) -> _Linear | None:
        """`e` as a multiple of the loop's variable and a rest; None if it is anything else."""
        if e.dtype != INDEX or e.lanes != 1:
            return None
        if (fixed := self._fixed(e)) is not None:
            return _Linear(_ZERO, fixed)
        match e:
            case Var(name) if name == self.loop.var:
                return _Linear(index_const(1), _ZERO)
            case Var(name) if name in self.values:
                return self.linear(self.values[name])
            case Call("add" | "sub" as op, (a, b)):
                p, q = self.linear(a), self.linear(b)
                if p is None or q is None:
                    return None
                join = index_add if op == "add" else index_sub
                return _Linear(join(p.factor, q.factor), join(p.rest, q.rest))
            case Call("mul", (a, b)):
                times = self._fixed(b)
                varying = self.linear(a if times is not None else b)
                if times is None:
                    times = self._fixed(a)
                if varying is None or times is None:
                    return None
                return _Linear(index_mul(varying.factor, times), index_mul(varying.rest, times))
        return None

    def outcome(self, e: Expr) -> Expr:
        """`e`, or its value if it is a comparison that is decided by what is assumed."""
        if not isinstance(e, Call) or e.lanes != 1:
            return e
        if e in self.outcomes:
            return literal(self.outcomes[e], "bool")
        match e:
            case Call("lt", (a, Const(0))) if {a, self.linear(a)} & self.never_negative:
                return literal(False, "bool")
            case Call("add_over" | "sub_over" | "mul_over" as op, args):
                if args[0].dtype == INDEX and self._is_exact(op.removesuffix("_over"), *args):
                    return literal(False, "bool")
        return e

    def _is_exact(self, op: str, a: Expr, b: Expr) -> bool:
        """Whether ``a op b`` does not wrap around: it is a subscript that is inside at both ends,
        of operands that cannot both be so far off that only the wrapped result is::

            start + k           exact, if it is never negative, as k is not
            start + (k + far)   perhaps not: it is k if both start and far are -2 ** 63
            4 * (k + far)       perhaps not: it is 4 * k if far is 2 ** 62
        """
        result = self.linear(Call(op, (a, b), INDEX))
        if result not in self.never_negative:
            return False
        assert result is not None
        if op == "mul":  # of k and a factor, neither of which is too large
            return result.rest == _ZERO and Var(self.loop.var, INDEX) in (a, b)
        if self._is_never_negative(a, result) or (
            op == "add" and self._is_never_negative(b, result)
        ):
            return True
        # else both are far from zero, if the result is not
        low, high = self._interval(b)
        is_near = low >= -2 * _FAR if op == "add" else high <= 2 * _FAR
        return (is_near or self._interval(a)[0] >= -2 * _FAR) and result in self.near

    def _is_never_negative(self, e: Expr, result: _Linear) -> bool:
        """Whether `e` is never negative, as an operand of the subscript `result`, which is not."""
        linear = self.linear(e)
        if linear is None:
            return False
        is_multiple = linear == _Linear(result.factor, _ZERO) and result.factor != _BACKWARD
        return linear in self.never_negative or is_multiple or self._interval(e)[0] >= 0


def _compare(op: str, a: Expr, b: Expr) -> Expr:
    """The comparison, simplified."""
    return rewrite(Call(op, (a, b), "bool"))


def _versions(s: Loop, assumed: _Assumptions, fresh: FreshNames) -> tuple[Stmt, ...]:
    """The branch on the conditions: a copy of `s` in which the checks that follow have gone, or
    another copy.
    """
    fits, before = reduce(logical_and, assumed.conditions), tuple[Stmt, ...]()
    if may_raise_flags(fits):  # as the first and the last iteration do, if there are any
        assert isinstance(s.range, Interval)
        value = Yield(fresh.name("fits"), fits, literal(False, "bool"))
        before = (If(is_nonempty(s.range), (), (), (value,), span=s.span),)
        fits = Var(value.name, "bool")
    fast, checked = fresh.copy(bottom_up(s, assumed.outcome)), fresh.copy(s)
    yields = tuple(
        Yield(a.name, p.current, q.current)
        for a, p, q in zip(s.accs, fast.accs, checked.accs, strict=True)
    )
    return *before, If(fits, (fast,), (checked,), yields, span=s.span)
