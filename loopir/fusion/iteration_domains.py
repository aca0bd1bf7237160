"""Iteration domains: whether two loops provably run over the same iterations.

Start and trip count of each loop of a perfect nest are compared as affine forms. That guards make
lengths equal shows in the forms: `equal_lengths.unify_lengths` has replaced all but one of them.
`fusion_legality.domain_match` and `shift_and_peel` use this. The ``bindings`` of the functions here
are the affine forms of names, made by `affine_bindings`.
"""
from __future__ import annotations

from collections.abc import Iterator

from ..analysis.dependence import affine_trip_count
from ..analysis.integers.affine import Affine, AffineBindings, affine_form
from ..ir_names import rename_names
from ..ir_traversal import walk_statements
from ..nodes import Assign, Interval, Kernel, Loop, Range, Var

__all__ = [
    "affine_bindings", "trip_count_difference", "perfect_nest", "same_depth", "same_domain",
    "same_range",
]


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


def same_domain(first: Loop, second: Loop, bindings: AffineBindings) -> bool:
    """Whether two perfect nests provably have the same iterations: their depths match
    (`same_depth`), and on each level that both have, start and trip count are equal as affine forms
    (`same_range`).

        for i in loop(0, n): for j in loop(0, i)        the same, since the range of l, written with
        for k in loop(0, n): for l in loop(0, k)        the variables of the first one, is that of j
    """
    if not same_depth(first, second):
        return False
    levels = list(zip(perfect_nest(first), perfect_nest(second), strict=False))
    names = {y.var: x.var for x, y in levels}
    ranges = ((x.range, rename_names(y.range, names)) for x, y in levels)
    return all(same_range(x, y, bindings) for x, y in ranges)


def same_range(a: Range, b: Range, bindings: AffineBindings) -> bool:
    """Whether two ranges are equal, or start at equal values and have equal trip counts."""
    if a == b:
        return True
    start = _range_start(a, bindings)
    return (
        start is not None
        and start == _range_start(b, bindings)
        and trip_count_difference(a, b, bindings) == 0
    )


def _range_start(r: Range, bindings: AffineBindings) -> Affine | None:
    """The first value of the range as an affine form; None where it is not affine."""
    return affine_form(r.lo, (), bindings) if isinstance(r, Interval) else None


def trip_count_difference(a: Range, b: Range, bindings: AffineBindings) -> int | None:
    """The trip count of `a` minus that of `b`, provided both have iterations, if it is a constant;
    else None.
    """
    forms = zip(_trip_count_forms(a, bindings), _trip_count_forms(b, bindings), strict=False)
    return next((number for n, m in forms if (number := (n - m).number) is not None), None)


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
