"""Two neighbouring loops, all that legality looks at, and the words in which it speaks."""
from __future__ import annotations

from collections.abc import Iterable, Iterator

from loopir.analysis.access import accesses
from loopir.analysis.affine import Bindings
from loopir.analysis.dependence import Alias, alias, trip_count
from loopir.nodes import Kernel, Loop, Span, Stmt
from loopir.record import record
from loopir.rejection import Label, Rejection
from loopir.types import DTYPES

from .conflicts import Conflict, conflicts, in_place, witness
from .neighbours import Between, sort

__all__ = [
    "Gates", "Pair", "both", "label", "meeting", "pair", "reject", "saved", "words",
]


@record(frozen=True, slots=True, kw_only=True)
class Gates:
    """What is admitted. ``private``: arrays that nobody sees when the call ends in an exception;
    ``temporaries``: those among them that are not there in the end if nothing loads them;
    ``drawn``: states of random generators.
    """

    control_flow_simple: bool = True
    broadcast_identity: bool = True
    private: frozenset[str] = frozenset()
    temporaries: frozenset[str] = frozenset()
    drawn: frozenset[str] = frozenset()


@record(frozen=True, slots=True)
class Pair:
    """Two loops over one variable, the second's renamed; ``known``: what names stand for;
    ``apart``: arrays that must not be one, for what stands between to move; ``peeled``: they are
    joined where both have iterations.
    """

    kernel: Kernel
    first: Loop
    second: Loop
    between: Between
    apart: frozenset[frozenset[str]]
    conflicts: tuple[Conflict, ...]
    known: Bindings
    gates: Gates
    peeled: bool = False

    @property
    def same_array(self) -> Iterator[Conflict]:
        """One conflict for each array that has any, the widest."""
        return _distinct(c for c in self.conflicts if c.alias is Alias.SAME)

    @property
    def perhaps_same(self) -> Iterator[Conflict]:
        """One conflict for each two arrays that may be one, and in one loop must not be."""
        return _distinct(c for c in self.conflicts if c.alias is Alias.SAME_OR_DISJOINT)


def pair(
    kernel: Kernel,
    first: Loop,
    between: tuple[Stmt, ...],
    second: Loop,
    outer: tuple[str, ...],
    known: Bindings,
    gates: Gates,
    *,
    peeled: bool = False,
) -> Pair:
    """Looks at `first` and `second`, which are over one variable and inside loops over `outer`."""
    apart: set[frozenset[str]] = set()

    def related(a: str, b: str) -> bool:
        found = alias(kernel, a, b)
        if found is Alias.SAME_OR_DISJOINT and not in_place(kernel, a, b):
            apart.add(frozenset((a, b)))
            return False
        return found is not Alias.DISJOINT

    moved = sort(first, between, second, related)
    return Pair(
        kernel=kernel,
        first=first,
        second=second,
        between=moved,
        apart=frozenset(apart),
        conflicts=conflicts(
            kernel, first, second, outer, known,
            None if peeled else trip_count(first.range, known),
        ),
        known=known,
        gates=gates,
        peeled=peeled,
    )


def saved(p: Pair) -> int:
    """Bytes that an iteration of both loops moves once, and in two loops twice."""
    dtypes = {q.name: q.dtype for q in p.kernel.params}
    inmost = []
    for loop in (p.first, p.second):
        found = accesses((loop,))
        depth = max((len(a.loops) for a in found), default=0)
        inmost.append({a.array for a in found if len(a.loops) == depth})
    return sum(DTYPES[dtypes[a]].bytes for a in set.intersection(*inmost) if a in dtypes)


def _distinct(found: Iterable[Conflict]) -> Iterator[Conflict]:
    """Of the conflicts between the same arrays the worst: opaque ones, then the farthest apart."""
    by_arrays: dict[tuple[str, str], list[Conflict]] = {}
    for c in found:
        by_arrays.setdefault((c.first.array, c.second.array), []).append(c)
    return (min(same, key=_reach) for same in by_arrays.values())


def _reach(c: Conflict) -> float:
    return c.apart if isinstance(c.apart, int) else float("-inf")


# -- words


def reject(
    p: Pair,
    code: str,
    why: str,
    *labels: Label,
    note: str | None = None,
    help: str | None = None,
) -> Rejection:
    """A rejection at the second loop, which cannot join the first because of `why`; to `help` comes
    what it would be good for.
    """
    where = f"the loop at line {p.first.span.line}" if p.first.span else "the loop before it"
    message = f"cannot join {where}: {why}"
    if help and (less := saved(p)):
        help = f"{help};\none pass would move {less} B less an element"
    return Rejection(code, message, p.second.span, labels, note, help)


def label(span: Span | None, text: str) -> tuple[Label, ...]:
    """A label, where the place is known."""
    return () if span is None else (Label(span, text),)


def both(c: Conflict) -> tuple[Label, ...]:
    """Labels on the two accesses of a conflict.

    They show no subscripts: those of the source may count from elsewhere than the loop's variable.
    """
    here = f"{_verb(c.second.is_write)} `{c.second.array}`"
    if isinstance(c.apart, int):
        later = "one iteration" if c.apart == -1 else f"{-c.apart} iterations"
        here = f"{here}; the first loop {_verb(c.first.is_write)} this element {later} later"
    first = f"{_verb(c.first.is_write)} `{c.first.array}`"
    return (*label(c.first.span, first), *label(c.second.span, here))


def _verb(is_write: bool) -> str:
    return "writes" if is_write else "reads"


def words(c: Conflict) -> str:
    """What would go wrong, in a few words."""
    match c.first.is_write, c.second.is_write:
        case True, False:
            return f"it would read elements of `{c.second.array}` before they are written"
        case False, True:
            return f"it would write elements of `{c.second.array}` before they are read"
    return f"elements of `{c.second.array}` would keep the first loop's value"


def meeting(p: Pair, c: Conflict) -> str:
    """The smallest case that goes wrong, or why there is none to show."""
    w = witness(c, p.first, p.known)
    if w is None:
        return f"which elements of `{c.second.array}` it touches is not known before it runs"
    does = "write" if c.second.is_write else "read"
    did = "written" if c.first.is_write else "read"
    same = "" if c.alias is Alias.SAME else f" if `{c.first.array}` is `{c.second.array}`"
    return (
        f"with {w.trips} iterations, iteration {w.early} would {does} {w.element} "
        f"before iteration {w.late} has {did} it{same}"
    )
