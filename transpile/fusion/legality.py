"""When two neighbouring loops may become one, and should: one small function for each condition.

Each yields a rejection where its condition fails; `judge` collects them all.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain

from loopir.analysis.access import Access, accesses
from loopir.analysis.dependence import Overlap, may_share
from loopir.names import used
from loopir.nodes import Call, Check, Guard, Load, Loop, Stmt, Var
from loopir.ops import OPS
from loopir.rejection import Rejection
from loopir.tree import walk

from .conflicts import in_place
from .domains import same_depth, same_domain
from .flow import broadcasts, obstruction, repeated
from .pairs import Pair, both, label, meeting, reject, words
from .profit import worthwhile
from .vectors import keeps_vectors

__all__ = [
    "CONDITIONS", "access_pattern", "broadcast", "control_flow", "dependence", "domain_match",
    "effects_rng", "effects_unknown", "guard_policy", "judge", "may_raise", "no_alias",
    "scalar_live", "sequential", "uncounted", "worthwhile",
]

Condition = Callable[[Pair], Iterator[Rejection]]


def judge(p: Pair) -> tuple[Rejection, ...]:
    """Every reason why the two loops must stay two; where there is none, why they had better."""
    found = tuple(chain.from_iterable(condition(p) for condition in CONDITIONS))
    draws = tuple(r for r in found if r.code == "FUSE_REJECT_EFFECTS_RNG")
    if draws:
        return draws  # for all else the code of the generator is to blame
    return found or tuple(keeps_vectors(p))


def uncounted(first: Stmt, second: Stmt) -> Iterator[Rejection]:
    """Why two neighbouring loops are no pair, one at least of which has no count."""
    a, b = getattr(first, "span", None), getattr(second, "span", None)
    if a and b:
        which = "the second" if isinstance(first, Loop) else "the first"
        why = f"cannot join the loop at line {a.line}: {which} has no count"
        yield Rejection("FUSE_REJECT_CONTROL_FLOW", why, b)


# -- the conditions


def domain_match(p: Pair) -> Iterator[Rejection]:
    """Both loops have the same iterations."""
    if p.peeled and same_depth(p.first, p.second):
        return
    if same_domain(p.kernel, p.first, p.second, p.known):
        return
    if not same_depth(p.first, p.second):
        why, help = "they are nested to different depths", None
    else:
        why = "they run over different ranges, which no guard makes equal"
        help = "give both one range, for instance `range(n)` with one `n`"
    yield reject(p, "FUSE_REJECT_DOMAIN_MISMATCH", why, help=help)


def access_pattern(p: Pair) -> Iterator[Rejection]:
    """Accesses to one array have subscripts that differ by a constant at most."""
    for c in p.same_array:
        if c.apart is Overlap.UNKNOWN and not broadcasts(c, p.first.var):
            why = f"the two walk `{c.first.array}` in different ways"
            help = f"use one subscript of `{c.first.array}` in both loops"
            code = "FUSE_REJECT_INDEXMAP_NOT_IDENTITY"
            yield reject(p, code, why, *both(c), note=meeting(p, c), help=help)


def no_alias(p: Pair) -> Iterator[Rejection]:
    """Arrays that are touched in conflicting ways are surely different ones."""
    for c in p.perhaps_same:
        a, b = c.first.array, c.second.array
        if in_place(p.kernel, a, b):
            why = f"`{a}` and `{b}` may be one array that is updated in place"
            help = f"let the function make one of `{a}` and `{b}` itself"
            code = "FUSE_REJECT_NOALIAS_MISSING"
            yield reject(p, code, why, *both(c), note=meeting(p, c), help=help)


def effects_rng(p: Pair) -> Iterator[Rejection]:
    """Neither loop draws random numbers: by an operation named ``random…``, or from a state."""
    touched = (a for loop in (p.first, p.second) for a in accesses((loop,)))
    draws: list[Call | Access] = [c for c in _calls(p) if c.op.startswith("random")]
    draws += [a for a in touched if a.array in p.gates.drawn and not a.is_write][:1]
    for draw in draws:
        why = "the order in which random numbers are drawn would change"
        yield reject(p, "FUSE_REJECT_EFFECTS_RNG", why, *label(draw.span, "draws one"))


def effects_unknown(p: Pair) -> Iterator[Rejection]:
    """Both loops are made of operations whose meaning is known."""
    for call in _calls(p):
        if call.op not in OPS and not call.op.startswith("random"):
            why = f"what `{call.op}` does is not known"
            yield reject(p, "FUSE_REJECT_EFFECTS_UNKNOWN", why, *label(call.span, "called here"))


def guard_policy(p: Pair) -> Iterator[Rejection]:
    """No guard reads what the first loop writes: it would be decided too early."""
    written = {a.array for a in accesses((p.first,)) if a.is_write}
    for guard in (g for g in p.kernel.guards if isinstance(g, Guard)):
        for load in (n for n in walk(guard.cond) if isinstance(n, Load)):
            if any(may_share(p.kernel, load.array, w) for w in written):
                why = f"a guard needs `{load.array}` as the first loop leaves it"
                place = label(guard.span, "guarded before the first store")
                yield reject(p, "FUSE_REJECT_GUARD_POLICY", why, *place)


def sequential(p: Pair) -> Iterator[Rejection]:
    """What stands between the loops can be moved above the first or below the second."""
    for o in p.between.obstacles:
        why = f"what stands between them cannot be moved, because of `{o.cause}`"
        place = label(getattr(o.stmt, "span", None), "stands between the loops")
        help = "move it before the first loop or behind the second one"
        yield reject(p, "FUSE_REJECT_NOT_ADJACENT", why, *place, help=help)


def control_flow(p: Pair) -> Iterator[Rejection]:
    """Both bodies are straight lines, or have branches that can become masks."""
    for loop, which in ((p.first, "the first"), (p.second, "the second")):
        if found := obstruction(loop, p.gates.control_flow_simple):
            node, why = found
            place = label(getattr(node, "span", None), "here")
            yield reject(p, "FUSE_REJECT_CONTROL_FLOW", f"{which} {why}", *place)


def broadcast(p: Pair) -> Iterator[Rejection]:
    """What a nest reads again and again, neither nest writes."""
    code = "FUSE_REJECT_BROADCAST_ND"
    for c in p.same_array:
        if broadcasts(c, p.first.var):
            why = f"`{c.first.array}` is broadcast, and written"
            yield reject(p, code, why, *both(c), note=meeting(p, c))
    for loop in () if p.gates.broadcast_identity else (p.first, p.second):
        for a in repeated(loop):
            why = f"`{a.array}` is broadcast, and allow_broadcast_identity is False"
            yield reject(p, code, why, *label(a.span, "read again and again"))


def dependence(p: Pair) -> Iterator[Rejection]:
    """The second loop touches no element in an earlier iteration than the first."""
    for c in p.same_array:
        if isinstance(c.apart, int):
            help = "compute it anew in the second one, or keep both; each is vectorised on its own"
            code = "FUSE_REJECT_DEPENDENCE"
            yield reject(p, code, words(c), *both(c), note=meeting(p, c), help=help)


def scalar_live(p: Pair) -> Iterator[Rejection]:
    """The second loop needs nothing that is known only when the first has ended."""
    for name in sorted(p.between.unfinished & used(p.second)):
        spans = (n.span for n in walk(p.second) if isinstance(n, Var) and n.name == name)
        place = next((s for s in spans if s), None)
        why = f"`{name}` is known only when the first loop has ended"
        yield reject(p, "FUSE_REJECT_SCALAR_LIVE", why, *label(place, f"needs `{name}`"))


def may_raise(p: Pair) -> Iterator[Rejection]:
    """The first loop, and what stays behind it, cannot raise, or nobody sees what the second, and
    what goes ahead of them, has written by then.
    """
    moved = accesses((*p.between.above, p.second))
    seen = {a.array for a in moved if a.is_write} - p.gates.private
    for said, stmts in (("the first", (p.first,)), ("what follows the first", p.between.below)):
        found = (n for s in stmts for n in walk(s) if isinstance(n, Check) and n.code == "replay")
        check = next(found, None)
        if check and seen:
            why = f"{said} may raise, and `{min(seen)}` would be written already"
            yield reject(p, "FUSE_REJECT_MAY_RAISE", why, *label(check.span, "may raise"))
            return


def _calls(p: Pair) -> Iterator[Call]:
    return (n for loop in (p.first, p.second) for n in walk(loop) if isinstance(n, Call))


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
