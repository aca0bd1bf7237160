"""The body of a vector loop as C, for one register."""
from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TypeAlias

from loopir import nodes as ir
from loopir.tree import counters, walk
from loopir.types import DTYPES

from ..shape import neighbour
from ..target import Vec, mask_type
from .expressions import expr, loaded_together
from .masks import any_lane, as_width, both, logic
from .scope import Region, Scope
from .text import assignments, bracketed, plain
from .variables import held, type_of
from .vecops import operation

__all__ = [
    "Block", "Vectored", "accumulator_type", "predicated_bodies", "reads", "register_body",
    "together", "vector_accs",
]

Block: TypeAlias = Callable[..., Iterator[str]]
"""Gives the lines of statements, for each of some scopes: ``statements.block``."""
Vectored: TypeAlias = "ir.VecLoop | ir.PredLoop"


def vector_accs(n: Vectored) -> list[ir.VecAccum]:
    """The accumulators that have lanes: all but the counters of appended arrays."""
    counts = counters(n)
    return [a for a in n.accs if a.name not in counts]


def accumulator_type(a: ir.VecAccum, width: int, s: Scope) -> str:
    """The C type of one of its registers."""
    if width == 1:
        return DTYPES[a.init.dtype].c
    return mask_type(s.target, width) if a.init.dtype == "bool" else Vec(a.init.dtype, width).name


def register_body(n: Vectored, s: Scope, block: Block) -> Iterator[str]:
    """The lines for the register that `s` describes and has names for."""
    if isinstance(n, ir.PredLoop) and s.region is not None:
        yield from predicated_bodies(n, (s,), block)
        return
    s.loaded = {}
    yield from reads(n, s)
    if isinstance(n, ir.PredLoop):
        yield f"if {bracketed(expr(n.pred, s))} {{"
        yield from _acting(n, s, block)
        yield "}"
    else:
        yield from _acting(n, s, block)


def predicated_bodies(n: ir.PredLoop, scopes: Iterable[Scope], block: Block) -> Iterator[str]:
    """The lines for the registers that `scopes` describe: all masks, then what acts under them."""
    assert isinstance(n.width, int)
    acting, some = [], ""
    for s in scopes:
        assert s.region
        s.loaded = {}
        yield from reads(n, s)
        pred, lanes, on = expr(n.pred, s), s.region.lanes, s.fresh("on")
        both_hold = both((pred, s.region.live), lanes, s.target) or pred
        yield f"const {mask_type(s.target, lanes)} {on} = {plain(both_hold)};"
        inner = s.inner(Region(lanes, s.region.count, s.region.live, on))
        acting.append(replace(inner, taken=s.taken))
        some = logic("or", (some, on), lanes, s.target) if some else on
    if n.skips:
        yield f"if ({any_lane(some, n.width, acting[0].target)}) {{"
    for s in acting:
        yield from _acting(n, s, block)
    if n.skips:
        yield "}"


def together(n: Vectored, scopes: Sequence[Scope], block: Block) -> Iterator[str]:
    """The lines for the registers that `scopes` describe, which share the loops in the body."""
    yield from block(n.body, *scopes)
    for s in scopes:
        yield from _stepped(n, s)


def _acting(n: Vectored, s: Scope, block: Block) -> Iterator[str]:
    yield from block(n.body, s)
    yield from _stepped(n, s)


def _stepped(n: Vectored, s: Scope) -> Iterator[str]:
    """The accumulators' new values."""
    width = s.region.lanes if s.region else 1
    accs = vector_accs(n)
    types = [accumulator_type(a, width, s) for a in accs]
    new = [(s.names[a.name], t, plain(_step(a, s))) for a, t in zip(accs, types, strict=True)]
    yield from assignments(new, s.fresh)


def _step(a: ir.VecAccum, s: Scope) -> str:
    """An accumulator's new value: the old one in lanes that do not act."""
    new, old = expr(a.step, s), s.names[a.name]
    if s.region is None or s.region.on is None or new == old:
        return new
    on, lanes, dtype = s.region.on, s.region.lanes, a.init.dtype
    if dtype == "bool":
        return logic("select", (on, new, old), lanes, s.target)
    mask = as_width(on, lanes, DTYPES[dtype].bits, s.target)
    return operation("select", Vec(dtype, lanes), (mask, new, old), s.target)


# -- loads that occur twice, or beside others


def reads(n: Vectored, s: Scope) -> Iterator[str]:
    """Names what would be loaded more than once before anything is stored, and neighbours."""
    early = (x for part in _before_writes(n) for x in walk(part))
    loads = Counter(x for x in early if isinstance(x, ir.Load) and x.lanes != 1 and _known(x, s))
    for load, times in loads.items():
        beside = neighbour(load, s.arrays)
        if beside is not None and beside in loads:
            yield from _both(load, beside, s)
        elif times > 1 and load not in s.loaded:
            text = plain(expr(load, s))
            yield f"{type_of(load, s.target)} {_named(load, s)} = {text};"
            if load.dtype != "bool":
                yield held(s.loaded[load], load, s)


def _both(load: ir.Load, beside: ir.Load, s: Scope) -> Iterator[str]:
    names = _named(load, s), _named(beside, s)
    yield f"{type_of(load, s.target)} {', '.join(names)};"
    yield loaded_together(load, names, s)
    yield from (held(c, load, s) for c in names)


def _named(load: ir.Load, s: Scope) -> str:
    c = s.loaded[load] = s.fresh(f"{s.names[load.array]}_i")
    return c


def _before_writes(n: Vectored) -> list[ir.Node]:
    """What the body evaluates, in order, up to the first value that is stored."""
    parts: list[ir.Node] = [n.pred] if isinstance(n, ir.PredLoop) else []
    for statement in n.body:
        if isinstance(statement, (ir.Assign, ir.Check, ir.Prefix, ir.Store, ir.Append)):
            parts.append(statement)
        if not isinstance(statement, (ir.Assign, ir.Check, ir.Prefix)):
            return parts
    return [*parts, *n.accs]


def _known(load: ir.Load, s: Scope) -> bool:
    """Whether a load can stand at the head of the body: its subscripts use nothing bound there."""
    return all(x.name in s.names for i in load.index for x in walk(i) if isinstance(x, ir.Var))
