"""Random nests of loops: products with loops in any order, stencils, folds of folds, and others.

Each loop runs over a size of its own, some of which are longer than any tile. Arrays have one to
three axes, each two elements longer than the loop that runs along it.
"""
from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from hypothesis import strategies as st
from kernels_case import Case
from kernels_exprs import I64, call, integer

from loopir import nodes as ir
from loopir.dtypes import DTYPES

__all__ = ["nests"]

SIZES = (0, 1, 2, 3, 4, 5, 7, 9, 13, 17, 35, 70, 140)
WORK = 600  # iterations of all loops together: the interpreter takes its time


@st.composite
def nests(draw: Callable[..., Any], exact: bool = False) -> Case:
    """Random nests; `exact`: only such as no order of folds changes, on small whole numbers."""
    maker = _Maker(draw, exact)
    kernel = maker.kernel()
    sizes: dict[str, int] = {}
    for p in maker.sizes:
        room = WORK // math.prod(max(n, 1) for n in sizes.values())
        sizes[p.name] = draw(st.sampled_from([n for n in SIZES if n <= room]))
    return _Nest(kernel, sizes, maker.shapes, draw(st.integers(0, 1 << 16)), exact)


class _Nest(Case):
    """A nest with the lengths of its loops, and the loops along the axes of each array."""

    def __init__(
        self,
        kernel: ir.Kernel,
        sizes: dict[str, int],
        shapes: dict[str, tuple[str, ...]],
        seed: int,
        exact: bool,
    ) -> None:
        super().__init__(kernel, 0, 0, seed, exact, {})
        self.sizes, self.shapes = sizes, shapes

    def __repr__(self) -> str:
        return f"{self.sizes} {super().__repr__()}"

    def _argument(self, p: ir.Param, rng: Any) -> Any:
        if p.name in self.sizes:
            return DTYPES[p.dtype].numpy.type(self.sizes[p.name])
        if p.rank is None:
            return super()._argument(p, rng)
        shape = [self.sizes[n] + 2 for n in self.shapes[p.name]]
        values = self._values(p.dtype, math.prod(shape), rng).reshape(shape)
        return values if p.unit is not None else values.copy("F")


class _Maker:
    """Draws one kernel."""

    def __init__(self, draw: Callable[..., Any], exact: bool) -> None:
        self.draw, self.exact = draw, exact
        self.dtype = self.one_of("f32", "f64", "f64", "i64", "i32")
        self.sizes = [ir.Param(f"n{k}", I64) for k in range(self.draw(st.integers(1, 4)))]
        self.loops = [ir.Var(f"i{k}", I64) for k in range(len(self.sizes))]
        self.params: list[ir.Param] = []
        self.shapes: dict[str, tuple[str, ...]] = {}
        self.count = 0

    def one_of(self, *choices: Any) -> Any:
        return self.draw(st.sampled_from(choices))

    def some(self, loops: Sequence[ir.Var], least: int = 1) -> tuple[ir.Var, ...]:
        """Up to three of `loops`, in any order."""
        order = self.draw(st.permutations(loops))
        return tuple(order[: self.draw(st.integers(min(least, len(order)), min(3, len(order))))])

    def name(self, letter: str) -> str:
        self.count += 1
        return f"{letter}{self.count}"

    def array(self, axes: Sequence[ir.Var], written: bool = False) -> ir.Param:
        unit = self.one_of(len(axes) - 1, len(axes) - 1, len(axes) - 1, None)
        p = ir.Param(self.name("a"), self.dtype, len(axes), unit, written)
        self.params.append(p)
        self.shapes[p.name] = tuple(f"n{v.name[1:]}" for v in axes)
        return p

    def load(self, p: ir.Param, index: Sequence[ir.Expr]) -> ir.Load:
        return ir.Load(p.name, tuple(index), p.dtype)

    def near(self, axes: Sequence[ir.Var]) -> tuple[ir.Expr, ...]:
        """The place in the middle of an array, or one beside it."""
        return tuple(call("add", v, integer(self.one_of(0, 1, 1, 2))) for v in axes)

    def nested(self, loops: Sequence[ir.Var], body: tuple[ir.Stmt, ...]) -> tuple[ir.Stmt, ...]:
        for v in reversed(loops):
            end = self.sizes[int(v.name[1:])]
            body = (ir.Loop(v.name, self.range(end), body),)
        return body

    def range(self, end: ir.Param) -> ir.Interval:
        return ir.Interval(integer(self.one_of(0, 0, 0, 1)), ir.Var(end.name, I64))

    # -- kinds of nests

    def value(self, loops: Sequence[ir.Var]) -> ir.Expr:
        """A term of one or two elements, each along some of `loops`."""
        axes = [self.some(loops) for _ in range(self.one_of(1, 2, 2))]
        loads: list[ir.Expr] = [self.load(self.array(x), self.near(x)) for x in axes]
        if len(loads) == 1:
            return loads[0]
        return call(self.one_of("mul", "mul", "add", "sub"), *loads)

    def product(self) -> tuple[ir.Stmt, ...]:
        """A sum in memory, its loops in any order."""
        axes = self.some(self.loops)
        out = self.array(axes, written=True)
        place = self.load(out, axes)
        step = ir.Store(out.name, axes, call("add", place, self.value(self.loops)))
        return self.nested(self.draw(st.permutations(self.loops)), (step,))

    def matrices(self) -> tuple[ir.Stmt, ...]:
        """A product of two matrices, its sums in memory or in a name."""
        if len(self.loops) < 3:
            return self.product()
        i, j, k = self.draw(st.permutations(self.loops))[:3]
        out = self.array((i, j), written=True)
        place = self.load(out, (i, j))
        a, b = (self.load(self.array(x), self.near(x)) for x in ((i, k), (k, j)))
        term = call("mul", a, b)
        if self.one_of(False, True):
            step = ir.Store(out.name, (i, j), call("add", place, term))
            return self.nested(self.draw(st.permutations((i, j, k))), (step,))
        acc = ir.Var(self.name("s"), self.dtype)
        start = place if self.one_of(False, True) else ir.Const(1, self.dtype)
        carried = ir.Accum(acc.name, start, call("add", acc, term))
        fold = ir.Loop(k.name, self.range(self.sizes[int(k.name[1:])]), (), (carried,))
        return self.nested((i, j), (fold, ir.Store(out.name, (i, j), acc)))

    def folded(self) -> tuple[ir.Stmt, ...]:
        """A fold over the inner loops, perhaps one of folds, stored by the outer ones."""
        axes = self.some(self.loops)
        inner = [v for v in self.draw(st.permutations(self.loops)) if v not in axes]
        out, body = self.array(axes, written=True), tuple[ir.Stmt, ...]()
        term = self.value(self.loops)
        kept = term
        for v in reversed(inner):
            acc = ir.Var(self.name("s"), self.dtype)
            start = ir.Const(0 if self.dtype[0] == "i" else 0.0, self.dtype)
            op = self.one_of("add", "add", "max")
            carried = ir.Accum(acc.name, start, call(op, acc, kept))
            rng = self.range(self.sizes[int(v.name[1:])])
            body = (ir.Loop(v.name, rng, body, (carried,)),)
            kept = acc if self.exact else self.one_of(acc, call("mul", acc, acc))
        return self.nested(axes, (*body, ir.Store(out.name, axes, kept)))

    def columns(self) -> tuple[ir.Stmt, ...]:
        """A fold over the columns of what is folded down each of them."""
        if len(self.loops) < 2:
            return self.folded()
        *outer, j, i = self.draw(st.permutations(self.loops))
        total, acc = (ir.Var(self.name("s"), self.dtype) for _ in "ji")
        term: ir.Expr = self.load(self.array((i, j)), self.near((i, j)))
        if outer and self.one_of(False, True):
            axes = (outer[-1], i)
            term = call("mul", self.load(self.array(axes), self.near(axes)), term)
        start = ir.Const(0 if self.dtype[0] == "i" else 0.0, self.dtype)
        body: tuple[ir.Stmt, ...] = ()
        step = call("add", acc, term)
        for v, into in ((i, acc), (j, total)):
            rng = self.range(self.sizes[int(v.name[1:])])
            body = (ir.Loop(v.name, rng, body, (ir.Accum(into.name, start, step),)),)
            kept = acc if self.exact else self.one_of(acc, call("mul", acc, acc))
            step = call(self.one_of("add", "add", "max"), total, kept)
        axes = (outer[-1],) if outer else (j,)
        out = self.array(axes, written=True)
        place = axes if outer else (integer(self.one_of(0, 1)),)
        return self.nested(outer[-1:], (*body, ir.Store(out.name, place, total)))

    def pairs(self) -> tuple[ir.Stmt, ...]:
        """A fold along the last axis of two arrays, for pairs of their rows or for each one."""
        *outer, last = self.draw(st.permutations(self.loops))
        if not outer:
            return self.folded()
        axes = self.some(outer)
        rows = [(axes[0], last), (axes[-1], last)]
        terms = [self.load(self.array(x), self.near(x)) for x in rows]
        acc, out = ir.Var(self.name("s"), self.dtype), self.array(axes, written=True)
        term = call(self.one_of("mul", "sub", "max"), *terms)
        start = ir.Const(0 if self.dtype[0] == "i" else 0.0, self.dtype)
        carried = ir.Accum(acc.name, start, call(self.one_of("add", "add", "max"), acc, term))
        fold = ir.Loop(last.name, self.range(self.sizes[int(last.name[1:])]), (), (carried,))
        return self.nested(axes, (fold, ir.Store(out.name, axes, acc)))

    def nearest(self) -> tuple[ir.Stmt, ...]:
        """Which row of an array is nearest to that of another, and how near."""
        if len(self.loops) < 3:
            return self.pairs()
        i, j, k = self.draw(st.permutations(self.loops))[:3]
        out, where = self.array((i,), written=True), ir.Var(self.name("w"), I64)
        best, sum_ = ir.Var(self.name("b"), self.dtype), ir.Var(self.name("s"), self.dtype)
        rows = [(i, k), self.one_of((j, k), (k, j))]
        loads = (self.load(self.array(x), self.near(x)) for x in rows)
        term = call(self.one_of("mul", "sub"), *loads)
        one, zero = (ir.Const(float(x) if self.dtype[0] == "f" else x, self.dtype) for x in (1, 0))
        carried = ir.Accum(sum_.name, zero, call("add", sum_, term))
        fold = ir.Loop(k.name, self.range(self.sizes[int(k.name[1:])]), (), (carried,))
        news = ir.Var(self.name("t"), self.dtype), ir.Var(self.name("t"), I64)
        yields = (ir.Yield(news[0].name, sum_, best), ir.Yield(news[1].name, j, where))
        test = call(self.one_of("lt", "gt", "le"), sum_, best)
        accs = ir.Accum(best.name, one, news[0]), ir.Accum(where.name, integer(-1), news[1])
        body = (fold, ir.If(test, (), (), yields))
        search = ir.Loop(j.name, self.range(self.sizes[int(j.name[1:])]), body, accs)
        known = ir.If(call("ge", where, integer(0)), (ir.Store(out.name, (i,), best),))
        return self.nested((i,), (search, self.one_of(known, ir.Store(out.name, (i,), best))))

    def stencil(self) -> tuple[ir.Stmt, ...]:
        """Neighbours of an element, in another array or in its own, perhaps again and again."""
        axes = self.some(self.loops)
        out, x = self.array(axes, written=True), self.array(axes)
        source = out if self.one_of(False, False, True) and not self.exact else x
        value: ir.Expr = self.load(source, self.near(axes))
        for _ in range(self.draw(st.integers(1, 4))):
            value = call(self.one_of("add", "sub", "max"), value, self.load(x, self.near(axes)))
        middle = tuple(call("add", v, integer(1)) for v in axes)
        again = [v for v in self.loops if v not in axes][: self.one_of(0, 0, 1)]
        order = self.draw(st.permutations(axes))
        return self.nested([*again, *order], (ir.Store(out.name, middle, value),))

    def chosen(self) -> tuple[ir.Stmt, ...]:
        """A product under a branch, a name for a part of it, a second statement."""
        [*outer, last] = self.draw(st.permutations(self.loops))
        axes = self.some(self.loops)
        out, name = self.array(axes, written=True), ir.Var(self.name("t"), self.dtype)
        more = (ir.Store(out.name, self.near(axes), name),) if not self.exact else ()
        added = ir.Store(out.name, axes, call("add", self.load(out, axes), name))
        body = (ir.Assign(name.name, self.value(self.loops)), added, *more)
        inner = self.nested([last], body)
        if outer and self.one_of(False, True):
            inner = (ir.If(call("lt", self.value(outer), self.value(outer)), inner),)
        elif self.one_of(False, True):
            cond = call("lt", self.value([last]), self.value(self.loops))
            inner = self.nested([last], (ir.If(cond, body),))
        return self.nested(outer, inner)

    def place(self, loops: Sequence[ir.Var]) -> tuple[ir.Expr, ir.Var]:
        """A subscript near that of the first of `loops`, perhaps at a distance of the others; and
        how many there are.
        """
        v, w = loops[0], self.one_of(*loops)
        size = ir.Var(f"n{v.name[1:]}", I64)
        away = integer(self.one_of(0, 1, 1, 2, 3))
        behind = call("sub", size, v)
        forms = [call("sub", v, away), call("add", v, away), call("sub", behind, away)]
        if w != v:
            forms += [call("sub", call("add", v, w), away)] * 3
        return self.one_of(*forms), size

    def asked(self, at: ir.Expr, size: ir.Var) -> ir.Expr:
        """Whether `at` is inside, or something of the kind."""
        end = self.one_of(size, size, call("sub", size, integer(1)), integer(2))
        first, second, join = self.one_of(
            ("ge", "lt", "and"), ("lt", "ge", "or"), ("ne", "ne", "and"), ("gt", "le", "and"),
        )
        low, high = call(first, at, integer(self.one_of(0, 0, 1))), call(second, at, end)
        both = call(join, low, high)
        return self.one_of(both, both, low, high)

    def edged(self) -> tuple[ir.Stmt, ...]:
        """A fold or a map that asks about its place before it takes a neighbour."""
        axes = self.some(self.loops)
        out, x = self.array(axes, written=True), self.array(axes)
        inner = [v for v in self.loops if v not in axes][:1]
        at, size = self.place([axes[0], *self.draw(st.permutations([*axes[1:], *inner]))])
        cond = self.asked(at, size)
        inside = call("and", call("ge", at, integer(0)), call("lt", at, size))
        near = self.load(x, (call("select", inside, at, integer(0)), *axes[1:]))
        old, zero = self.load(out, axes), ir.Const(1 if self.dtype[0] == "i" else 1.0, self.dtype)
        if inner and self.one_of(False, True):
            acc, new = ir.Var(self.name("s"), self.dtype), ir.Var(self.name("t"), self.dtype)
            sides = (call("add", acc, near), acc)
            given = ir.If(cond, (), (), (ir.Yield(new.name, *self.draw(st.permutations(sides))),))
            rng = self.range(self.sizes[int(inner[0].name[1:])])
            fold = ir.Loop(inner[0].name, rng, (given,), (ir.Accum(acc.name, zero, new),))
            return self.nested(axes, (fold, ir.Store(out.name, axes, acc)))
        body: ir.Stmt = ir.Store(out.name, axes, call("add", old, call("select", cond, near, zero)))
        if self.one_of(False, True):
            body = ir.If(cond, (ir.Store(out.name, axes, call("add", old, near)),))
        return self.nested([*axes, *inner], (body,))

    def kernel(self) -> ir.Kernel:
        kinds = [
            self.product, self.product, self.folded, self.folded, self.columns, self.columns,
            self.pairs, self.stencil, self.chosen, self.matrices, self.matrices, self.edged,
            self.edged, self.nearest,
        ]
        body = [s for _ in range(self.one_of(1, 1, 2)) for s in self.one_of(*kinds)()]
        written = {p.name for p in self.params if p.written}
        names = [p.name for p in self.params]
        pairs = [(a, b) for k, a in enumerate(names) for b in names[k + 1 :] if {a, b} & written]
        guards = tuple(ir.Disjoint(a, b) for a, b in pairs)
        return ir.Kernel("nest", (*self.sizes, *self.params), tuple(body), guards)
