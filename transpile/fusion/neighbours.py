"""What stands between two loops: moved above the first, moved below the second, or in the way."""
from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeAlias

from loopir.analysis.access import accesses
from loopir.names import bound, used
from loopir.nodes import Break, Loop, Return, Stmt
from loopir.record import record
from loopir.tree import walk

__all__ = ["Between", "Obstacle", "sort"]

Related: TypeAlias = Callable[[str, str], bool]
"""Whether two arrays may share memory."""


@record(frozen=True, slots=True)
class Obstacle:
    """A statement that can be moved to neither side; ``cause`` is the name or array it shares."""

    stmt: Stmt
    cause: str | None


@record(frozen=True, slots=True)
class Between:
    """The statements between two loops, each in its order: ``above`` go up, ``below`` go down.

    ``unfinished``: names that have their value only when the first loop has ended.
    """

    above: tuple[Stmt, ...]
    below: tuple[Stmt, ...]
    obstacles: tuple[Obstacle, ...]
    unfinished: frozenset[str]


@record(frozen=True, slots=True)
class _Effects:
    """What a piece of code touches."""

    reads: frozenset[str]
    writes: frozenset[str]
    uses: frozenset[str]
    binds: frozenset[str]
    leaves: bool


def sort(first: Stmt, between: Iterable[Stmt], second: Stmt, related: Related) -> Between:
    """Moves each statement `between` the loops out of the way, if nothing can see that it moved."""
    above: list[Stmt] = []
    below: list[Stmt] = []
    staying = [_effects(first)]
    for s in between:
        effects = _effects(s)
        if any(_cause(e, effects, related) for e in staying):
            below.append(s)
            staying.append(effects)
        else:
            above.append(s)
    unfinished = _unfinished(_results(first), below)
    last = _effects(second)
    found = [(s, _cause(_effects(s), last, related)) for s in below]
    obstacles = tuple(Obstacle(s, c) for s, c in found if c and c not in unfinished)
    return Between(tuple(above), tuple(below), obstacles, unfinished)


def _results(s: Stmt) -> frozenset[str]:
    match s:
        case Loop(accs=accs):
            return frozenset(a.name for a in accs)
    return bound(s)


def _unfinished(made: frozenset[str], below: Iterable[Stmt]) -> frozenset[str]:
    for s in below:
        if used(s) & made:
            made |= bound(s)
    return made


def _effects(s: Stmt) -> _Effects:
    found = accesses((s,))
    return _Effects(
        frozenset(a.array for a in found if not a.is_write),
        frozenset(a.array for a in found if a.is_write),
        used(s) - bound(s),
        bound(s),
        any(isinstance(n, Break | Return) for n in walk(s)),
    )


def _cause(a: _Effects, b: _Effects, related: Related) -> str | None:
    """Why `a` before `b` is not `b` before `a`: a shared name or array, or a way out."""
    names = (a.binds & (b.uses | b.binds)) | (a.uses & b.binds)
    memory = (
        x
        for mine, theirs in ((a.writes, b.reads | b.writes), (a.reads, b.writes))
        for x in sorted(mine)
        if any(related(x, y) for y in theirs)
    )
    way_out = "return" if a.leaves or b.leaves else None
    return min(names, default=None) or next(memory, None) or way_out
