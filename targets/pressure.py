"""Folds that were joined, apart again where their accumulators do not fit a target's registers.

``for i in vec(…, width=8, group=64, s=…, q=…, m=…)`` on 16 registers, eight an accumulator →
``for i in vec(…, s=…, q=…)`` and ``for i in vec(…, m=…)``

Each accumulator has the same lanes as before, and so the same bits. Folds run in blocks, so what
the loops read is near when the second one comes. One accumulator a loop would read too often.
"""
from __future__ import annotations

from dataclasses import replace

from loopir import nodes as ir
from loopir.names import used
from loopir.passes.blocks import needed

from .target import Target

__all__ = ["apart"]


def apart(loop: ir.VecLoop | ir.PredLoop, target: Target) -> tuple[ir.VecLoop | ir.PredLoop, ...]:
    """A legal `loop` as loops whose accumulators stay in registers: itself, if that is no gain."""
    assert isinstance(loop.width, int)
    assert loop.group
    at_once = target.registers // (loop.group // loop.width) if target.bits else 0
    if not 2 <= at_once < len(loop.accs) or not _only_folds(loop):
        return (loop,)
    pred = (loop.pred,) if isinstance(loop, ir.PredLoop) else ()
    parts = [loop.accs[k : k + at_once] for k in range(0, len(loop.accs), at_once)]
    return tuple(
        replace(loop, accs=accs, body=needed(loop.body, *pred, *(a.step for a in accs)))
        for accs in parts
    )


def _only_folds(loop: ir.VecLoop | ir.PredLoop) -> bool:
    """No accumulator reads another, and there is nothing else."""
    if loop.tail or (isinstance(loop, ir.VecLoop) and loop.until is not None):
        return False
    if not all(isinstance(s, ir.Assign) for s in loop.body):
        return False
    names = {a.name for a in loop.accs}
    return all(
        names & used(a.step, *needed(loop.body, a.step)) <= {a.name} for a in loop.accs
    )
