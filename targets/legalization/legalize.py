"""Legalisation for one target: lane count, groups of registers, mask forms, register pressure.

``for i in vec(0, n, width=W): y[i:W] = x[i:W] + …`` →
``for i in vec(0, n, width=16, group=64): y[i:16] = x[i:16] + …``

A loop has as many lanes as a register has of its widest dtype; narrower dtypes use narrower
vectors. On a target without vectors the width is 1: scalar code, with one accumulator for each lane
of the group.

A predicated loop acts only in the lanes where its mask is true, the active ones. Its mask form says
how the others are switched off: by a branch per lane, a mask register, or a blend (`_mask_form` has
a table). The passes leave the form open, and the target decides it. Only Loop IR written by hand,
in a test, can ask for a form: `BranchPerLane` gives that loop the width 1, any other form is
replaced.

A predicated loop branches around an expensive body where no lane is active. Time of ``exp(x) +
log(x)`` in ns for each element, with GCC. The active elements are a random share of all, or stand
in one place. Without the branch (the last column) the body is computed for all of them:

======  =====  =====  =====  =====  =====  =====  ==================  ==================
ISA     none   1 %    3 %    10 %   50 %   all    10 %, in one place  without the branch
======  =====  =====  =====  =====  =====  =====  ==================  ==================
avx512  0.11   0.18   0.32   0.86   1.01   1.02   0.20                0.94
avx2    0.12   0.23   0.35   1.12   1.72   1.76   0.30                1.87
======  =====  =====  =====  =====  =====  =====  ==================  ==================

Fused reductions whose accumulators do not fit in registers become several loops again, unless some
registers of each group can run at a time (`registers_at_once`):

``for i in vec(…, width=8, group=64, s=…, q=…, m=…)`` on 16 registers, eight an accumulator →
``for i in vec(…, s=…, q=…)`` and ``for i in vec(…, m=…)``

Each accumulator keeps its lanes, and so its bits. Reductions run in blocks, so what the second loop
reads is still in the cache. If only one accumulator fits at a time, the loop is not split, since
memory would be read too often.
"""
from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from typing import Any

import numpy as np

from loopir import nodes as ir
from loopir.algebra.constant_folding import index_const
from loopir.analysis.dependence import may_alias
from loopir.analysis.integers.intervals import Intervals, dtype_bounds, is_within
from loopir.analysis.mod_ref import arrays_read, arrays_written
from loopir.dtypes import DTYPES, INDEX
from loopir.ir_names import FreshNames, expand_names, multiply_bound_names, names_read
from loopir.ir_traversal import (
    advanced_accums,
    bottom_up,
    map_children,
    ops_within,
    range_bounds,
    walk,
)
from loopir.lazy_dataclass import replace
from loopir.op_table import OPS, SWAPPED_COMPARISON
from loopir.statement_blocks import backward_slice

from ..isa.target import Target, Vec
from .vector_cost_model import (
    can_jam_inner_loops,
    registers_at_once,
    registers_per_group,
    vector_cost,
)

__all__ = ["split_for_register_pressure", "legalize", "describe_unrolling"]


def split_for_register_pressure(
    loop: ir.VecLoop | ir.PredLoop, target: Target
) -> tuple[ir.VecLoop | ir.PredLoop, ...]:
    """Split a legal `loop` whose accumulators do not fit in the target's registers into several
    loops. Each has a part of the accumulators, and the code that these need. On 16 registers::

        for i in vec(…, width=8, group=64, s=…, q=…, m=…)       3 accumulators of 8 registers
        →   for i in vec(…, s=…, q=…);  for i in vec(…, m=…)    2 of them, then 1

    `loop` alone is returned in these cases:

    - the target has no vector registers, or all accumulators fit in them;
    - passes over the loop run some registers of each group at a time, with all accumulators
      (`registers_at_once`), which loads each element once;
    - only one accumulator fits at a time: memory would be read too often;
    - the loop does more than reduce, is left early, or an accumulator reads another one
      (`_only_reductions`).
    """
    assert isinstance(loop.width, int)
    assert loop.group
    registers_each = loop.group // loop.width
    at_once = target.registers // registers_each if target.bits else 0
    if not 2 <= at_once < len(loop.accs) or not _only_reductions(loop):
        return (loop,)
    if registers_at_once(loop, target) < registers_each:
        return (loop,)
    pred = (loop.pred,) if isinstance(loop, ir.PredLoop) else ()
    parts = [loop.accs[k : k + at_once] for k in range(0, len(loop.accs), at_once)]
    return tuple(
        replace(loop, accs=accs, body=backward_slice(loop.body, *pred, *(a.step for a in accs)))
        for accs in parts
    )


def _only_reductions(loop: ir.VecLoop | ir.PredLoop) -> bool:
    """Whether the loop runs to its end, its body only assigns names, and no accumulator reads
    another one.
    """
    if isinstance(loop, ir.VecLoop) and loop.until is not None:
        return False
    if not all(isinstance(s, ir.Assign) for s in loop.body):
        return False
    names = {a.name for a in loop.accs}
    return all(
        names & names_read(a.step, *backward_slice(loop.body, a.step)) <= {a.name}
        for a in loop.accs
    )


_DEFAULT_GROUP_BYTES = 256
"""Bytes of a group in a loop with accumulators whose group the vectoriser has not fixed: the group
has as many lanes as values of the widest accumulator fit in them, and at least one register of
lanes (`_group_size`).

`vectorize.GROUP_BYTES` is the same number, for the groups that the vectoriser fixes, the same on
all targets: there the widest value in the body counts.
"""

_BRANCH_WEIGHT = 12.0
"""Cost of a body (`vector_cost`) above which a branch around it pays in spite of mispredictions."""

_LEAST_SKIPPED = 4
"""The least number of registers with masked stores that a branch skips. With four, lanes of which
few are stored take a quarter of the time that they take without a branch (AVX2, Zen 3), one of 16
at random, the worst case, 1.1 times it; with one register the worst case takes 3 times it.
"""


def legalize(kernel: ir.Kernel, target: Target) -> ir.Kernel:
    """`kernel` with every vector loop made concrete for `target`.

    For each loop: `_legalize_loop` chooses lanes, group and mask form; `_split_remainder` adds a
    second loop for a long remainder; `split_for_register_pressure` splits reductions that do not
    fit in registers; products of integers that fit in half a lane become products of half lanes
    (`_with_short_products`); where masks are lanes, elements that a loop reads, or copies under
    a condition, are stored without a mask (`_with_blended_stores`, `_with_selected_stores`). In a
    kernel that stops at a failing check, stores move behind the checks (`_checks_before_stores`).
    If a store to one array has moved past an access of another array, the two must not be the same
    array any more: ``or_same`` is dropped from their guard (`_pairs_to_keep_apart`).
    """

    read, apart = arrays_read((kernel,)), set[frozenset[str]]()
    fresh = FreshNames(kernel)

    def visit(n: Any) -> Any:
        """`n` with the vector loops in it legalised."""
        if isinstance(n, (ir.VecLoop, ir.PredLoop)):
            loop = _with_selected_stores(n, kernel, fresh) if target.masks == "lanes" else n
            if kernel.stops and (moved := _checks_before_stores(loop, read)) is not loop:
                apart.update(_pairs_to_keep_apart(loop, read, kernel))
                loop = moved
            concrete = _with_short_products(_legalize_loop(loop, target), target)
            concrete = _with_compared_squares(concrete)
            concrete = _with_negated_comparisons(concrete, target)
            if target.masks == "lanes" and isinstance(concrete, ir.VecLoop):
                concrete = _with_blended_stores(concrete, kernel)
            return tuple(
                x
                for part in _split_remainder(concrete, target)
                for x in split_for_register_pressure(part, target)
            )
        return map_children(n, visit)

    legal = visit(kernel)
    guards = tuple(
        replace(g, or_same=False) if isinstance(g, ir.Disjoint) and {g.a, g.b} in apart else g
        for g in kernel.guards
    )
    return replace(legal, guards=guards) if apart else legal  # type: ignore[no-any-return]


def describe_unrolling(legal: ir.Kernel, target: Target) -> Iterator[str]:
    """For each vector loop of a legal kernel, a line with its lanes, and how many groups of lanes
    an iteration computes side by side ("unrolled N times").
    """
    for loop in walk(legal):
        if isinstance(loop, ir.VecLoop | ir.PredLoop):
            assert isinstance(loop.width, int)
            factor = max((loop.group or 0) // loop.width, 1)
            yield f"{target.name}: {loop.var} in {loop.width} lanes, unrolled {factor} times"


def _checks_before_stores(
    loop: ir.VecLoop | ir.PredLoop, read: frozenset[str]
) -> ir.VecLoop | ir.PredLoop:
    """`loop` with some stores moved to the end of its body, behind the checks of all lanes: the
    stores to arrays that are not in ``read``, those of which the kernel reads an element. A kernel
    that stops at a failing check has then not stored the elements of the lanes behind it. `loop`
    itself, if it has no checks or all such stores are last already.
    """
    has_checks = any(isinstance(s, ir.Check) for s in loop.body)
    movable = [s for s in loop.body if _is_movable(s, read)]
    others = [s for s in loop.body if not _is_movable(s, read)]
    body = (*others, *movable)
    return replace(loop, body=body) if has_checks and body != loop.body else loop


def _is_movable(s: ir.Stmt, read: frozenset[str]) -> bool:
    """Whether `s` is a store to an array that is not in ``read``: the kernel reads no element of
    it.
    """
    return isinstance(s, ir.Store) and s.array not in read


def _pairs_to_keep_apart(
    loop: ir.VecLoop | ir.PredLoop, read: frozenset[str], kernel: ir.Kernel
) -> Iterator[frozenset[str]]:
    """Pairs of arrays that the guards of `kernel` allow to be the same array, but that must be
    disjoint once `_checks_before_stores` has moved stores of `loop`: a store into one array of the
    pair moves past a load from the other one, or past a store into it. ``read``: as there.
    """
    for k, s in enumerate(loop.body):
        if isinstance(s, ir.Store) and _is_movable(s, read):
            passed = [t for t in loop.body[k + 1 :] if not _is_movable(t, read)]
            others = arrays_read((*passed, *(a.step for a in loop.accs)))
            others |= arrays_written(passed)
            yield from (frozenset({s.array, b}) for b in others if may_alias(kernel, s.array, b))


def _legalize_loop(loop: ir.VecLoop | ir.PredLoop, target: Target) -> ir.VecLoop | ir.PredLoop:
    """The loop with its number of lanes, its group and its mask form.

    The group is the first of these that there is: the one that the vectoriser has fixed;
    `_group_size`, for accumulators; as many registers as the cost model says
    (`registers_per_group`).
    """
    branches_per_lane = isinstance(loop, ir.PredLoop) and loop.form is ir.MaskForm.BranchPerLane
    width = 1 if branches_per_lane else _lane_count(loop, target)
    resolved: Any = map_children(loop, lambda n: n if n is loop.range else _resolve_width(n, width))
    form = {"form": _mask_form(target, width)} if isinstance(loop, ir.PredLoop) else {}
    concrete: Any = replace(resolved, width=width, **form)
    group = loop.group or _group_size(loop, width)
    registers = 1 if group else registers_per_group(concrete, target)
    if registers > 1 and _stores_lanes(concrete, target):
        registers = max(registers, _LEAST_SKIPPED)
    concrete = replace(concrete, group=group or width * registers)
    return _with_skip_branch(concrete, target) if isinstance(concrete, ir.PredLoop) else (
        _with_exits_of_a_group(concrete)
    )


def _with_exits_of_a_group(loop: ir.VecLoop) -> ir.VecLoop:
    """`loop` with what ends it computed from a group alone: before the last group, the accumulator
    has the value that it started with::

        any = step(any | (x[i:4] > t))     →     any = step(x[i:4] > t)
        until(hreduce("or", any))                until(hreduce("or", any))
    """
    ending = names_read(loop.until) if loop.until is not None else frozenset()

    def of_group(a: ir.VecAccum) -> ir.VecAccum:
        match a.step, a.init:
            case ir.Call("or" | "and" as op, (x, y)), ir.Const(value=start) if a.name in ending:
                others = [e for e in (x, y) if e != ir.Var(a.name, "bool", e.lanes)]
                if len(others) == 1 and bool(start) == (op == "and"):
                    return replace(a, step=others[0])
        return a

    accs = tuple(map(of_group, loop.accs))
    return loop if accs == loop.accs else replace(loop, accs=accs)


def _with_short_products(
    loop: ir.VecLoop | ir.PredLoop, target: Target
) -> ir.VecLoop | ir.PredLoop:
    """`loop` with the products of integers that fit in half a lane as products of the half lanes,
    where `target` has an instruction for these: one of 64 bits is three, and more.

        s + i64(x[i:4]) * i64(y[i:4])    →    s + short_mul(i64(x[i:4]), i64(y[i:4]))     x, y: i32
    """
    calls = (n for n in walk(loop) if isinstance(n, ir.Call) and n.op == "mul")
    products = {n for n in calls if n.dtype in _HALVES and n.lanes != 1}
    width = loop.width
    assert isinstance(width, int)
    if not any(target.row("short_mul", Vec(n.dtype, width)) for n in products):
        return loop
    bounds, ambiguous = Intervals(), multiply_bound_names(loop)
    for s in loop.body:
        if isinstance(s, ir.Assign) and s.name not in ambiguous and s.value.dtype in _HALVES:
            bounds.names[s.name] = bounds.of(s.value)

    def visit(n: Any) -> Any:
        """`n` with short products."""
        new = map_children(n, visit)
        if n not in products or not target.row("short_mul", Vec(n.dtype, width)):
            return new
        fits = all(is_within(bounds.of(a), dtype_bounds(_HALVES[n.dtype])) for a in n.args)
        return replace(new, op="short_mul") if fits else new

    return visit(loop)  # type: ignore[no-any-return]


def _with_compared_squares(loop: ir.VecLoop | ir.PredLoop) -> ir.VecLoop | ir.PredLoop:
    """`loop` with comparisons of lengths as operations that compare squares, mostly, which takes a
    third of the time of the root.

        hypot(x[i:4], y[i:4]) <= broadcast(2.0, 4)    →    hypot_le(x[i:4], y[i:4], 2.0)
    """
    return loop if "hypot" not in ops_within(loop) else bottom_up(loop, _as_compared_squares)


def _as_compared_squares(n: Any) -> Any:
    """A comparison of a length with what is the same in all lanes as an operation of its own."""
    match n:
        case ir.Call("lt" | "le" | "gt" | "ge" as op, (ir.Broadcast() as bound, ir.Call("hypot"))):
            swapped = replace(n, op=SWAPPED_COMPARISON[op], args=(n.args[1], bound))
            return _as_compared_squares(swapped)
        case ir.Call("le" | "gt" as op, (ir.Call("hypot", (x, y)), ir.Broadcast() as bound)):
            return replace(n, op=f"hypot_{op}", args=(x, y, bound))
        case ir.Call("lt" | "ge" as op, (ir.Call("hypot", (x, y)), ir.Broadcast(ir.Const(c), w))):
            kind = DTYPES[x.dtype].numpy.type
            below = np.nextafter(kind(c), kind(-np.inf))
            less = ir.Broadcast(ir.Const(float(below), x.dtype), w)
            return replace(n, op=f"hypot_{'le' if op == 'lt' else 'gt'}", args=(x, y, less))
    return n


def _with_negated_comparisons(
    loop: ir.VecLoop | ir.PredLoop, target: Target
) -> ir.VecLoop | ir.PredLoop:
    """`loop` with the negation of a comparison of floats, which a NaN makes true, as one operation
    where `target` has an instruction for it.

        any | ~(x[i:4] <= broadcast(t, 4))    →    any | not_le(x[i:4], broadcast(t, 4))
    """

    def visit(n: Any) -> Any:
        """`n`, if it is such a negation, as one operation."""
        match n:
            case ir.Call("not", (ir.Call("gt" | "ge" as op, (a, b)) as test,)):
                swapped = replace(test, op=SWAPPED_COMPARISON[op], args=(b, a))
                return visit(replace(n, args=(swapped,)))
            case ir.Call("not", (ir.Call("lt" | "le" as op, (a, b)),), lanes=int(lanes)) if (
                lanes != 1 and target.row(f"not_{op}", Vec(a.dtype, lanes))
            ):
                return replace(n, op=f"not_{op}", args=(a, b))
        return n

    return loop if "not" not in ops_within(loop) else bottom_up(loop, visit)


def _with_blended_stores(loop: ir.VecLoop, kernel: ir.Kernel) -> ir.VecLoop:
    """`loop` with masked stores to elements that it has loaded before as stores of all lanes, which
    keep the loaded elements where the mask is false, in an array that the kernel owns (`Param`)::

        v = x[i:4]                       v = x[i:4]
        m = v > y[i:4]                   m = v > y[i:4]
        x[i:4] = where(m, y[i:4])   →    x[i:4] = select(m, y[i:4], v)

    A masked store takes a cycle or twenty on AVX2, by the machine, and is made lane by lane of
    small lanes, and on SSE2 and NEON. No other iteration stores to an element that this one loads,
    if the iterations run at the same time. Another thread may store to an array of the user's at
    other elements meanwhile, which must not get their old values back. A loop that undoes its
    stores keeps the masks.
    """
    seen = {p.name for p in kernel.params if not p.owned}
    if loop.undoes or loop.width == 1 or not any(_masked(s, seen) for s in loop.body):
        return loop
    values = {s.name: s.value for s in loop.body if isinstance(s, ir.Assign)}
    loaded: dict[ir.Load, ir.Expr] = {}
    body: list[ir.Stmt] = []
    for s in loop.body:
        for n in walk(s):
            if isinstance(n, ir.Load) and n.lanes != 1:
                loaded.setdefault(_with_whole_subscripts(n, values), n)
        if isinstance(s, ir.Assign) and isinstance(s.value, ir.Load) and s.value.lanes != 1:
            name = ir.Var(s.name, s.value.dtype, s.value.lanes)
            loaded[_with_whole_subscripts(s.value, values)] = name
        if isinstance(s, ir.Store):
            v = s.value
            element = ir.Load(s.array, s.index, v.dtype, v.lanes, s.axis, s.step)
            old = loaded.get(_with_whole_subscripts(element, values))
            if s.mask is not None and old is not None and s.array not in seen:
                blend = ir.Call("select", (s.mask, v, old), v.dtype, v.lanes)
                s = replace(s, value=blend, mask=None)
        if written := arrays_written((s,)):
            loaded = {
                n: e for n, e in loaded.items()
                if not any(may_alias(kernel, n.array, a) for a in written)
            }
        body.append(s)
    return replace(loop, body=tuple(body)) if tuple(body) != loop.body else loop


def _with_selected_stores(
    loop: ir.VecLoop | ir.PredLoop, kernel: ir.Kernel, fresh: FreshNames
) -> ir.VecLoop | ir.PredLoop:
    """`loop` without its predicate, if all that it does under it is to copy values to arrays that
    the kernel owns: it loads the elements, and stores them again where the predicate is false, for
    the reasons of `_with_blended_stores`. ::

        for i in pred(0, n, width=4, where=x[i:4] > top[i:4]):
            top[i:4] = x[i:4]
            at[i:4] = broadcast(k, 4)
        →
        for i in vec(0, n, width=4):
            on = x[i:4] > top[i:4]
            top[i:4] = select(on, x[i:4], top[i:4])
            at[i:4] = select(on, broadcast(k, 4), at[i:4])

    Each value is a name, a constant, or an element that the predicate has loaded in all lanes.
    """
    if not isinstance(loop, ir.PredLoop) or loop.accs:
        return loop
    owned = {p.name for p in kernel.params if p.owned}
    loaded = {n for n in walk(loop.pred) if isinstance(n, ir.Load)}
    on = ir.Var(fresh.name("on"), "bool", loop.pred.lanes)
    body: list[ir.Stmt] = [ir.Assign(on.name, loop.pred)]
    for s in loop.body:
        if not isinstance(s, ir.Store) or s.mask is not None or s.array not in owned:
            return loop
        if s.value.lanes == 1 or s.step != 1:
            return loop
        value = s.value.value if isinstance(s.value, ir.Broadcast) else s.value
        if s.value not in loaded and not isinstance(value, (ir.Var, ir.Const)):
            return loop
        old = ir.Load(s.array, s.index, s.value.dtype, s.value.lanes, s.axis, s.step)
        selected = ir.Call("select", (on, s.value, old), s.value.dtype, s.value.lanes)
        body.append(replace(s, value=selected))
    return ir.VecLoop(
        loop.var, loop.range, loop.width, tuple(body), group=loop.group, parallel=loop.parallel,
        span=loop.span,
    )


def _masked(s: ir.Stmt, seen: Set[str]) -> bool:
    """Whether `s` is a store with a mask to an array that is not in `seen`."""
    return isinstance(s, ir.Store) and s.mask is not None and s.array not in seen


def _with_whole_subscripts(e: ir.Load, values: Mapping[str, ir.Expr]) -> ir.Load:
    """`e`, whose subscripts read none of the names in `values`, if they can be expanded."""
    return replace(e, index=tuple(expand_names(k, values) or k for k in e.index))


_HALVES = {"i64": "i32", "u64": "u32"}
"""The dtypes with products of half lanes, and the one that such a half has."""


def _split_remainder(
    loop: ir.VecLoop | ir.PredLoop, target: Target
) -> tuple[ir.VecLoop | ir.PredLoop, ...]:
    """`loop`, followed by a second loop over its remainder, in half groups; or `loop` alone.

        for j in vec(0, n, width=8, group=64): for k in …      whole groups: 8 registers share k
                                                               remainder: half groups of 32, and
                                                               then register by register

    The registers of a group run their inner loops together (`can_jam_inner_loops`); a remainder of
    up to 7 registers would run them once for each register. `loop` alone is returned in these
    cases:

    - it has no inner loops that its registers can run together;
    - a group has few registers, at most the latency of an operation in cycles;
    - it has accumulators, which both loops would have to carry;
    - the bounds of its range are loaded, and could differ the second time.
    """
    assert isinstance(loop.width, int)
    lo, hi = range_bounds(loop.range)
    group = loop.group or 1
    has_few_registers = group <= target.model.latency * loop.width
    has_loaded_range = any(isinstance(n, ir.Load) for n in walk(loop.range))
    if has_few_registers or loop.accs or has_loaded_range or not can_jam_inner_loops(loop):
        return (loop,)
    length = ir.Call("max", (ir.Call("sub", (hi, lo), INDEX), index_const(0)), INDEX)
    groups = ir.Call("floordiv", (length, index_const(group)), INDEX)
    split = ir.Call("add", (lo, ir.Call("mul", (groups, index_const(group)), INDEX)), INDEX)
    first = replace(loop, range=ir.Interval(lo, split))
    return first, replace(loop, range=ir.Interval(split, hi), group=group // 2)


def _with_skip_branch(loop: ir.PredLoop, target: Target) -> ir.PredLoop:
    """The predicated loop `loop`, with ``skips`` set or cleared: whether the C code jumps over the
    body where no lane of a group is active. `_legalize_loop` calls it.

        if c[i]: y[i] = exp(x[i]) + log(x[i])    →    skips=True: a branch around exp and log
        if c[i]: y[i] = x[i] * 2.0               →    skips=False: the product is computed anyway

    The branch pays if the body costs more than `_BRANCH_WEIGHT`, and around masked stores where
    masks are lanes (`_stores_lanes`). A branch that is mispredicted
    every other time, the worst case, costs about that much itself (see the measurements above). A
    loop that has ``skips`` set already, as in the text of a test, keeps it. A loop of one lane
    needs no such branch: it has one for that lane. (A loop with several masks is not predicated, so
    nothing of it is skipped: `vectorize.predicate_loop`.)
    """
    is_expensive = sum(vector_cost(n) for n in (*loop.body, *loop.accs)) > _BRANCH_WEIGHT
    pays = is_expensive or loop.skips or _stores_lanes(loop, target)
    return replace(loop, skips=loop.width != 1 and pays)


def _stores_lanes(loop: ir.VecLoop | ir.PredLoop, target: Target) -> bool:
    """Whether `loop` has masked stores, and masks are lanes: such a store takes 8 cycles on AVX2
    (Zen 3), and is made lane by lane elsewhere.
    """
    is_masked = isinstance(loop, ir.PredLoop) and target.masks == "lanes"
    return is_masked and any(isinstance(s, ir.Store) for s in loop.body)


def _lane_count(loop: ir.VecLoop | ir.PredLoop, target: Target) -> int:
    """The vector width of a loop, in lanes: as many as a register of `target` has of the widest
    dtype of a vector in the loop. All vectors of a loop have equally many lanes, so narrower dtypes
    take a part of a register.

        f32 and f64 on AVX2, 256 bits:     4
        u8 alone on AVX-512:              64

    The width is 1, so that the loop becomes scalar, in three cases: the target has no vectors; the
    vectoriser has fixed a group for a reduction, whose terms must keep that order, and the group is
    no multiple of the lanes; or the loop is a checked scan of few lanes (`_is_checked_scan`).
    Called by `_legalize_loop` for each vector loop, except one that branches per lane.
    """
    vectors = [n for n in walk(loop) if getattr(n, "lanes", 1) != 1]
    widest = max((DTYPES[n.dtype].bytes for n in vectors), default=8)  # type: ignore[union-attr]
    width = max(1, target.bits // 8 // widest)
    if width <= _MOST_SCANNED and _is_checked_scan(loop):
        return 1
    return width if loop.group is None or loop.group % width == 0 else 1


_MOST_SCANNED = 4
"""The most lanes for which a checked scan takes less time as scalar code: that is a cycle an
element (AVX2, Zen 3: 0.38 ns, and 0.73 in four lanes), as an addition sets the overflow flag.
"""


def _is_checked_scan(loop: ir.VecLoop | ir.PredLoop) -> bool:
    """Whether all that `loop` carries are running sums of 64-bit integers, that are checked for
    overflow, and it does hardly anything else.

        s_1, s_0 = prefix("add", s, x[i:4]); check(~add_over(s_0, x[i:4]), "over"); out[i:4] = s_1
    """
    scans = {s.acc: s for s in loop.body if isinstance(s, ir.Prefix)}
    calls = [n for n in walk(loop) if isinstance(n, ir.Call) and n.lanes != 1]
    checked = {
        name for c in calls if c.op == "add_over" and DTYPES[c.args[0].dtype].bits == 64
        for name in names_read(c)
    }
    return (
        bool(scans)
        and all(a.name in scans and scans[a.name].before in checked for a in loop.accs)
        and all(DTYPES[c.args[0].dtype].kind != "f" and OPS[c.op].weight <= 4 for c in calls)
    )


def _group_size(loop: ir.VecLoop | ir.PredLoop, width: int) -> int | None:
    """The lanes of a group for the accumulators of a loop whose group the vectoriser has not fixed;
    None if it has no accumulators but counters that an append or a prefix scan advances.
    """
    sizes = [DTYPES[a.init.dtype].bytes for a in loop.accs if a.name not in advanced_accums(loop)]
    return max(width, _DEFAULT_GROUP_BYTES // max(sizes)) if sizes else None


def _mask_form(target: Target, width: int) -> ir.MaskForm:
    """How a predicated loop of `width` lanes switches inactive lanes off on `target`.

    =============  ============================================  ======================
    mask form      an inactive lane                              where
    =============  ============================================  ======================
    BranchPerLane  is jumped over, by a branch                   one lane: scalar code
    AVX512Mask     is masked by a bit of a mask register         AVX-512
    SelectBlend    computes, and is left out by a blend or a     AVX2, SSE2, NEON
                   masked store
    =============  ============================================  ======================
    """
    if width == 1:
        return ir.MaskForm.BranchPerLane
    return ir.MaskForm.AVX512Mask if target.masks == "bits" else ir.MaskForm.SelectBlend


def _resolve_width(n: Any, width: int) -> Any:
    """`n` with vectors of `width` lanes; at width 1, broadcasts and ramps become scalars."""
    n = map_children(n, lambda child: _resolve_width(child, width))
    if getattr(n, "lanes", 1) != "W":
        return n
    if width == 1 and isinstance(n, (ir.Broadcast, ir.Ramp)):
        return n.value if isinstance(n, ir.Broadcast) else n.base
    return replace(n, lanes=width)
