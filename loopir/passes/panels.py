"""Panels: what the lanes of a short fold gather, laid side by side for those who ask again."""
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from ..algebra.index import least, less, minus, plus
from ..algebra.values import integer
from ..analysis.varying import Varying
from ..names import Fresh, bound, reads, substitute
from ..nodes import Assign, Expr, Interval, Load, Local, Loop, Param, Stmt, Store, Var
from ..tree import bottom_up, walk
from ..types import INDEX
from .jam import one_lane
from .lift import WIDTH
from .short_folds import SHORT
from .strip_mine import longest

__all__ = ["Panels", "gathers", "is_short"]


def is_short(fold: Loop, tests: tuple[Expr, ...]) -> bool:
    """Whether `fold` has a panel's rows at most where all of `tests` hold, and does just that."""
    if fold.until is not None or not isinstance(fold.range, Interval):
        return False
    if not all(isinstance(s, Assign) for s in fold.body):
        return False
    asked = less(minus(fold.range.hi, fold.range.lo), SHORT)
    return (longest(fold.range) or SHORT + 1) <= SHORT or asked in tests


def gathers(
    rows: Loop, body: tuple[Stmt, ...], fold: Loop, params: dict[str, Param]
) -> Iterator[Load]:
    """What `fold`, which stands in `body`, loads from places that lie apart, the same in each
    iteration of `rows`.
    """
    varying, own = Varying(one_lane(rows)), bound(fold, *body) - {fold.var}
    for n in dict.fromkeys(n for n in walk(fold) if isinstance(n, Load) and n.lanes != 1):
        apart = n.array in params and (params[n.array].unit, n.step) != (n.axis, 1)
        shared = not varying.differs(*n.index) and not own & reads(*n.index)
        if apart and shared and fold.var in reads(*n.index):
            yield n


class Panels:
    """One for each of the `loads` of a fold, which is ``fold`` with them, and ``old`` without."""

    def __init__(self, fold: Loop, loads: tuple[Load, ...], fresh: Fresh) -> None:
        assert isinstance(fold.range, Interval)
        self.old = fold
        self._terms, self._var, self._fresh = _bounded(fold.range), fold.var, fresh
        self._panels = {x: fresh.name(x.array) for x in loads}
        self.fold = replace(bottom_up(fold, self._unpacked), range=self._terms)
        self.locals = [Local(p, x.dtype, SHORT, WIDTH) for x, p in self._panels.items()]

    def filled(self) -> Iterator[Loop]:
        """Loops that fill them."""
        for x, panel in self._panels.items():
            k = Var(self._fresh.name(self._var), INDEX)
            store = Store(panel, self._row(k), substitute(x, {self._var: k}), axis=1)
            yield Loop(k.name, self._terms, (store,))

    def _row(self, k: Expr) -> tuple[Expr, Expr]:
        return minus(k, self._terms.lo), integer(0)

    def _unpacked(self, x: Any) -> Any:
        if not isinstance(x, Load) or x not in self._panels:
            return x
        return Load(self._panels[x], self._row(Var(self._var, INDEX)), x.dtype, x.lanes, axis=1)


def _bounded(r: Interval) -> Interval:
    """`r`, which is short, so that it says so."""
    if longest(r) is not None:
        return r
    return Interval(r.lo, least(plus(r.lo, SHORT), r.hi))
