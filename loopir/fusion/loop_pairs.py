"""Candidate loop pairs: two neighbouring loops, the statements between them, their conflicts.

`make_loop_pair` gathers what `fusion_legality` and `fusion_profit` decide on. `sort_between` moves
each statement between the loops above the first loop, or, where it depends on that loop, below the
second; a statement that can move to neither side is an obstacle:

    for i: s = step(s + x[i])              for i: s = step(s + x[i])
    k = n + 1                     →        for i: y[i] = x[i] * k        k = n + 1 moved above both,
    t = s * 2                                                            t = s * 2 below both
    for i: y[i] = x[i] * k

The last part makes the text of rejections about a pair.
"""
from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import field
from typing import TypeAlias

from ..analysis.access import accesses
from ..analysis.dependence import Alias, affine_trip_count, alias_relation
from ..analysis.integers.affine import AffineBindings
from ..analysis.mod_ref import arrays_read, arrays_written
from ..dtypes import DTYPES
from ..ir_names import bound_names, names_read
from ..ir_traversal import contains
from ..lazy_dataclass import record
from ..nodes import Break, Kernel, Loop, Return, Span, Stmt
from ..rejection import Label, Rejection
from .fusion_dependences import Conflict, fusion_conflicts, is_updated_in_place, smallest_witness

__all__ = [
    "StatementsBetween", "Obstacle", "sort_between", "FusionOptions", "LoopPair", "conflict_labels",
    "make_label", "witness_note", "make_loop_pair", "fusion_rejection", "bytes_saved",
    "conflict_phrase",
]

MayAlias: TypeAlias = Callable[[str, str], bool]
"""Whether two arrays may have an element in common."""


@record(frozen=True, slots=True)
class Obstacle:
    """A statement between two loops that cannot be moved to either side."""

    stmt: Stmt
    cause: str | None  # the name or array that prevents it, or "return"


@record(frozen=True, slots=True)
class StatementsBetween:
    """The statements between two loops, each list in the order of the program."""

    above: tuple[Stmt, ...]  # may move above the first loop
    below: tuple[Stmt, ...]  # must stay after the first loop: they move below the second
    obstacles: tuple[Obstacle, ...]  # those of `below` that the second loop depends on
    unfinished: frozenset[str]  # names whose values are final only after the first loop


@record(frozen=True, slots=True)
class _Effects:
    """The effects of a statement: the arrays and names that it touches."""

    reads: frozenset[str]  # arrays
    writes: frozenset[str]  # arrays
    uses: frozenset[str]  # names bound outside
    binds: frozenset[str]  # names
    leaves: bool  # it has a break or return


def sort_between(
    first: Stmt, between: Iterable[Stmt], second: Stmt, may_alias: MayAlias
) -> StatementsBetween:
    """Sort the statements `between` two loops into those that can move above the first loop, those
    that must move below the second, and obstacles, which can do neither. Without obstacles the
    loops become neighbours, so that they can be joined.

        for i: s = step(s + x[i])
        a = n * 2                      above: has nothing to do with the first loop
        out[0] = s                     below: stores its sum
        w[0] = s                       an obstacle: stores its sum, and the second loop reads w
        for i: y[i] = w[i]

    In the order of the program, each statement

    - moves above, if it can be swapped with the first loop and with all statements that have to
      move below (`_order_cause`);
    - else it moves below, and is an obstacle if it cannot be swapped with the second loop. If that
      is because of a name that the first loop computes, it is no obstacle here: the condition
      `fusion_legality.scalar_live` reports it, with a better message.

    `make_loop_pair` calls it for each pair. `may_alias`: whether two arrays may share memory.
    """
    between = tuple(between)
    if not between:
        return StatementsBetween((), (), (), _result_names(first))
    above: list[Stmt] = []
    below: list[Stmt] = []
    effects_below = [_effects_of(first)]
    for s in between:
        effects = _effects_of(s)
        if any(_order_cause(e, effects, may_alias) for e in effects_below):
            below.append(s)
            effects_below.append(effects)
        else:
            above.append(s)
    unfinished = _names_not_final(_result_names(first), below)
    second_effects = _effects_of(second)
    causes = [(s, _order_cause(_effects_of(s), second_effects, may_alias)) for s in below]
    obstacles = tuple(Obstacle(s, c) for s, c in causes if c and c not in unfinished)
    return StatementsBetween(tuple(above), tuple(below), obstacles, unfinished)


def _result_names(s: Stmt) -> frozenset[str]:
    """The names that `s` binds for the statements after it: of a loop, its accumulators."""
    match s:
        case Loop(accs=accs):
            return frozenset(a.name for a in accs)
    return bound_names(s)


def _names_not_final(unfinished: frozenset[str], below: Iterable[Stmt]) -> frozenset[str]:
    """`unfinished` and all names that statements of `below` compute from them."""
    for s in below:
        if names_read(s) & unfinished:
            unfinished |= bound_names(s)
    return unfinished


def _effects_of(s: Stmt) -> _Effects:
    """The arrays and names that `s` reads and writes."""
    return _Effects(
        arrays_read((s,)),
        arrays_written((s,)),
        names_read(s) - bound_names(s),
        bound_names(s),
        contains(s, (Break, Return)),
    )


def _order_cause(a: _Effects, b: _Effects, may_alias: MayAlias) -> str | None:
    """Why the statements with effects `a` and `b` must not be swapped; None if they may be.

    The cause is a name that one binds and the other uses or binds, else an array that one writes
    and the other may touch, else ``"return"``.
    """
    names = (a.binds & (b.uses | b.binds)) | (a.uses & b.binds)
    memory = (
        array
        for arrays, others in ((a.writes, b.reads | b.writes), (a.reads, b.writes))
        for array in sorted(arrays)
        if any(may_alias(array, other) for other in others)
    )
    early_exit = "return" if a.leaves or b.leaves else None
    return min(names, default=None) or next(memory, None) or early_exit


@record(frozen=True, slots=True, kw_only=True)
class FusionOptions:
    """The options of `fuse_kernel`, for all pairs of a kernel: which loops it may join, and sets of
    array names.
    """

    control_flow_simple: bool = True  # loops with branches may be joined
    broadcast_identity: bool = True  # nests that read an element repeatedly may be joined
    private: frozenset[str] = frozenset()  # arrays that are not visible if the call raises
    temporaries: frozenset[str] = frozenset()  # arrays that are removed if nothing loads them
    drawn: frozenset[str] = frozenset()  # states of random generators


@record(frozen=True, slots=True)
class LoopPair:
    """Two neighbouring loops that are considered for fusion, with what was found about them."""

    kernel: Kernel
    first: Loop
    second: Loop  # its variable and clashing names renamed: both loops have one variable
    between: StatementsBetween
    must_be_disjoint: frozenset[frozenset[str]]
    """Pairs of arrays that the statements between assume to be disjoint in order to move."""
    conflicts: tuple[Conflict, ...]
    """All pairs of accesses whose order joining reverses, or may reverse (`fusion_conflicts`)."""
    bindings: AffineBindings  # affine forms of names
    options: FusionOptions
    may_peel: bool = False  # joined only over the iterations that both loops have
    brief: bool = False  # rejections carry their codes only, since they are dropped
    vectorized: dict[Kernel, bool] = field(default_factory=dict, compare=False)
    """Kernels with one loop, and whether the pass pipeline makes that loop a vector loop: what
    `keeps_vectors` has found out so far, shared by all pairs of a kernel.
    """

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
    bindings: AffineBindings,
    options: FusionOptions,
    *,
    may_peel: bool = False,
    brief: bool = False,
    vectorized: dict[Kernel, bool] | None = None,
) -> LoopPair:
    """The pair of `first` and `second`, which have the same variable and are inside loops over
    `outer`.

    With `may_peel`, iterations that only one loop has will be peeled, so that the ranges need not
    be equal. The other arguments are fields of `LoopPair`.
    """
    must_be_disjoint: set[frozenset[str]] = set()

    def may_alias(a: str, b: str) -> bool:
        """Whether arrays may overlap. Arrays that may be the same are assumed to be disjoint, and
        recorded, unless callers are likely to pass one array for both.
        """
        alias = alias_relation(kernel, a, b)
        if alias is Alias.SAME_OR_DISJOINT and not is_updated_in_place(kernel, a, b):
            must_be_disjoint.add(frozenset((a, b)))
            return False
        return alias is not Alias.DISJOINT

    statements = sort_between(first, between, second, may_alias)
    return LoopPair(
        kernel=kernel,
        first=first,
        second=second,
        between=statements,
        must_be_disjoint=frozenset(must_be_disjoint),
        conflicts=fusion_conflicts(
            kernel, first, second, outer, bindings,
            None if may_peel else affine_trip_count(first.range, bindings),
        ),
        bindings=bindings,
        options=options,
        may_peel=may_peel,
        brief=brief,
        vectorized={} if vectorized is None else vectorized,
    )


def bytes_saved(p: LoopPair) -> int:
    """Bytes per iteration that the joined loop moves once and two loops move twice: one element of
    each array that both access in their innermost loops.
    """
    dtypes = {param.name: param.dtype for param in p.kernel.params}
    arrays_per_loop = []
    for loop in (p.first, p.second):
        touched = accesses((loop,))
        depth = max((len(a.loops) for a in touched), default=0)
        arrays_per_loop.append({a.array for a in touched if len(a.loops) == depth})
    return sum(DTYPES[dtypes[a]].bytes for a in set.intersection(*arrays_per_loop) if a in dtypes)


def _worst_conflicts(conflicts: Iterable[Conflict]) -> Iterator[Conflict]:
    """The worst conflict for each two arrays: one of unknown distance, else the most negative."""
    by_arrays: dict[tuple[str, str], list[Conflict]] = {}
    for c in conflicts:
        by_arrays.setdefault((c.first.array, c.second.array), []).append(c)
    return (min(of_arrays, key=_severity) for of_arrays in by_arrays.values())


def _severity(c: Conflict) -> float:
    """The sort key of conflicts, the worst first: the distance; unknown ones are -inf."""
    return c.distance if isinstance(c.distance, int) else float("-inf")


# -- rejections


def fusion_rejection(
    p: LoopPair,
    code: str,
    why: str,
    *labels: Label,
    conflict: Conflict | None = None,
    help: str | None = None,
    help_joins: bool = True,
) -> Rejection:
    """The rejection that says why the loops of `p` are not joined, placed at the second one::

        cannot join the loop at line 5: they run over different ranges, which no guard makes equal

    ``why``: the part after the colon. A `conflict` adds labels on its two accesses, and a note with
    the smallest case that goes wrong (`witness_note`). The help, if any, says how many bytes fusion
    would save, unless it does not lead to fusion (``help_joins``). ``Rejection.first`` is the place
    of the first loop: the report shows one rejection for each pair of places.

    Where only the decision matters (`LoopPair.brief`), the rejection has just code and reason: the
    rest takes longer to make than the decision.
    """
    if p.brief:
        return Rejection(code, why, p.second.span)
    note = None
    if conflict:
        labels, note = conflict_labels(conflict), witness_note(p, conflict)
    where = f"the loop at line {p.first.span.line}" if p.first.span else "the loop before it"
    message, saved = f"cannot join {where}: {why}", bytes_saved(p)
    if help and saved and help_joins:
        help = f"{help};\none pass would move {saved} B less an element"
    return Rejection(code, message, p.second.span, labels, note, help, p.first.span, saved)


def make_label(span: Span | None, text: str) -> tuple[Label, ...]:
    """A label, if the location is known."""
    return () if span is None else (Label(span, text),)


def conflict_labels(c: Conflict) -> tuple[Label, ...]:
    """Labels on the two accesses of a conflict.

    They show no subscripts, since those in the source may be relative to another origin than the
    loop variable.
    """
    at_second = f"{_verb(c.second.is_write)} `{c.second.array}`"
    if isinstance(c.distance, int):
        delay = "one iteration" if c.distance == -1 else f"{-c.distance} iterations"
        at_second = (
            f"{at_second}; the first loop {_verb(c.first.is_write)} this element {delay} later"
        )
    at_first = f"{_verb(c.first.is_write)} `{c.first.array}`"
    return (*make_label(c.first.span, at_first), *make_label(c.second.span, at_second))


def _verb(is_write: bool) -> str:
    """``writes`` or ``reads``."""
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
    """The smallest example of the conflict in a sentence, or that the accessed elements are not
    known.
    """
    witness = smallest_witness(c, p.first, p.bindings)
    if witness is None:
        return f"which elements of `{c.second.array}` it touches is not known before it runs"
    verb = "write" if c.second.is_write else "read"
    participle = "written" if c.first.is_write else "read"
    condition = "" if c.alias is Alias.SAME else f" if `{c.first.array}` is `{c.second.array}`"
    return (
        f"with {witness.trips} iterations, iteration {witness.early} would {verb} "
        f"`{witness.element}` before iteration {witness.late} has {participle} it{condition}"
    )
