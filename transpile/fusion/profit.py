"""When one loop would take longer than two."""
from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from loopir.analysis.access import accesses
from loopir.analysis.dependence import dependences, distance
from loopir.analysis.folds import fold_of
from loopir.nodes import Loop, LoopLike
from loopir.tree import walk

from ..rejections import Rejection
from .pairs import Pair, label, reject

__all__ = ["innermost", "worthwhile"]

_SOON = 64  # iterations in which a store may not have left the core's buffer


def worthwhile(p: Pair) -> Iterator[Rejection]:
    """No element is loaded soon after it was stored as part of another vector.

    Such a load has to wait for two stores (a core forwards to it from one only), so that the loop
    would rather go element by element.
    """
    if not (_in_vectors(p, p.first) and _in_vectors(p, p.second)):
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


def innermost(loop: Loop) -> bool:
    """Whether no loop is in `loop`."""
    return not any(isinstance(n, LoopLike) for s in loop.body for n in walk(s))


def _in_vectors(p: Pair, loop: Loop) -> bool:
    """Whether `loop` alone may take several iterations at once."""
    return (
        innermost(loop)
        and all(d.distance == 0 or d.kind != "flow" for d in dependences(loop, p.kernel))
        and all(fold_of(a, loop) for a in loop.accs)
    )
