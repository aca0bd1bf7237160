"""Fusion legality: when two neighbouring loops may become one; one small function a condition.

`judge_fusion` is where fusion is decided. It runs the functions of `CONDITIONS` on a `LoopPair`;
each yields a rejection where its condition fails, and the loops may be joined if none does:

- the loops have the same iterations, or may be shifted and peeled (`domain_match`), and no
  iteration of the second one accesses an element before the first one does (`access_pattern`,
  `no_alias`, `broadcast`, `dependence`);
- the second loop needs no final value of the first one (`scalar_live`), and the statements between
  can be moved (`sequential`);
- no visible effect changes its order (`effects_rng`, `effects_unknown`, `guard_policy`,
  `may_raise`);
- both bodies can be masked (`control_flow`).

Two conditions are about profitability: `worthwhile`, the last of `CONDITIONS`, and `keeps_vectors`,
which runs the pass pipeline and is therefore tried only where all others hold.

A new condition is a function here, its name in `CONDITIONS` and its code in
`transpile/codes/fusion_codes.py`. If it may hold once a loop is reversed or shifted, its code also
stands in `ALIGNMENT_DEPENDENT_CODES`: the driver tries to realign a pair only if no other code is
among its rejections.
"""
from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Sequence
from itertools import chain

from ..algebra.may_raise import replay_checks
from ..analysis.access import Access, accesses
from ..analysis.dependence import Overlap, may_alias
from ..ir_names import names_read
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
    "is_broadcast", "control_flow_obstruction", "repeated_loads", "CONDITIONS",
    "ALIGNMENT_DEPENDENT_CODES", "access_pattern", "broadcast", "can_fuse", "control_flow",
    "dependence", "domain_match", "effects_rng", "effects_unknown", "guard_policy", "judge_fusion",
    "may_raise", "no_alias", "scalar_live", "sequential", "uncounted_rejections", "worthwhile",
]


def control_flow_obstruction(loop: Loop, admit_branches: bool) -> tuple[Node, str] | None:
    """The first node in `loop` that cannot be masked, with the reason; None if there is none.
    ``admit_branches``: a branch without loops in it can be.
    """
    is_plain = loop.until is None and is_innermost(loop) and not contains(loop, (Break, Return))
    if is_plain and admit_branches:
        return None
    return next(
        ((n, reason) for n in walk(loop) if (reason := _obstruction_of(n, admit_branches))), None
    )


def _obstruction_of(n: Node, admit_branches: bool) -> str | None:
    """Why `n` cannot be masked, as the end of a sentence that begins with the loop; None if it can.
    """
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
            return _HAS_BRANCH
    return None


def is_broadcast(c: Conflict, var: str) -> bool:
    """Whether the conflict is about a broadcast: its distance is not known, and one of its
    accesses, in a nest over `var`, is invariant in one of the loops of that nest.

        for i: for j: y[i, j] = x[j]      x[j] is invariant in i
    """
    return c.distance is Overlap.UNKNOWN and (
        _is_invariant_in_a_loop(c.first, var) or _is_invariant_in_a_loop(c.second, var)
    )


def repeated_loads(loop: Loop) -> Iterator[Access]:
    """The reads of a nest that are invariant in one of its loops."""
    return (a for a in accesses((loop,)) if not a.is_write and _is_invariant_in_a_loop(a, loop.var))


def _is_invariant_in_a_loop(access: Access, var: str) -> bool:
    """Whether the access, in a nest over `var`, touches one element in all iterations of one of at
    least two loops.
    """
    loops = access.loops[access.loops.index(var) :] if var in access.loops else ()
    if len(loops) < 2 or None in access.index:
        return False
    varying = {v for form in access.index if form is not None for v in form.variables}
    return not varying >= set(loops)


Condition = Callable[[LoopPair], Iterator[Rejection]]


def judge_fusion(p: LoopPair) -> tuple[Rejection, ...]:
    """All reasons why the two loops of `p` must not be joined, in the order of `CONDITIONS`; empty
    if they may be. This is where fusion is decided.

        for i: t[i] = x[i]          (a rejection FUSE_REJECT_DEPENDENCE,): iteration i of the second
        for i: y[i] = t[i + 1]      loop would read what iteration i + 1 of the first writes

    `fuse_loops._LoopFuser.join` asks `can_fuse`, the same conditions without reasons, in its first
    round; in the second it calls this on neighbouring loops that are still apart, and reports the
    rejections if no other alignment of the loops helps.
    """
    rejections = tuple(chain.from_iterable(condition(p) for condition in CONDITIONS))
    # where random numbers are drawn, other rejections would concern the code of the generator
    draws = tuple(r for r in rejections if r.code == "FUSE_REJECT_EFFECTS_RNG")
    if draws:
        return draws
    return rejections or tuple(keeps_vectors(p))  # which runs the pass pipeline, so it is last


def can_fuse(p: LoopPair) -> bool:
    """Whether `judge_fusion` returns no reason; it stops at the first one.

    Make `p` with ``brief=True``: the rejections are dropped, and their labels and notes take longer
    to make than the decision.
    """
    reasons = chain.from_iterable(condition(p) for condition in (*CONDITIONS, keeps_vectors))
    return next(reasons, None) is None


def uncounted_rejections(first: Stmt, second: Stmt) -> Iterator[Rejection]:
    """The rejection of two neighbouring loops at least one of which is not counted."""
    a, b = getattr(first, "span", None), getattr(second, "span", None)
    if a and b:
        which = "the second" if isinstance(first, Loop) else "the first"
        why = f"cannot join the loop at line {a.line}: {which} has no count"
        yield Rejection("FUSE_REJECT_CONTROL_FLOW", why, b, first=a)


# -- the conditions


def domain_match(p: LoopPair) -> Iterator[Rejection]:
    """Both loops must have the same iterations, since one loop has one range::

        for i in range(n): …                  FUSE_REJECT_DOMAIN_MISMATCH, for which other
        for i in range(1, n - 1): …           alignments are tried (`ALIGNMENT_DEPENDENT_CODES`)

    Of a pair that is shifted (``may_peel``) only the same depth of nesting is required: the
    iterations that one loop alone has are peeled (`shift_and_peel`).
    """
    if p.may_peel and same_depth(p.first, p.second):
        return
    if same_domain(p.first, p.second, p.bindings):
        return
    if not same_depth(p.first, p.second):
        reason, help = "they are nested to different depths", None
    else:
        reason = "they run over different ranges, which no guard makes equal"
        help = "let both loops run over one `range`, with one name as its end"
    yield fusion_rejection(p, "FUSE_REJECT_DOMAIN_MISMATCH", reason, help=help)


def access_pattern(p: LoopPair) -> Iterator[Rejection]:
    """Two accesses to one array, one of which writes, must be a constant distance apart::

        first loop    second loop
        y[i] = …      … = y[i + 2]      a known distance: the condition `dependence` judges it
        y[i] = …      … = y[2 * i]      FUSE_REJECT_INDEXMAP_NOT_IDENTITY
        y[i] = …      … = y[n - i]      the same; `alignments` has tried to reverse one of the loops
        y[i] = …      … = y[k[i]]       the same, and no help: which element it is depends on data

    Broadcasts are left to the condition `broadcast`.
    """
    for c in p.same_array:
        if c.distance is Overlap.UNKNOWN and not is_broadcast(c, p.first.var):
            array, is_opposite = c.first.array, _are_opposite(c, p.first.var)
            reason, help = f"the two walk `{array}` in different ways", ""
            if is_opposite:
                reason = f"the two walk `{array}` in opposite directions"
                help = "keep both loops: the second one begins with what the first one does last"
            elif None in (*c.first.index, *c.second.index):
                help = f"keep both loops, unless `{array}` can have one subscript in both"
            yield fusion_rejection(
                p, "FUSE_REJECT_INDEXMAP_NOT_IDENTITY", reason, conflict=c,
                help=help or f"use one subscript of `{array}` in both loops",
                help_joins=not is_opposite,
            )


def _are_opposite(c: Conflict, var: str) -> bool:
    """Whether the loops over `var` walk along an axis by one distance in opposite directions."""
    return any(
        a is not None and b is not None and a.coefficient(var) == -b.coefficient(var) != 0
        for a, b in zip(c.first.index, c.second.index, strict=True)
    )


def no_alias(p: LoopPair) -> Iterator[Rejection]:
    """Two arrays that may be one must not conflict, if the kernel updates one from the other.

        for i: y[i] = x[i]           `x` and `y` are perhaps one array (`disjoint_or_same`)
        for i: z[i] = x[i + 1]       joined: y[i + 1] would be written after x[i + 1] is read

    Joined loops are right only for disjoint arrays. A pair that the kernel reads and writes at the
    same subscripts (`is_updated_in_place`, here by the first loop) is refused, since callers are
    likely to pass one array for both. Other pairs are joined, and their guard requires disjoint
    arrays from then on (`fuse_loops._LoopFuser.tighten`).
    """
    for c in p.perhaps_same:
        a, b = c.first.array, c.second.array
        if is_updated_in_place(p.kernel, a, b):
            reason = f"`{a}` and `{b}` may be one array that is updated in place"
            help = f"let the function make one of `{a}` and `{b}` itself"
            code = "FUSE_REJECT_NOALIAS_MISSING"
            yield fusion_rejection(p, code, reason, conflict=c, help=help)


def effects_rng(p: LoopPair) -> Iterator[Rejection]:
    """Neither loop may draw random numbers, by an operation named ``random…`` or by reading the
    state of a generator: the draws of both loops would alternate, in place of one after the other.
    A loop that draws none would have to wait for each draw of the other one.
    """
    drawn = [_draws(loop, p.options.drawn) for loop in (p.first, p.second)]
    reason = "the order in which random numbers are drawn would change"
    if not all(drawn):
        reason = "only one of the two draws random numbers, one after the other"
    for draw in (*drawn[0], *drawn[1]):
        yield fusion_rejection(
            p, "FUSE_REJECT_EFFECTS_RNG", reason, *make_label(draw.span, "draws one")
        )


def _draws(loop: Loop, states: Container[str]) -> Sequence[Call | Access]:
    """The operations of `loop` that draw a random number, or else the first read of the state of a
    generator, one of the arrays ``states``.
    """
    if any(op.startswith("random") for op in ops_within(loop)):
        return [n for n in walk(loop) if isinstance(n, Call) and n.op.startswith("random")]
    return [a for a in accesses((loop,)) if a.array in states and not a.is_write][:1]


def effects_unknown(p: LoopPair) -> Iterator[Rejection]:
    """Both loops must consist of known operations."""
    for call in _calls_of(p, lambda op: op not in OPS and not op.startswith("random")):
        reason = f"what `{call.op}` does is not known"
        yield fusion_rejection(
            p, "FUSE_REJECT_EFFECTS_UNKNOWN", reason, *make_label(call.span, "called here")
        )


def guard_policy(p: LoopPair) -> Iterator[Rejection]:
    """No guard of the kernel may read an array that the first loop writes: it was made for the
    second loop, and so for the array as the first one leaves it, but is evaluated at entry.
    """
    written = {a.array for a in accesses((p.first,)) if a.is_write}
    for guard in (g for g in p.kernel.guards if isinstance(g, Guard) and contains(g, Load)):
        for load in (n for n in walk(guard.cond) if isinstance(n, Load)):
            if any(may_alias(p.kernel, load.array, w) for w in written):
                reason = f"a guard needs `{load.array}` as the first loop leaves it"
                label = make_label(guard.span, "guarded before the first store")
                yield fusion_rejection(p, "FUSE_REJECT_GUARD_POLICY", reason, *label)


def sequential(p: LoopPair) -> Iterator[Rejection]:
    """Statements between the loops must be movable above the first or below the second."""
    for obstacle in p.between.obstacles:
        reason = f"what stands between them cannot be moved, because of `{obstacle.cause}`"
        label = make_label(getattr(obstacle.stmt, "span", None), "stands between the loops")
        help = "move it before the first loop or behind the second one"
        yield fusion_rejection(p, "FUSE_REJECT_NOT_ADJACENT", reason, *label, help=help)


def control_flow(p: LoopPair) -> Iterator[Rejection]:
    """Both loops must be of straight-line code, nests of such loops, or have branches that can be
    masked (`control_flow_obstruction`): a joined loop that is left early, or whose inner loop runs
    under a condition, could not run the other body as before, or in vectors.
    """
    for loop, ordinal in ((p.first, "the first"), (p.second, "the second")):
        if obstruction := control_flow_obstruction(loop, p.options.control_flow_simple):
            node, reason = obstruction
            label = make_label(getattr(node, "span", None), "here")
            help = _HELP_FOR_BRANCH if reason == _HAS_BRANCH else None
            yield fusion_rejection(
                p, "FUSE_REJECT_CONTROL_FLOW", f"{ordinal} {reason}", *label, help=help,
                help_joins=help is not None)


_HAS_BRANCH = "has a branch, and allow_control_flow_simple is False"
_HELP_FOR_BRANCH = "allow branches, by `allow_control_flow_simple=True`, or select by `np.where`"


def broadcast(p: LoopPair) -> Iterator[Rejection]:
    """Neither nest may write an array that one of them reads repeatedly (broadcasts)::

        for i: for j: s[j] = s[j] + x[i, j]     joined, row 0 of y would get sums of one row of x
        for i: for j: y[i, j] = s[j]

    If the option ``broadcast_identity`` is False, neither nest may read any array repeatedly.
    """
    code = "FUSE_REJECT_BROADCAST_ND"
    for c in p.same_array:
        if is_broadcast(c, p.first.var):
            reason = f"`{c.first.array}` is broadcast, and written"
            yield fusion_rejection(p, code, reason, conflict=c)
    for loop in () if p.options.broadcast_identity else (p.first, p.second):
        for a in repeated_loads(loop):
            reason = f"`{a.array}` is broadcast, and allow_broadcast_identity is False"
            label, help = make_label(a.span, "read again and again"), "leave that option out"
            yield fusion_rejection(p, code, reason, *label, help=help)


def dependence(p: LoopPair) -> Iterator[Rejection]:
    """An element that both loops access, and one of them writes, must not be accessed by the second
    loop before the first one has done so.

    The conflicts of a pair are accesses whose order joining would reverse
    (`fusion_dependences.fusion_conflicts`): their distance is negative, or not known. The condition
    fails for those whose distance is known. Such a pair may still be joined shifted or reversed
    (`ALIGNMENT_DEPENDENT_CODES`).
    """
    for c in p.same_array:
        if isinstance(c.distance, int):
            help = "compute it anew in the second one, or keep both; each is vectorised on its own"
            code = "FUSE_REJECT_DEPENDENCE"
            yield fusion_rejection(p, code, conflict_phrase(c), conflict=c, help=help)


def scalar_live(p: LoopPair) -> Iterator[Rejection]:
    """The second loop must not read a value that is final only after the first loop has ended: an
    accumulator of it, or what a statement between the loops computes from one.
    """
    for name in sorted(p.between.unfinished & names_read(p.second)):
        spans = (n.span for n in walk(p.second) if isinstance(n, Var) and n.name == name)
        span = next((s for s in spans if s), None)
        reason = f"`{name}` is known only when the first loop has ended"
        yield fusion_rejection(
            p, "FUSE_REJECT_SCALAR_LIVE", reason, *make_label(span, f"needs `{name}`")
        )


def may_raise(p: LoopPair) -> Iterator[Rejection]:
    """The first loop and statements after it must not raise once the second has written visibly.

    Visible are stores of the second loop, and of statements moved above. Stores to private arrays
    (`FusionOptions.private`) are not: nobody sees these arrays if the call raises.
    """
    moved = accesses((*p.between.above, p.second))
    visible = {a.array for a in moved if a.is_write} - p.options.private
    for part, stmts in (("the first", (p.first,)), ("what follows the first", p.between.below)):
        check = next(replay_checks(*stmts), None)
        if check and visible:
            reason = f"{part} may raise, and `{min(visible)}` would be written already"
            yield fusion_rejection(
                p, "FUSE_REJECT_MAY_RAISE", reason, *make_label(check.span, "may raise")
            )
            return


def _calls_of(p: LoopPair, selects: Callable[[str], bool]) -> Iterator[Call]:
    """The calls, in both loops, of the operations whose name `selects` accepts."""
    for loop in (p.first, p.second):
        if any(map(selects, ops_within(loop))):
            yield from (n for n in walk(loop) if isinstance(n, Call) and selects(n.op))


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
"""The conditions of fusion, each a function that yields a rejection where it fails. A report shows
the rejections in this order: whether the loops fit each other, then what stands in the way."""

ALIGNMENT_DEPENDENT_CODES = frozenset((
    "FUSE_REJECT_DOMAIN_MISMATCH",        # domain_match
    "FUSE_REJECT_INDEXMAP_NOT_IDENTITY",  # access_pattern
    "FUSE_REJECT_NOALIAS_MISSING",        # no_alias
    "FUSE_REJECT_DEPENDENCE",             # dependence
))
"""The codes of conditions that may hold once one of the loops is reversed or shifted:
`fuse_loops._LoopFuser.find_other_alignment` tries that where a pair has no other rejections.
"""
