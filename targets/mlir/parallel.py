"""Which loops may run their iterations in any order, and what they then fold."""
from __future__ import annotations

from loopir import nodes as ir
from loopir.analysis.dependence import dependences
from loopir.analysis.folds import Fold, fold_of
from loopir.tree import counters, walk
from loopir.types import DTYPES

__all__ = ["folds_of"]


def folds_of(loop: ir.Loop, kernel: ir.Kernel, reassociate: bool) -> tuple[Fold, ...] | None:
    """The accumulators of a loop whose iterations have no order, as folds; None if they have one.

    An iteration may then touch no element that another one writes, nor leave the loop.
    """
    if not isinstance(loop.range, ir.Interval) or loop.until is not None:
        return None
    if any(isinstance(n, ir.Return | ir.Break) for n in walk(loop)) or _stops(loop, kernel):
        return None
    own = {a.name for n in walk(loop) for a in getattr(n, "accs", ())} - {a.name for a in loop.accs}
    if counters(loop) - own:
        return None
    if any(d.distance != 0 for d in dependences(loop, kernel)):
        return None
    folds = tuple(f for a in loop.accs if (f := _fold(a, loop, reassociate)) is not None)
    return folds if len(folds) == len(loop.accs) else None


def _stops(loop: ir.Loop, kernel: ir.Kernel) -> bool:
    return kernel.stops and any(isinstance(n, ir.Check) for n in walk(loop))


def _fold(acc: ir.Accum, loop: ir.Loop, reassociate: bool) -> Fold | None:
    """What `acc` folds, where no iteration sees how far it is."""
    fold = fold_of(acc, loop)
    if fold is None or fold.cond is not None:
        return None
    if DTYPES[fold.dtype].kind == "f" and not (fold.is_inexact and reassociate):
        return None  # of a float extremum, the order tells which zero stays, and what a NaN does
    seen = any(isinstance(n, ir.Var) and n.name == acc.name for s in loop.body for n in walk(s))
    return None if seen else fold
