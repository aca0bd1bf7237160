"""What the passes make of each nest, beside what it is: the choices of the cost model, as text."""
from __future__ import annotations

from collections.abc import Iterator

from ..loopset import LoopSet, loop_set, show_loop_set
from ..machine import Machine
from ..nodes import If, Kernel, Loop, LoopLike, Stmt
from ..tiles import strip_length, tiles
from ..types import DTYPES
from .permute import permute
from .promote import promote
from .vectorize_outer import lanes_of

__all__ = ["show_plans"]

_SHOWN = 4  # of the tiles, the best


def show_plans(kernel: Kernel, machine: Machine, *, reassociate: bool = True) -> str:
    """Each nest of scalar `kernel` as a LoopSet, then how it is run on `machine`: the order of its
    loops, the vector loops with the cost of all others, tiles of registers, strips.
    """
    pairs = zip(kernel.body, promote(permute(kernel)).body, strict=True)
    texts = (
        (*show_loop_set(old, kernel), *_plan(new, kernel, machine, reassociate))
        for old, new in pairs
        if isinstance(old, LoopLike)
    )
    return "\n\n".join("\n".join(lines) for lines in texts)


def _plan(nest: Stmt, kernel: Kernel, machine: Machine, reassociate: bool) -> Iterator[str]:
    """The choices for a nest whose loops are in their order."""
    if isinstance(nest, If):  # where it runs at all
        nest = next((s for s in nest.then if isinstance(s, Loop)), nest)
    if not isinstance(nest, Loop):
        return
    try:
        found = loop_set(nest, kernel)
    except ValueError:
        return  # a loop of another kind within
    yield f"order {' '.join(found.loops)}"
    lanes = lanes_of(nest, kernel, reassociate=reassociate)
    yield f"vectors along {' '.join(v for v in found.loops if v in lanes) or 'no loop'}"
    costs = ", ".join(f"{v} {found.cost({v}):g}" for v in found.loops)
    yield f"cost in additions: scalar {found.cost(()):g}, {costs}"
    if folds := _folds_of_lanes(found, lanes):
        best, *others = tiles(machine, folds)[:_SHOWN]
        yield f"tile {best} cycles; else {', '.join(map(str, others))}"
        size = max(DTYPES[o.dtype].bytes for o in found.operations)
        row = best.columns * machine.bytes
        yield f"strips of {strip_length(machine.caches[1], row)} terms, {row // size} sums abreast"


def _folds_of_lanes(found: LoopSet, lanes: frozenset[str]) -> int:
    """How many sums each lane has of its own, in loops within the vector loop."""
    starts = (o for o in found.operations if o.op == "result")
    return sum(any(v in o.around for v in lanes) for o in starts)
