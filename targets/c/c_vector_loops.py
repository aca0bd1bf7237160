"""Vector loops of legal IR as C: peeling, groups of registers, remainder, skipped groups.

A group is the registers that one iteration computes side by side. `_VectorLoop` emits a loop in
these parts, as far as they are needed::

    accumulators, one variable a register (or an array)
    elements up to the first aligned store      peel
    whole groups                                registers unrolled, jammed, or in a loop
    the remaining elements                      register by register, the last one under a mask

A predicated loop that skips groups without an active lane is rotated (loop inversion): its test,
which skips such groups, stands before the loop and after its body::

    while groups are left and no lane of the next is active: advance
    if groups are left, do
        the body; advance
        while groups are left and no lane of the next is active: advance
    while groups are left

GCC hoists constants out of a body only if it runs in every iteration, as this does, and not out of
an ``if``. The predicate is computed once for the test, and once in the body: an expensive one
(`recomputes_predicate`) is tested by an ``if`` instead.
"""
from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import TypeAlias

from loopir import nodes as ir
from loopir.dtypes import DTYPES
from loopir.ir_traversal import walk
from loopir.lazy_dataclass import replace
from loopir.passes.loop_splitting import max_trips_of_strip

from ..isa.target import Vec, mask_type, storage_type
from ..legalization.vector_cost_model import (
    GROUPS_OF_PART,
    accumulators_in_registers,
    can_jam_inner_loops,
    ends_with_whole_register,
    is_streaming_store,
    recomputes_predicate,
    registers_at_once,
    store_to_align,
)
from .c_expressions import bit_index, element_pointer, expr, lane_stride, name_shared_loads
from .c_reductions import (
    accumulator_type,
    declare_nan_test,
    paired_extrema,
    register_with_nan,
    step_with_nan_test,
    vector_accumulators,
)
from .c_scans import declare_scan
from .c_scope import AccumulatorRegisters, Scope, VectorRegister
from .c_text import (
    branch_on_number,
    force_computed,
    parallel_assignment,
    parenthesized,
    strip_parens,
)
from .interrupt_polls import chunk_end, chunk_start
from .lane_masks import any_lane, mask_and, mask_op, mask_to_width
from .vector_ops import vector_op

__all__ = [
    "Block", "Vectored", "predicated_bodies", "register_body", "jammed_bodies",
    "groups_with_skipping", "vector_loop",
]

Block: TypeAlias = Callable[..., Iterator[str]]
"""`c_statements.emit_block`, passed as an argument to avoid an import cycle."""
Vectored: TypeAlias = "ir.VecLoop | ir.PredLoop"


def register_body(n: Vectored, s: Scope, block: Block) -> Iterator[str]:
    """The C of the body of `n` for the register that `s` describes, under an ``if`` if `n` is a
    predicated loop in scalar code.
    """
    if isinstance(n, ir.PredLoop) and s.vector is not None:
        yield from predicated_bodies(n, (s,), block)
        return
    s.loaded = {}
    yield from name_shared_loads(n, s)
    if isinstance(n, ir.PredLoop):
        yield f"if {parenthesized(expr(n.pred, s))} {{"
        yield from _body_and_updates(n, s, block)
        yield "}"
    else:
        yield from _body_and_updates(n, s, block)


def predicated_bodies(n: ir.PredLoop, scopes: Iterable[Scope], block: Block) -> Iterator[str]:
    """The bodies for several registers: first all predicates, then all bodies. If ``n.skips``, one
    branch around the bodies is taken where no lane of any register is active.
    """
    assert isinstance(n.width, int)
    inner_scopes, any_active = [], ""
    for s in scopes:
        assert s.vector
        s.loaded = {}
        yield from name_shared_loads(n, s)
        pred, lanes, active = expr(n.pred, s), s.vector.lanes, s.fresh("on")
        both_hold = mask_and((pred, s.vector.element_mask), lanes, s.target) or pred
        yield f"const {mask_type(s.target, lanes)} {active} = {strip_parens(both_hold)};"
        inner = s.inner(VectorRegister(lanes, s.vector.count, s.vector.element_mask, active))
        inner_scopes.append(replace(inner, taken=s.taken))
        any_active = mask_op("or", (any_active, active), lanes, s.target) if any_active else active
    if n.skips:
        yield f"if ({any_lane(any_active, n.width, inner_scopes[0].target)}) {{"
    for s in inner_scopes:
        yield from _body_and_updates(n, s, block)
    if n.skips:
        yield "}"


def jammed_bodies(n: Vectored, scopes: Sequence[Scope], block: Block) -> Iterator[str]:
    """The bodies for several registers that share the inner loops."""
    yield from block(n.body, *scopes)
    for s in scopes:
        yield from _update_accumulators(n, s)


def _body_and_updates(n: Vectored, s: Scope, block: Block) -> Iterator[str]:
    """The body for one register, and the updates of its accumulators."""
    yield from block(n.body, s)
    yield from _update_accumulators(n, s)


def _update_accumulators(n: Vectored, s: Scope) -> Iterator[str]:
    """Assign the accumulators' new values."""
    width = s.vector.lanes if s.vector else 1
    accs = vector_accumulators(n)
    types = [accumulator_type(a, width, s) for a in accs]
    new = [
        (s.names[a.name], t, strip_parens(_new_value(a, s)))
        for a, t in zip(accs, types, strict=True)
    ]
    yield from parallel_assignment(new, s.fresh)


def _new_value(a: ir.VecAccum, s: Scope) -> str:
    """The new value of an accumulator in C; inactive lanes keep the previous one."""
    if isinstance(a.step, ir.Call) and a.name in s.nan_tests:
        return step_with_nan_test(a, expr, s)
    step, previous = expr(a.step, s), s.names[a.name]
    if s.vector is None or s.vector.active_mask is None or step == previous:
        return step
    active, lanes, dtype = s.vector.active_mask, s.vector.lanes, a.init.dtype
    if dtype == "bool":
        return mask_op("select", (active, step, previous), lanes, s.target)
    mask = mask_to_width(active, lanes, DTYPES[dtype].bits, s.target)
    return vector_op("select", Vec(dtype, lanes), (mask, step, previous), s.target)


_Bodies: TypeAlias = Callable[[Sequence[Scope], Block], Iterator[str]]
"""A function that prints the bodies for the registers of these scopes, as `jammed_bodies`."""


def groups_with_skipping(
    n: ir.PredLoop, i: str, end: str, side_by_side: Callable[[_Bodies], Iterator[str]]
) -> Iterator[str]:
    """The loop over groups that skips those without an active lane, rotated as at the top of this
    module. `i`, `end`: C names of the next element and the end; ``side_by_side(bodies)`` prints
    `bodies` for all registers of a group.
    """
    has_group, advance = f"{end} - {i} >= {n.group}", f"{i} += {n.group}"
    if not recomputes_predicate(n):
        yield f"for (; {has_group}; {advance}) {{"
        yield from side_by_side(partial(predicated_bodies, n))
        yield "}"
        return
    skipped = (
        f"for (; {has_group}; {advance}) {{",
        *side_by_side(partial(_break_if_active, n)),
        "}",
    )
    yield from skipped
    yield f"if ({has_group}) do {{"
    yield from side_by_side(partial(predicated_bodies, replace(n, skips=False)))
    yield f"{advance};"
    yield from skipped
    yield f"}} while ({has_group});"


def _break_if_active(n: ir.PredLoop, scopes: Sequence[Scope], block: Block) -> Iterator[str]:
    """The body of the skipping loop: leave it if the predicate is true in some lane of the
    registers.
    """
    assert isinstance(n.width, int)
    any_active = ""
    for s in scopes:
        yield from name_shared_loads(replace(n, body=(), accs=()), s)
        active = parenthesized(expr(n.pred, s))
        any_active = (
            mask_op("or", (any_active, active), n.width, s.target) if any_active else active
        )
    yield f"if ({any_lane(any_active, n.width, scopes[0].target)}) break;"


def vector_loop(n: Vectored, s: Scope, block: Block) -> Iterator[str]:
    """The lines of a vector loop; its accumulators' registers are then bound in `s`."""
    return _VectorLoop(n, s, block).lines()


_FEW = 4
"""The most registers of a group whose remainder may be unrolled (`_VectorLoop._remainder`)."""

_FEW_NODES = 40
"""The most nodes of a body of which that is a copy for each register."""


class _VectorLoop:
    """The emission of one loop.

    ``i``, ``end``: C names of the next element and the end; ``first``: of the first element, if
    elements may run twice. ``count``: registers of a group. ``vectors``: accumulators that are
    vectors. ``is_unrolled``: each register of these is a C variable of its own, and the group is
    unrolled; else they are in an array.
    """

    def __init__(self, n: Vectored, s: Scope, block: Block) -> None:
        assert isinstance(n.width, int)
        assert n.group
        self.n, self.s, self.block = n, s, block
        self.width, self.group, self.count = n.width, n.group, n.group // n.width
        self.vectors = vector_accumulators(n)
        self.is_unrolled = accumulators_in_registers(n, s.target)
        self.i = self.end = self.first = ""

    def lines(self) -> Iterator[str]:
        """All lines of the loop."""
        assert isinstance(self.n.range, ir.Interval)
        lo, hi = (strip_parens(expr(x, self.s)) for x in (self.n.range.lo, self.n.range.hi))
        yield from self._accumulators()
        inner = self.s.inner()
        inner.end_chunk = ""
        self.i, self.end = inner.fresh(self.n.var), inner.fresh(f"{self.n.var}_end")
        yield "{"
        yield f"int64_t {self.i} = {lo};"
        yield f"const int64_t {self.end} = {hi};"
        if ends_with_whole_register(self.n, self.s.kernel, self.s.target):
            self.first = inner.fresh(f"{self.n.var}_first")
            yield f"const int64_t {self.first} = {self.i};"
        yield from self._phases(inner)
        yield "}"
        for a in self.vectors:
            if a.name in self.s.flagging:
                yield from self._force_registers(a)

    def _force_registers(self, a: ir.VecAccum) -> Iterator[str]:
        """Barriers for all registers of an unread accumulator."""
        r = self.s.registers[a.name]
        if not self.is_unrolled:
            yield f"TP_STORED({r.names[0]});"
            return
        value = ir.Var(a.name, a.step.dtype, self.width)
        yield from (force_computed(c, value, self.s) for c in r.names)

    def _phases(self, s: Scope) -> Iterator[str]:
        """The parts of the loop after its accumulators: whole groups, then the elements that are
        left, the remainder::

            for (; i_end - i >= 32; i += 32) { … }      groups of 4 registers of 8 lanes
            if (i < i_end) { … }                        the remainder, of 1 to 31 elements

        The remainder is run register by register (`_registers_until`). Where a store is to be
        aligned, that code also runs the elements before the first aligned one (`_from_aligned`).
        """
        aligned = store_to_align(self.n, s.arrays, s.names)
        if self.group == 1:
            yield from self._groups(s)  # single elements: nothing is left
            return
        if aligned and self.width > 1:
            yield from self._from_aligned(aligned, s)
            return
        yield from self._groups(s)
        yield from self._assign_scan_results(s)
        yield f"if ({self.i} < {self.end}) {{"
        yield from self._remainder(s.inner())
        yield "}"

    def _from_aligned(self, store: ir.Store, s: Scope) -> Iterator[str]:
        """The loop so that `store` is aligned in its groups: first the elements before the first
        aligned one (the peel), then the groups, then the remainder. One piece of code runs the
        peel and the remainder, in two rounds of a C loop.
        """
        stop, i, end = s.fresh("stop"), self.i, self.end
        at_first = s.inner()
        at_first.names[self.n.var] = i
        v = storage_type(store.value.dtype, self.width)
        if store.array in s.bits:
            first_bit = bit_index(store.array, store.index, at_first)
            yield f"int64_t {stop} = {i} + tp_peelbits_bool({first_bit}, {end} - {i});"
        else:
            address = element_pointer(store.array, store.index, at_first)
            stride = lane_stride(store.array, store.axis, 1, s)
            yield f"int64_t {stop} = {i} + tp_peel_{v.name}({address}, {end} - {i}, {stride});"
        yield "for (;;) {"
        yield from self._registers_until(stop, 0, s)
        yield f"if ({stop} == {end}) break;"
        yield f"{i} = {stop};"
        if store.array not in s.bits and is_streaming_store(store, v, s.arrays, s.read, s.target):
            yield from self._streamed(store, v, address, s)
        yield from self._groups(s)
        yield f"{stop} = {end};"
        yield "}"

    def _streamed(self, store: ir.Store, v: Vec, address: str, s: Scope) -> Iterator[str]:
        """A loop over whole registers with non-temporal stores in place of `store`, if the result
        exceeds half of the last cache, and the address is aligned, as the instruction requires. The
        groups after it have little left. Of float64 on AVX2::

            if (i_end - i >= 1048576 && (intptr_t)(y + i) % 32 == 0) {
                for (; i_end - i >= 4; i += 4) { …vmovntps… }
                __builtin_ia32_sfence();                  other threads see the stores in order
            }
        """
        min_elements = s.target.model.streamed_bytes // DTYPES[v.dtype].bytes
        is_aligned = f"(intptr_t)({address}) % {v.bits // 8} == 0"
        length = s.names.get(f"{self.n.var}.whole", f"{self.end} - {self.i}")
        yield f"if ({length} >= {min_elements} && {is_aligned}) {{"
        has_vector, poll, stop = f"{self.end} - {self.i} >= {self.width}", s.polls.get(self.n), ""
        if poll is not None:
            stop = s.fresh(f"{self.n.var}_stop")
            yield f"if ({has_vector}) for (;;) {{"
            yield from chunk_start(self.i, self.end, stop, self.group, poll)
        yield f"for (; {stop or self.end} - {self.i} >= {self.width}; {self.i} += {self.width}) {{"
        yield from self._register(s, 0, self.i, 0, VectorRegister(self.width, streamed=store))
        yield "}"
        if stop and poll is not None:
            yield from chunk_end(has_vector, poll)
        yield "__builtin_ia32_sfence();"
        yield "}"

    # -- accumulators

    def _accumulators(self) -> Iterator[str]:
        """Declare the accumulators, the counters of appends and the state of scans."""
        starts = [(a, expr(a.init, self.s)) for a in self.n.accs]
        for a, start in starts:
            c = self.s.bind(a.name)
            if a not in self.vectors:
                yield f"{DTYPES[a.init.dtype].c} {c} = {strip_parens(start)};"
                continue
            kind = accumulator_type(a, self.width, self.s)
            filled = f"tp_{'fill' if a.init.dtype == 'bool' else 'splat'}_{kind}({start})"
            yield from self._declare(a, c, kind, strip_parens(start) if self.width == 1 else filled)
        for x in self.n.body:
            if isinstance(x, ir.Prefix):
                yield from declare_scan(x, self.width, self.count, self.s)

    def _declare(self, a: ir.VecAccum, c: str, kind: str, value: str) -> Iterator[str]:
        """Declare the registers of `a`, of C type `kind`, each with the initial `value`."""
        if self.is_unrolled:
            names = tuple(self.s.fresh(f"{c}_{k}") for k in range(self.count))
            other_registers = "".join(f", {x} = {names[0]}" for x in names[1:])
            yield f"{kind} {names[0]} = {value}{other_registers};"
        else:
            names, k = (c,), self.s.fresh("k")
            yield f"{kind} {c}[{self.count}];"
            yield f"for (int {k} = 0; {k} < {self.count}; {k}++) {c}[{k}] = {value};"
        register_kind = a.init.dtype if self.width == 1 else kind
        self.s.registers[a.name] = AccumulatorRegisters(
            register_kind, self.count, names, not self.is_unrolled
        )

    # -- whole groups

    def _groups(self, outer: Scope) -> Iterator[str]:
        """The loop over whole groups, in chunks if it polls, with the tests of extrema for NaN."""
        s = replace(outer, nan_tests={})
        extrema = paired_extrema(self.n, s.target)
        yield from (declare_nan_test(a, s) for a in extrema)
        if (poll := s.polls.get(self.n)) is None:
            yield from self._groups_until(self.end, s)
        else:
            has_group, inner = f"{self.end} - {self.i} >= {self.group}", s.inner()
            stop = inner.fresh(f"{self.n.var}_stop")
            yield f"if ({has_group}) for (;;) {{"
            yield from chunk_start(self.i, self.end, stop, self.group, poll, whole=True)
            yield from self._groups_until(stop, inner, whole=True)
            yield from chunk_end(has_group, poll)
        yield from filter(None, (register_with_nan(a, s) for a in extrema))

    def _groups_until(self, end: str, s: Scope, *, whole: bool = False) -> Iterator[str]:
        """The loop over whole groups before `end`, with the registers of a group side by side,
        unrolled or in a loop; ``whole``: the elements before `end` are whole groups.
        """
        if self.is_unrolled and isinstance(self.n, ir.PredLoop) and self.n.skips:
            for_all_registers = partial(self._side_by_side, outer=s)
            yield from groups_with_skipping(self.n, self.i, end, for_all_registers)
            return
        if (at_once := registers_at_once(self.n, s.target)) < self.count:
            yield from self._groups_in_passes(end, at_once, s)
            whole = False
        has_group = f"{self.i} < {end}" if whole else f"{end} - {self.i} >= {self.group}"
        yield f"for (; {has_group}; {self.i} += {self.group}) {{"
        is_jammed = self.count > 1 and can_jam_inner_loops(self.n)
        if is_jammed and (self.is_unrolled or not self.vectors):
            yield from self._side_by_side(partial(jammed_bodies, self.n), s)
        elif self.is_unrolled:
            for k in range(self.count):
                yield from self._register(s, k, self.i, k * self.width)
        else:
            inner = s.inner()
            r = inner.fresh("r")
            yield f"for (int64_t {r} = 0; {r} < {self.count}; {r}++) {{"
            yield from self._register(inner, r, self.i, f"{r} * {self.width}")
            yield "}"
        if isinstance(self.n, ir.VecLoop) and self.n.until is not None:
            yield f"if {parenthesized(expr(self.n.until, s))} {{ {self.i} = {self.end}; break; }}"
        yield "}"

    def _groups_in_passes(self, end: str, at_once: int, s: Scope) -> Iterator[str]:
        """Whole groups before `end`, but a last one, in passes over parts of the range: each runs
        `at_once` registers of every group, and loads the elements of these alone.
        """
        start, group, part = self.i, self.group, s.fresh(f"{self.n.var}_part")
        length = GROUPS_OF_PART * group
        yield f"while ({end} - {start} >= {2 * group}) {{"
        yield f"const int64_t {part} = {end} - {start} > {length} ? {start} + {length} : {end};"
        for first in range(0, self.count, at_once):
            is_last = first + at_once == self.count
            i = start if is_last else s.fresh(self.n.var)
            begin = "" if is_last else f"int64_t {i} = {start}"
            yield f"for ({begin}; {part} - {i} >= {group}; {i} += {group}) {{"
            for k in range(first, first + at_once):
                yield from self._register(s, k, i, k * self.width)
            yield "}"
        yield "}"

    def _side_by_side(
        self, body: Callable[[Sequence[Scope], Block], Iterator[str]], outer: Scope
    ) -> Iterator[str]:
        """`body` for all registers of a group, which share inner loops or the branch around it."""
        taken = outer.inner().taken
        scopes = [replace(outer.inner(VectorRegister(self.width)), taken=taken, loaded={})
                  for _ in range(self.count)]
        yield "{"
        for k, s in enumerate(scopes):
            s.register = k
            s.names.update((a.name, s.registers[a.name][k]) for a in self.vectors)
            s.names[self.n.var] = self.i
            if k:
                yield f"const int64_t {s.bind(self.n.var)} = {self.i} + {k * self.width};"
        yield from body(scopes, self.block)
        yield "}"

    def _assign_scan_results(self, s: Scope) -> Iterator[str]:
        """Assign the values of prefix scans after the last whole group."""
        for a in self.n.accs:
            if self.width > 1 and a.name in s.running:
                yield f"{s.names[a.name]} = {s.running[a.name].carry}[0];"

    # -- the remainder

    def _remainder(self, s: Scope) -> Iterator[str]:
        """The remainder, register by register. Each register adds to its own part of the vector
        accumulators, so that the order of a sum stays. Four forms, the first that applies:

        - a loop in which all use part 0 (`_registers_until`): the group is one register, or has
          neither vector accumulators nor scans;
        - the body once for each register (`_unrolled_remainder`): the group is unrolled, masks are
          bits, it has at most `_FEW` registers and no scan, and the kernel is not large;
        - the whole registers one under another (`_nested_remainder`): in a scalar loop, if they
          are few and short;
        - else a loop with a counter ``r`` of registers: accumulators that are C variables are
          copied to an array, which is indexed by ``r``, and copied back after the loop.
        """
        if self.count == 1 or not (self.vectors or self.s.running):
            yield from self._registers_until(self.end, 0, s)
            return
        is_short = self.count <= _FEW and not s.running and not s.is_large
        if self.is_unrolled and s.target.masks == "bits" and is_short:
            yield from self._unrolled_remainder(s)
            return
        if self.is_unrolled and self._is_short_in_loop(s):
            yield from self._nested_remainder(s)
            return
        r = s.fresh("r")
        yield f"int64_t {r} = 0;"
        separate_registers = {a.name: s.registers[a.name] for a in self.vectors if self.is_unrolled}
        for a in self.vectors if self.is_unrolled else ():
            c = s.fresh(f"{s.names[a.name]}_all")
            kind = accumulator_type(a, self.width, s)
            values = ", ".join(separate_registers[a.name].names)
            yield f"{kind} {c}[{self.count}] = {{{values}}};"
            s.registers[a.name] = AccumulatorRegisters(
                separate_registers[a.name].kind, self.count, (c,), True
            )
        yield from self._registers_until(self.end, r, s)
        for name, registers_of in separate_registers.items():
            yield " ".join(
                f"{registers_of[k]} = {s.registers[name][k]};" for k in range(self.count)
            )

    def _is_short_in_loop(self, s: Scope) -> bool:
        """Whether `_nested_remainder` is emitted: remainders are frequent, registers few."""
        size = sum(1 for part in (*self.n.body, *(a.step for a in self.n.accs)) for _ in walk(part))
        is_short = 2 < self.count <= 2 * _FEW and size <= _FEW_NODES
        is_allowed = s.target.masks != "bits" and not s.is_large and not s.running
        r = self.n.range  # of many blocks of whole groups only the last one has a remainder
        block = isinstance(r, ir.Interval) and max_trips_of_strip(r)
        is_frequent = s.in_blocks or not block or block % self.group
        return s.in_loop and is_short and is_allowed and bool(is_frequent)

    def _nested_remainder(self, s: Scope) -> Iterator[str]:
        """The whole registers, each under the branch of the one before; then the partial one, whose
        number says `r`. To copy accumulators to an array takes longer than a sum of 40 elements.
        """
        r = s.fresh("r")
        yield f"int {r} = 0;"
        for k in range(self.count - 1):
            yield f"if ({self.end} - {self.i} >= {self.width}) {{"
            yield from self._register(s, k, self.i)
            yield f"{self.i} += {self.width}, {r} = {k + 1};"
        yield from "}" * (self.count - 1)
        yield f"if ({self.i} < {self.end}) {{"
        registers = [s.registers[a.name] for a in self.vectors]
        parts = [s.fresh(f"{s.names[a.name]}_part") for a in self.vectors]
        for a, part in zip(self.vectors, parts, strict=True):
            yield f"{accumulator_type(a, self.width, s)} {part};"
        yield from branch_on_number(r, [
            " ".join(f"{part} = {of[k]};" for part, of in zip(parts, registers, strict=True))
            for k in range(self.count)
        ])
        inner = s.inner()
        for a, part, of in zip(self.vectors, parts, registers, strict=True):
            inner.registers[a.name] = AccumulatorRegisters(of.kind, 1, (part,), False)
        yield from self._partial_register(self.end, 0, inner)
        yield from branch_on_number(r, [
            " ".join(f"{of[k]} = {part};" for part, of in zip(parts, registers, strict=True))
            for k in range(self.count)
        ])
        yield "}"

    def _unrolled_remainder(self, s: Scope) -> Iterator[str]:
        """Each register with remaining elements, under a mask."""
        for k in range(self.count):
            yield f"if ({self.i} < {self.end}) {{"
            yield from self._partial_register(self.end, k, s.inner())
            yield f"{self.i} += {self.width};"
            yield "}"

    def _registers_until(self, stop: str, r: str | int, s: Scope) -> Iterator[str]:
        """The lines that run elements from ``i`` on, up to `stop`, one register at a time: the
        remainder of a loop, or what precedes the first aligned element. In the last register the
        lanes behind `stop` are off, by a mask. On AVX2, with registers of 4 lanes::

            for (; stop - i >= 4; i += 4, r++) { … }         whole registers, without a mask
            if (i < stop) { live = tp_first(stop - i); … }   the partial one, under a mask

        If elements may run twice (`ends_with_whole_register`), and there are four, the last
        register is a whole one that ends at `stop`, which takes a fraction of the time. Where masks
        are bits, one loop runs all registers under a mask, which costs nothing. `r`: the register
        of each accumulator to use, a number, or a C name that counts.
        """
        advance = f"{self.i} += {self.width}" + (f", {r}++" if isinstance(r, str) else "")
        has_bit_masks = s.target.masks == "bits"
        if self.width == 1 or self.first or (not has_bit_masks and self.count > 1):
            yield from ["for (;;) {"] if self.first else []
            yield f"for (; {stop} - {self.i} >= {self.width}; {advance}) {{"
            yield from self._register(s, r, self.i)
            yield "}"
            if self.first:
                yield f"if ({self.i} >= {stop} || {stop} - {self.first} < {self.width}) break;"
                yield f"{self.i} = {stop} - {self.width};"
                yield "}"
        if self.width > 1:
            all_registers = f"for (; {self.i} < {stop}; {advance}) {{"
            yield all_registers if has_bit_masks else f"if ({self.i} < {stop}) {{"
            yield from self._partial_register(stop, r, s.inner())
            yield "}"

    def _partial_register(self, stop: str, r: str | int, s: Scope) -> Iterator[str]:
        """The body for the first lanes of a register, up to element `stop`, under a mask."""
        kind = mask_type(s.target, self.width)
        count, live = s.fresh("count"), s.fresh("live")
        yield f"const int64_t {count} = {stop} - {self.i};"
        yield f"const {kind} {live} = tp_first_{kind}({count});"
        yield from self._register(s, r, self.i, 0, VectorRegister(self.width, count, live, live))

    def _register(
        self, outer: Scope, r: str | int, i: str, k: str | int = 0,
        vector: VectorRegister | None = None,
    ) -> Iterator[str]:
        """The body for register `r`, whose lane 0 is ``i + k``; in a block if it binds names."""
        at, place = f"{i} + {k}" if k else i, (self.n.var, i, k) if isinstance(k, int) else None
        whole = VectorRegister(self.width, first=place) if self.width > 1 else None
        s = outer.inner(vector or whole)
        s.register = r
        s.names.update((a.name, s.registers[a.name][r]) for a in self.vectors)
        s.names[self.n.var] = at
        lines = [] if at == self.i else [f"const int64_t {s.bind(self.n.var)} = {at};"]
        lines += register_body(self.n, s, self.block)
        yield from lines if len(lines) == 1 and at == self.i else ["{", *lines, "}"]
