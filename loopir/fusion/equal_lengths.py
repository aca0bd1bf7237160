"""Equal lengths: of expressions that guards make equal, one stands for all (value numbering).

    guard(x.shape[0] == y.shape[0])
    for i in loop(0, x.shape[0]): …            for i in loop(0, x.shape[0]): …
    for j in loop(0, y.shape[0]): …      →     for j in loop(0, x.shape[0]): …

The loops then have one range, and are joined without a remainder loop for iterations that only one
of them has. (LLVM: GVN does this with the comparisons of dominating assumptions.) `fuse_kernel`
calls `unify_lengths` before it compares any loops.
"""
from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import inf
from typing import Any

from ..analysis.integers.affine import Affine, affine_form, nonnegative_margins
from ..analysis.integers.implied_conditions import implied_comparisons
from ..ir_traversal import map_children, walk
from ..lazy_dataclass import record, replace
from ..nodes import Call, Const, Dim, Expr, Guard, Interval, Kernel, Loop

__all__ = ["unify_lengths"]


def unify_lengths(kernel: Kernel) -> Kernel:
    """Replace each expression that the guards make equal to another one by that which occurs first
    in `kernel`, everywhere in its body. Before::

        def k(x: mut(f64[::1]), y: mut(f64[::1]), n: i64):
            guard((x.shape[0] == y.shape[0]) | (n <= 0), "GUARD_SHAPE")
            for i in loop(0, n):
                for j in loop(0, x.shape[0]):
                    x[j] = 0.0
                for l in loop(0, y.shape[0]):
                    y[l] = x[l]

    after::

        def k(x: mut(f64[::1]), y: mut(f64[::1]), n: i64):
            guard((x.shape[0] == y.shape[0]) | (n <= 0), "GUARD_SHAPE")
            for i in loop(0, n):
                for j in loop(0, x.shape[0]):
                    x[j] = 0.0
                for l in loop(0, x.shape[0]):
                    y[l] = x[l]

    The length of an array that the kernel allocates never stands for another one, since fusion may
    remove the array. A guard with alternatives ``t <= 0``, which lowering adds for the trip count t
    of each enclosing loop, tells that the lengths are equal inside these loops only.
    """
    equalities = [*_equalities(kernel)]
    if not equalities:
        return kernel
    owned = {p.name for p in kernel.params if p.owned}  # such an array may be contracted
    atoms = {
        atom for e in equalities for atom in e.difference.terms
        if not (isinstance(atom, Dim) and atom.array in owned)
    }
    found = [n for s in kernel.body for n in walk(s) if isinstance(n, Expr) and n in atoms]
    places = {n: place for place, n in reversed([*enumerate(found)])}
    unifier = _Unifier(places, equalities, frozenset(), {}).inside(())
    body = tuple(unifier.edit(s) for s in kernel.body)
    return kernel if body == kernel.body else replace(kernel, body=body)


@record(frozen=True, slots=True)
class _Equality:
    """That the affine form `difference` is 0, where all trip counts in `within` are positive."""

    difference: Affine
    within: frozenset[Expr]


def _equalities(kernel: Kernel) -> Iterable[_Equality]:
    """What the guards say of equal lengths: by ``==``, or by ``>=`` in both directions. An
    alternative that implies the rest, as ``t <= 0`` implies ``n >= t`` of a length n, is none.
    """
    known = set[tuple[Affine, frozenset[Expr]]]()
    for g in kernel.guards:
        if isinstance(g, Guard):
            terms, trips = _without_alternatives(g.cond)
            for form in _margins(terms):
                within = frozenset(t for t in trips if not _is_at_least_minus(form, t))
                known.add((form, within))
                if (form * -1, within) in known and form.terms:
                    yield _Equality(form, within)


def _is_at_least_minus(form: Affine, trips: Expr) -> bool:
    """Whether `form` is >= -trips, and so >= 0 where `trips` is <= 0."""
    trip_form = affine_form(trips)
    return trip_form is not None and (form + trip_form).is_nonnegative


def _without_alternatives(cond: Expr) -> tuple[Expr, frozenset[Expr]]:
    """The condition without its alternatives ``t <= 0``, and the trip counts t in these.

        (n == m) | (t <= 0) | (u <= 0)    →    n == m, {t, u}
    """
    within = set[Expr]()
    while True:
        match cond:
            case Call("or", (rest, Call("le", (trips, Const(0))))):
                within.add(trips)
                cond = rest
            case _:
                return cond, frozenset(within)


def _margins(cond: Expr) -> Iterable[Affine]:
    """Affine forms that are all >= 0 where `cond` holds."""
    for op, a, b in implied_comparisons(cond, True):
        p, q = affine_form(a), affine_form(b)
        if p is not None and q is not None:
            yield from nonnegative_margins(op, p, q)


@record(frozen=True, slots=True)
class _Unifier:
    """Replaces expressions in a part of the kernel. `places`: where each expression occurs first;
    `equalities`: those that do not hold in the whole part; `trips`: positive in this part;
    `values`: the expressions to replace, with the form of each; no form has one of them.
    """

    places: Mapping[Expr, int]
    equalities: list[_Equality]
    trips: frozenset[Expr]
    values: Mapping[Expr, Affine]

    def inside(self, trips: Iterable[Expr]) -> _Unifier:
        """The unifier for the iterations of a loop whose trip count is each of `trips`."""
        known = self.trips.union(trips)
        values = dict(self.values)
        for e in self.equalities:
            if e.within <= known:
                self._add(values, e.difference)
        others = [e for e in self.equalities if not e.within <= known]
        return _Unifier(self.places, others, known, values)

    def _add(self, values: dict[Expr, Affine], difference: Affine) -> None:
        """Solve the equation ``difference = 0`` for the atom that occurs last, and put it into
        `values`.
        """
        for known in values.keys() & difference.terms.keys():
            difference = difference.substitute(known, values[known])
        atoms = [a for a, c in difference.terms.items() if abs(c) == 1 and isinstance(a, Expr)]
        if not atoms:
            return
        last = max(atoms, key=lambda a: self.places.get(a, inf))
        value = difference.without((last,)) * -difference.terms[last]
        values.update((e, form.substitute(last, value)) for e, form in [*values.items()])
        values[last] = value

    def edit(self, n: Any) -> Any:
        """The node that replaces `n`."""
        if isinstance(n, Loop) and isinstance(n.range, Interval) and self.equalities:
            domain = self.edit(n.range)
            is_from_zero = n.range.lo == Const(0, "i64")
            inner = self.inside((n.range.hi, domain.hi)) if is_from_zero else self
            accs = tuple(map(self.edit, n.accs))
            return replace(n, range=domain, body=tuple(map(inner.edit, n.body)), accs=accs)
        if isinstance(n, Expr) and n in self.values:
            return self.values[n].expr()
        return map_children(n, self.edit)
