"""The heads of scalar loops as C, and what the loops carry."""
from __future__ import annotations

from collections.abc import Iterable, Iterator

from loopir import nodes as ir
from loopir.algebra.values import raising
from loopir.exhaustive import unhandled

from .expressions import expr
from .flagging import only_last
from .scope import Scope
from .text import assignments, plain
from .variables import computed, type_of

__all__ = ["begin", "ends", "flagged", "head", "steps"]


def flagged(bound: Iterable[ir.Accum | ir.Yield], s: Scope) -> Iterator[str]:
    """Has those computed that nothing reads."""
    for x in bound:
        if x.name in s.flagging:
            yield computed(s.names[x.name], x.init if isinstance(x, ir.Accum) else x.then, s)


def head(var: str, rng: ir.Range, s: Scope, inner: Scope) -> str:
    """The head of a loop; `var` is bound in `inner`."""
    match rng:
        case ir.Interval(lo, hi):
            start, stop, sign, step = expr(lo, s), expr(hi, s), "<", 1
        case ir.RangeDesc(lo, hi, step):
            start, stop, sign = expr(lo, s), expr(hi, s), "<" if step > 0 else ">"
        case _:
            unhandled(rng)
    end, i = inner.fresh(f"{var}_end"), inner.bind(var)
    first = f"int64_t {i} = {plain(start)}, {end} = {plain(stop)}"
    return f"for ({first}; {i} {sign} {end}; {i} += {step}) {{"


def begin(accs: Iterable[ir.Accum], s: Scope) -> Iterator[str]:
    """Declares accumulators; none sees another's name yet."""
    starts = [(a.name, type_of(a.init, s.target), plain(expr(a.init, s))) for a in accs]
    for name, kind, start in starts:
        yield f"{kind} {s.bind(name)} = {start};"


def ends(n: ir.Loop | ir.While, *scopes: Scope) -> Iterator[str]:
    """The end of an iteration, after which what may raise a flag has been computed."""
    yield from steps(n.accs, *scopes)
    last = only_last(n)
    for a in n.accs:
        if a.name in last and raising(a.step):
            yield from (computed(s.use(a.name), a.init, s) for s in scopes)


def steps(accs: Iterable[ir.Accum], *scopes: Scope) -> Iterator[str]:
    """The end of an iteration: every step sees the old values. Registers take turns with each."""
    new = [
        (s.use(a.name), type_of(a.step, s.target), plain(expr(a.step, s)))
        for a in accs for s in scopes
    ]
    yield from assignments(new, scopes[0].fresh)
