"""Candidate loop pairs: two neighbouring loops, the statements between them, their conflicts.

Statements between the loops are moved above the first or below the second, or are obstacles.
"""
from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import field
from typing import TypeAlias

from ..analysis.access import accesses
from ..analysis.affine import AffineBindings
from ..analysis.dependence import Alias, affine_trip_count, alias_relation
from ..dtypes import DTYPES
from ..ir_names import bound_names, used_names
from ..ir_traversal import contains
from ..lazy_dataclass import record
from ..nodes import Break, Kernel, Loop, Return, Span, Stmt
from ..rejection import Label, Rejection
from .fusion_dependences import Conflict, fusion_conflicts, is_updated_in_place, smallest_witness

__all__ = [
    "StatementsBetween", "Obstacle", "sort_between", "FusionGates", "LoopPair", "conflict_labels",
    "make_label", "witness_note", "make_loop_pair", "fusion_rejection", "bytes_saved",
    "conflict_phrase",
]

Related: TypeAlias = Callable[[str, str], bool]
"""Whether two arrays may alias."""


@record(frozen=True, slots=True)
class Obstacle:
    """A statement that cannot be moved to either side; ``cause``: the name or array that prevents
    it.
    """

    stmt: Stmt
    cause: str | None


@record(frozen=True, slots=True)
class StatementsBetween:
    """The statements between two loops, in order: ``above`` move up, ``below`` move down.

    ``unfinished``: names whose values are final only after the first loop.
    """

    above: tuple[Stmt, ...]
    below: tuple[Stmt, ...]
    obstacles: tuple[Obstacle, ...]
    unfinished: frozenset[str]


@record(frozen=True, slots=True)
class _TouchedState:
    """Arrays and names that code reads and writes; ``leaves``: it may leave the block."""

    reads: frozenset[str]
    writes: frozenset[str]
    uses: frozenset[str]
    binds: frozenset[str]
    leaves: bool


def sort_between(
    first: Stmt, between: Iterable[Stmt], second: Stmt, related: Related
) -> StatementsBetween:
    """Move each statement `between` the loops above or below them, where that is unobservable."""
    above: list[Stmt] = []
    below: list[Stmt] = []
    staying = [_effects_of(first)]
    for s in between:
        effects = _effects_of(s)
        if any(_order_cause(e, effects, related) for e in staying):
            below.append(s)
            staying.append(effects)
        else:
            above.append(s)
    unfinished = _names_not_final(_result_names(first), below)
    last = _effects_of(second)
    found = [(s, _order_cause(_effects_of(s), last, related)) for s in below]
    obstacles = tuple(Obstacle(s, c) for s, c in found if c and c not in unfinished)
    return StatementsBetween(tuple(above), tuple(below), obstacles, unfinished)


def _result_names(s: Stmt) -> frozenset[str]:
    match s:
        case Loop(accs=accs):
            return frozenset(a.name for a in accs)
    return bound_names(s)


def _names_not_final(made: frozenset[str], below: Iterable[Stmt]) -> frozenset[str]:
    for s in below:
        if used_names(s) & made:
            made |= bound_names(s)
    return made


def _effects_of(s: Stmt) -> _TouchedState:
    found = accesses((s,))
    return _TouchedState(
        frozenset(a.array for a in found if not a.is_write),
        frozenset(a.array for a in found if a.is_write),
        used_names(s) - bound_names(s),
        bound_names(s),
        contains(s, (Break, Return)),
    )


def _order_cause(a: _TouchedState, b: _TouchedState, related: Related) -> str | None:
    """Why `a` and `b` must not be swapped: a shared name or array, or "return"; None if they may.
    """
    names = (a.binds & (b.uses | b.binds)) | (a.uses & b.binds)
    memory = (
        x
        for left, right in ((a.writes, b.reads | b.writes), (a.reads, b.writes))
        for x in sorted(left)
        if any(related(x, y) for y in right)
    )
    early_exit = "return" if a.leaves or b.leaves else None
    return min(names, default=None) or next(memory, None) or early_exit


@record(frozen=True, slots=True, kw_only=True)
class FusionGates:
    """Options of `fuse_kernel`.

    ``private``: arrays that are not visible if the call raises; ``temporaries``: those that are
    contracted if nothing loads them; ``drawn``: states of random generators.
    """

    control_flow_simple: bool = True
    broadcast_identity: bool = True
    private: frozenset[str] = frozenset()
    temporaries: frozenset[str] = frozenset()
    drawn: frozenset[str] = frozenset()


@record(frozen=True, slots=True)
class LoopPair:
    """Two loops over one variable, the second's renamed.

    ``known``: affine forms of names; ``apart``: pairs of arrays that must be disjoint for the
    statements between to move; ``peeled``: the loops are joined only where both have iterations;
    ``brief``: rejections carry their codes only; ``vectorized``: what `keeps_vectors` has found
    out about kernels with one loop, for all pairs of a kernel.
    """

    kernel: Kernel
    first: Loop
    second: Loop
    between: StatementsBetween
    apart: frozenset[frozenset[str]]
    conflicts: tuple[Conflict, ...]
    known: AffineBindings
    gates: FusionGates
    peeled: bool = False
    brief: bool = False
    vectorized: dict[Kernel, bool] = field(default_factory=dict, compare=False)

    @property
    def same_array(self) -> Iterator[Conflict]:
        """The worst conflict for each array."""
        return _worst_conflicts(c for c in self.conflicts if c.alias is Alias.SAME)

    @property
    def perhaps_same(self) -> Iterator[Conflict]:
        """The worst conflict for each two arrays that may be the same, and must not be in one loop.
        """
        return _worst_conflicts(c for c in self.conflicts if c.alias is Alias.SAME_OR_DISJOINT)


def make_loop_pair(
    kernel: Kernel,
    first: Loop,
    between: tuple[Stmt, ...],
    second: Loop,
    outer: tuple[str, ...],
    known: AffineBindings,
    gates: FusionGates,
    *,
    peeled: bool = False,
    brief: bool = False,
    vectorized: dict[Kernel, bool] | None = None,
) -> LoopPair:
    """Analyse `first` and `second`, which have the same variable and are inside loops over `outer`.
    """
    apart: set[frozenset[str]] = set()

    def related(a: str, b: str) -> bool:
        found = alias_relation(kernel, a, b)
        if found is Alias.SAME_OR_DISJOINT and not is_updated_in_place(kernel, a, b):
            apart.add(frozenset((a, b)))
            return False
        return found is not Alias.DISJOINT

    moved = sort_between(first, between, second, related)
    return LoopPair(
        kernel=kernel,
        first=first,
        second=second,
        between=moved,
        apart=frozenset(apart),
        conflicts=fusion_conflicts(
            kernel, first, second, outer, known,
            None if peeled else affine_trip_count(first.range, known),
        ),
        known=known,
        gates=gates,
        peeled=peeled,
        brief=brief,
        vectorized={} if vectorized is None else vectorized,
    )


def bytes_saved(p: LoopPair) -> int:
    """Bytes per iteration that one loop moves once, and two loops twice."""
    dtypes = {q.name: q.dtype for q in p.kernel.params}
    inmost = []
    for loop in (p.first, p.second):
        found = accesses((loop,))
        depth = max((len(a.loops) for a in found), default=0)
        inmost.append({a.array for a in found if len(a.loops) == depth})
    return sum(DTYPES[dtypes[a]].bytes for a in set.intersection(*inmost) if a in dtypes)


def _worst_conflicts(found: Iterable[Conflict]) -> Iterator[Conflict]:
    """The worst conflict for each two arrays: unknown distance first, then the largest."""
    by_arrays: dict[tuple[str, str], list[Conflict]] = {}
    for c in found:
        by_arrays.setdefault((c.first.array, c.second.array), []).append(c)
    return (min(same, key=_severity) for same in by_arrays.values())


def _severity(c: Conflict) -> float:
    """The less, the worse: the distance of the conflict, -inf if it is unknown."""
    return c.apart if isinstance(c.apart, int) else float("-inf")


# -- rejections


def fusion_rejection(
    p: LoopPair,
    code: str,
    why: str,
    *labels: Label,
    conflict: Conflict | None = None,
    help: str | None = None,
) -> Rejection:
    """A rejection at the second loop, which cannot be joined with the first because of `why`.

    The bytes that fusion would save are added to `help`. A `conflict` adds labels on its accesses,
    and a note with the smallest case that goes wrong. In a brief pair the rejection has none of
    these: they take longer to make than the decision.
    """
    if p.brief:
        return Rejection(code, why, p.second.span)
    note = None
    if conflict:
        labels, note = conflict_labels(conflict), witness_note(p, conflict)
    where = f"the loop at line {p.first.span.line}" if p.first.span else "the loop before it"
    message = f"cannot join {where}: {why}"
    if help and (less := bytes_saved(p)):
        help = f"{help};\none pass would move {less} B less an element"
    return Rejection(code, message, p.second.span, labels, note, help)


def make_label(span: Span | None, text: str) -> tuple[Label, ...]:
    """A label, if the location is known."""
    return () if span is None else (Label(span, text),)


def conflict_labels(c: Conflict) -> tuple[Label, ...]:
    """Labels on the two accesses of a conflict.

    They show no subscripts, since those in the source may be relative to another origin than the
    loop variable.
    """
    here = f"{_verb(c.second.is_write)} `{c.second.array}`"
    if isinstance(c.apart, int):
        later = "one iteration" if c.apart == -1 else f"{-c.apart} iterations"
        here = f"{here}; the first loop {_verb(c.first.is_write)} this element {later} later"
    first = f"{_verb(c.first.is_write)} `{c.first.array}`"
    return (*make_label(c.first.span, first), *make_label(c.second.span, here))


def _verb(is_write: bool) -> str:
    return "writes" if is_write else "reads"


def conflict_phrase(c: Conflict) -> str:
    """The effect of fusing in spite of the conflict, in a few words."""
    match c.first.is_write, c.second.is_write:
        case True, False:
            return f"it would read elements of `{c.second.array}` before they are written"
        case False, True:
            return f"it would write elements of `{c.second.array}` before they are read"
    return f"elements of `{c.second.array}` would keep the first loop's value"


def witness_note(p: LoopPair, c: Conflict) -> str:
    """The smallest example of the conflict, or why there is none."""
    w = smallest_witness(c, p.first, p.known)
    if w is None:
        return f"which elements of `{c.second.array}` it touches is not known before it runs"
    does = "write" if c.second.is_write else "read"
    did = "written" if c.first.is_write else "read"
    same = "" if c.alias is Alias.SAME else f" if `{c.first.array}` is `{c.second.array}`"
    return (
        f"with {w.trips} iterations, iteration {w.early} would {does} {w.element} "
        f"before iteration {w.late} has {did} it{same}"
    )
