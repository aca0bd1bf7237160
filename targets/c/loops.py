"""Vector loops of legal IR as C: whole groups of registers, then what does not fill one."""
from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial

from loopir import nodes as ir
from loopir.types import DTYPES, INDEX

from ..shape import aligned_store, in_registers, shares_loops, streams
from ..target import Vec, mask_type, stored
from .body import Block, Vectored, accumulator_type, register_body, together, vector_accs
from .expressions import expr, place, pointer, stride
from .prefix import begin
from .scope import Region, Registers, Scope
from .skips import acting_groups
from .text import bracketed, plain
from .variables import computed

__all__ = ["vector_loop"]


def vector_loop(n: Vectored, s: Scope, block: Block) -> Iterator[str]:
    """The lines of a vector loop; then its accumulators are bound in `s`, with all registers."""
    return _VectorLoop(n, s, block).lines()


_FEW = 4
"""Registers of a group up to which the remainder is written out for each."""


class _VectorLoop:
    """One loop. ``i`` and ``end`` are the C names of the next element and the end."""

    def __init__(self, n: Vectored, s: Scope, block: Block) -> None:
        assert isinstance(n.width, int)
        assert n.group
        self.n, self.s, self.block = n, s, block
        self.width, self.group, self.count = n.width, n.group, n.group // n.width
        self.vectors = vector_accs(n)
        self.written_out = in_registers(n, s.target)
        self.i = self.end = ""

    def lines(self) -> Iterator[str]:
        assert isinstance(self.n.range, ir.Interval)
        lo, hi = (plain(expr(x, self.s)) for x in (self.n.range.lo, self.n.range.hi))
        yield from self._accumulators()
        inner = self.s.inner()
        self.i, self.end = inner.fresh(self.n.var), inner.fresh(f"{self.n.var}_end")
        yield "{"
        yield f"int64_t {self.i} = {lo};"
        yield f"const int64_t {self.end} = {hi};"
        yield from self._phases(inner)
        yield "}"
        for a in self.vectors:
            if a.name in self.s.flagging:
                yield from self._computed(a)

    def _computed(self, a: ir.VecAccum) -> Iterator[str]:
        """Has all of its registers computed, which nothing reads."""
        r = self.s.registers[a.name]
        if not self.written_out:
            yield f"TP_STORED({r.names[0]});"
            return
        value = ir.Var(a.name, a.step.dtype, self.width)
        yield from (computed(c, value, self.s) for c in r.names)

    def _phases(self, s: Scope) -> Iterator[str]:
        aligned = aligned_store(self.n, s.arrays, s.names)
        if self.n.tail:
            yield from self._groups(s)
            yield from self._tail(self.n.tail, s)
        elif self.group == 1:
            yield from self._groups(s)
        elif aligned and self.width > 1:
            yield from self._from_aligned(aligned, s)
        else:
            yield from self._groups(s)
            yield from self._come_to(s)
            yield f"if ({self.i} < {self.end}) {{"
            yield from self._remainder(s.inner())
            yield "}"

    def _from_aligned(self, store: ir.Store, s: Scope) -> Iterator[str]:
        """Elements until the store is aligned, groups, the rest: first and last by one code."""
        stop, i, end = s.fresh("stop"), self.i, self.end
        here = s.inner()
        here.names[self.n.var] = i
        v = stored(store.value.dtype, self.width)
        if store.array in s.bits:
            first = place(store.array, store.index, here)
            yield f"int64_t {stop} = {i} + tp_peelbits_bool({first}, {end} - {i});"
        else:
            at = pointer(store.array, store.index, here)
            size = stride(store.array, store.axis, 1, s)
            yield f"int64_t {stop} = {i} + tp_peel_{v.name}({at}, {end} - {i}, {size});"
        yield "for (;;) {"
        yield from self._registers_until(stop, 0, s)
        yield f"if ({stop} == {end}) break;"
        yield f"{i} = {stop};"
        if store.array not in s.bits and streams(store, v, s.arrays, s.read, s.target):
            yield from self._streamed(store, v, at, s)
        yield from self._groups(s)
        yield f"{stop} = {end};"
        yield "}"

    def _streamed(self, store: ir.Store, v: Vec, at: str, s: Scope) -> Iterator[str]:
        """Past the caches, where the result would not fit them."""
        enough = s.target.caches[2] // 2 // DTYPES[v.dtype].bytes
        yield f"if ({self.end} - {self.i} >= {enough} && (intptr_t)({at}) % {v.bits // 8} == 0) {{"
        yield f"for (; {self.end} - {self.i} >= {self.width}; {self.i} += {self.width}) {{"
        yield from self._register(s, 0, self.i, Region(self.width, streamed=store))
        yield "}"
        yield "__builtin_ia32_sfence();"
        yield "}"

    def _tail(self, tail: ir.Loop, s: Scope) -> Iterator[str]:
        s.names.update({"first": self.i, "last": self.end})
        rng = ir.Interval(ir.Var("first", INDEX), ir.Var("last", INDEX))
        yield from self.block((replace(tail, range=rng),), s)

    # -- accumulators

    def _accumulators(self) -> Iterator[str]:
        starts = [(a, expr(a.init, self.s)) for a in self.n.accs]
        for a, start in starts:
            c = self.s.bind(a.name)
            if a not in self.vectors:
                yield f"{DTYPES[a.init.dtype].c} {c} = {plain(start)};"
                continue
            kind = accumulator_type(a, self.width, self.s)
            filled = f"tp_{'fill' if a.init.dtype == 'bool' else 'splat'}_{kind}({start})"
            yield from self._declare(a, c, kind, plain(start) if self.width == 1 else filled)
        for x in self.n.body:
            if isinstance(x, ir.Prefix):
                yield from begin(x, self.width, self.count, self.s)

    def _declare(self, a: ir.VecAccum, c: str, kind: str, value: str) -> Iterator[str]:
        if self.written_out:
            names = tuple(self.s.fresh(f"{c}_{k}") for k in range(self.count))
            rest = "".join(f", {x} = {names[0]}" for x in names[1:])
            yield f"{kind} {names[0]} = {value}{rest};"
        else:
            names, k = (c,), self.s.fresh("k")
            yield f"{kind} {c}[{self.count}];"
            yield f"for (int {k} = 0; {k} < {self.count}; {k}++) {c}[{k}] = {value};"
        shown = a.init.dtype if self.width == 1 else kind
        self.s.registers[a.name] = Registers(shown, self.count, names, not self.written_out)

    # -- whole groups

    def _groups(self, s: Scope) -> Iterator[str]:
        """All registers of a group, written out or looped over."""
        if self.written_out and isinstance(self.n, ir.PredLoop) and self.n.skips:
            beside = partial(self._side_by_side, outer=s)
            yield from acting_groups(self.n, self.i, self.end, beside)
            return
        yield f"for (; {self.end} - {self.i} >= {self.group}; {self.i} += {self.group}) {{"
        if self.count > 1 and shares_loops(self.n) and (self.written_out or not self.vectors):
            yield from self._side_by_side(partial(together, self.n), s)
        elif self.written_out:
            for k in range(self.count):
                yield from self._register(s, k, f"{self.i} + {k * self.width}" if k else self.i)
        else:
            inner = s.inner()
            r = inner.fresh("r")
            yield f"for (int64_t {r} = 0; {r} < {self.count}; {r}++) {{"
            yield from self._register(inner, r, f"{self.i} + {r} * {self.width}")
            yield "}"
        if isinstance(self.n, ir.VecLoop) and self.n.until is not None:
            yield f"if {bracketed(expr(self.n.until, s))} {{"
            yield f"{self.i} = {self.end};"
            yield "break;"
            yield "}"
        yield "}"

    def _side_by_side(
        self, body: Callable[[Sequence[Scope], Block], Iterator[str]], outer: Scope
    ) -> Iterator[str]:
        """`body` for all registers of a group: they share its loops, or a branch around it."""
        first = outer.inner()
        scopes = [replace(outer.inner(Region(self.width)), taken=first.taken, loaded={})
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

    def _come_to(self, s: Scope) -> Iterator[str]:
        """What running folds have come to after whole groups."""
        for a in self.n.accs:
            if self.width > 1 and a.name in s.running:
                yield f"{s.names[a.name]} = {s.running[a.name].carry}[0];"

    # -- the remainder

    def _remainder(self, s: Scope) -> Iterator[str]:
        """Register by register; many accumulators lie in memory meanwhile, to be numbered."""
        if self.count == 1 or not (self.vectors or self.s.running):
            yield from self._registers_until(self.end, 0, s)
            return
        few = self.count <= _FEW and not s.running
        if self.written_out and s.target.masks == "bits" and few:
            yield from self._each_in_part(s)
            return
        r = s.fresh("r")
        yield f"int64_t {r} = 0;"
        kept = {a.name: s.registers[a.name] for a in self.vectors if self.written_out}
        for a in self.vectors if self.written_out else ():
            c = s.fresh(f"{s.names[a.name]}_all")
            kind, values = accumulator_type(a, self.width, s), ", ".join(kept[a.name].names)
            yield f"{kind} {c}[{self.count}] = {{{values}}};"
            s.registers[a.name] = Registers(kept[a.name].kind, self.count, (c,), True)
        yield from self._registers_until(self.end, r, s)
        for name, old in kept.items():
            yield " ".join(f"{old[k]} = {s.registers[name][k]};" for k in range(self.count))

    def _each_in_part(self, s: Scope) -> Iterator[str]:
        """Each register that has an element left, under a mask."""
        for k in range(self.count):
            yield f"if ({self.i} < {self.end}) {{"
            yield from self._part(self.end, k, s.inner())
            yield f"{self.i} += {self.width};"
            yield "}"

    def _registers_until(self, stop: str, r: str | int, s: Scope) -> Iterator[str]:
        """Registers of elements before `stop`, the last in part; `r` numbers their accumulators."""
        on = f"{self.i} += {self.width}" + (f", {r}++" if isinstance(r, str) else "")
        masked = s.target.masks == "bits"
        if self.width == 1 or (not masked and self.count > 1):
            yield f"for (; {stop} - {self.i} >= {self.width}; {on}) {{"
            yield from self._register(s, r, self.i)
            yield "}"
        if self.width > 1:
            yield f"for (; {self.i} < {stop}; {on}) {{" if masked else f"if ({self.i} < {stop}) {{"
            yield from self._part(stop, r, s.inner())
            yield "}"

    def _part(self, stop: str, r: str | int, s: Scope) -> Iterator[str]:
        kind = mask_type(s.target, self.width)
        count, live = s.fresh("count"), s.fresh("live")
        yield f"const int64_t {count} = {stop} - {self.i};"
        yield f"const {kind} {live} = tp_first_{kind}({count});"
        yield from self._register(s, r, self.i, Region(self.width, count, live, live))

    def _register(
        self, outer: Scope, r: str | int, at: str, region: Region | None = None
    ) -> Iterator[str]:
        """The body for register `r`, whose lane 0 is element `at`; a block if it binds names."""
        s = outer.inner(region or (Region(self.width) if self.width > 1 else None))
        s.register = r
        s.names.update((a.name, s.registers[a.name][r]) for a in self.vectors)
        s.names[self.n.var] = at
        lines = [] if at == self.i else [f"const int64_t {s.bind(self.n.var)} = {at};"]
        lines += register_body(self.n, s, self.block)
        yield from lines if len(lines) == 1 and at == self.i else ["{", *lines, "}"]
