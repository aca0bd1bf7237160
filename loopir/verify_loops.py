"""What is well-formed: loops, and the scopes that they make."""
from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from . import nodes as ir
from .exhaustive import unhandled
from .ops import OPS
from .tree import counters, ends
from .types import INDEX
from .verify_expr import Exprs, Stage, need

__all__ = ["Loops"]


class Loops(Exprs):
    """Checks loops, with what is in force around them."""

    def __init__(self, kernel: ir.Kernel, stage: Stage) -> None:
        super().__init__(kernel, stage)
        self.loops = 0  # scalar loops between here and the kernel or the vector loop around
        self.counts: set[str] = set()  # accumulators in scope that may count appends

    def block(self, body: Iterable[ir.Stmt]) -> None:
        raise NotImplementedError

    def value(self, e: ir.Expr) -> None:
        """`e` is well-formed, and scalar or as wide as the loop around."""
        self.expr(e)
        need(e.lanes in (1, self.width), e, self.misfit(e.lanes))

    @contextmanager
    def scope(self) -> Iterator[None]:
        """What is bound inside ends here."""
        saved = self.names, self.arrays, self.width, self.loops, self.counts
        self.names, self.counts = dict(self.names), set(self.counts)
        yield
        self.names, self.arrays, self.width, self.loops, self.counts = saved

    def bind(self, node: ir.Node, name: str, dtype: str, lanes: ir.Lanes = 1) -> None:
        self.unbound(node, name)
        self.names[name] = dtype, lanes

    def unbound(self, node: ir.Node, name: str) -> None:
        taken = name in self.names or name in self.arrays
        need(not taken, node, f"{name} is bound already")

    def loop(self, s: ir.LoopLike) -> None:
        match s:
            case ir.Loop():
                self.range(s.range)
                self.scalar_loop(s, {s.var: INDEX})
            case ir.Zip():
                self.range(s.range)
                need(s.streams, s, "a zip has streams")
                for x in s.streams:
                    p = self.array(s, x.array)
                    need((p.rank, p.dtype) == (1, x.dtype), s, f"{x.array} is not {x.dtype}[:]")
                self.scalar_loop(s, {s.var: INDEX, **{x.name: x.dtype for x in s.streams}})
            case ir.While():
                self.scalar_loop(s, {})
            case ir.Scan():
                self.scan(s)
            case ir.VecLoop() | ir.PredLoop():
                self.vector_loop(s)
            case _:
                unhandled(s)

    def range(self, r: ir.Range) -> None:
        for e in ends(r):
            self.scalar(e, INDEX, "an end of a range")
        need(isinstance(r, ir.Interval) or r.step != 0, r, "a range has a step")

    def scalar_loop(self, s: ir.Loop | ir.Zip | ir.While, inside: dict[str, str]) -> None:
        for a in s.accs:
            self.value(a.init)
        with self.scope():
            for name, dtype in inside.items():
                self.bind(s, name, dtype)
            self.accs(s, {a.name: a.init.lanes for a in s.accs})
            self.loops += 1
            if isinstance(s, ir.While):
                self.scalar(s.cond, "bool", "a loop's condition")
            self.block(s.body)
            self.steps(s)
            if isinstance(s, ir.Loop) and s.until:
                self.scalar(s.until, "bool", "an early exit")
        self.accs(s, {a.name: a.init.lanes for a in s.accs})

    def accs(
        self, s: ir.Loop | ir.Zip | ir.While | ir.VecLoop | ir.PredLoop, lanes: dict[str, ir.Lanes]
    ) -> None:
        for a in s.accs:
            self.bind(s, a.name, a.init.dtype, lanes[a.name])
            if (a.init.dtype, lanes[a.name]) == (INDEX, 1):
                self.counts.add(a.name)

    def steps(self, s: ir.Loop | ir.Zip | ir.While | ir.VecLoop | ir.PredLoop) -> None:
        for a in s.accs:
            self.expr(a.step)
            carried = a.step.dtype, a.step.lanes
            need(carried == self.names[a.name], s, f"{a.name} starts and steps as different types")

    def scan(self, s: ir.Scan) -> None:
        need(self.width is None, s, "a scan is not a vector's business")
        self.range(s.range)
        self.scalar(s.init, s.value.dtype, "a scan's start")
        with self.scope():
            self.bind(s, s.var, INDEX)
            self.scalar(s.value, s.init.dtype, "a scan's value")
            self.call(ir.Call(s.op, (s.value, s.value), s.value.dtype))
            need(OPS[s.op].reduces, s, "the operation is no reduction")
            p = self.array(s, s.array)
            need((p.rank, p.dtype, p.written) == (1, s.value.dtype, True), s, "no array for it")
        self.bind(s, s.acc, s.init.dtype)

    def vector_loop(self, s: ir.VecLoop | ir.PredLoop) -> None:
        self.shape(s)
        self.range(s.range)
        for a in s.accs:
            self.scalar(a.init, a.init.dtype, "a start")
        counts = counters(s)
        inside: dict[str, ir.Lanes] = {a.name: 1 if a.name in counts else s.width for a in s.accs}
        after = {n: lanes if n in counts else s.group or s.width for n, lanes in inside.items()}
        with self.scope():
            self.width, self.loops = s.width, 0
            self.names = {n: t for n, t in self.names.items() if t[1] == 1}  # vectors stay outside
            self.bind(s, s.var, INDEX)
            self.accs(s, inside)
            if isinstance(s, ir.PredLoop):
                self.value(s.pred)
                mask = (s.pred.dtype, s.pred.lanes) == ("bool", s.width)
                need(mask, s, "the predicate is a bool for each lane")
            self.block(s.body)
            self.steps(s)
        self.accs(s, after)
        if isinstance(s, ir.VecLoop) and s.until:
            self.scalar(s.until, "bool", "an early exit")
        if s.tail:
            self.loop(s.tail)

    def shape(self, s: ir.VecLoop | ir.PredLoop) -> None:
        """Width, group and form."""
        need(self.stage != "scalar", s, "no vectors yet")
        need(self.width is None, s, "a vector loop in a vector loop")
        need(isinstance(s.range, ir.Interval), s, "a vector loop has step 1")
        need(s.width == "W" or _power_of_two(s.width), s, "a width is W or a power of two")
        need(s.group is None or _power_of_two(s.group), s, "a group is a power of two")
        folds = any(a.name not in counters(s) for a in s.accs)
        need(s.group or not folds, s, "an accumulator needs a group")
        if self.stage == "legal":
            need(isinstance(s.width, int), s, "the width is not chosen")
            need(not s.group or s.group % int(s.width) == 0, s, "a group is whole registers")
            need(not isinstance(s, ir.PredLoop) or s.form, s, "the mask form is not chosen")


def _power_of_two(n: object) -> bool:
    return isinstance(n, int) and n > 0 and n & (n - 1) == 0
