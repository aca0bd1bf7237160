"""Interior: the iterations in which all of a loop's tests of place come out one way, on their own.

Known as index-set splitting.
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import reduce
from typing import Any

from ..affine import Affine, affine
from ..names import bound, rename
from ..nodes import Assign, Call, Const, Expr, If, Interval, Kernel, Loop, Stmt, Var, While
from ..tree import N, bottom_up, map_children, walk
from ..types import INDEX
from .asked import Test, tests
from .names import Fresh
from .rules import rewrite
from .simplify import simplify
from .values import integer

__all__ = ["interior"]

SIZE = 1500  # nodes of what is made: beyond, the tests stay where they are


def interior(kernel: Kernel) -> Kernel:
    """A loop that asks in each iteration whether a neighbour is there is made three: near its ends
    it asks, in between it need not. What it asks of places in loops inside is asked of their ends.
    Before::

        def k(x: f64[::1], out: mut(f64[::1])):
            disjoint(x, out)
            for i in loop(0, x.shape[0]):
                out[i] = select(i > 0, x[select(i > 0, i - 1, 0)], 0.0)

    after::

        def k(x: f64[::1], out: mut(f64[::1])):
            disjoint(x, out)
            end = min(x.shape[0], 1)
            for i_1 in loop(0, end):
                out[i_1] = 0.0
            for i in loop(end, x.shape[0]):
                out[i] = x[i - 1]
    """
    splits = _Splits(kernel)
    made: Kernel = splits.all(kernel)
    return kernel if made is kernel else simplify(made)


class _Splits:
    """Makes several loops of one."""

    def __init__(self, kernel: Kernel) -> None:
        self._fresh = Fresh(kernel)

    def all(self, n: Any, *, exact: bool = False) -> Any:
        """`n` with its loops split, outer ones first; only by ``exact`` tests, or by all."""
        match n:
            case Loop():
                return self._loop(n, exact)
            case If() | While() | Kernel():
                return self._inside(n, exact=exact)
            case _:
                return n

    def _inside(self, n: N, *, exact: bool) -> N:
        return map_children(n, lambda c: self.all(c, exact=exact))

    def _loop(self, n: Loop, exact: bool) -> Any:
        found = [t for t in tests(n) if t.exact or not exact]
        settled = {t.call: t.then for t in found if _is_idle(t, n)}
        lows = [t for t in found if t.low and t.call not in settled]
        highs = [t for t in found if not t.low and t.call not in settled]
        if lows or highs:
            small = 3 * sum(1 for _ in walk(n)) <= SIZE
            return self._split(n, lows, highs, settled, exact) if small else n
        return self._inside(_decided(n, settled), exact=exact)

    def _split(
        self,
        n: Loop,
        lows: Sequence[Test],
        highs: Sequence[Test],
        settled: Mapping[Call, bool],
        exact: bool,
    ) -> tuple[Stmt, ...]:
        """`n` up to where all of `lows` hold, from there to where one of `highs` does not, and on.
        """
        assert isinstance(n.range, Interval)
        lo, hi = n.range.lo, n.range.hi
        out: list[Stmt] = []
        cuts: list[Expr] = [lo]
        if lows:
            first = reduce(_most, map(_expr, _bounds(lows)), lo)
            cuts.append(self._named(_least(hi, first), out))
        if highs:
            last = reduce(_least, map(_expr, _bounds(highs)), hi)
            cuts.append(self._named(_most(cuts[-1], last), out))
        cuts.append(hi)
        known = [dict(settled) | {t.call: t.then for t in (*lows, *highs)}]
        if lows:
            known.insert(0, dict(settled) | _opposite(lows))
        if highs:
            known.append(dict(settled) | _opposite(highs))
        inits = [a.init for a in n.accs]
        for k, decided in enumerate(known):
            at_end = (bool(lows) and k == 0) or (bool(highs) and k == len(known) - 1)
            piece = self._inside(_decided(n, decided), exact=exact or at_end)
            if k < len(known) - 1:
                piece = rename(piece, {x: self._fresh.name(x) for x in sorted(bound(piece))})
            accs = tuple(replace(a, init=e) for a, e in zip(piece.accs, inits, strict=True))
            out.append(replace(piece, range=Interval(cuts[k], cuts[k + 1]), accs=accs))
            inits = [Var(a.name, a.init.dtype) for a in accs]
        return tuple(out)

    def _named(self, e: Expr, out: list[Stmt]) -> Expr:
        """`e` under a name, once for all."""
        if isinstance(e, Const):
            return e
        name = self._fresh.name("end")
        out.append(Assign(name, e))
        return Var(name, INDEX)


def _bounds(tests: Sequence[Test]) -> list[Affine]:
    return list(dict.fromkeys(t.bound for t in tests))


def _opposite(tests: Sequence[Test]) -> dict[Call, bool]:
    """What the tests are where one of them fails, if that is known."""
    known = len(_bounds(tests)) == 1 and all(t.exact for t in tests)
    return {t.call: not t.then for t in tests} if known else {}


def _is_idle(t: Test, n: Loop) -> bool:
    """Whether a test comes out the same all through the loop."""
    assert isinstance(n.range, Interval)
    end = affine(n.range.lo if t.low else n.range.hi)
    margin = None if end is None else (end - t.bound if t.low else t.bound - end).number
    return margin is not None and margin >= 0


def _decided(n: Loop, known: Mapping[Call, bool]) -> Loop:
    """`n` with the outcomes of comparisons in their place."""
    if not known:
        return n
    done: Loop = bottom_up(
        n, lambda e: Const(known[e], "bool") if isinstance(e, Call) and e in known else e
    )
    return done


# -- bounds as expressions


def _expr(form: Affine) -> Expr:
    """The value of a form without loop variables."""
    out: Expr = integer(form.offset)
    for symbol, c in sorted(form.symbols, key=lambda term: term[1] < 0):
        size = rewrite(Call("mul", (symbol, integer(abs(c))), INDEX))
        first, second = (size, out) if c > 0 else (out, size)
        out = rewrite(Call("add" if c > 0 else "sub", (first, second), INDEX))
    return out


def _least(a: Expr, b: Expr) -> Expr:
    return a if a == b else rewrite(Call("min", (a, b), INDEX))


def _most(a: Expr, b: Expr) -> Expr:
    return a if a == b else rewrite(Call("max", (a, b), INDEX))
