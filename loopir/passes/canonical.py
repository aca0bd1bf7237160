"""Canonical loops: ``[0, n)``, step 1, over arrays by subscript; and no name bound twice."""
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ..algebra.rules import rewrite
from ..algebra.values import integer
from ..names import Fresh, rebound, rename, substitute
from ..nodes import (
    Assign,
    Call,
    Expr,
    If,
    Interval,
    Kernel,
    Load,
    Loop,
    RangeDesc,
    Stmt,
    Var,
    While,
    Zip,
)
from ..types import INDEX
from .blocks import Block, map_blocks, map_stmts
from .foreseen import foreseen

__all__ = ["canonical"]


def canonical(kernel: Kernel) -> Kernel:
    """Every loop counts from a first iteration by one, zips are loads, and a ``while`` that numbers
    alone end is a loop. Before::

        def k(x: f64[:], out: mut(f64[:])):
            disjoint(x, out)
            for i, v in zip(range(0, x.shape[0], 2), x):
                out[i] = v

    after::

        def k(x: f64[:], out: mut(f64[:])):
            disjoint(x, out)
            for i in loop(0, max(x.shape[0] + 1, 0) // 2):
                v = x[i * 2]
                out[i * 2] = v
    """
    kernel = _distinct(kernel)
    fresh = Fresh(kernel)
    return map_stmts(kernel, lambda s: _canonical(s, fresh))


def _canonical(s: Stmt, fresh: Fresh) -> Stmt:
    if isinstance(s, While):
        return foreseen(s, fresh)
    s = _unzipped(s) if isinstance(s, Zip) else s
    return _counted(s) if isinstance(s, Loop) and isinstance(s.range, RangeDesc) else s


def _unzipped(s: Zip) -> Loop:
    """The loop whose first statements load what the zip's names stand for."""
    at = (Var(s.var, INDEX),)
    loads = tuple(Assign(x.name, Load(x.array, at, x.dtype), span=s.span) for x in s.streams)
    return Loop(s.var, s.range, (*loads, *s.body), s.accs, span=s.span)


def _counted(s: Loop) -> Loop:
    """The loop over the numbers of its iterations."""
    assert isinstance(s.range, RangeDesc)
    start, end, step = s.range.start, s.range.end, s.range.step
    length = _op("sub", end, start) if step > 0 else _op("sub", start, end)
    room = _op("max", _op("add", length, integer(abs(step) - 1)), integer(0))
    count = _op("floordiv", room, integer(abs(step)))
    value = {s.var: _op("add", _op("mul", Var(s.var, INDEX), integer(step)), start)}
    body = tuple(substitute(x, value) for x in s.body)
    accs = tuple(replace(a, step=substitute(a.step, value)) for a in s.accs)
    until = None if s.until is None else substitute(s.until, value)
    return replace(s, range=Interval(integer(0), count), body=body, accs=accs, until=until)


def _op(op: str, a: Expr, b: Expr) -> Expr:
    return rewrite(Call(op, (a, b), INDEX))


def _distinct(kernel: Kernel) -> Kernel:
    """`kernel` where blocks beside each other share no name for different things."""
    shared = rebound(kernel)
    if not shared:
        return kernel
    fresh, seen = Fresh(kernel), set[str]()

    def edit(b: Block) -> Block:
        own = [n for s in b.stmts for n in _binds(s) if n in shared]
        names = {n: fresh.name(n) for n in own if n in seen}
        seen.update(own)
        if not names:
            return b
        stmts = tuple(rename(s, names) for s in b.stmts)
        results = tuple(rename(e, names) for e in b.results)
        return Block(stmts, results, rename(b.until, names) if b.until else None)

    return map_blocks(kernel, edit)


def _binds(s: Stmt) -> Iterator[str]:
    """The names that `s` binds in its own block."""
    match s:
        case Assign():
            yield s.name
        case If():
            yield from (y.name for y in s.yields)
        case Loop() | Zip() | While():
            yield from (a.name for a in s.accs)
