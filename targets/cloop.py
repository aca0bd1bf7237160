"""Vector loops of legal IR as C: whole groups of registers, then the remainder under a mask."""
from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from loopir import nodes as ir
from loopir.ops import STATUS
from loopir.types import DTYPES

from .cexpr import Region, Registers, Scope, expr, held, pointer, stride, type_of
from .cmask import any_lane, as_width, bits_of, both, logic, negated
from .shape import in_registers
from .target import Vec, mask_type
from .vecops import operation

__all__ = ["assignments", "bracketed", "plain", "vector_loop", "vector_statement"]

Block = Callable[[Iterable[ir.Stmt], Scope], Iterator[str]]
Vectored = ir.VecLoop | ir.PredLoop


def plain(text: str) -> str:
    """`text` without the brackets that enclose all of it."""
    return text[1:-1] if _enclosed(text) else text


def bracketed(text: str) -> str:
    return text if _enclosed(text) else f"({text})"


def _enclosed(text: str) -> bool:
    depth = 0
    for at, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if depth == 0:
            return letter == ")" and at == len(text) - 1
    return False


def assignments(new: Sequence[tuple[str, str, str]], s: Scope) -> Iterator[str]:
    """(name, C type, value) assigned at once."""
    if len(new) == 1:
        yield f"{new[0][0]} = {new[0][2]};"
        return
    held = [s.fresh("next") for _ in new]
    yield from (f"const {kind} {h} = {value};" for h, (_, kind, value) in zip(held, new, strict=True))
    yield from (f"{name} = {h};" for h, (name, _, _) in zip(held, new, strict=True))


# -- the loop


def vector_loop(n: Vectored, s: Scope, block: Block) -> Iterator[str]:
    """The lines of a vector loop; afterwards its accumulators are bound in `s`, with all their registers."""
    return _VectorLoop(n, s, block).lines()


class _VectorLoop:
    def __init__(self, n: Vectored, s: Scope, block: Block) -> None:
        assert isinstance(n.width, int) and n.group and isinstance(n.range, ir.Interval)
        self.n, self.s, self.block = n, s, block
        self.width, self.count = n.width, n.group // n.width
        self.range = n.range
        self.counters = ir.counters(n)
        self.separate = in_registers(n, s.target)

    def lines(self) -> Iterator[str]:
        lo, hi = plain(expr(self.range.lo, self.s)), plain(expr(self.range.hi, self.s))
        yield from self._accumulators()
        inner = self.s.inner()
        self.i, self.end = inner.fresh(self.n.var), inner.fresh(f"{self.n.var}_end")
        yield "{"
        yield f"int64_t {self.i} = {lo};"
        yield f"const int64_t {self.end} = {hi};"
        yield from self._groups(inner)
        if self.n.tail:
            yield from self._tail(self.n.tail, inner)
        elif self.n.group != 1:
            yield from self._remainder(inner)
        yield "}"

    def _tail(self, tail: ir.Loop, s: Scope) -> Iterator[str]:
        names = {"from": self.i, "to": self.end}
        s.names.update(names)
        first, last = (ir.Var(x, "i64") for x in names)
        yield from self.block((replace(tail, range=ir.Interval(first, last)),), s)

    def _vectors(self) -> list[ir.VecAccum]:
        return [a for a in self.n.accs if a.name not in self.counters]

    def _accumulators(self) -> Iterator[str]:
        starts = [(a, expr(a.init, self.s)) for a in self.n.accs]
        for a, start in starts:
            c = self.s.bind(a.name)
            if a.name in self.counters:
                yield f"int64_t {c} = {plain(start)};"
                continue
            kind = self._kind(a)
            value = start if self.width == 1 else f"tp_{'fill' if a.init.dtype == 'bool' else 'splat'}_{kind}({start})"
            yield from self._declare(a.name, c, a.init.dtype, kind, value)

    def _kind(self, a: ir.VecAccum) -> str:
        if self.width == 1:
            return DTYPES[a.init.dtype].c
        return mask_type(self.s.target, self.width) if a.init.dtype == "bool" else Vec(a.init.dtype, self.width).name

    def _declare(self, name: str, c: str, dtype: str, kind: str, value: str) -> Iterator[str]:
        shown = dtype if self.width == 1 else kind
        if self.separate:
            names = tuple(self.s.fresh(f"{c}_{k}") for k in range(self.count))
            rest = "".join(f", {x} = {names[0]}" for x in names[1:])
            yield f"{kind} {names[0]} = {plain(value)}{rest};"
        else:
            names = (c,)
            yield f"{kind} {c}[{self.count}];"
            k = self.s.fresh("k")
            yield f"for (int {k} = 0; {k} < {self.count}; {k}++) {c}[{k}] = {plain(value)};"
        self.s.registers[name] = Registers(shown, self.count, names, not self.separate)

    def _groups(self, s: Scope) -> Iterator[str]:
        """The main loop: all registers of a group, written out or looped over."""
        group = self.n.group
        yield f"for (; {self.end} - {self.i} >= {group}; {self.i} += {group}) {{"
        if self.separate or self.count == 1:
            for k in range(self.count):
                yield from self._register(s, k, f"{self.i} + {k * self.width}" if k else self.i)
        else:
            inner = s.inner()
            r = inner.fresh("r")
            yield f"for (int64_t {r} = 0; {r} < {self.count}; {r}++) {{"
            yield from self._register(inner, r, f"{self.i} + {r} * {self.width}")
            yield "}"
        until = getattr(self.n, "until", None)
        if until is not None:
            yield f"if {bracketed(expr(until, s))} {{"
            yield f"{self.i} = {self.end};"
            yield "break;"
            yield "}"
        yield "}"

    def _remainder(self, s: Scope) -> Iterator[str]:
        """What does not fill a group: register by register, the last one in part."""
        inner = s.inner()
        spilled = self.separate and self.count > 1 and bool(self._vectors())
        yield f"if ({self.i} < {self.end}) {{"
        if spilled:
            yield from self._spill(inner)
        yield from self._rest(inner)
        if spilled:
            for a in self._vectors():
                kept, rest = s.registers[a.name], inner.registers[a.name]
                yield " ".join(f"{kept[k]} = {rest[k]};" for k in range(self.count))
        yield "}"

    def _spill(self, s: Scope) -> Iterator[str]:
        for a in self._vectors():
            old = s.registers[a.name]
            c = s.fresh(f"{s.names[a.name]}_rest")
            yield f"{self._kind(a)} {c}[{self.count}] = {{{', '.join(old.names)}}};"
            s.registers[a.name] = Registers(old.kind, self.count, (c,), True)

    def _rest(self, s: Scope) -> Iterator[str]:
        r: str | int = s.fresh("r") if self.count > 1 else 0
        if self.count > 1:
            yield f"int64_t {r} = 0;"
        on = f"{self.i} += {self.width}, {r}++" if self.count > 1 else f"{self.i} += {self.width}"
        if self.width == 1 or (self.s.target.masks == "lanes" and self.count > 1):
            yield f"for (; {self.end} - {self.i} >= {self.width}; {on}) {{"
            yield from self._register(s, r, self.i)
            yield "}"
        if self.width == 1:
            return
        partly = self.s.target.masks == "bits" and self.count > 1
        yield f"for (; {self.i} < {self.end}; {on}) {{" if partly else f"if ({self.i} < {self.end}) {{"
        yield from self._part(s.inner(), r)
        yield "}"

    def _part(self, s: Scope, r: int | str) -> Iterator[str]:
        kind = mask_type(self.s.target, self.width)
        count, live = s.fresh("count"), s.fresh("live")
        yield f"const int64_t {count} = {self.end} - {self.i};"
        yield f"const {kind} {live} = tp_first_{kind}({count});"
        yield from self._register(s, r, self.i, Region(self.width, count, live, live))

    # -- one register

    def _register(self, outer: Scope, r: int | str, at: str, region: Region | None = None) -> Iterator[str]:
        """The body for register `r`, whose lane 0 is element `at`, in a block of its own."""
        s = outer.inner(region or (Region(self.width) if self.width > 1 else None))
        for a in self._vectors():
            s.names[a.name] = s.registers[a.name][r]
        yield "{"
        if at == self.i:
            s.names[self.n.var] = at
        else:
            yield f"const int64_t {s.bind(self.n.var)} = {at};"
        s.loaded = {}
        yield from self._reads(s)
        if isinstance(self.n, ir.PredLoop):
            yield from self._predicated(self.n, s)
        else:
            yield from self._acting(s)
        yield "}"

    def _reads(self, s: Scope) -> Iterator[str]:
        """Names what would be loaded more than once before anything is stored."""
        early = (x for n in _before_writes(self.n) for x in ir.walk(n))
        loads = Counter(x for x in early if isinstance(x, ir.Load) and x.lanes != 1)
        for load in [x for x, times in loads.items() if times > 1 and _known(x, s)]:
            c = s.fresh(load.array + "_here")
            text = plain(expr(load, s))
            yield f"{type_of(load, s.target)} {c} = {text};"
            if load.dtype != "bool":
                yield held(c, s)
            s.loaded[load] = c

    def _predicated(self, n: ir.PredLoop, s: Scope) -> Iterator[str]:
        pred = expr(n.pred, s)
        if s.region is None or self.width == 1:
            yield f"if {bracketed(pred)} {{"
            yield from self._acting(s)
            yield "}"
            return
        on = s.fresh("on")
        yield f"const {mask_type(s.target, self.width)} {on} = {plain(both((pred, s.region.live), self.width, s.target) or '')};"
        yield from self._acting(s.inner(Region(self.width, s.region.count, s.region.live, on)))

    def _acting(self, s: Scope) -> Iterator[str]:
        yield from self.block(self.n.body, s)
        idle = {a.name for a in self.n.accs if isinstance(a.step, ir.Var) and a.step.name == a.name}
        stepped = [a for a in self._vectors() if a.name not in idle]
        new = [(s.names[a.name], self._kind(a), plain(self._stepped(a, s))) for a in stepped]
        yield from assignments(new, s)

    def _stepped(self, a: ir.VecAccum, s: Scope) -> str:
        text = expr(a.step, s)
        on = s.region.on if s.region and self.width > 1 else None
        if on is None:
            return text
        old, dtype = s.names[a.name], a.init.dtype
        if dtype == "bool":
            return logic("select", (on, text, old), self.width, s.target)
        mask = as_width(on, self.width, DTYPES[dtype].bits, s.target)
        return operation("select", Vec(dtype, self.width), (mask, text, old), s.target)


def _before_writes(n: Vectored) -> list[ir.Node]:
    """What the body evaluates, in order, up to the first value that is stored."""
    parts: list[ir.Node] = [n.pred] if isinstance(n, ir.PredLoop) else []
    for statement in n.body:
        if isinstance(statement, (ir.Assign, ir.Check, ir.Store, ir.Append)):
            parts.append(statement)
        if not isinstance(statement, (ir.Assign, ir.Check)):
            return parts
    return [*parts, *n.accs]


def _known(load: ir.Load, s: Scope) -> bool:
    """Whether a load can stand at the head of the body: nothing in its subscripts is bound there."""
    return all(x.name in s.names for i in load.index for x in ir.walk(i) if isinstance(x, ir.Var))


# -- statements that act on lanes


def vector_statement(n: ir.Store | ir.Append | ir.Check, s: Scope) -> Iterator[str]:
    assert s.region
    lanes, on = s.region.lanes, s.region.on
    match n:
        case ir.Store():
            yield _store(n, s)
        case ir.Append(array, count, value, mask):
            v, text = _stored(value, lanes, s)
            acting = both((on, expr(mask, s) if mask else None), lanes, s.target) or f"tp_fill_{mask_type(s.target, lanes)}(1)"
            at = pointer(array, (ir.Var(count, "i64"),), s)
            width = as_width(acting, lanes, DTYPES[v.dtype].bits, s.target)
            yield f"{s.use(count)} += tp_append_{v.name}({at}, {text}, {width});"
        case ir.Check(cond, code):
            bad = both((on, negated(expr(cond, s), lanes, s.target)), lanes, s.target)
            yield f"if ({any_lane(bad or '', lanes, s.target)}) status |= {STATUS[code]};"
        case _:
            ir.unhandled(n)


def _stored(value: ir.Expr, lanes: int, s: Scope) -> tuple[Vec, str]:
    """A value as it lies in memory: bools are bytes."""
    text = expr(value, s)
    if value.dtype == "bool":
        return Vec("u8", lanes), f"tp_tobytes_{mask_type(s.target, lanes)}({text})"
    return Vec(value.dtype, lanes), text


def _store(n: ir.Store, s: Scope) -> str:
    assert s.region
    lanes = s.region.lanes
    v, text = _stored(n.value, lanes, s)
    at = pointer(n.array, n.index, s)
    on = both((s.region.on, expr(n.mask, s) if n.mask else None), lanes, s.target)
    unit = s.arrays[n.array].unit == n.axis
    if unit and n.step == 1 and on is None:
        return f"*({v.name}_u *)({at}) = {plain(text)};"
    if unit and n.step == 1:
        return f"tp_storemask_{v.name}({at}, {text}, {as_width(on or '', lanes, DTYPES[v.dtype].bits, s.target)});"
    if unit and n.step == -1 and on is None:
        return f"*({v.name}_u *)({at} - {lanes - 1}) = tp_reverse_{v.name}({text});"
    bits = bits_of(on, lanes, s.target) if on else f"{(1 << lanes) - 1}U"
    return f"tp_scatter_{v.name}((char *)({at}), {stride(n.array, n.axis, n.step, s)}, {text}, {bits});"
