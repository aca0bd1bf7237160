"""When one loop would take longer than two."""
from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from loopir.analysis.access import Access, accesses, unit_stride
from loopir.analysis.dependence import dependences, distance
from loopir.analysis.folds import fold_of
from loopir.names import reads
from loopir.nodes import Loop
from loopir.passes.unroll import is_written_out
from loopir.rejection import Rejection
from loopir.tree import innermost, walk

from .domains import nest
from .pairs import Pair, label, reject

__all__ = ["in_vectors", "worthwhile"]

STREAMS = 8  # arrays that are gone through side by side at no cost
_SOON = 64  # iterations in which a store may not have left the core's buffer


def worthwhile(p: Pair) -> Iterator[Rejection]:
    """Folds keep their order, and loads do not wait for stores."""
    yield from _stored_just_now(p)
    yield from _folds_in_any_order(p)
    yield from _many_streams(p)


def _stored_just_now(p: Pair) -> Iterator[Rejection]:
    """An element that is loaded soon after it was stored as part of another vector.

    Such a load has to wait for two stores (a core forwards to it from one only), so that the loop
    would rather go element by element.
    """
    if not (in_vectors(p, p.first) and in_vectors(p, p.second)):
        return
    seen = set()
    for a, b in product(*(accesses((loop,), (), p.known) for loop in (p.first, p.second))):
        if a.array == b.array and a.is_write and not b.is_write and a.array not in seen:
            later = distance(a, b, p.first.var)
            if isinstance(later, int) and 0 < later < _SOON:
                seen.add(a.array)
                why = f"`{a.array}` would be loaded right after it is stored, in another vector"
                here = "one iteration later" if later == 1 else f"{later} iterations later"
                labels = (*label(a.span, "stored"), *label(b.span, f"loaded {here}"))
                yield reject(p, "FUSE_REJECT_UNPROFITABLE", why, *labels)


def _many_streams(p: Pair) -> Iterator[Rejection]:
    """Arrays of which none is in both loops, and some are written: nothing is moved less, and of
    many that begin at the same place in a page, loads wait for stores to others.
    """
    first, second = (accesses((loop,)) for loop in (p.first, p.second))
    arrays = {a.array for a in (*first, *second)}
    shared = {a.array for a in first} & {a.array for a in second}
    written = any(a.is_write for a in (*first, *second))
    if written and not shared and len(arrays) > STREAMS:
        why = f"they share none of the {len(arrays)} arrays that they go through"
        yield reject(p, "FUSE_REJECT_UNPROFITABLE", why)


def _folds_in_any_order(p: Pair) -> Iterator[Rejection]:
    """Folds down columns, or of a product, whose loops around go in the order, and in the blocks,
    that memory likes: not if one of these folds itself, or has something else beside the next.
    """
    for mine, other in ((p.first, p.second), (p.second, p.first)):
        access = None if _is_free(other, len(nest(mine))) else _shared(p, mine)
        if access is not None and _is_free(mine, 1):
            why = f"folds over `{access.array}` could no longer go in another order, or in blocks"
            yield reject(p, "FUSE_REJECT_UNPROFITABLE", why, *label(access.span, "folded"))


def _is_free(loop: Loop, levels: int) -> bool:
    """Whether so many loops, each the only thing in the one before, need nothing of the iteration
    before.
    """
    inside = nest(loop)[:levels]
    return len(inside) == levels and not any(
        {a.name for a in n.accs} & reads(*n.body, *(a.step for a in n.accs)) for n in inside
    )


def _shared(p: Pair, loop: Loop) -> Access | None:
    """A load in a fold that other folds beside it share: of the next row each time, where a loop
    around would take the next element; or the same in all iterations of a loop around, where
    another load is the same in those of another.
    """
    params = {q.name: q for q in p.kernel.params}
    inside = [n for s in loop.body for n in walk(s) if isinstance(n, Loop) and n.accs]
    folds = {n.var for n in inside if not is_written_out(n)}
    steady: dict[str, set[frozenset[str]]] = {}
    for a in accesses((loop,), (), p.known):
        moving = {v for v in a.loops if any(f is None or f.coefficient(v) for f in a.index)}
        fold = next((v for v in a.loops if v in folds & moving), None)
        if a.is_write or fold is None:
            continue
        around = a.loops[: a.loops.index(fold)]
        kept = steady.setdefault(fold, set())
        kept.add(frozenset(around) - moving)
        if len(kept - {frozenset()}) > 1 or any(unit_stride(a, params[a.array], v) for v in around):
            return a
    return None


def in_vectors(p: Pair, loop: Loop) -> bool:
    """Whether `loop` alone may take several iterations at once."""
    return (
        innermost(loop)
        and all(d.distance == 0 or d.kind != "flow" for d in dependences(loop, p.kernel))
        and all(fold_of(a, loop) for a in loop.accs)
    )
