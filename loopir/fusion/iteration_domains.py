"""Iteration domains: whether two loops provably run over the same iterations.

Start and trip count of each loop of a perfect nest are compared as affine forms. Where the forms
differ, the kernel's guards may make them equal: with the guard ``n == m``, ``[0, n)`` and
``[0, m)`` are one domain. `fusion_legality.domain_match` and `shift_and_peel` use this. The
``bindings`` of the functions here are the affine forms of names, made by `affine_bindings`.
"""
from __future__ import annotations

from collections.abc import Iterator
from itertools import islice, product
from typing import TypeAlias

from ..analysis.dependence import affine_trip_count
from ..analysis.integers.affine import Affine, AffineBindings, affine_form, nonnegative_margins
from ..ir_names import names_read, rename_names
from ..ir_traversal import memoized_per_node, walk_statements
from ..nodes import Assign, Call, Expr, Guard, Interval, Kernel, Loop, Range, Var

__all__ = ["affine_bindings", "trip_count_difference", "perfect_nest", "same_depth", "same_domain"]


def affine_bindings(kernel: Kernel) -> AffineBindings:
    """The affine forms of the names that the kernel assigns, in terms of loop variables and
    symbols; a value without such a form is a symbol itself, by its name. None for a name that is
    assigned twice.
    """
    nodes = [n for s in kernel.body for n in walk_statements(s)]
    loops = [n.var for n in nodes if isinstance(n, Loop)]
    bindings: dict[str, Affine | None] = {}
    for n in nodes:
        if isinstance(n, Assign):
            form = affine_form(n.value, loops, bindings)
            bindings[n.name] = (
                None if n.name in bindings else form or affine_form(Var(n.name, n.value.dtype))
            )
    return bindings


def perfect_nest(loop: Loop) -> list[Loop]:
    """`loop` and the loops perfectly nested in it, outermost first. A loop is perfectly nested if
    it is the only statement of the body around it.

        for i: for j: y[i, j] = 0.0             →    [the loop over i, the loop over j]
        for i: (t = x[i]; for j: y[i, j] = t)   →    [the loop over i]
    """
    match loop.body:
        case (Loop() as inner,):
            return [loop, *perfect_nest(inner)]
    return [loop]


def same_depth(first: Loop, second: Loop) -> bool:
    """Whether two nests have equally many levels; or the shallower one ends in a body that has
    loops among other statements, with which inner loops of the deeper one may be joined.
    """
    shallow, deep = sorted((perfect_nest(first), perfect_nest(second)), key=len)
    return len(shallow) == len(deep) or any(isinstance(s, Loop) for s in shallow[-1].body)


def same_domain(kernel: Kernel, first: Loop, second: Loop, bindings: AffineBindings) -> bool:
    """Whether two perfect nests provably have the same iterations, given the kernel's guards: their
    depths match (`same_depth`), and on each level that both have, start and trip count are equal as
    affine forms, or by a guard (`_same_range`).

        for i in loop(0, n): for j in loop(0, i)        the same, since the range of l, written with
        for k in loop(0, n): for l in loop(0, k)        the variables of the first one, is that of j
    """
    if not same_depth(first, second):
        return False
    levels = list(zip(perfect_nest(first), perfect_nest(second), strict=False))
    names = {y.var: x.var for x, y in levels}
    ranges = ((x.range, rename_names(y.range, names)) for x, y in levels)
    return all(_same_range(kernel, x, y, bindings) for x, y in ranges)


def _same_range(kernel: Kernel, a: Range, b: Range, bindings: AffineBindings) -> bool:
    """Whether two ranges are equal, or start at equal values and have equal trip counts by the
    guards.
    """
    if a == b:
        return True
    start = _range_start(a, bindings)
    return (
        start is not None
        and start == _range_start(b, bindings)
        and trip_count_difference(kernel, a, b, bindings) == 0
    )


def _range_start(r: Range, bindings: AffineBindings) -> Affine | None:
    """The first value of the range as an affine form; None where it is not affine."""
    return affine_form(r.lo, (), bindings) if isinstance(r, Interval) else None


def trip_count_difference(
    kernel: Kernel, a: Range, b: Range, bindings: AffineBindings
) -> int | None:
    """The trip count of `a` minus that of `b`, provided both have iterations, if it is a constant;
    else None.

    The difference of the affine trip counts; or 0 if the guards imply that it is both >= 0 and <=
    0.
    """
    differences = [
        n - m
        for n, m in zip(
            _trip_count_forms(a, bindings), _trip_count_forms(b, bindings), strict=False
        )
    ]
    number = next((g.number for g in differences if g.number is not None), None)
    if number is None and any(
        _guards_imply(kernel, g, bindings) and _guards_imply(kernel, g * -1, bindings)
        for g in differences
    ):
        return 0
    return number


def _trip_count_forms(r: Range, bindings: AffineBindings) -> Iterator[Affine]:
    """The trip count as two affine forms; none if one of them is not affine. Of ``[0, max(n, 0))``:

        n            by the end without its clamp
        max(n, 0)    by the end as it is written: one atom, which the form of another range may have
    """
    n, end = (
        affine_trip_count(r, bindings),
        affine_form(r.hi, (), bindings) if isinstance(r, Interval) else None,
    )
    start = _range_start(r, bindings)
    if n is not None and end is not None and start is not None:
        yield from (n, end - start)


def _guards_imply(kernel: Kernel, goal: Affine, bindings: AffineBindings) -> bool:
    """Whether the form `goal` is provably >= 0, given the kernel's guards: there is a clause of a
    guard such that `goal` is at least as great as each of its forms, one of which is >= 0.

        guard(n == m)                    n - m >= 0, since n - m is a clause; and m - n >= 0
        guard((n >= 8) | (n >= m + 3))   n - m >= 0 is not implied: n - 8 tells nothing of m
    """
    if goal.is_nonnegative:
        return True
    conditions = (g.cond for g in kernel.guards if isinstance(g, Guard))
    clauses = (clause for cond in conditions for clause in _guard_clauses(cond, bindings))
    return any(
        all(goal.is_at_least(fact) for fact in clause)
        for clause in clauses
    )


_Clause: TypeAlias = "tuple[Affine, ...]"
"""Forms of which at least one is >= 0."""

_MAX_CLAUSES = 64
"""How many clauses are kept of an ``or``: without a bound their number would be exponential."""


def _guard_clauses(cond: Expr, bindings: AffineBindings) -> tuple[_Clause, ...]:
    """The conjunctive normal form of `cond`: its clauses, without the parts that have no affine
    form, and of an ``or`` at most the first `_MAX_CLAUSES`.
    """
    if bindings.keys().isdisjoint(names_read(cond)):
        return _entry_clauses(cond)
    return _clauses(cond, bindings)


@memoized_per_node
def _entry_clauses(cond: Expr) -> tuple[_Clause, ...]:
    """The clauses of a condition on parameters, which is asked about for each pair of loops."""
    return _clauses(cond, {})


def _clauses(cond: Expr, bindings: AffineBindings) -> tuple[_Clause, ...]:
    """See `_guard_clauses`."""
    match cond:
        case Call(op="and", args=(a, b)):
            return (*_clauses(a, bindings), *_clauses(b, bindings))
        case Call(op="or", args=(a, b)):
            pairs = product(_clauses(a, bindings), _clauses(b, bindings))
            return tuple((*left, *right) for left, right in islice(pairs, _MAX_CLAUSES))
        case Call(op, (a, b)):
            p, q = affine_form(a, (), bindings), affine_form(b, (), bindings)
            if p is not None and q is not None:
                return tuple((margin,) for margin in nonnegative_margins(op, p, q))
    return ()
