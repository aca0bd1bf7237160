"""Iteration domains: whether two loops provably run over the same iterations."""
from __future__ import annotations

from collections.abc import Iterator

from ..analysis.affine import Affine, AffineBindings, affine_form, nonnegative_margins
from ..analysis.dependence import affine_trip_count
from ..ir_names import rename_names
from ..ir_traversal import walk
from ..nodes import Assign, Call, Expr, Guard, Interval, Kernel, Loop, Range, Var

__all__ = ["affine_bindings", "trip_count_difference", "perfect_nest", "same_depth", "same_domain"]


def affine_bindings(kernel: Kernel) -> AffineBindings:
    """The affine forms of the names that the kernel assigns; None for a name that is assigned
    twice.
    """
    nodes = [n for s in kernel.body for n in walk(s)]
    loops = [n.var for n in nodes if isinstance(n, Loop)]
    known: dict[str, Affine | None] = {}
    for n in nodes:
        if isinstance(n, Assign):
            form = affine_form(n.value, loops, known)
            known[n.name] = (
                None if n.name in known else form or affine_form(Var(n.name, n.value.dtype))
            )
    return known


def perfect_nest(loop: Loop) -> list[Loop]:
    """`loop` and the loops perfectly nested in it, outermost first."""
    match loop.body:
        case (Loop() as inner,):
            return [loop, *perfect_nest(inner)]
    return [loop]


def same_depth(first: Loop, second: Loop) -> bool:
    """Whether two nests have equally many levels, or the shallower has loops in an imperfect body.
    """
    a, b = sorted((perfect_nest(first), perfect_nest(second)), key=len)
    return len(a) == len(b) or any(isinstance(s, Loop) for s in a[-1].body)


def same_domain(kernel: Kernel, first: Loop, second: Loop, known: AffineBindings) -> bool:
    """Whether two perfect nests provably have the same iterations, given the kernel's guards."""
    if not same_depth(first, second):
        return False
    levels = list(zip(perfect_nest(first), perfect_nest(second), strict=False))
    names = {y.var: x.var for x, y in levels}
    ranges = ((x.range, rename_names(y.range, names)) for x, y in levels)
    return all(_same_range(kernel, x, y, known) for x, y in ranges)


def _same_range(kernel: Kernel, a: Range, b: Range, known: AffineBindings) -> bool:
    if a == b:
        return True
    start = _range_start(a, known)
    return (
        start is not None
        and start == _range_start(b, known)
        and trip_count_difference(kernel, a, b, known) == 0
    )


def _range_start(r: Range, known: AffineBindings) -> Affine | None:
    return affine_form(r.lo, (), known) if isinstance(r, Interval) else None


def trip_count_difference(kernel: Kernel, a: Range, b: Range, known: AffineBindings) -> int | None:
    """How many more iterations `a` has than `b` (if both have any), given the guards; None if that
    is not a constant.
    """
    gaps = [
        n - m
        for n, m in zip(_trip_count_forms(a, known), _trip_count_forms(b, known), strict=False)
    ]
    number = next((g.number for g in gaps if g.number is not None), None)
    if number is None and any(
        _guards_imply(kernel, g, known) and _guards_imply(kernel, g * -1, known) for g in gaps
    ):
        return 0
    return number


def _trip_count_forms(r: Range, known: AffineBindings) -> Iterator[Affine]:
    """The trip count in two forms: with the end n, and with max(n, 0)."""
    n, end = (
        affine_trip_count(r, known),
        affine_form(r.hi, (), known) if isinstance(r, Interval) else None,
    )
    start = _range_start(r, known)
    if n is not None and end is not None and start is not None:
        yield from (n, end - start)


def _guards_imply(kernel: Kernel, goal: Affine, known: AffineBindings) -> bool:
    """Whether `goal` is provably >= 0, given the kernel's guards."""
    if goal.is_nonnegative:
        return True
    conds = (g.cond for g in kernel.guards if isinstance(g, Guard))
    clauses = (clause for cond in conds for clause in _guard_clauses(cond, known))
    return any(
        all((goal - fact).is_nonnegative for fact in clause)
        for clause in clauses
    )


def _guard_clauses(cond: Expr, known: AffineBindings) -> Iterator[tuple[Affine, ...]]:
    """`cond` as a conjunction of clauses; in each, at least one form is >= 0."""
    match cond:
        case Call(op="and", args=(a, b)):
            yield from _guard_clauses(a, known)
            yield from _guard_clauses(b, known)
        case Call(op="or", args=(a, b)):
            for left in _guard_clauses(a, known):
                for right in _guard_clauses(b, known):
                    yield (*left, *right)
        case Call(op, (a, b)):
            p, q = affine_form(a, (), known), affine_form(b, (), known)
            if p is not None and q is not None:
                yield from ((margin,) for margin in nonnegative_margins(op, p, q))
