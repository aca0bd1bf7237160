"""Cost model of vector loops: interleave count, jamming, alignment, streaming, paired accesses.

LLVM decides the same in its loop vectoriser's cost model (interleave count, interleaved groups).
`legalize` takes the number of registers in a group from `registers_per_group`; the C printer asks
the other functions how to emit a legal loop. Costs are in additions.
"""
from __future__ import annotations

from collections.abc import Container, Mapping
from itertools import dropwhile

from loopir import nodes as ir
from loopir.dtypes import DTYPES
from loopir.ir_traversal import children, walk, walk_statements
from loopir.lazy_dataclass import replace
from loopir.machine_model import interleave_count, max_tile_columns
from loopir.op_table import OPS
from loopir.passes.loops.jam import results_stall

from ..isa.target import Target, Vec

__all__ = [
    "store_to_align", "recomputes_predicate", "accumulators_in_registers", "interleaved_neighbour",
    "can_jam_inner_loops", "are_interleaved_stores", "is_streaming_store", "registers_per_group",
    "vector_cost",
]

_MAX_UNROLLED_COST = 96.0
"""Weight of code above which a group's registers are looped over instead of unrolled."""

_MAX_PEELED_COST = 24.0
"""Weight of a body above which aligning its stores is not worth three copies of it."""

_MAX_RECOMPUTED_COST = 4.0
"""Weight of a predicate up to which it is recomputed to avoid a branch."""


def recomputes_predicate(loop: ir.PredLoop) -> bool:
    """Whether a skipping loop finds the next active group in a separate loop, recomputing the
    predicate.
    """
    return loop.skips and vector_cost(loop.pred) <= _MAX_RECOMPUTED_COST


def vector_cost(n: ir.Node) -> float:
    """The cost of one execution of the vector code in `n`, in additions; a load or store counts
    one.
    """
    below = sum(vector_cost(c) for c in children(n))
    if getattr(n, "lanes", 0) == 1:
        return below
    if isinstance(n, ir.Call):
        return below + OPS[n.op].weight
    return below + isinstance(n, (ir.Load, ir.Store, ir.Append))


def registers_per_group(loop: ir.VecLoop | ir.PredLoop, target: Target) -> int:
    """Registers per group of a loop without accumulators: enough to hide latency in cheap bodies.
    """
    if target.bits == 0 or any(isinstance(x, ir.Append) for x in walk(loop)):
        return 1
    if can_jam_inner_loops(loop):
        inner = [n for s in loop.body for n in walk(s) if isinstance(n, ir.Loop | ir.While)]
        has_while = any(isinstance(n, ir.While) for n in inner)
        inner_code = [x for n in inner for x in (*n.body, *(a.step for a in n.accs))]
        loads = has_while or any(isinstance(x, ir.Load) for n in inner_code for x in walk(n))
        # what a `while` carries may be spilled: reloads are hidden by its latency
        carried_vectors = 0 if has_while else _carried_vectors(loop)
        if carried_vectors and isinstance(loop, ir.VecLoop) and results_stall(loop):
            return max(target.model.latency // carried_vectors, 1)
        return max_tile_columns(target.model, carried_vectors, loads=loads)
    return interleave_count(target.model, vector_cost(loop))


def can_jam_inner_loops(loop: ir.VecLoop | ir.PredLoop) -> bool:
    """Whether interleaved registers can run the inner loops of `loop` together."""
    inner = [n for s in loop.body for n in walk_statements(s) if isinstance(n, ir.LoopLike)]
    runs_to_end = isinstance(loop, ir.VecLoop) and loop.until is None
    return runs_to_end and bool(inner) and all(isinstance(n, ir.Loop | ir.While) for n in inner)


def _carried_vectors(loop: ir.VecLoop | ir.PredLoop) -> int:
    """The most vectors that an inner loop of `loop` carries."""
    loops = (n for s in loop.body for n in walk(s) if isinstance(n, ir.Loop | ir.While))
    return max(sum(a.init.lanes != 1 for a in n.accs) for n in loops)


def accumulators_in_registers(loop: ir.VecLoop | ir.PredLoop, target: Target) -> bool:
    """Whether the accumulators of a legal loop stay in registers, its body unrolled for each."""
    assert isinstance(loop.width, int)
    assert loop.group
    count = loop.group // loop.width
    if count == 1:
        return True
    return (
        target.bits > 0
        and count <= target.registers
        and count * vector_cost(loop) <= _MAX_UNROLLED_COST
    )


def store_to_align(
    loop: ir.VecLoop | ir.PredLoop, arrays: Mapping[str, ir.Param], known: Container[str]
) -> ir.Store | None:
    """The store whose addresses a map aligns by peeling: the first one, if it is contiguous, alone
    or as one of an interleaved pair; None if aligning is impossible or not worth three copies of
    the body.
    """
    store, *rest = [*dropwhile(lambda x: not isinstance(x, ir.Store), loop.body), None]
    if loop.accs or not isinstance(loop, ir.VecLoop) or not isinstance(store, ir.Store):
        return None
    if store.value.lanes == 1 or store.mask is not None or store.step != 1:
        return None
    if vector_cost(loop) > _MAX_PEELED_COST or can_jam_inner_loops(loop):
        return None
    names = {x.name for i in store.index for x in walk(i) if isinstance(x, ir.Var)} - {loop.var}
    stride, second = arrays[store.array].step(store.axis), rest[0]
    is_pair = (
        stride == 2
        and isinstance(second, ir.Store)
        and are_interleaved_stores(store, second, arrays)
    )
    return store if (stride == 1 or is_pair) and all(x in known for x in names) else None


def is_streaming_store(
    store: ir.Store, v: Vec, arrays: Mapping[str, ir.Param], read: Container[str], target: Target
) -> bool:
    """Whether a large result should use non-temporal stores: the kernel must not read it."""
    is_contiguous = v.bits == target.bits and arrays[store.array].unit == store.axis
    return bool(target.stream) and is_contiguous and store.array not in read


def interleaved_neighbour(load: ir.Load, arrays: Mapping[str, ir.Param]) -> ir.Load | None:
    """The load of the element directly after `load` in each lane, for arrays of pairs such as
    complex numbers; None otherwise.
    """
    p = arrays[load.array]
    if p.unit is None or (p.step(load.axis), load.step) != (2, 1):
        return None
    position = load.index[p.unit]
    if not isinstance(position, ir.Const) or load.dtype == "bool" or DTYPES[load.dtype].wide:
        return None
    next_position = replace(position, value=position.value + 1)
    return replace(load, index=(*load.index[: p.unit], next_position, *load.index[p.unit + 1 :]))


def are_interleaved_stores(first: ir.Stmt, second: ir.Stmt, arrays: Mapping[str, ir.Param]) -> bool:
    """Whether two stores fill adjacent elements of pairs, such as the parts of complex numbers.

    The second must read no element that the first writes: at most the one it writes itself.
    """
    if not isinstance(first, ir.Store) or not isinstance(second, ir.Store):
        return False
    unit = arrays[first.array].unit
    if first.value.lanes in {1, None} or first.step != 1 or unit is None or unit == first.axis:
        return False
    position = first.index[unit]
    if not isinstance(position, ir.Const):
        return False
    index = (
        *first.index[:unit],
        replace(position, value=position.value + 1),
        *first.index[unit + 1 :],
    )
    same_type = (second.value.dtype, second.value.lanes) == (first.value.dtype, first.value.lanes)
    return same_type and second == replace(first, index=index, value=second.value) and all(
        (x.index, x.axis, x.step) == (index, second.axis, second.step)
        for x in walk(second) if isinstance(x, ir.Load)
    )
