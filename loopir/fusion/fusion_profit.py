"""Profitability of fusion: when one loop would be slower than two, or would not be vectorised."""
from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from math import inf

from ..analysis.access import Access, accesses, has_unit_stride
from ..analysis.dependence import dependence_distance, dependences
from ..analysis.loop_reductions import reduction_of
from ..analysis.mod_ref import AliasInfo, arrays_accessed, arrays_written
from ..ir_names import names_read
from ..ir_traversal import children, is_innermost, walk, walk_statements
from ..lazy_dataclass import replace
from ..nodes import (
    Accum,
    Append,
    Assign,
    Call,
    Expr,
    If,
    Interval,
    Kernel,
    Load,
    Loop,
    LoopLike,
    Node,
    Param,
    PredLoop,
    Store,
    Var,
    VecLoop,
)
from ..op_table import OPS
from ..passes.loop_splitting import max_trips_of_strip
from ..passes.loops.unroll import is_fully_unrolled
from ..passes.pass_list import PASS_LIST, run_pass
from ..passes.scalar.if_convert_scalar import FLOAT_DTYPES, MAX_OP_WEIGHT, unpredictable_branches
from ..passes.vector.prefix_scans import running_reduction_of
from ..passes.vector.vectorize_legality import vectorization_obstacle
from ..rejection import Rejection
from .iteration_domains import perfect_nest
from .loop_pairs import LoopPair, bytes_saved, fusion_rejection, make_label

__all__ = ["is_vectorizable_alone", "worthwhile", "keeps_vectors"]

MAX_FREE_ARRAYS = 8  # so many arrays can be gone through at the same time at no cost
_STORE_BUFFER_ITERATIONS = 64  # iterations after which a store has left the store buffer


def worthwhile(p: LoopPair) -> Iterator[Rejection]:
    """Whether joining pays, as far as that is cheap to tell: a rejection for each way in which one
    loop would be slower than two.

    - Its vector loads would wait for its own stores (`_store_forward_stall`): iteration i stores
      ``t[i]``, and iteration i + 1 loads it in another vector.
    - A matrix product or a sum down columns could no longer run in the best order of its loops, or
      in blocks (`_lost_permutation`).
    - It would go through many arrays at once, and the loops share none (`_too_many_arrays`).

    The last of `fusion_legality.CONDITIONS`. If none of them fails, `judge_fusion` also asks
    `keeps_vectors`, which is expensive.
    """
    yield from _store_forward_stall(p)
    yield from _lost_permutation(p)
    yield from _too_many_arrays(p)


def _store_forward_stall(p: LoopPair) -> Iterator[Rejection]:
    """If both loops can be vectorised, no element may be loaded less than
    `_STORE_BUFFER_ITERATIONS` iterations after it was stored, in an earlier iteration.

    It was stored as part of another vector: the load overlaps two stores, of which a core can
    forward one only, so it has to wait until both are in the cache.
    """
    if not (is_vectorizable_alone(p, p.first) and is_vectorizable_alone(p, p.second)):
        return
    reported = set()
    for a, b in product(*(accesses((loop,), (), p.bindings) for loop in (p.first, p.second))):
        if a.array == b.array and a.is_write and not b.is_write and a.array not in reported:
            distance = dependence_distance(a, b, p.first.var)
            if isinstance(distance, int) and 0 < distance < _STORE_BUFFER_ITERATIONS:
                reported.add(a.array)
                reason = f"`{a.array}` would be loaded right after it is stored, in another vector"
                when = "one iteration later" if distance == 1 else f"{distance} iterations later"
                labels = (*make_label(a.span, "stored"), *make_label(b.span, f"loaded {when}"))
                yield fusion_rejection(p, "FUSE_REJECT_UNPROFITABLE", reason, *labels)


def _too_many_arrays(p: LoopPair) -> Iterator[Rejection]:
    """Loops without a common array, one of which stores, must not have more than
    `MAX_FREE_ARRAYS` arrays together.

    Joining them saves no memory traffic, and loads would wait for stores to other arrays at equal
    page offsets (4K aliasing).
    """
    first, second = (arrays_accessed((loop,)) for loop in (p.first, p.second))
    arrays = first | second
    has_store = bool(arrays_written((p.first, p.second)))
    if has_store and first.isdisjoint(second) and len(arrays) > MAX_FREE_ARRAYS:
        reason = f"they share none of the {len(arrays)} arrays that they go through"
        yield fusion_rejection(p, "FUSE_REJECT_UNPROFITABLE", reason)


def _lost_permutation(p: LoopPair) -> Iterator[Rejection]:
    """Folds down columns, or of a matrix product, must remain in a nest that passes can permute or
    block. In the joined nest they could not if the other nest has fewer perfectly nested loops, or
    has a loop among these that reads an accumulator of its own (`_is_permutable`).
    """
    for nest, other in ((p.first, p.second), (p.second, p.first)):
        keeps_freedom = _is_permutable(other, len(perfect_nest(nest)))
        access = None if keeps_freedom else _load_shared_by_folds(p, nest)
        if access is not None and _is_permutable(nest, 1):
            reason = (
                f"folds over `{access.array}` could no longer go in another order, or in blocks"
            )
            yield fusion_rejection(
                p, "FUSE_REJECT_UNPROFITABLE", reason, *make_label(access.span, "folded")
            )


def _is_permutable(loop: Loop, levels: int) -> bool:
    """Whether `loop` is perfectly nested to `levels` loops, none of which reads an accumulator of
    its own in its body or steps.
    """
    inside = perfect_nest(loop)[:levels]
    return len(inside) == levels and not any(
        {a.name for a in n.accs} & names_read(*n.body, *(a.step for a in n.accs)) for n in inside
    )


def _load_shared_by_folds(p: LoopPair, loop: Loop) -> Access | None:
    """A load in a fold of the nest `loop` that neighbouring folds share, so that permuting or
    blocking the nest would pay; None if there is none.

    The load moves with the loop of the fold. Besides, either it has unit stride along an outer
    loop; or it is invariant in one outer loop, and another load of the fold in another one.

        for j: for i: s += a[i, j]                       a[i, j]: along j it has unit stride
        for i: for j: for k: s += a[i, k] * b[k, j]      b[k, j]: invariant in i, as a[i, k] is in j
    """
    params = {q.name: q for q in p.kernel.params}
    nested = (n for s in loop.body for n in walk_statements(s))
    inside = [n for n in nested if isinstance(n, Loop) and n.accs]
    folds = {n.var for n in inside if not is_fully_unrolled(n)}
    invariant_loops: dict[str, set[frozenset[str]]] = {}
    for a in accesses((loop,), (), p.bindings):
        moving = {v for v in a.loops if any(f is None or f.coefficient(v) for f in a.index)}
        fold = next((v for v in a.loops if v in folds & moving), None)
        if a.is_write or fold is None:
            continue
        outer = a.loops[: a.loops.index(fold)]
        found = invariant_loops.setdefault(fold, set())
        found.add(frozenset(outer) - moving)
        if len(found - {frozenset()}) > 1 or any(
            has_unit_stride(a, params[a.array], v) for v in outer
        ):
            return a
    return None


def is_vectorizable_alone(p: LoopPair, loop: Loop) -> bool:
    """Whether `loop` by itself may be vectorised, as far as dependences tell: it is innermost, no
    iteration reads what an earlier one has written, and all its accumulators are reductions, or
    running ones.
    """
    memory = AliasInfo(p.kernel)
    return (
        is_innermost(loop)
        and all(d.distance == 0 or d.kind != "flow" for d in dependences(loop, p.kernel))
        and all(
            reduction_of(a, loop) or running_reduction_of(a, loop, memory) for a in loop.accs
        )
    )


OPS_PER_CYCLE = 3.0  # scalar operations and memory accesses that a core completes in a cycle
FLOAT_LATENCY, INT_LATENCY = 4.0, 1.0  # cycles from an operation to the use of its result
MIN_COUNTED_TRIPS = 64  # a loop of at most so many iterations may stay scalar


def keeps_vectors(p: LoopPair) -> Iterator[Rejection]:
    """A loop that would be vectorised must not become scalar because of the other one::

        for i: y[i] = exp(x[i])              alone it is a vector loop; joined it would be scalar:
        for i: r[i] = r[i - 1] / x[i]        FUSE_REJECT_UNPROFITABLE

    To find out whether a loop is vectorised, the passes run on the joined loop, and on each loop by
    itself. That is slow, so `judge_fusion` asks this last, and three cases are accepted without it:
    nests; loops that are certainly vectorised; loops between which a temporary array is contracted,
    since that is worth more than vectors.

    A loop may become scalar if all of these hold:

    - the other one is scalar anyway;
    - its own operations are cheap as scalar code (`_has_no_slow_operations`);
    - the joined loop has no branches that stay branches (`_has_branches`);
    - joining saves memory traffic (`bytes_saved`), or the added operations are free, since an
      iteration takes as long as its loop-carried dependence chain (`_is_latency_bound`).
    """
    loops = p.first, p.second
    if not all(map(is_innermost, loops)) or all(_is_surely_vectorizable(p, loop) for loop in loops):
        return
    stored = {a.array for a in accesses((p.first,)) if a.is_write}
    loaded = {a.array for a in accesses((p.second,)) if not a.is_write}
    contracted = stored & loaded & p.options.temporaries
    if contracted:
        return
    joined = replace(
        p.first, body=(*p.first.body, *p.second.body), accs=(*p.first.accs, *p.second.accs)
    )
    if _leaves_no_scalar_loop(p, joined):
        return
    vectorized = [loop for loop in loops if _leaves_no_scalar_loop(p, loop)]
    if not vectorized:
        return
    scalar = [loop for loop in loops if loop not in vectorized]
    loses_little = all(map(_has_no_slow_operations, vectorized)) and not _has_branches(p, joined)
    gains = scalar and loses_little and (bytes_saved(p) or _is_latency_bound(joined))
    if not gains:
        lost, other = (
            ("the first", "the second") if vectorized[0] is p.first else ("this", "the first")
        )
        reason = f"{lost} loop runs in vectors, and could not with what {other} does in between"
        yield fusion_rejection(p, "FUSE_REJECT_UNPROFITABLE", reason)


def _is_surely_vectorizable(p: LoopPair, loop: Loop) -> bool:
    """Whether `loop` will be vectorised, alone and joined with others like it: it consists of
    assignments and stores, and `is_vectorizable_alone`.
    """
    is_straight_line = all(isinstance(s, Assign | Store) for s in loop.body)
    return is_straight_line and is_vectorizable_alone(p, loop)


def _leaves_no_scalar_loop(p: LoopPair, loop: Loop) -> bool:
    """Whether the pass pipeline vectorises every long loop of a kernel with `loop` alone."""
    alone = _kernel_with(p.kernel, loop)
    if (found := p.vectorized.get(alone)) is None:
        found = p.vectorized[alone] = _becomes_vectors(alone)
    return found


def _kernel_with(kernel: Kernel, loop: Loop) -> Kernel:
    """`kernel` with `loop` alone, and stores of those of its results that are read after it."""
    results = _read_outside(kernel, loop)
    result_params = [Param(f"{a.name}_kept", a.init.dtype, 0, written=True) for a in results]
    stores = (Store(p.name, (), a.current) for a, p in zip(results, result_params, strict=True))
    return replace(kernel, params=(*kernel.params, *result_params), body=(loop, *stores))


def _becomes_vectors(kernel: Kernel) -> bool:
    """Whether every long loop of `kernel` is a vector loop after `vectorize`, the last pass that
    makes some.

    The passes need not run so far if, after `simplify` or `if_convert`, every long loop can be
    vectorised: no pass between these and `vectorize` makes such a loop unfit for vectors.
    """
    for step in PASS_LIST:
        kernel = run_pass(step, kernel)
        if step.name == "vectorize":
            break
        if step.name in ("simplify", "if_convert") and _has_vectors(kernel, or_can_have=True):
            return True
    return _has_vectors(kernel)


def _has_vectors(kernel: Kernel, *, or_can_have: bool = False) -> bool:
    """Whether every long loop of `kernel` is a vector loop; or, if ``or_can_have``, may become one.
    """
    loops = (n for s in kernel.body for n in walk_statements(s) if isinstance(n, LoopLike))
    names = {s.name: s.value for s in kernel.body if isinstance(s, Assign)}
    return all(
        isinstance(n, VecLoop | PredLoop)
        or (isinstance(n, Loop) and not _may_be_long(n, names))
        or (or_can_have and isinstance(n, Loop) and vectorization_obstacle(n, kernel) is None)
        for n in loops
    )


def _read_outside(kernel: Kernel, loop: Loop) -> list[Accum]:
    """The accumulators of `loop` that other code of the kernel reads."""
    names = {a.name for a in loop.accs}

    def names_read_by(n: Node) -> frozenset[str]:
        """The accumulators that `n` reads; a loop that defines them is not entered."""
        if names.isdisjoint(names_read(n)):
            return frozenset()
        if isinstance(n, Loop) and names & {a.name for a in n.accs}:
            return frozenset()
        inner = frozenset[str]().union(*map(names_read_by, children(n)))
        return inner | ({n.name} if isinstance(n, Var) else frozenset())

    found = frozenset[str]().union(*map(names_read_by, kernel.body))
    return [a for a in loop.accs if a.name in found]


def _may_be_long(loop: Loop, names: Mapping[str, Expr]) -> bool:
    """Whether `loop` is an innermost loop without early exit that may have more than
    `MIN_COUNTED_TRIPS` iterations. ``names``: values, such as ``end = min(n, 1)`` of a peeled loop.
    """
    count = None
    if isinstance(r := loop.range, Interval):
        end = names.get(r.hi.name, r.hi) if isinstance(r.hi, Var) else r.hi
        count = max_trips_of_strip(replace(r, hi=end))
    return (
        is_innermost(loop) and loop.until is None and (count is None or count > MIN_COUNTED_TRIPS)
    )


def _has_no_slow_operations(loop: Loop) -> bool:
    """Whether `loop` has only cheap operations, as scalar code: none that weighs more than
    `MAX_OP_WEIGHT`, and no append.
    """
    nodes = [n for s in loop.body for n in walk(s)]
    slow = (n for n in nodes if isinstance(n, Call) and OPS[n.op].weight > MAX_OP_WEIGHT)
    return not any(isinstance(n, Append) for n in nodes) and not any(slow)


def _has_branches(p: LoopPair, loop: Loop) -> bool:
    """Whether `loop`, as scalar code, has branches that are not if-converted."""
    found = sum(isinstance(s, If) for s in loop.body)
    return found > len(unpredictable_branches(loop, AliasInfo(p.kernel)))


def _is_latency_bound(loop: Loop) -> bool:
    """Whether an iteration of the scalar `loop` takes as long as its loop-carried dependence chain,
    so that other work is free.
    """
    nodes = [n for s in (*loop.body, *(a.step for a in loop.accs)) for n in walk(s)]
    weight = sum(OPS[n.op].weight for n in nodes if isinstance(n, Call))
    memory = sum(isinstance(n, Load | Store) for n in nodes)
    return weight + memory <= OPS_PER_CYCLE * _latency(loop)


def _latency(loop: Loop) -> float:
    """Cycles of the longest loop-carried dependence chain: over all accumulators, from the value at
    the start of an iteration to the next one; -inf without accumulators.
    """
    latencies: dict[str, float] = {}

    def latency_of(e: Expr) -> float:
        """Cycles from the accumulator's value to that of `e`; -inf if `e` does not depend on it."""
        if isinstance(e, Var):
            return latencies.get(e.name, -inf)
        step = FLOAT_LATENCY if e.dtype in FLOAT_DTYPES else INT_LATENCY
        return max(map(latency_of, children(e)), default=-inf) + step  # type: ignore[arg-type]

    def chain_latency(name: str, step: Expr) -> float:
        """Cycles from the accumulator's value to its next one."""
        latencies.clear()
        latencies[name] = 0.0
        for s in loop.body:
            if isinstance(s, Assign):
                latencies[s.name] = latency_of(s.value)
            for y in s.yields if isinstance(s, If) else ():
                latencies[y.name] = max(latency_of(y.then), latency_of(y.orelse))
        return latency_of(step)

    return max((chain_latency(a.name, a.step) for a in loop.accs), default=-inf)
