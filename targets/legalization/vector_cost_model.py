"""Cost model of vector loops: interleave count, jamming, alignment, streaming, paired accesses.

LLVM decides the same in its loop vectoriser's cost model (interleave count, interleaved groups).
`legalize` and the C printer ask it how to make and emit a legal loop: `legalize`, for instance,
takes the number of registers in a group from `registers_per_group`. Costs are in additions.
"""
from __future__ import annotations

from collections.abc import Container, Mapping
from itertools import combinations, dropwhile, product

from loopir import nodes as ir
from loopir.algebra.index_builder import index_add
from loopir.analysis.dependence import may_alias
from loopir.analysis.mod_ref import arrays_read
from loopir.dtypes import DTYPES
from loopir.ir_traversal import children, walk, walk_statements
from loopir.lazy_dataclass import replace
from loopir.machine_model import interleave_count, max_tile_columns
from loopir.op_table import OPS
from loopir.passes.loops.jam import results_stall

from ..isa.target import Target, Vec

__all__ = [
    "GROUPS_OF_PART", "store_to_align", "recomputes_predicate", "accumulators_in_registers",
    "interleaved_neighbour", "can_jam_inner_loops", "ends_with_whole_register",
    "are_interleaved_stores", "is_streaming_store", "registers_at_once", "registers_per_group",
    "vector_cost",
]

_MAX_UNROLLED_COST = 96.0
"""Weight of code above which a group's registers are looped over instead of unrolled."""

_MAX_PEELED_COST = 24.0
"""Weight of a body above which aligning its stores is not worth three copies of it."""

GROUPS_OF_PART = 16
"""The groups of a part of a range over which several passes run: it stays in the first cache."""

_MAX_LIVE_OPERANDS = 3
"""How many operands of a body that reduces are in registers at a time, at most."""

_MAX_RECOMPUTED_COST = 4.0
"""Weight of a predicate up to which it is recomputed to avoid a branch."""


def recomputes_predicate(loop: ir.PredLoop) -> bool:
    """Whether a predicated loop that skips finds the next group with an active lane in a loop of
    its own, which computes the predicate alone; the body then computes it again. Only for a cheap
    predicate; otherwise the body is under an ``if`` (`c_vector_loops` shows both).
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
    """How many registers a group has in a loop without reductions: how often the vector loop is
    unrolled, which LLVM calls its interleave count. A loop with a reduction has a group of as many
    lanes as `passes.vector.vectorize._group_lanes` says, on every target, and so of ``group //
    width`` registers. `legalize._legalize_loop` distinguishes them. In this order:

    - 1 if the target has no vector registers, or the loop appends, which has to stay in order;
    - if registers can share its inner loops (`can_jam_inner_loops`), as many as fit beside what
      these carry (`_registers_that_share_loops`);
    - else as many as fill the pipes, fewer for a body of more work (`interleave_count`).

        y[i:8] = x[i:8] * 2.0                     4: the products of four registers overlap in time
        the loop over columns of a @ b, 6 rows    2 on AVX2, which has 16 registers: 12 for sums, 2
                                                  for loads, 2 for operands (the register tile)
    """
    if target.bits == 0:
        return 1  # no registers
    if any(isinstance(x, ir.Append) for x in walk(loop)):
        return 1  # what is appended has to stay in order
    if can_jam_inner_loops(loop):
        return _registers_that_share_loops(loop, target)
    return interleave_count(target.model, vector_cost(loop))


def registers_at_once(loop: ir.VecLoop | ir.PredLoop, target: Target) -> int:
    """How many registers of a group one pass over a legal `loop` with accumulators runs: as many, a
    power of two, as have space in the registers of `target`, with one of each accumulator, beside
    what the body loads and computes.

        s, q and m of 32 f64, from x and y, on 16 registers of 4:    3 * 4 + 3 fit, so 4 of 8

    The C code then runs several passes over a part of the range, each for other registers of its
    groups, whose elements no other pass loads. Lanes do not meet before the loop has ended. All
    registers are run together if they fit, if they are in an array (`accumulators_in_registers`),
    if the body does more than compute values, and if the loop is left early or skips groups.
    """
    assert isinstance(loop.width, int)
    count = (loop.group or loop.width) // loop.width
    is_plain = loop.until is None if isinstance(loop, ir.VecLoop) else not loop.skips
    vectors = sum(a.step.lanes != 1 for a in loop.accs)
    if not (is_plain and vectors and all(isinstance(s, ir.Assign) for s in loop.body)):
        return count
    pred = (loop.pred,) if isinstance(loop, ir.PredLoop) else ()
    code = (*loop.body, *pred, *(a.step for a in loop.accs))
    operands = {n for s in code for n in walk(s) if isinstance(n, ir.Load | ir.Broadcast)}
    others, at_once = min(len(operands), _MAX_LIVE_OPERANDS) + 1, count
    while at_once > 1 and vectors * at_once + others > target.registers:
        at_once //= 2
    return at_once if at_once == count or accumulators_in_registers(loop, target) else count


def _registers_that_share_loops(loop: ir.VecLoop | ir.PredLoop, target: Target) -> int:
    """How many registers of a group run the inner loops of `loop` together: they share the loads
    that are the same for all lanes, and hide each other's latency. As many as fit in the registers
    of `target` beside the accumulators of the inner loops; fewer if the code behind an inner loop
    waits for the results of short sums (`jam.results_stall`), so that the next group can start
    meanwhile.
    """
    inner = [n for s in loop.body for n in walk(s) if isinstance(n, ir.Loop | ir.While)]
    has_while = any(isinstance(n, ir.While) for n in inner)
    inner_code = [x for n in inner for x in (*n.body, *(a.step for a in n.accs))]
    loads = has_while or any(isinstance(x, ir.Load) for n in inner_code for x in walk(n))
    # what a `while` carries may be spilled: reloads are hidden by its latency
    carried_vectors = 0 if has_while else _carried_vectors(loop)
    if carried_vectors and isinstance(loop, ir.VecLoop) and results_stall(loop):
        return max(target.model.latency // carried_vectors, 1)
    return max_tile_columns(target.model, carried_vectors, loads=loads)


def can_jam_inner_loops(loop: ir.VecLoop | ir.PredLoop) -> bool:
    """Whether the registers of a group can run the inner loops of `loop` together (jam them): it
    has inner loops, each counted or a ``while``, has no predicate, and is not left early.
    """
    inner = [n for s in loop.body for n in walk_statements(s) if isinstance(n, ir.LoopLike)]
    runs_to_end = isinstance(loop, ir.VecLoop) and loop.until is None
    return runs_to_end and bool(inner) and all(isinstance(n, ir.Loop | ir.While) for n in inner)


def _carried_vectors(loop: ir.VecLoop | ir.PredLoop) -> int:
    """The most vector accumulators that one inner loop of `loop` has."""
    loops = (n for s in loop.body for n in walk(s) if isinstance(n, ir.Loop | ir.While))
    return max(sum(a.init.lanes != 1 for a in n.accs) for n in loops)


def accumulators_in_registers(loop: ir.VecLoop | ir.PredLoop, target: Target) -> bool:
    """Whether the registers of a group are unrolled in the C code of a legal loop: True if the body
    is repeated for each, and each register of an accumulator is a C variable; False if they are in
    an array, over which a loop runs.

        s_0 = s_0 + x[i:8];                  for (r = 0; r < 4; r++) s[r] = s[r] + x[i + 8 * r : 8];
        s_1 = s_1 + x[i + 8:8]; …

    Not unrolled are groups of more registers than the target has (their values would be in memory
    anyway), and bodies that would become larger than `_MAX_UNROLLED_COST`. `c_vector_loops` asks.
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
    """The store of `loop` whose addresses should be aligned: the elements before its first aligned
    address are peeled off.

        for i in vec(0, n): y[i:8] = x[i:8] * 2.0     y at 16 mod 64: 6 elements of f64 are peeled

    A store that crosses a cache line takes about twice as long; a load matters less. It is the
    first store of the body. None if

    - the loop has accumulators or a predicate: peeling changes which lane adds a term;
    - the store is of no whole register, or its lanes are not adjacent in memory (nor pairs whose
      other half the next statement stores);
    - two more copies of the body, for the first and last elements, are not worth it: it is large,
      or has inner loops that the registers run together;
    - its address depends on a name that the body binds.

    `arrays`: the parameters of the kernel; `known`: the names that are bound before the loop. The C
    printer asks (`_VectorLoop._phases`).
    """
    store, *rest = [*dropwhile(lambda x: not isinstance(x, ir.Store), loop.body), None]
    if loop.accs or not isinstance(loop, ir.VecLoop) or not isinstance(store, ir.Store):
        return None  # peeling changes which lane adds a term
    if store.value.lanes == 1 or store.mask is not None or store.step != 1:
        return None  # not a store of a whole register
    if vector_cost(loop) > _MAX_PEELED_COST or can_jam_inner_loops(loop):
        return None  # not worth a copy of the body for the peeled elements
    names = {x.name for i in store.index for x in walk(i) if isinstance(x, ir.Var)} - {loop.var}
    if not all(x in known for x in names):
        return None  # the address is known only in the body
    # elements side by side, or pairs of which the next store fills the other half
    stride, second = arrays[store.array].step(store.axis), rest[0]
    is_pair = second is not None and are_interleaved_stores(store, second, arrays)
    return store if stride == 1 or (stride == 2 and is_pair) else None


def ends_with_whole_register(
    loop: ir.VecLoop | ir.PredLoop, kernel: ir.Kernel | None, target: Target
) -> bool:
    """Whether the last elements of a legal `loop` are computed in a whole register, which repeats
    some elements of the register before, in place of a partial register under a mask::

        for i in vec(0, 11, width=4): y[i:4] = x[i:4] + x[i + 1:4]
        the elements 0 to 3, 4 to 7, and 7 to 10

    That takes a fraction of the time where masks are lanes, if a group has several registers, or a
    partial register is loaded in pieces: one of 8 or 16 bits a lane.
    """
    assert isinstance(loop.width, int)
    if target.masks != "lanes" or loop.width == 1 or not _may_run_twice(loop, kernel):
        return False
    return loop.group != loop.width or any(
        isinstance(n, ir.Load) and n.lanes != 1 and DTYPES[n.dtype].bits < 32 for n in walk(loop)
    )


def _may_run_twice(loop: ir.VecLoop | ir.PredLoop, kernel: ir.Kernel | None) -> bool:
    """Whether an iteration of `loop` may run a second time: it stores the same again, since the
    loop reads nothing that it writes, stores to each array once, and carries nothing.

        for i in vec(0, n, width=4): y[i:4] = x[i:4] + x[i + 1:4]    if x and y are disjoint
    """
    if kernel is None or not isinstance(loop, ir.VecLoop) or loop.accs or loop.undoes:
        return False
    if not all(isinstance(s, ir.Assign | ir.Store | ir.Check) for s in loop.body):
        return False
    stores = [s.array for s in loop.body if isinstance(s, ir.Store)]
    pairs = (*combinations(stores, 2), *product(stores, arrays_read((loop,))))
    return loop.until is None and not any(may_alias(kernel, a, b) for a, b in pairs)


def is_streaming_store(
    store: ir.Store, v: Vec, arrays: Mapping[str, ir.Param], read: Container[str], target: Target
) -> bool:
    """Whether `store`, of lanes of type `v`, should go past the caches (a non-temporal store) where
    its array is large: it then saves the load of each cache line that is overwritten.

    All of this must hold: the target has such an instruction (`Target.stream`); the lanes are
    adjacent and fill a register; and the kernel does not read the array (``read``: the arrays that
    it reads), since the loads would miss the caches. Whether the loop is long enough, the C code
    tests at run time (`c_vector_loops._VectorLoop._streamed`).
    """
    is_contiguous = v.bits == target.bits and arrays[store.array].unit == store.axis
    return bool(target.stream) and is_contiguous and store.array not in read


def interleaved_neighbour(load: ir.Load, arrays: Mapping[str, ir.Param]) -> ir.Load | None:
    """The load of the second halves of pairs of which `load` takes the first halves: of
    ``z[i:W, 0]``, the real parts of complex numbers in memory, it is ``z[i:W, 1]``; of ``x[2 *
    i:W:2]``, every other element, it is ``x[2 * i + 1:W:2]``. (Of the second halves it is a load
    that hardly any loop has.) None if the lanes are not two elements apart, if they are not along
    the axis of unit stride and the subscript there is no constant, and for bools and float16.

    If a loop has both loads, the C printer loads whole registers of pairs and separates them
    (`c_expressions.name_shared_loads`), which is faster than two gathers.
    """
    p = arrays[load.array]
    if p.unit is None or load.dtype == "bool" or DTYPES[load.dtype].wide:
        return None  # no code for these dtypes
    if (p.step(load.axis), load.step) == (2, 1):
        index = _next_of_pair(load.index, p.unit)
    elif load.axis == p.unit and load.step == 2:
        after = index_add(load.index[p.unit], 1)
        index = (*load.index[: p.unit], after, *load.index[p.unit + 1 :])
    else:
        return None  # lanes are not two elements apart
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
    ``z[i:W, 0] = a`` and ``z[i:W, 1] = b``. Both are vector stores of one dtype under the same
    mask. The second one loads at its own subscripts alone, so that it reads no element that the
    first one writes.
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
