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
    """The cost of one execution of the vector code in `n`, in additions of a register: each
    operation its `Op.weight`, each load, store and append 1. ``y[i:8] = exp(x[i:8]) + z[i:8]``
    costs 12: 8 for exp, 1 for the sum, 3 for memory. Scalar code in it, such as subscripts, counts
    nothing: it runs beside the vector units, and is mostly hoisted.
    """
    below = sum(vector_cost(c) for c in children(n))
    if getattr(n, "lanes", 0) == 1:
        return below
    if isinstance(n, ir.Call):
        return below + OPS[n.op].weight
    return below + isinstance(n, (ir.Load, ir.Store, ir.Append))


def registers_per_group(loop: ir.VecLoop | ir.PredLoop, target: Target) -> int:
    """Registers per group (LLVM: the interleave count) of a loop without accumulators of its own.
    Cases, in this order:

    - no vectors, or a loop that appends, whose appended elements have to stay in order: 1;
    - inner loops that the registers can share (`can_jam_inner_loops`): as many as fit in registers
      beside what the inner loops carry, so that loads and latencies are shared (the columns of a
      matrix product's tile); fewer where the results of the sums stall (`results_stall`);
    - else enough to hide latency in a cheap body (`interleave_count`).
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
    """Whether interleaved registers can run the inner loops of `loop` together: it has
    some, each counted or a ``while``, and is a VecLoop without early exit.
    """
    inner = [n for s in loop.body for n in walk_statements(s) if isinstance(n, ir.LoopLike)]
    runs_to_end = isinstance(loop, ir.VecLoop) and loop.until is None
    return runs_to_end and bool(inner) and all(isinstance(n, ir.Loop | ir.While) for n in inner)


def _carried_vectors(loop: ir.VecLoop | ir.PredLoop) -> int:
    """The most vectors that an inner loop of `loop` carries."""
    loops = (n for s in loop.body for n in walk(s) if isinstance(n, ir.Loop | ir.While))
    return max(sum(a.init.lanes != 1 for a in n.accs) for n in loops)


def accumulators_in_registers(loop: ir.VecLoop | ir.PredLoop, target: Target) -> bool:
    """Whether each register of an accumulator of a legal loop is a C variable, and the body is
    unrolled for each; else they are in an array, over which a loop runs.
    """
    assert isinstance(loop.width, int)
    assert loop.group
    registers = loop.group // loop.width
    if registers == 1:
        return True
    has_enough_registers = target.bits > 0 and registers <= target.registers
    return has_enough_registers and registers * vector_cost(loop) <= _MAX_UNROLLED_COST


def store_to_align(
    loop: ir.VecLoop | ir.PredLoop, arrays: Mapping[str, ir.Param], known: Container[str]
) -> ir.Store | None:
    """The store for which `loop` peels its first elements, so that whole groups store to aligned
    addresses: its first one. None if aligning is impossible or not worth three copies of the body.

    The store must be unmasked and contiguous, alone or as one of an interleaved pair, and its
    address computable before the loop: its subscripts read only the loop variable and names in
    `known`.
    """
    store, *rest = [*dropwhile(lambda x: not isinstance(x, ir.Store), loop.body), None]
    if loop.accs or not isinstance(loop, ir.VecLoop) or not isinstance(store, ir.Store):
        return None
    if store.value.lanes == 1 or store.mask is not None or store.step != 1:
        return None
    if vector_cost(loop) > _MAX_PEELED_COST or can_jam_inner_loops(loop):
        return None
    names = {x.name for i in store.index for x in walk(i) if isinstance(x, ir.Var)} - {loop.var}
    if not all(x in known for x in names):
        return None
    stride, second = arrays[store.array].step(store.axis), rest[0]
    is_pair = second is not None and are_interleaved_stores(store, second, arrays)
    return store if stride == 1 or (stride == 2 and is_pair) else None


def is_streaming_store(
    store: ir.Store, v: Vec, arrays: Mapping[str, ir.Param], read: Container[str], target: Target
) -> bool:
    """Whether `store` should be non-temporal (past the caches) where its array is large: the target
    has such an instruction for a whole register, and the kernel does not read the array. How large,
    the C code tests at run time (`c_vector_loops`).
    """
    is_contiguous = v.bits == target.bits and arrays[store.array].unit == store.axis
    return bool(target.stream) and is_contiguous and store.array not in read


def interleaved_neighbour(load: ir.Load, arrays: Mapping[str, ir.Param]) -> ir.Load | None:
    """The load of the element directly after `load` in each lane, for arrays of pairs such as
    complex numbers (``z[i:W, 0]`` → ``z[i:W, 1]``); None otherwise.
    """
    p = arrays[load.array]
    if p.unit is None or (p.step(load.axis), load.step) != (2, 1):
        return None
    if load.dtype == "bool" or DTYPES[load.dtype].wide:
        return None
    index = _next_of_pair(load.index, p.unit)
    return replace(load, index=index) if index else None


def _next_of_pair(index: tuple[ir.Expr, ...], unit: int) -> tuple[ir.Expr, ...] | None:
    """The subscripts of the next element along the axis `unit`; None if the subscript there is no
    constant.
    """
    position = index[unit]
    if not isinstance(position, ir.Const):
        return None
    return *index[:unit], replace(position, value=position.value + 1), *index[unit + 1 :]


def are_interleaved_stores(first: ir.Stmt, second: ir.Stmt, arrays: Mapping[str, ir.Param]) -> bool:
    """Whether two stores fill adjacent elements of pairs, such as the parts of complex numbers:
    ``z[i:W, 0] = a`` and ``z[i:W, 1] = b``.

    The second must read no element that the first writes: at most the one it writes itself.
    """
    if not isinstance(first, ir.Store) or not isinstance(second, ir.Store):
        return False
    unit = arrays[first.array].unit
    if first.value.lanes in {1, None} or first.step != 1 or unit is None or unit == first.axis:
        return False
    index = _next_of_pair(first.index, unit)
    if index is None:
        return False
    same_type = (second.value.dtype, second.value.lanes) == (first.value.dtype, first.value.lanes)
    is_next = second == replace(first, index=index, value=second.value)
    reads_only_own_element = all(
        (x.index, x.axis, x.step) == (index, second.axis, second.step)
        for x in walk(second) if isinstance(x, ir.Load)
    )
    return same_type and is_next and reads_only_own_element
