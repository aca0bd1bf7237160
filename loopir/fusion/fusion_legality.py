"""Fusion legality: when two neighbouring loops may become one; one small function a condition.

A condition yields a rejection where it fails; `judge_fusion` collects them all. `worthwhile`, one
of them, is about profitability; so is `keeps_vectors`, which is asked last.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain

from ..algebra.may_raise import replay_checks
from ..analysis.access import Access, accesses
from ..analysis.dependence import Overlap, may_alias
from ..ir_names import used_names
from ..ir_traversal import contains, is_innermost, ops_within, walk
from ..nodes import (
    Break,
    Call,
    Guard,
    If,
    Load,
    Loop,
    LoopLike,
    Node,
    Return,
    Stmt,
    Var,
    While,
)
from ..op_table import OPS
from ..rejection import Rejection
from .fusion_dependences import Conflict, is_updated_in_place
from .fusion_profit import keeps_vectors, worthwhile
from .iteration_domains import same_depth, same_domain
from .loop_pairs import (
    LoopPair,
    conflict_phrase,
    fusion_rejection,
    make_label,
)

__all__ = [
    "is_broadcast", "control_flow_obstruction", "repeated_loads", "CONDITIONS", "access_pattern",
    "broadcast", "can_fuse", "control_flow", "dependence", "domain_match", "effects_rng",
    "effects_unknown", "guard_policy", "judge_fusion", "may_raise", "no_alias", "scalar_live",
    "sequential", "uncounted_rejections", "worthwhile",
]


def control_flow_obstruction(loop: Loop, admit_branches: bool) -> tuple[Node, str] | None:
    """The first node in `loop` that cannot be masked, with the reason; None if there is none."""
    straight = loop.until is None and is_innermost(loop) and not contains(loop, (Break, Return))
    if straight and admit_branches:
        return None
    return next(((n, why) for n in walk(loop) if (why := _obstruction_of(n, admit_branches))), None)


def _obstruction_of(n: Node, admit_branches: bool) -> str | None:
    match n:
        case While():
            return "has a loop without a count"
        case Break() | Return():
            return "may be left early"
        case Loop(until=until) if until is not None:
            return "may be left early"
        case If() if contains(n, LoopLike):
            return "has a loop inside a branch"
        case If() if not admit_branches:
            return "has a branch, and allow_control_flow_simple is False"
    return None


def is_broadcast(c: Conflict, var: str) -> bool:
    """Whether an access in a nest over `var` is invariant in one of its loops."""
    return c.apart is Overlap.UNKNOWN and (
        _is_repeated(c.first, var) or _is_repeated(c.second, var)
    )


def repeated_loads(loop: Loop) -> Iterator[Access]:
    """The reads of a nest that are invariant in one of its loops."""
    return (a for a in accesses((loop,)) if not a.is_write and _is_repeated(a, loop.var))


def _is_repeated(access: Access, var: str) -> bool:
    loops = access.loops[access.loops.index(var) :] if var in access.loops else ()
    if len(loops) < 2 or None in access.index:
        return False
    moving = {v for form in access.index if form is not None for v in form.variables}
    return not moving >= set(loops)


Condition = Callable[[LoopPair], Iterator[Rejection]]


def judge_fusion(p: LoopPair) -> tuple[Rejection, ...]:
    """All reasons why two loops must not be joined, in the order of `CONDITIONS`; empty if they
    may.

    This is where fusion is decided. If every condition of legality and cheap profitability
    (`worthwhile`) holds, `keeps_vectors` is tried last, since it runs the pass pipeline. If random
    numbers are drawn, only that is reported, since other rejections would concern the generator's
    code.
    """
    found = tuple(chain.from_iterable(condition(p) for condition in CONDITIONS))
    draws = tuple(r for r in found if r.code == "FUSE_REJECT_EFFECTS_RNG")
    if draws:
        return draws  # others would concern the generator's code
    return found or tuple(keeps_vectors(p))


def can_fuse(p: LoopPair) -> bool:
    """Whether `judge_fusion` finds nothing; it ends with the first reason.

    `p` should be brief, since the rejection is dropped: its labels and note, which take longer to
    make than the decision, would be made for nothing.
    """
    reasons = chain.from_iterable(condition(p) for condition in (*CONDITIONS, keeps_vectors))
    return next(reasons, None) is None


def uncounted_rejections(first: Stmt, second: Stmt) -> Iterator[Rejection]:
    """The rejection of two neighbouring loops at least one of which is not counted."""
    a, b = getattr(first, "span", None), getattr(second, "span", None)
    if a and b:
        which = "the second" if isinstance(first, Loop) else "the first"
        why = f"cannot join the loop at line {a.line}: {which} has no count"
        yield Rejection("FUSE_REJECT_CONTROL_FLOW", why, b)


# -- the conditions


def domain_match(p: LoopPair) -> Iterator[Rejection]:
    """Both loops must have the same iterations."""
    if p.peeled and same_depth(p.first, p.second):
        return
    if same_domain(p.kernel, p.first, p.second, p.known):
        return
    if not same_depth(p.first, p.second):
        why, help = "they are nested to different depths", None
    else:
        why = "they run over different ranges, which no guard makes equal"
        help = "give both one range, for instance `range(n)` with one `n`"
    yield fusion_rejection(p, "FUSE_REJECT_DOMAIN_MISMATCH", why, help=help)


def access_pattern(p: LoopPair) -> Iterator[Rejection]:
    """Accesses to one array must have subscripts that differ by a constant at most."""
    for c in p.same_array:
        if c.apart is Overlap.UNKNOWN and not is_broadcast(c, p.first.var):
            why = f"the two walk `{c.first.array}` in different ways"
            help = f"use one subscript of `{c.first.array}` in both loops"
            code = "FUSE_REJECT_INDEXMAP_NOT_IDENTITY"
            yield fusion_rejection(p, code, why, conflict=c, help=help)


def no_alias(p: LoopPair) -> Iterator[Rejection]:
    """Arrays with conflicting accesses must not be the same."""
    for c in p.perhaps_same:
        a, b = c.first.array, c.second.array
        if is_updated_in_place(p.kernel, a, b):
            why = f"`{a}` and `{b}` may be one array that is updated in place"
            help = f"let the function make one of `{a}` and `{b}` itself"
            code = "FUSE_REJECT_NOALIAS_MISSING"
            yield fusion_rejection(p, code, why, conflict=c, help=help)


def effects_rng(p: LoopPair) -> Iterator[Rejection]:
    """Neither loop may draw random numbers: by an operation named ``random…``, or from a state."""
    touched = (a for loop in (p.first, p.second) for a in accesses((loop,)))
    draws: list[Call | Access] = [*_calls_of(p, lambda op: op.startswith("random"))]
    draws += [a for a in touched if a.array in p.gates.drawn and not a.is_write][:1]
    for draw in draws:
        why = "the order in which random numbers are drawn would change"
        yield fusion_rejection(
            p, "FUSE_REJECT_EFFECTS_RNG", why, *make_label(draw.span, "draws one")
        )


def effects_unknown(p: LoopPair) -> Iterator[Rejection]:
    """Both loops must consist of known operations."""
    for call in _calls_of(p, lambda op: op not in OPS and not op.startswith("random")):
        why = f"what `{call.op}` does is not known"
        yield fusion_rejection(
            p, "FUSE_REJECT_EFFECTS_UNKNOWN", why, *make_label(call.span, "called here")
        )


def guard_policy(p: LoopPair) -> Iterator[Rejection]:
    """No guard may read what the first loop writes, since guards are evaluated at entry."""
    written = {a.array for a in accesses((p.first,)) if a.is_write}
    for guard in (g for g in p.kernel.guards if isinstance(g, Guard) and contains(g, Load)):
        for load in (n for n in walk(guard.cond) if isinstance(n, Load)):
            if any(may_alias(p.kernel, load.array, w) for w in written):
                why = f"a guard needs `{load.array}` as the first loop leaves it"
                place = make_label(guard.span, "guarded before the first store")
                yield fusion_rejection(p, "FUSE_REJECT_GUARD_POLICY", why, *place)


def sequential(p: LoopPair) -> Iterator[Rejection]:
    """Statements between the loops must be movable above the first or below the second."""
    for o in p.between.obstacles:
        why = f"what stands between them cannot be moved, because of `{o.cause}`"
        place = make_label(getattr(o.stmt, "span", None), "stands between the loops")
        help = "move it before the first loop or behind the second one"
        yield fusion_rejection(p, "FUSE_REJECT_NOT_ADJACENT", why, *place, help=help)


def control_flow(p: LoopPair) -> Iterator[Rejection]:
    """Both bodies must be straight-line code, or have branches that can be masked."""
    for loop, which in ((p.first, "the first"), (p.second, "the second")):
        if found := control_flow_obstruction(loop, p.gates.control_flow_simple):
            node, why = found
            place = make_label(getattr(node, "span", None), "here")
            yield fusion_rejection(p, "FUSE_REJECT_CONTROL_FLOW", f"{which} {why}", *place)


def broadcast(p: LoopPair) -> Iterator[Rejection]:
    """What a nest reads repeatedly, neither nest may write."""
    code = "FUSE_REJECT_BROADCAST_ND"
    for c in p.same_array:
        if is_broadcast(c, p.first.var):
            why = f"`{c.first.array}` is broadcast, and written"
            yield fusion_rejection(p, code, why, conflict=c)
    for loop in () if p.gates.broadcast_identity else (p.first, p.second):
        for a in repeated_loads(loop):
            why = f"`{a.array}` is broadcast, and allow_broadcast_identity is False"
            yield fusion_rejection(p, code, why, *make_label(a.span, "read again and again"))


def dependence(p: LoopPair) -> Iterator[Rejection]:
    """The second loop must not access an element in an earlier iteration than the first."""
    for c in p.same_array:
        if isinstance(c.apart, int):
            help = "compute it anew in the second one, or keep both; each is vectorised on its own"
            code = "FUSE_REJECT_DEPENDENCE"
            yield fusion_rejection(p, code, conflict_phrase(c), conflict=c, help=help)


def scalar_live(p: LoopPair) -> Iterator[Rejection]:
    """The second loop must not read a value that is final only after the first loop."""
    for name in sorted(p.between.unfinished & used_names(p.second)):
        spans = (n.span for n in walk(p.second) if isinstance(n, Var) and n.name == name)
        place = next((s for s in spans if s), None)
        why = f"`{name}` is known only when the first loop has ended"
        yield fusion_rejection(
            p, "FUSE_REJECT_SCALAR_LIVE", why, *make_label(place, f"needs `{name}`")
        )


def may_raise(p: LoopPair) -> Iterator[Rejection]:
    """The first loop and statements after it must not raise once the second has written visibly.

    Visible are stores of the second loop, and of statements moved above, to arrays that are not
    private.
    """
    moved = accesses((*p.between.above, p.second))
    seen = {a.array for a in moved if a.is_write} - p.gates.private
    for which, stmts in (("the first", (p.first,)), ("what follows the first", p.between.below)):
        check = next(replay_checks(*stmts), None)
        if check and seen:
            why = f"{which} may raise, and `{min(seen)}` would be written already"
            yield fusion_rejection(
                p, "FUSE_REJECT_MAY_RAISE", why, *make_label(check.span, "may raise")
            )
            return


def _calls_of(p: LoopPair, chosen: Callable[[str], bool]) -> Iterator[Call]:
    """The calls of operations that are `chosen`."""
    for loop in (p.first, p.second):
        if any(map(chosen, ops_within(loop))):
            yield from (n for n in walk(loop) if isinstance(n, Call) and chosen(n.op))


CONDITIONS: tuple[Condition, ...] = (
    domain_match,
    access_pattern,
    no_alias,
    effects_rng,
    effects_unknown,
    guard_policy,
    sequential,
    control_flow,
    broadcast,
    dependence,
    scalar_live,
    may_raise,
    worthwhile,
)
