"""Vector IR → legal IR for one target: lanes for the abstract width, groups, mask forms.

``for i in vec(0, n, width=W): y[i:W] = x[i:W] + …`` →
``for i in vec(0, n, width=16, group=64): y[i:16] = x[i:16] + …``

A loop has as many lanes as a register holds of its widest dtype; narrower dtypes use narrower
vectors. Where a target has no vectors the width is 1 and the loop is scalar code, with an
accumulator for each lane of the group; so it is where a predicated loop asks for a branch per lane.
Of the two other forms a target has the one that its masks are made for, whichever was asked for.
A predicated loop branches around a dear body where none of its lanes acts. Of elements in random
places ``exp(x) + log(x)`` takes, in ns each of float64, with GCC:

======  =====  =====  =====  =====  =====  =====  ==================  ==================
ISA     none   1 %    3 %    10 %   50 %   all    10 %, in one place  without the branch
======  =====  =====  =====  =====  =====  =====  ==================  ==================
avx512  0.11   0.18   0.32   0.86   1.01   1.02   0.20                0.94
avx2    0.12   0.23   0.35   1.12   1.72   1.76   0.30                1.87
======  =====  =====  =====  =====  =====  =====  ==================  ==================
"""
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from loopir import nodes as ir
from loopir.algebra.values import integer
from loopir.tree import counters, ends, map_children, walk
from loopir.types import DTYPES, INDEX

from .pressure import apart
from .shape import shares_loops, unroll, weight
from .target import Target

__all__ = ["legalize", "show_unrolled"]

_GROUP_BYTES = 256
"""Bytes of a group's widest accumulator, where the vectorizer has not fixed the group."""

_DEAR = 12.0
"""Weight of a body above which a branch around it pays, though it is often predicted wrongly."""


def legalize(kernel: ir.Kernel, target: Target) -> ir.Kernel:
    """`kernel` with every vector loop made concrete for `target`."""

    read = {n.array for n in walk(kernel) if isinstance(n, ir.Load)}

    def visit(n: Any) -> Any:
        if isinstance(n, (ir.VecLoop, ir.PredLoop)):
            whole = _loop(_checked_first(n, read) if kernel.stops else n, target)
            return tuple(x for part in _halved(whole, target) for x in apart(part, target))
        return map_children(n, visit)

    return visit(kernel)  # type: ignore[no-any-return]  # a Kernel gives a Kernel


def show_unrolled(legal: ir.Kernel, target: Target) -> Iterator[str]:
    """A line for each vector loop of a legal kernel: its lanes, and how far it is unrolled."""
    for loop in walk(legal):
        if isinstance(loop, ir.VecLoop | ir.PredLoop):
            assert isinstance(loop.width, int)
            factor = max((loop.group or 0) // loop.width, 1)
            yield f"{target.name}: {loop.var} in {loop.width} lanes, unrolled {factor} times"


def _checked_first(loop: ir.VecLoop | ir.PredLoop, read: set[str]) -> ir.VecLoop | ir.PredLoop:
    """`loop` with the stores behind the checks of all lanes: of arrays that nobody reads."""
    last = [isinstance(s, ir.Store) and s.array not in read for s in loop.body]
    if not any(isinstance(s, ir.Check) for s in loop.body) or last == sorted(last):
        return loop
    body = [s for late in (False, True) for s, x in zip(loop.body, last, strict=True) if x is late]
    return replace(loop, body=tuple(body))


def _loop(loop: ir.VecLoop | ir.PredLoop, target: Target) -> ir.VecLoop | ir.PredLoop:
    branches = isinstance(loop, ir.PredLoop) and loop.form is ir.MaskForm.BranchPerLane
    width = 1 if branches else _width(loop, target)
    inside: Any = map_children(loop, lambda n: n if n is loop.range else _resolved(n, width))
    form = {"form": _form(target, width)} if isinstance(loop, ir.PredLoop) else {}
    whole: Any = replace(inside, width=width, **form)
    group = loop.group or _group(loop, width)
    whole = replace(whole, group=group or width * unroll(whole, target))
    return _skipping(whole) if isinstance(whole, ir.PredLoop) else whole


def _halved(
    loop: ir.VecLoop | ir.PredLoop, target: Target
) -> tuple[ir.VecLoop | ir.PredLoop, ...]:
    """`loop`; where its groups are of more registers than most, what fills none has its own."""
    assert isinstance(loop.width, int)
    lo, hi = ends(loop.range)
    group = loop.group or 1
    frozen = not any(isinstance(n, ir.Load) for n in walk(loop.range))
    few = group <= target.model.latency * loop.width or bool(loop.accs)
    if few or not (shares_loops(loop) and frozen):
        return (loop,)
    length = ir.Call("max", (ir.Call("sub", (hi, lo), INDEX), integer(0)), INDEX)
    groups = ir.Call("floordiv", (length, integer(group)), INDEX)
    done = ir.Call("add", (lo, ir.Call("mul", (groups, integer(group)), INDEX)), INDEX)
    first = replace(loop, range=ir.Interval(lo, done))
    return first, replace(loop, range=ir.Interval(done, hi), group=group // 2)


def _skipping(loop: ir.PredLoop) -> ir.PredLoop:
    """`loop`, with a branch around a dear body."""
    dear = sum(weight(n) for n in (*loop.body, *loop.accs)) > _DEAR
    return replace(loop, skips=loop.width != 1 and (dear or loop.skips))


def _width(loop: ir.VecLoop | ir.PredLoop, target: Target) -> int:
    vectors = [n for n in walk(loop) if getattr(n, "lanes", 1) != 1]
    widest = max((DTYPES[n.dtype].bytes for n in vectors), default=8)  # type: ignore[union-attr]
    width = max(1, target.bits // 8 // widest)
    return width if loop.group is None or loop.group % width == 0 else 1


def _group(loop: ir.VecLoop | ir.PredLoop, width: int) -> int | None:
    sizes = [DTYPES[a.init.dtype].bytes for a in loop.accs if a.name not in counters(loop)]
    return max(width, _GROUP_BYTES // max(sizes)) if sizes else None


def _form(target: Target, width: int) -> ir.MaskForm:
    if width == 1:
        return ir.MaskForm.BranchPerLane
    return ir.MaskForm.AVX512Mask if target.masks == "bits" else ir.MaskForm.SelectBlend


def _resolved(n: Any, width: int) -> Any:
    """`n` with vectors of `width` lanes; at width 1 what only makes vectors falls away."""
    n = map_children(n, lambda child: _resolved(child, width))
    if getattr(n, "lanes", 1) != "W":
        return n
    if width == 1 and isinstance(n, (ir.Broadcast, ir.Ramp)):
        return n.value if isinstance(n, ir.Broadcast) else n.base
    return replace(n, lanes=width)
