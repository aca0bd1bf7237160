"""Fold steps: what one iteration of a loop combines with an accumulator, through its branches.

    if x[i] > t: n_1 = give(n + 1)
    else: n_1 = give(n)                 n is a fold by add: of select(x[i] > t, 1, 0)
    n = step(n_1)

`loop_reductions.reduction_of` answers this of loops without branches, as passes make them; a kernel
in its plain form still has them.
"""
from __future__ import annotations

from collections.abc import Iterable, Sequence

from ...algebra.index_builder import logical_not
from ...ir_names import expand_names, names_read
from ...ir_traversal import walk
from ...lazy_dataclass import record
from ...nodes import (
    Accum,
    Assign,
    Call,
    Check,
    Const,
    Expr,
    If,
    Kernel,
    Load,
    Loop,
    Stmt,
    Store,
    Var,
)
from ..loop_reductions import (
    Reduction,
    match_reduction,
    overflow_checks_of,
    values_in_branches,
)

__all__ = [
    "PlaceOfExtremum", "definition", "fold_step", "inner_run", "is_element_of_store", "is_unused",
    "place_of_extremum",
]


@record(frozen=True, slots=True)
class PlaceOfExtremum:
    """An extremum that a loop finds together with its place."""

    place: str
    """The accumulator that is set to the loop's variable where an item beats the best so far."""
    best: str
    """The accumulator of the best item so far."""
    value: Expr
    """The item."""
    yields: frozenset[str]
    """The names by which the branch passes both on."""


def place_of_extremum(s: Loop) -> PlaceOfExtremum | None:
    """The extremum whose place `s` finds::

        if x[i] > best: at_1 = give(i); best_1 = give(x[i])
        else: at_1 = give(at); best_1 = give(best)
    """
    steps = {a.step.name: a for a in s.accs if isinstance(a.step, Var)}
    for branch in s.body:
        if not isinstance(branch, If) or branch.then or branch.orelse:
            continue
        kept = {
            y.name: steps[y.name] for y in branch.yields
            if y.name in steps and y.orelse == steps[y.name].current
        }
        new = {y.name: y.then for y in branch.yields}
        places = [n for n in kept if new[n] == Var(s.var, "i64")]
        for name, best in kept.items():
            match branch.cond:
                case Call("lt" | "le" | "gt" | "ge", (a, b)) if len(places) == 1 and (
                    (a, b) in ((new[name], best.current), (best.current, new[name]))
                ):
                    place = kept[places[0]]
                    value = definition(new[name], s.body)
                    return PlaceOfExtremum(place.name, best.name, value,
                                           frozenset((name, places[0])))
    return None


def definition(e: Expr, body: Iterable[Stmt]) -> Expr:
    """What the name `e` is assigned in `body`; else `e`."""
    if isinstance(e, Var):
        return next((s.value for s in body if isinstance(s, Assign) and s.name == e.name), e)
    return e


def inner_run(a: Accum, s: Loop) -> tuple[Loop, int] | None:
    """The loop in `s` through which the accumulator `a` goes on, and the number of its accumulator
    there: it starts with `a`, and is the step of `a`. None if there is none.
    """
    for x in s.body:
        if isinstance(x, Loop):
            for k, b in enumerate(x.accs):
                if b.init == a.current and a.step == Var(b.name, b.init.dtype):
                    return x, k
    return None


def is_unused(a: Accum, s: Loop, kernel: Kernel) -> bool:
    """Whether nothing depends on the accumulator `a` of `s` but itself."""
    names = _computed_from([a.name], s.body)
    others = names_read(*(x.step for x in s.accs if x is not a), s.until)
    reads = sum(isinstance(n, Var) and n.name == a.name for n in walk(kernel))
    inside = sum(isinstance(n, Var) and n.name == a.name for n in walk(s))
    return reads == inside and names.isdisjoint(others) and _only_passes_on(names, s.body, ())


def is_element_of_store(old: Expr, s: Store, kernel: Kernel) -> bool:
    """Whether `old` is the element that `s` stores to, and no other value of `kernel` depends on
    it, but for checks of overflow.
    """
    if not isinstance(old, Var):
        return isinstance(old, Load) and (old.array, old.index) == (s.array, s.index)
    loads = [x.value for x in walk(kernel) if isinstance(x, Assign) and x.name == old.name]
    tests = (x.cond for x in walk(kernel) if isinstance(x, Check) and x.code == "over")
    uses = [sum(n == old for n in walk(x)) for x in (kernel, *tests)]
    return uses[0] - sum(uses[1:]) == 1 and all(is_element_of_store(x, s, kernel) for x in loads)


def fold_step(s: Loop, k: int) -> Reduction | None:
    """The reduction that accumulator `k` of `s` is, also where it goes on through a loop inside;
    None if it is none.

    Nothing but its own step reads the accumulator, nor what is computed from it, and it depends on
    no other accumulator of the loop.
    """
    a = s.accs[k]
    if (run := inner_run(a, s)) is not None:
        inner, m = run
        count = sum(isinstance(n, Var) and n.name == a.name for x in s.body for n in walk(x))
        count += sum(isinstance(n, Var) and n.name in (a.name, inner.accs[m].name)
                     for x in s.accs for n in walk(x.step))
        return fold_step(inner, m) if count == 2 else None
    from_acc = _computed_from([a.name], s.body)
    others = [x for x in s.accs if x is not a]
    if not names_read(*(x.step for x in others)).isdisjoint(from_acc):
        return None
    if not _only_passes_on(from_acc, s.body, overflow_checks_of(a, s)):
        return None
    step = expand_names(a.step, values_in_branches(s.body))
    found = None if step is None else _reduction(a, step, s)
    if found is None:
        return None
    reads = names_read(found.value, found.cond)
    return found if reads.isdisjoint(_computed_from([x.name for x in s.accs], s.body)) else None


def _reduction(a: Accum, step: Expr, s: Loop) -> Reduction | None:
    """As `match_reduction`, and of flags: where a condition holds they become true, or false."""
    match step:
        case Call("select", (cond, then, Const(value=True, dtype="bool") as orelse)) if (
            then in (a.current, Const(False, "bool"))
        ):  # the branches are the other way round
            step = Call("select", (logical_not(cond), orelse, then), step.dtype)
    match step:
        case Call("select", (cond, Const(value=value, dtype="bool"), kept)) if kept == a.current:
            if value:
                return Reduction(a, "or", cond)
            return Reduction(a, "and", logical_not(cond))
        case Call("select", (cond, Const(True, "bool"), Const(False, "bool"))) if (
            s.until == a.current and a.init == Const(False, "bool")
        ):
            return Reduction(a, "or", cond)  # the first true one ends the loop
    return match_reduction(a, step)


def _computed_from(names: Sequence[str], body: Iterable[Stmt]) -> frozenset[str]:
    """`names`, and the names that are computed from them in `body`."""
    found = {*names}
    for n in (n for s in body for n in walk(s)):
        match n:
            case Assign(name, value) if not found.isdisjoint(names_read(value)):
                found.add(name)
            case If(cond=cond, yields=yields):
                decides = not found.isdisjoint(names_read(cond))
                found |= {y.name for y in yields
                          if decides or not found.isdisjoint(names_read(y.then, y.orelse))}
    for n in (n for s in body for n in walk(s)):  # what is assigned in branches is passed on behind
        if isinstance(n, If):
            found |= {y.name for y in n.yields
                      if not found.isdisjoint(names_read(y.then, y.orelse))}
    return frozenset(found)


def _only_passes_on(
    names: frozenset[str], body: Iterable[Stmt], checks: Iterable[Check]
) -> bool:
    """Whether `body` only computes names from `names`: it stores nothing of them."""
    known = [*checks]
    for s in body:
        match s:
            case Assign():
                continue
            case If(cond=cond, then=then, orelse=orelse):
                decides = not names.isdisjoint(names_read(cond))
                if decides and not all(isinstance(x, Assign) for x in (*then, *orelse)):
                    return False
                if not _only_passes_on(names, (*then, *orelse), known):
                    return False
            case Check() if s in known:
                continue
            case _ if not names.isdisjoint(names_read(s)):
                return False
    return True
