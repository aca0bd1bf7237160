"""Nest plans: the cost model's choices for each nest (order, vector loops, tiles), as text."""
from __future__ import annotations

from collections.abc import Iterator

from ..analysis.loop_set import LoopSet, loop_set, show_loop_set
from ..dtypes import DTYPES
from ..machine_model import Machine, register_tiles, strip_length
from ..nodes import If, Kernel, Loop, LoopLike, Stmt
from ..process.signal_exceptions import failures
from .loops.permute_loops import permute_loops
from .memory.promote import promote
from .vector.vectorize_outer import best_vector_loops

__all__ = ["show_nest_plans"]

_MAX_SHOWN_TILES = 4  # only the best tiles are shown


def show_nest_plans(kernel: Kernel, machine: Machine, *, reassociate: bool = True) -> str:
    """Each loop nest of scalar `kernel` as a LoopSet, then the plan for it on `machine`. Of a
    matrix product of f32, the plan on `DEFAULT_MACHINE` is::

        order j i k                                                        permute_loops
        vectors along j                                                    best_vector_loops
        cost in additions: scalar 132096, j 16512, i 79872, k 87040        LoopSet.cost
        tile 6 x 2: 0.833 cycles; else 5 x 2: 0.85, 2 x 4: 0.875           register_tiles
        strips of 1024 terms, 16 sums abreast                              strip_length

    (with what decides it on the right, which is not in the text). It asks the functions that the
    passes ask, and changes nothing. ``--emit loopset`` shows it.
    """
    pairs = zip(kernel.body, promote(permute_loops(kernel)).body, strict=True)
    texts = (
        (*show_loop_set(old, kernel), *_nest_plan(new, kernel, machine, reassociate))
        for old, new in pairs
        if isinstance(old, LoopLike)
    )
    return "\n\n".join("\n".join(lines) for lines in texts)


def _nest_plan(nest: Stmt, kernel: Kernel, machine: Machine, reassociate: bool) -> Iterator[str]:
    """The plan for a nest whose loops have been permuted already."""
    if isinstance(nest, If):  # a version that runs under a condition
        nest = next((s for s in nest.then if isinstance(s, Loop)), nest)
    if not isinstance(nest, Loop):
        return
    try:
        graph = loop_set(nest, kernel)
    except failures(ValueError):
        return  # a loop of another kind within
    yield f"order {' '.join(graph.loops)}"
    vector_loops = best_vector_loops(nest, kernel, reassociate=reassociate)
    yield f"vectors along {' '.join(v for v in graph.loops if v in vector_loops) or 'no loop'}"
    costs = ", ".join(f"{v} {graph.cost({v}):g}" for v in graph.loops)
    yield f"cost in additions: scalar {graph.cost(()):g}, {costs}"
    if folds := _reductions_per_lane(graph, vector_loops):
        best, *others = register_tiles(machine, folds)[:_MAX_SHOWN_TILES]
        yield f"tile {best} cycles; else {', '.join(map(str, others))}"
        size = max(DTYPES[o.dtype].bytes for o in graph.operations)
        row = best.columns * machine.bytes
        yield f"strips of {strip_length(machine.caches[1], row)} terms, {row // size} sums abreast"


def _reductions_per_lane(graph: LoopSet, vector_loops: frozenset[str]) -> int:
    """How many accumulators each lane has in loops inside the vector loop."""
    results = (o for o in graph.operations if o.op == "result")
    return sum(any(v in o.around for v in vector_loops) for o in results)
