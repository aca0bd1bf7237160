"""Random kernels that are well-formed and stay in bounds.

Every kernel takes two sizes, ``n`` and ``rows``; a loop runs over one of them, and subscripts are
affine in its variable. With ``exact=True`` every operation on floats is exact, on the small whole
numbers that the case then gives, so that folds may be reassociated without a change of bits.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st
from kernels_blocks import Block
from kernels_carried import Carried
from kernels_case import Case
from kernels_exprs import EXACT, I64, ROWS, N, call, integer

from loopir import nodes as ir
from loopir.dtypes import DTYPES

__all__ = ["SIZES", "cases"]

SIZES = (0, 1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 33, 63, 64, 65, 100)
BITS = ("bitand", "bitor", "bitxor")
FOLDS = ("add", "mul", "min", "max", "minimum", "maximum")


@st.composite
def cases(draw: Callable[..., Any], exact: bool = False, vectors: bool = False) -> Case:
    """Random kernels: scalar code, or with `vectors` also vector loops of abstract width."""
    maker = _Maker(draw, exact)
    maker.vectors = vectors
    if vectors:  # as the passes make them, which compute in wider dtypes
        maker.dtypes = [d for d in maker.dtypes if DTYPES[d].wide is None] or ["f32"]
    kernel = maker.kernel()
    n, rows = draw(st.sampled_from(SIZES)), draw(st.sampled_from((0, 1, 2, 5)))
    return Case(kernel, n, rows, draw(st.integers(0, 1 << 16)), exact, maker.counts)


class _Maker(Carried):
    """Draws one kernel, outside in."""

    vectors = False

    def loop(self, depth: int) -> Block:
        ends = [e for e in (N, ROWS) if all(e != end for _, end, _ in self.loops)]
        end = self.one_of(*(ends[:1] * 3 + ends))
        if self.vectors and self.chance(2):
            return self.vectored(end)
        rarer = [self.backwards, self.zipped, self.whiled, self.scanned]
        rarer += [self.placed] * 2 + [self.ran] * 2
        before, self.tidy = self.tidy, self.tidy or not self.chance(3)
        made = self.one_of(*[self.counted] * 6, *rarer)(end, depth)
        self.tidy = before
        return made

    def counted(self, end: ir.Var, depth: int) -> Block:
        least = int(self.chance(6))
        return self.ranged(ir.Interval(integer(least), end), end, least, depth)

    def backwards(self, end: ir.Var, depth: int) -> Block:
        down = ir.RangeDesc(call("sub", end, integer(1)), integer(-1), -1)
        return self.ranged(self.one_of(down, ir.RangeDesc(integer(0), end, 2)), end, 0, depth)

    def ranged(self, rng: ir.Range, end: ir.Var, least: int, depth: int) -> Block:
        var = ir.Var(self.name("i"), I64)

        def make(body: Block, accs: tuple[ir.Accum, ...], until: ir.Expr | None) -> ir.Stmt:
            return ir.Loop(var.name, rng, body, accs, until)

        return self.carrying((var, end, least), [], depth, make)

    def zipped(self, end: ir.Var, depth: int) -> Block:
        var = ir.Var(self.name("i"), I64)
        arrays = [self.array(self.dtype(), 1, False) for _ in range(self.draw(st.integers(1, 2)))]
        streams = tuple(ir.Stream(self.name("v"), p.name, p.dtype) for p in arrays)

        def make(body: Block, accs: tuple[ir.Accum, ...], until: ir.Expr | None) -> ir.Stmt:
            return ir.Zip(var.name, streams, ir.Interval(integer(0), end), body, accs)

        inside = [ir.Var(x.name, x.dtype) for x in streams]
        return self.carrying((var, end, 0), inside, depth, make)

    def whiled(self, end: ir.Var, depth: int) -> Block:
        var = ir.Var(self.name("w"), I64)
        more = call("lt", var, end)

        def make(body: Block, accs: tuple[ir.Accum, ...], until: ir.Expr | None) -> ir.Stmt:
            turn = ir.Accum(var.name, integer(0), call("add", var, integer(1)))
            stop = call("and", more, call("not", until)) if until else more
            return ir.While(stop, body, (turn, *accs))

        return self.carrying((var, end, 0), [], depth, make)

    def scanned(self, end: ir.Var, depth: int) -> Block:
        var, dtype = ir.Var(self.name("i"), I64), self.dtype()
        outside = list(self.names)
        init, out = self.expr(dtype, 1), self.array(dtype, 1, True)
        self.loops.append((var, end, 0))
        value = self.expr(dtype, 2)
        self.loops.pop()
        self.names = outside
        acc = ir.Var(self.name("s"), dtype)
        self.names.append(acc)
        op, rng = self.fold_op(dtype), ir.Interval(integer(0), end)
        return (ir.Scan(var.name, rng, op, acc.name, init, value, out.name),)

    def carrying(
        self,
        variable: tuple[ir.Var, ir.Var, int],
        inside: list[ir.Var],
        depth: int,
        make: Callable[[Block, tuple[ir.Accum, ...], ir.Expr | None], ir.Stmt],
    ) -> Block:
        """The loop that `make` makes of body and accumulators, and stores of what they came to."""
        dtypes = [self.dtype() for _ in range(self.draw(st.integers(0, 3)))]
        accs = [ir.Var(self.name("s"), d) for d in dtypes]
        inits = [self.expr(d, 1) for d in dtypes]
        outside, above = list(self.names), self.counter
        counter = ir.Var(self.name("c"), I64) if above is None and self.chance(2) else None
        self.counter = counter or above
        self.loops.append(variable)
        self.names += inside
        if self.chance(4) and not (self.exact or self.tidy):
            self.names += accs
        only = self.expr("bool", 2) if self.chance(4) else None  # a filter
        steps = [self.step(a, only) for a in accs if only]
        body = self.block(depth, 2 if accs else 4)
        steps = steps or [self.step(a, None) for a in accs]
        body = (ir.If(only, body),) if only else body
        self.loops.pop()
        self.names, self.counter = outside + accs, None if counter else self.counter
        until = self.expr("bool", 2) if self.chance(20 if self.tidy else 8) else None
        carried = [ir.Accum(a.name, i, s) for a, i, s in zip(accs, inits, steps, strict=True)]
        if counter:
            carried.append(ir.Accum(counter.name, integer(0), counter))
        seen = [self.shown(a, a.name) for a in (*accs, *([counter] if counter else []))]
        return (make(body, tuple(carried), until), *seen)

    def vectored(self, end: ir.Var) -> Block:
        """A vector loop of abstract width, and stores of what its folds came to."""
        dtypes = [self.dtype() for _ in range(self.draw(st.integers(0, 2)))]
        ops, group = [self.fold_op(d) for d in dtypes], self.one_of(16, 32, 64)
        inits = [self.expr(d, 1) for d in dtypes]
        counter = ir.Var(self.name("c"), I64) if self.counter is None and self.chance(2) else None
        outside, above, tidy = list(self.names), self.counter, self.tidy
        var = ir.Var(self.name("i"), I64)
        self.loops.append((var, end, 0))
        self.lanes, self.tidy, self.counter = "W", True, counter
        pred = self.expr("bool", 2) if self.chance(2) else None
        body = self.block(0, 2 if dtypes else 3)
        accs: list[ir.VecAccum] = []
        for d, op, init in zip(dtypes, ops, inits, strict=True):
            acc = ir.Var(self.name("s"), d, "W")
            accs.append(ir.VecAccum(acc.name, init, self.folded(op, acc, self.expr(d, 2), None)))
        used = counter if self.counter is None else None
        self.lanes, self.tidy, self.counter, self.names = 1, tidy, above, outside
        self.loops.pop()
        folds = [
            ir.HReduce(op, ir.Var(a.name, d, group))
            for op, a, d in zip(ops, accs, dtypes, strict=True)
        ]
        seen = [self.shown(f, a.name) for f, a in zip(folds, accs, strict=True)]
        until = next((f for f in folds if f.dtype == "bool"), None)
        if used:
            accs.append(ir.VecAccum(used.name, integer(0), used))
            seen.append(self.shown(used, used.name))
        rng = ir.Interval(integer(0), end)
        grouped = group if folds else self.one_of(None, group)
        if pred:
            form, skips = self.one_of(None, *ir.MaskForm), self.chance(2)
            return (
                ir.PredLoop(
                    var.name, rng, "W", pred, body, tuple(accs), form, grouped, skips
                ),
                *seen,
            )
        vec = ir.VecLoop(var.name, rng, "W", body, tuple(accs), grouped, until)
        return (vec, *seen)

    def step(self, acc: ir.Var, only: ir.Expr | None) -> ir.Expr:
        value = self.expr(acc.dtype, 2)
        if self.chance(8) and not (self.exact or self.tidy):
            return value
        return self.folded(self.fold_op(acc.dtype), acc, value, only)

    def folded(self, op: str, acc: ir.Var, value: ir.Expr, only: ir.Expr | None) -> ir.Expr:
        if only is None and self.chance(4):
            only = self.expr("bool", 1)
        taken = call(op, acc, value)
        return call("select", only, taken, acc) if only else taken

    def fold_op(self, dtype: str) -> str:
        kinds = {"b": ("and", "or", "xor"), "f": FOLDS, "i": (*FOLDS, *BITS), "u": (*FOLDS, *BITS)}
        ops = kinds[DTYPES[dtype].kind]
        exact = self.exact and DTYPES[dtype].kind == "f"
        return str(self.one_of(*[o for o in ops if o in EXACT or not exact]))

    def shown(self, value: ir.Expr, name: str) -> ir.Stmt:
        out = ir.Param(f"{name}_out", value.dtype, 0, None, True)
        self.params.append(out)
        return ir.Store(out.name, (), value)

    # -- the kernel

    def kernel(self) -> ir.Kernel:
        body: list[ir.Stmt] = []
        for _ in range(self.draw(st.integers(1, 3))):
            if self.chance(4):
                body += self.one_of(self.assign, lambda: self.branch(0))()
            if self.chance(16):
                body.append(ir.If(self.expr("bool", 1), (ir.Return(),)))
            body += self.loop(1)
        written = [p.name for p in self.params if p.written]
        arrays = [p.name for p in self.params if p.rank is not None]
        pairs = [(a, b) for k, a in enumerate(arrays) for b in arrays[k + 1 :]]
        guards = [ir.Disjoint(a, b) for a, b in pairs if {a, b} & {*written}]
        sizes = ir.Guard(call("ge", N, integer(0)), "GUARD_BOUNDS")
        return ir.Kernel("random", tuple(self.params), tuple(body), (sizes, *guards))
