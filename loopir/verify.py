"""What is well-formed at each stage: statements and loops. The tests run it after every pass."""
from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from . import nodes as ir
from .exhaustive import unhandled
from .ops import OPS, STATUS
from .tree import counters, ends
from .types import DTYPES, INDEX, MAX_RANK
from .verify_expr import Exprs, Stage, VerifyError, need

__all__ = ["Stage", "VerifyError", "verify"]


def verify(kernel: ir.Kernel, stage: Stage) -> None:
    """Raises VerifyError, naming the node, where `kernel` is not well-formed.

    At every stage names are bound before use and once in their scope, operands fit the rows of
    `ops.OPS`, subscripts fit ranks, what is stored to is ``mut``. ``"scalar"``: no vectors yet.
    ``"vector"``: vectors of any width. ``"legal"``: every width is a number, every form is chosen.
    """
    _params(kernel)
    checks = _Stmts(kernel, stage)
    for guard in kernel.guards:
        checks.guard(guard)
    need(set(kernel.strict) <= set(STATUS), kernel, "strict names no class of STATUS")
    checks.block(kernel.body)


def _params(kernel: ir.Kernel) -> None:
    need(len({p.name for p in kernel.params}) == len(kernel.params), kernel, "parameters differ")
    for p in kernel.params:
        need(p.dtype in DTYPES, p, "no such dtype")
        if p.rank is None:
            need(p.unit is None and not p.written, p, "a scalar has no axes and is not written")
        else:
            need(p.rank in range(MAX_RANK + 1), p, f"an array has at most {MAX_RANK} axes")
            need(p.unit is None or p.unit in range(p.rank), p, "the unit axis is no axis")


class _Stmts(Exprs):
    """Checks statements, with what is in force around them."""

    def __init__(self, kernel: ir.Kernel, stage: Stage) -> None:
        super().__init__(kernel, stage)
        self.loops = 0  # scalar loops between here and the kernel or the vector loop around
        self.counts: set[str] = set()  # accumulators in scope that may count appends

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

    def guard(self, g: ir.Guard | ir.Disjoint) -> None:
        match g:
            case ir.Guard(cond):
                self.scalar(cond, "bool", "a guard")
            case ir.Disjoint(a, b):
                need(a != b and {a, b} <= set(self.arrays), g, "two array parameters are needed")
            case _:
                unhandled(g)

    def block(self, body: Iterable[ir.Stmt]) -> None:
        for s in body:
            self.stmt(s)

    def stmt(self, s: ir.Stmt) -> None:
        match s:
            case ir.Assign(name, value):
                self.value(value)
                self.bind(s, name, value.dtype, value.lanes)
            case ir.Local(name, dtype, length, lanes):
                need(dtype in DTYPES and length > 0, s, "rows of some dtype are needed")
                need(lanes is None or lanes == self.width, s, "rows are as wide as vectors")
                self.unbound(s, name)
                self.arrays = {**self.arrays, name: s.param}
            case ir.Store(array, index, value, _, axis, step):
                self.stored(s, array)
                for i in index:
                    self.expr(i)
                self.subscripts(s, array, index, value.lanes, axis, step)
            case ir.Append(array, count):
                self.stored(s, array)
                need(self.arrays[array].rank == 1, s, "appends go to arrays of rank 1")
                need(count in self.counts, s, f"{count} is no {INDEX} accumulator around")
            case ir.Prefix():
                self.prefix(s)
            case ir.Check(cond, code):
                self.value(cond)
                need(cond.dtype == "bool", s, "a check is a bool")
                need(code in STATUS, s, "no such status")
            case ir.If():
                self.branches(s)
            case ir.Break(cond):
                need(self.loops, s, "no loop to leave")
                self.scalar(cond, "bool", "a break's condition")
            case ir.Return():
                need(self.width is None, s, "a vector loop runs to its end")
            case _:
                self.loop(s)

    def value(self, e: ir.Expr) -> None:
        """`e` is well-formed, and scalar or as wide as the loop around."""
        self.expr(e)
        need(e.lanes in (1, self.width), e, self.misfit(e.lanes))

    def stored(self, s: ir.Store | ir.Append, array: str) -> None:
        self.value(s.value)
        need(self.array(s, array).written, s, f"{array} is not mut")
        need(self.arrays[array].dtype == s.value.dtype, s, f"{array} holds another dtype")
        need(s.value.lanes == (self.width or 1), s, "each lane of a loop stores, or none")
        if s.mask:
            self.value(s.mask)
            alike = s.mask.dtype == "bool" and s.mask.lanes == s.value.lanes
            need(alike, s, "a mask is a bool for each lane")

    def prefix(self, s: ir.Prefix) -> None:
        self.value(s.value)
        need(self.width is not None and s.value.lanes == self.width, s, "a prefix is of lanes")
        need(self.names.get(s.acc) == (s.value.dtype, 1), s, f"{s.acc} is no accumulator of it")
        self.call(ir.Call(s.op, (s.value, s.value), s.value.dtype, s.value.lanes))
        need(OPS[s.op].reduces, s, "the operation is no reduction")
        if s.factor is not None:
            self.value(s.factor)
            like = (s.factor.dtype, s.factor.lanes) == (s.value.dtype, s.value.lanes)
            is_sum = s.op == "add" and DTYPES[s.value.dtype].kind == "f"
            need(like and is_sum, s, "factors are floats like the values that are added")
        for name in (s.name, s.before) if s.before else (s.name,):
            self.bind(s, name, s.value.dtype, s.value.lanes)

    def branches(self, s: ir.If) -> None:
        self.scalar(s.cond, "bool", "a condition")
        for body, given in (
            (s.then, [y.then for y in s.yields]),
            (s.orelse, [y.orelse for y in s.yields]),
        ):
            with self.scope():
                self.block(body)
                for e in given:
                    self.value(e)
        for y in s.yields:
            alike = (y.then.dtype, y.then.lanes) == (y.orelse.dtype, y.orelse.lanes)
            need(alike, s, f"the branches differ in what {y.name} is")
            self.bind(s, y.name, y.then.dtype, y.then.lanes)

    # -- loops

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
