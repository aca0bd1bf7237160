"""Refinement of integer facts by conditions and assignments; their join and widening.

The transfer functions of the abstract interpretation over `difference_bounds.IntegerFacts` (LLVM:
ConstraintElimination): `assume_condition` on a branch, `assign_names` for an assignment or a back
edge, `join_facts` where paths meet, `widen_facts` and `subsumes` for the fixpoint of a loop, which
`check_elimination` computes; `is_implied` and `decided_answer` ask. Functions named ``assume_…``
and `assign_names` change their argument.
"""
from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeVar

from ...dtypes import DTYPES, INDEX
from ...nodes import Call, Const, Expr, Var
from ...op_table import NEGATED_COMPARISON
from .difference_bounds import IntegerFacts, Term, is_length
from .implied_conditions import implied_comparisons
from .intervals import decide_comparison, dtype_bounds, is_scalar_integer

__all__ = [
    "decided_answer", "assign_names", "assume_condition", "subsumes", "join_facts", "is_implied",
    "assume_difference_at_most", "relate_yield", "widen_facts",
]

K = TypeVar("K")
V = TypeVar("V")

_OVERFLOW_OPS = frozenset(("add_over", "sub_over", "mul_over"))
_MAX_DIFFERENCE = 1 << 62  # larger differences are not recorded


def assume_condition(f: IntegerFacts, cond: Expr, holds: bool = True) -> None:
    """Add to `f` what follows from `cond` being true (or false, with ``holds=False``).

        i + 1 < n    true, and i in 0 … 99    →    i - n <= -2, n >= 2

    Each comparison that `cond` implies (`implied_comparisons`) becomes a bound of a difference
    (`_assume_comparison`). Names are expanded to their values; a side of an ``or`` that `f` refutes
    decides the other one. `check_elimination` calls it for guards, branches and conditions of
    ``while``. (Not for checks: a kernel goes on behind one that fails, unless it stops there.)
    """

    def value_of(name: str) -> Expr | None:
        return f.values.get(name)

    def refuted(e: Expr) -> bool:
        return isinstance(e, Call) and decided_answer(e, f) is False

    for op, p, q in implied_comparisons(cond, holds, value_of, refuted):
        if is_scalar_integer(p):
            _assume_comparison(f, op, p, q)


def is_implied(cond: Expr, f: IntegerFacts) -> bool:
    """Whether `cond` is true in every state that satisfies the facts `f`."""
    match cond:
        case Const(value):
            return bool(value)
        case Var(name) if name in f.values:
            return is_implied(f.values[name], f)
        case Call("and", (p, q)):
            return is_implied(p, f) and is_implied(q, f)
        case Call("or", (p, q)):
            otherwise = f.copy()
            assume_condition(otherwise, p, False)
            return is_implied(q, otherwise)
        case Call("not", (Call() as inner,)):
            return decided_answer(inner, f) is False
        case Call():
            return decided_answer(cond, f) is True
        case _:
            return False


def decided_answer(e: Call, f: IntegerFacts) -> bool | None:
    """The result of a comparison or overflow predicate under `f`; None if it may be either."""
    if e.op not in NEGATED_COMPARISON.keys() | _OVERFLOW_OPS or not is_scalar_integer(e.args[0]):
        return None
    a, b = e.args
    found = decide_comparison(e.op, a.dtype, f.range_of(a), f.range_of(b))
    if found is not None or a.dtype != INDEX:
        return found
    if e.op == "sub_over":
        return False if f.fits(Call("sub", (a, b), INDEX)) else None
    if e.op in _OVERFLOW_OPS:
        return None
    return decide_comparison(e.op, a.dtype, f.difference_range(a, b), (0, 0))


def _assume_comparison(f: IntegerFacts, op: str, p: Expr, q: Expr) -> None:
    """Add to `f` the fact ``p <op> q``."""
    match op:
        case "lt" | "le":
            assume_difference_at_most(f, p, q, -1 if op == "lt" else 0)
        case "gt" | "ge":
            assume_difference_at_most(f, q, p, -1 if op == "gt" else 0)
        case "eq":
            assume_difference_at_most(f, p, q, 0)
            assume_difference_at_most(f, q, p, 0)
        case _:  # ne: where p <= q is known, or p can only be equal at an end, p <= q - 1
            for a, b in ((p, q), (q, p)):
                if f.range_of(a)[1] == f.range_of(b)[0] or (
                    a.dtype == INDEX and f.max_difference(a, b) == 0
                ):
                    assume_difference_at_most(f, a, b, -1)


def assume_difference_at_most(f: IntegerFacts, p: Expr, q: Expr, c: int) -> None:
    """Add to `f` the fact ``p - q <= c``."""
    if p.dtype != INDEX:
        f.narrow(p, dtype_bounds(p.dtype)[0], f.range_of(q)[1] + c)
        f.narrow(q, f.range_of(p)[0] - c, dtype_bounds(q.dtype)[1])
        return
    f.add_difference(p, q, c)
    match q:
        case Call("max", (a, b)):
            for one, other in ((a, b), (b, a)):
                if f.range_of(other)[1] + c < f.range_of(p)[0]:  # so the maximum is `one`
                    assume_difference_at_most(f, p, one, c)


def assign_names(f: IntegerFacts, names: Iterable[tuple[str, Expr]]) -> None:
    """Assign all `names` simultaneously.

    Each is first bound under a temporary name (``new x``), since the values read the old names;
    then the old ones are forgotten, and the temporary ones renamed to them.
    """
    pairs = [(Var(n, e.dtype), Var(f"new {n}", e.dtype), e) for n, e in names if e.lanes == 1]
    for _, new, e in pairs:
        f.bind(new, e)
    for old, new, _ in pairs:
        f.forget(old)
        f.values.pop(new.name, None)
    final_terms: dict[Term, Term] = {new.name: old.name for old, new, _ in pairs}
    for old, new, _ in pairs:
        if new.name in f.ranges:
            f.ranges[old.name] = f.ranges.pop(new.name)
    f.max_differences = {
        final_terms.get(x, x): {final_terms.get(y, y): c for y, c in row.items()}
        for x, row in f.max_differences.items()
    }
    f.named = {e: n for e, n in f.named.items() if n.name not in final_terms}


def _knows_term(f: IntegerFacts, t: Term) -> bool:
    """Whether `f` has a range for the term `t`."""
    return t in f.ranges or is_length(t)


def _restricted_to(a: IntegerFacts, b: IntegerFacts) -> IntegerFacts:
    """The facts of `a` without terms of which `b` knows nothing. What follows by way of such a term
    about two others is kept (`IntegerFacts.eliminate`).
    """
    terms = dict.fromkeys(t for x, row in a.max_differences.items() for t in (x, *row))
    if unknown_in_b := [t for t in terms if not _knows_term(b, t)]:
        a = a.copy()
        for t in unknown_in_b:
            a.eliminate(t)
    return a


def relate_yield(name: Var, sides: tuple[IntegerFacts, IntegerFacts]) -> None:
    """Record in the facts at the end of both sides of a branch how `name`, which each side has
    bound to a value of its own, differs from the terms that either side relates it to. A join keeps
    what both sides have recorded::

        k = t + 1, t - n <= -2    and    k = t + 2, t - n <= -3    →    k - n <= -1
    """
    terms = dict.fromkeys(t for f in sides for t in f.related_terms(name.name))
    for f in sides:
        to_term = f.max_term_differences_from(name.name)
        from_term = f.max_term_differences_to(name.name)
        for t in terms:
            if _knows_term(f, t):
                f.add_difference(name.name, t, to_term(t))
                f.add_difference(t, name.name, from_term(t))


def join_facts(a: IntegerFacts, b: IntegerFacts) -> IntegerFacts:
    """The facts that hold in `a` and in `b`: after a branch, whichever side was taken."""
    if a is b:
        return a.copy()
    new = a.empty()
    for name in a.ranges.keys() & b.ranges.keys():
        (a_low, a_high), (b_low, b_high) = a.ranges[name], b.ranges[name]
        new.ranges[name] = min(a_low, b_low), max(a_high, b_high)
    a, b = _restricted_to(a, b), _restricted_to(b, a)
    changed: dict[Term, Mapping[Term, int]] = {}
    for x in dict.fromkeys((*a.max_differences, *b.max_differences)):
        if (row := a.max_differences.get(x)) is not None and row is b.max_differences.get(x):
            new.max_differences[x] = row  # neither side has recorded anything
            continue
        in_a, in_b = a.max_term_differences_from(x), b.max_term_differences_from(x)
        terms = dict.fromkeys((*a.max_differences.get(x, ()), *b.max_differences.get(x, ())))
        row = {y: c for y in terms if (c := max(in_a(y), in_b(y))) < _MAX_DIFFERENCE}
        if row:
            new.max_differences[x] = changed[x] = row
    new.values = _common_items(a.values, b.values)
    new.named = _common_items(a.named, b.named)
    return _tighten_ranges(new, changed)


def _common_items(a: Mapping[K, V], b: Mapping[K, V]) -> dict[K, V]:
    """The items that are in both."""
    other = b.get
    return {k: v for k, v in a.items() if (w := other(k)) is v or w == v}


def _tighten_ranges(f: IntegerFacts, rows: Mapping[Term, Mapping[Term, int]]) -> IntegerFacts:
    """`f`, with ranges tightened by these `rows` of differences."""
    for x, row in rows.items():
        for y, c in row.items():
            f.tighten(x, high=f.term_range(y)[1] + c)
            f.tighten(y, low=f.term_range(x)[0] - c)
    return f


def subsumes(old: IntegerFacts, new: IntegerFacts) -> bool:
    """Whether every fact of `old` holds in `new`."""
    for name, (low, high) in old.ranges.items():
        if name not in new.ranges or new.ranges[name][0] < low or new.ranges[name][1] > high:
            return False
    for x, row in old.max_differences.items():
        in_new = new.max_term_differences_from(x)
        if not all(in_new(y) <= c for y, c in row.items()):
            return False
    return old.values.items() <= new.values.items() and old.named.items() <= new.named.items()


def widen_facts(old: IntegerFacts, new: IntegerFacts, dtypes: dict[str, str]) -> IntegerFacts:
    """The facts of `old` that still hold in `new`: the widening by which a fixpoint comes to an
    end. A bound of a range that `new` exceeds becomes 0 if `new` is on that side of 0, else the
    bound of the name's dtype (`dtypes`; of names that it does not have, i64)::

        0 <= k <= 1, then 0 <= k <= 2    →    0 <= k
    """
    kept = new.empty()
    for name in old.ranges.keys() & new.ranges.keys():
        (low, high), (new_low, new_high) = old.ranges[name], new.ranges[name]
        d = DTYPES[dtypes.get(name, INDEX)]
        kept_low = low if new_low >= low else 0 if new_low >= 0 else d.low
        kept_high = high if new_high <= high else 0 if new_high <= 0 else d.high
        kept.ranges[name] = kept_low, kept_high
    for x, row in old.max_differences.items():
        if _knows_term(kept, x):
            in_new = new.max_term_differences_from(x)
            row = {y: c for y, c in row.items() if _knows_term(kept, y) and in_new(y) <= c}
            if row:
                kept.max_differences[x] = row
    kept.values = _common_items(old.values, new.values)
    kept.named = _common_items(old.named, new.named)
    return _tighten_ranges(kept, kept.max_differences)
