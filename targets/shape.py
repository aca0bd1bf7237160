"""How much work a loop's body is, and so in how many registers at once it runs."""
from __future__ import annotations

from loopir import nodes as ir
from loopir.ops import OPS

from .target import Target

__all__ = ["in_registers", "unroll", "weight"]

_WRITTEN_OUT = 96.0
"""Weight of code above which a group's registers are looped over instead of written out."""


def weight(n: ir.Node) -> float:
    """The cost of evaluating the vector code below `n` once, in adds; a load or store counts one."""
    own = OPS[n.op].weight if isinstance(n, ir.Call) else float(isinstance(n, (ir.Load, ir.Store, ir.Append)))
    return own * (getattr(n, "lanes", 0) != 1) + sum(weight(c) for c in ir.children(n))


def unroll(loop: ir.VecLoop | ir.PredLoop, target: Target) -> int:
    """Registers a group of a loop without accumulators: enough to hide latency in cheap bodies."""
    if target.bits == 0 or any(isinstance(x, ir.Append) for x in ir.walk(loop)):
        return 1
    cost = weight(loop)
    return 4 if cost <= 8 else 2 if cost <= 16 else 1


def in_registers(loop: ir.VecLoop | ir.PredLoop, target: Target) -> bool:
    """Whether the accumulators of a legal loop stay in registers, its body written out for each of them."""
    assert isinstance(loop.width, int) and loop.group
    count = loop.group // loop.width
    if count == 1:
        return True
    return target.bits > 0 and count <= target.registers and count * weight(loop) <= _WRITTEN_OUT
