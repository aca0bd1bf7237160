"""Statements and loops as structured MLIR (``scf``); changed state is what regions yield.

A `break`, a `return` or a check that stops sets a flag, and the rest of the block is put under a
branch on it. Loops are ``scf.for``; ``scf.parallel`` where no iteration depends on another;
``scf.while`` where they may be left early.
"""
from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable

from loopir import nodes as ir
from loopir.analysis.loop_reductions import Reduction, reduction_of
from loopir.analysis.parallelism import array_reductions, parallel_obstacle
from loopir.dtypes import DTYPES, INDEX
from loopir.ir_traversal import walk
from loopir.lazy_dataclass import replace
from loopir.nodes import assert_never
from loopir.op_table import check_status

from .mlir_expressions import ExpressionBuilder
from .mlir_ops import element_type

__all__ = [
    "parallel_reductions", "GO", "OFF", "ON", "RETURNED", "STATE", "StateBuilder", "Values",
    "LoopBuilder", "StatementBuilder",
]


def parallel_reductions(
    loop: ir.Loop, kernel: ir.Kernel, reassociate: bool
) -> tuple[Reduction, ...] | None:
    """The accumulators of `loop` as reductions, if it can be an ``scf.parallel``; None if it has to
    be an ``scf.for``.

        for i: s += x[i] * y[i]        (the reduction of s by addition,), if `reassociate`
        for i: y[i] = x[i]             ()
        for i: y[i + 1] = y[i]         None

    All of this must hold:

    - its range is an interval, and nothing ends it or the kernel early;
    - each accumulator is a reduction that may take its terms in any order, and that no iteration
      reads (`_reduction_of`): an ``scf.parallel`` has no other accumulators;
    - else iterations are independent (`parallel_obstacle`), also without adding to elements of one
      array (`array_reductions`), which would have to be atomic.
    """
    if not isinstance(loop.range, ir.Interval) or loop.until is not None:
        return None
    reductions = tuple(
        f for a in loop.accs if (f := _reduction_of(a, loop, reassociate)) is not None
    )
    if len(reductions) < len(loop.accs) or _may_stop(loop, kernel):
        return None
    terms = (ir.Assign(f"{f.acc.name}$", f.value) for f in reductions)
    without_accs = replace(loop, body=(*loop.body, *terms), accs=())
    if parallel_obstacle(without_accs, kernel) is not None:
        return None
    return None if array_reductions(without_accs, kernel) else reductions


def _may_stop(loop: ir.Loop, kernel: ir.Kernel) -> bool:
    """Whether a check in the loop may end the kernel."""
    return kernel.stops and any(isinstance(n, ir.Check) for n in walk(loop))


def _reduction_of(acc: ir.Accum, loop: ir.Loop, reassociate: bool) -> Reduction | None:
    """The reduction of `acc`, if no iteration reads its partial results and any order may be used:
    of integers, or a sum or product of floats under `reassociate`. None else, and for one that
    leaves out terms by a condition.
    """
    reduction = reduction_of(acc, loop)
    if reduction is None or reduction.cond is not None:
        return None
    if DTYPES[reduction.dtype].kind == "f" and not (reduction.is_inexact and reassociate):
        return None  # zeros and NaNs of float extrema depend on the order
    is_read = any(isinstance(n, ir.Var) and n.name == acc.name for s in loop.body for n in walk(s))
    return None if is_read else reduction


STATE, GO, RETURNED = "$status", "$go", "$returned"
"""State names: the status; whether the current block continues; whether the kernel has returned."""

ON, OFF = ir.Const(True, "bool"), ir.Const(False, "bool")

Values = Callable[[], list[str]]


class StateBuilder(ExpressionBuilder):
    """Tracks state that statements change as names, like those of Loop IR."""

    def __init__(self, kernel: ir.Kernel, reassociate: bool) -> None:
        super().__init__(kernel.params)
        self.kernel, self.reassociate = kernel, reassociate

    def changed(self, body: Iterable[ir.Stmt]) -> list[str]:
        """The state names that `body` changes and does not define itself."""
        found: set[str] = set()
        for s in body:
            match s:
                case ir.Append(count=name):
                    found.add(name)
                case ir.Check(code=code):
                    found |= {STATE, *((GO, RETURNED) if self.stops(code) else ())}
                case ir.Return():
                    found |= {GO, RETURNED}
                case ir.Break():
                    found.add(GO)
                case ir.If():
                    found.update(self.changed((*s.then, *s.orelse)))
                case ir.Loop() | ir.Zip() | ir.While():
                    found.update(self.outside(s))
        return sorted(found)

    def outside(self, s: ir.Loop | ir.Zip | ir.While) -> list[str]:
        """The state that a loop changes and does not drop at its end. After a `return` in it, the
        enclosing block is left, too.
        """
        inner = self.changed(s.body)
        dropped = {a.name for a in s.accs} | ({GO} if RETURNED not in inner else set())
        return [name for name in inner if name not in dropped]

    def stops(self, code: str) -> bool:
        """Whether a failing check of `code` ends the kernel."""
        return self.kernel.stops and code == "replay"

    def state(self, names: Iterable[str]) -> list[str]:
        """The current values of `names`."""
        flags = {GO: ON, RETURNED: OFF}
        return [self.names.get(n) or self.constant(flags[n]) for n in names]

    def integer(self, value: int) -> str:
        """The value of an i64 constant."""
        return self.constant(ir.Const(value, INDEX))

    def negated(self, flag: str) -> str:
        """The negation of the bool `flag`."""
        return self.call("ne", (flag, self.constant(ON)), "bool", "bool")


class LoopBuilder(StateBuilder):
    """Emits loops; blocks are emitted by the subclass."""

    @abstractmethod
    def block(self, body: tuple[ir.Stmt, ...], done: Values, left: Values) -> list[str]:
        """The values of `done` at the end of `body`, or of `left` where it is left early."""

    def loop(self, s: ir.Loop) -> None:
        """Emit a counted loop: parallel, with early exits, or plain."""
        outer = [n for n in self.outside(s) if n != GO]
        folds = parallel_reductions(s, self.kernel, self.reassociate)
        if folds is not None and not self.kernel.stops:
            self.parallel(s, folds, outer)
        elif s.until is not None or GO in self.changed(s.body):
            self.early_exit_loop(s, outer)
        else:
            self.counted(s, outer)

    def counted(self, s: ir.Loop, outer: list[str]) -> None:
        """``scf.for`` with ``iter_args``."""
        lo, hi, step, element = self.range(s.range)
        names = [*(a.name for a in s.accs), *outer]
        starts = [*(self.value(a.init) for a in s.accs), *self.state(outer)]
        with self.region() as inside:
            i = self.name(s.var, "index")
            given = self.bound(names, starts)
            self.names[s.var] = element(i)
            ends = self.block(s.body, lambda: [*self.steps(s.accs), *self.state(outer)], list)
            inside += [f"scf.yield {self.typed(ends)}"] if ends else []
        head = f"scf.for {i} = {lo} to {hi} step {step}"
        results = self.bound(names, starts)
        if results:
            types = ", ".join(self.types[v] for v in starts)
            head = f"{', '.join(results)} = {head} iter_args({_pairs(given, starts)}) -> ({types})"
        self.lines += [f"{head} {{", *inside, "}"]

    def early_exit_loop(self, s: ir.Loop, outer: list[str]) -> None:
        """A counted loop with early exits: ``scf.while`` over the counter and a flag."""
        lo, hi, step, element = self.range(s.range)
        counter = f"${s.var}"

        def more() -> str:
            """The condition of the next iteration."""
            below = self.let(f"arith.cmpi slt, {self.names[counter]}, {hi} : index", "i1")
            return self.call("and", (below, self.names[GO]), "bool", "bool")

        def iteration() -> list[str]:
            """The state after one iteration: counter, flag, accumulators."""
            i = self.names[counter]
            del self.names[GO]
            self.names[s.var] = element(i)

            def done() -> list[str]:
                """The state after an iteration that ends normally."""
                after = self.let(f"arith.addi {i}, {step} : index", "index", s.var)
                self.names |= dict(zip(accs, self.steps(s.accs), strict=True))
                go = self.constant(ON) if s.until is None else self.negated(self.value(s.until))
                return [after, go, *self.state((*accs, *outer))]

            return self.block(s.body, done, lambda: [i, *self.state((GO, *accs, *outer))])

        accs = [a.name for a in s.accs]
        starts = [lo, self.constant(ON), *(self.value(a.init) for a in s.accs), *self.state(outer)]
        self.repeat([counter, GO, *accs, *outer], starts, more, iteration)
        self.after(counter, GO)

    def while_loop(self, s: ir.While) -> None:
        """A ``while``: ``scf.while`` over the accumulators, and a flag if it may be left early."""
        outer = [n for n in self.outside(s) if n != GO]
        flags = [GO] if GO in self.changed(s.body) else []
        accs = [a.name for a in s.accs]

        def more() -> str:
            """The condition of the next iteration."""
            if not flags:
                return self.value(s.cond)
            false = self.constant(OFF)
            return self.choose(self.names[GO], lambda: [self.value(s.cond)], lambda: [false])[0]

        def iteration() -> list[str]:
            """The state after one iteration."""
            self.names.pop(GO, None)
            return self.block(
                s.body,
                lambda: [*self.state(flags), *self.steps(s.accs), *self.state(outer)],
                lambda: self.state((*flags, *accs, *outer)),
            )

        inits = [self.value(a.init) for a in s.accs]
        starts = [*(self.constant(ON) for _ in flags), *inits, *self.state(outer)]
        self.repeat([*flags, *accs, *outer], starts, more, iteration)
        self.after(*flags)

    def after(self, *own: str) -> None:
        """After a loop: drop its flags; if it has returned, the enclosing block is left, too."""
        for name in own:
            del self.names[name]
        if GO in own and RETURNED in self.names:
            self.names[GO] = self.negated(self.names[RETURNED])

    def repeat(
        self, names: list[str], starts: list[str], more: Callable[[], str], iteration: Values
    ) -> None:
        """``scf.while``: `iteration` gives the next values of `names` as long as `more` is true."""
        types = ", ".join(self.types[v] for v in starts)
        with self.region() as before:
            tested = self.bound(names, starts)
            before.append(f"scf.condition({more()}) {self.typed(tested)}")
        with self.region() as inside:
            entered = self.bound(names, starts)
            arguments = ", ".join(f"{v}: {self.types[v]}" for v in entered)
            inside.append(f"scf.yield {self.typed(iteration())}")
        results = self.bound(names, starts)
        head = f"scf.while ({_pairs(tested, starts)}) : ({types}) -> ({types}) {{"
        self.lines += [f"{', '.join(results)} = {head}", *before, "} do {", f"^bb0({arguments}):"]
        self.lines += [*inside, "}"]

    def parallel(self, s: ir.Loop, folds: tuple[Reduction, ...], outer: list[str]) -> None:
        """``scf.parallel`` in its generic form; the status is or-reduced over all iterations."""
        lo, hi, step, element = self.range(s.range)
        assert set(outer) <= {STATE}
        starts = [*(self.value(f.acc.init) for f in folds), *self.state(outer)]
        with self.region() as inside:
            i = self.name(s.var, "index")
            self.names |= {s.var: element(i), **{n: self.integer(0) for n in outer}}
            values = self.block(
                s.body, lambda: [*(self.value(f.value) for f in folds), *self.state(outer)], list
            )
            regions = [self.reduction(f.op, f.dtype) for f in folds]
            regions += [self.reduction("bitor", INDEX) for _ in outer]
            types = ", ".join(self.types[v] for v in values)
            inside += _with_regions(f'"scf.reduce"({", ".join(values)})', regions)
            inside[-1] += f" : ({types}) -> ()"
        results = self.bound([*(f.acc.name for f in folds), *outer], starts)
        given = [lo, hi, step, *starts]
        sizes = f"<{{operandSegmentSizes = array<i32: 1, 1, 1, {len(starts)}>}}>"
        shown = f"{', '.join(results)} = " if results else ""
        head = f'{shown}"scf.parallel"({", ".join(given)}) {sizes}'
        self.lines += _with_regions(head, [[f"^bb0({i}: index):", *inside]])
        takes, gives = (", ".join(self.types[v] for v in x) for x in (given, starts))
        self.lines[-1] += f" : ({takes}) -> ({gives})"

    def reduction(self, op: str, dtype: str) -> list[str]:
        """A region of ``scf.reduce``."""
        type_ = element_type(dtype)
        with self.region() as inside:
            a, b = self.name("a", type_), self.name("b", type_)
            inside.append(f"^bb0({a}: {type_}, {b}: {type_}):")
            result = self.call(op, (a, b), dtype, dtype)
            inside.append(f"scf.reduce.return {result} : {type_}")
        return inside

    def range(self, r: ir.Range) -> tuple[str, str, str, Callable[[str], str]]:
        """Bounds and step of an upward counter, and a function from counter to element."""
        match r:
            case ir.Interval(lo, hi):
                return self.index(lo), self.index(hi), self.number(1), lambda i: i
            case ir.RangeDesc(first, end, step) if step > 0:
                return self.index(first), self.index(end), self.number(step), lambda i: i
            case ir.RangeDesc(first, end, step):
                start, by = self.index(first), self.number(-step)
                far = self.let(f"arith.subi {start}, {self.index(end)} : index", "index")
                count = self.let(f"arith.ceildivsi {far}, {by} : index", "index")

                def element(k: str) -> str:
                    """The element at the count `k`."""
                    down = self.let(f"arith.muli {k}, {by} : index", "index")
                    return self.let(f"arith.subi {start}, {down} : index", "index")

                return self.number(0), count, self.number(1), element
            case _:
                return assert_never(r)

    def steps(self, accs: tuple[ir.Accum, ...]) -> list[str]:
        """The values of the accumulators after an iteration."""
        return [self.value(a.step) for a in accs]

    def bound(self, names: list[str], like: list[str]) -> list[str]:
        """Fresh values of the types of `like`, bound to `names`."""
        values = [self.name(n, self.types[v]) for n, v in zip(names, like, strict=True)]
        self.names.update(zip(names, values, strict=True))
        return values


def _pairs(names: list[str], values: list[str]) -> str:
    """``%a = %b, …``, as in ``iter_args``."""
    return ", ".join(f"{a} = {b}" for a, b in zip(names, values, strict=True))


def _with_regions(head: str, regions: list[list[str]]) -> list[str]:
    """An operation with regions in its generic form, without its type."""
    if not regions:
        return [head]
    first, *others = regions
    lines = [f"{head} ({{", *first]
    for region in others:
        lines += ["}, {", *region]
    return [*lines, "})"]


class StatementBuilder(LoopBuilder):
    """Emits the body of a kernel."""

    def block(self, body: tuple[ir.Stmt, ...], done: Values, left: Values) -> list[str]:
        """The values of `done` at the end of `body`, or of `left` where it is left early."""
        for k, s in enumerate(body):
            if isinstance(s, ir.Return):
                self.names |= {GO: self.constant(OFF), RETURNED: self.constant(ON)}
                return left()
            self.statement(s)
            if GO in self.names:
                return self.guarded_rest(body[k + 1 :], done, left)
        return done()

    def guarded_rest(self, rest: tuple[ir.Stmt, ...], done: Values, left: Values) -> list[str]:
        """The rest of a block, under the flag that it continues."""

        def going() -> list[str]:
            """The rest, where the block continues."""
            del self.names[GO]
            return self.block(rest, done, left)

        return self.choose(self.names[GO], going, left)

    def statement(self, s: ir.Stmt) -> None:
        """Emit one statement that does not end its block."""
        match s:
            case ir.Assign(name, value):
                self.names[name] = self.value(value)
            case ir.Store():
                self.where(s.mask, lambda: self.store(s.array, s.index, s.value), [])
            case ir.Append():
                at = ir.Var(s.count, INDEX)
                more = ir.Call("add", (at, ir.Const(1, INDEX)), INDEX)
                self.where(
                    s.mask,
                    lambda: [*self.store(s.array, (at,), s.value), self.value(more)],
                    [s.count],
                )
            case ir.Check(cond, code):
                self.check(self.value(cond), code, check_status(code, s.cause))
            case ir.If():
                self.branch(s)
            case ir.Break(cond):
                self.names[GO] = self.negated(self.value(cond))
            case ir.Return():
                raise AssertionError("block() ends there")
            case ir.Loop():
                self.loop(s)
            case ir.Zip(var, streams, rng, body, accs):
                at = ir.Var(var, INDEX)
                reads = [ir.Assign(x.name, ir.Load(x.array, (at,), x.dtype)) for x in streams]
                self.loop(ir.Loop(var, rng, (*reads, *body), accs))
            case ir.Scan(var, rng, op, acc, init, value, array):
                dtype = value.dtype
                new = ir.Var(f"{acc}$new", dtype)
                step = ir.Assign(new.name, ir.Call(op, (ir.Var(acc, dtype), value), dtype))
                kept = ir.Store(array, (ir.Var(var, INDEX),), new)
                self.loop(ir.Loop(var, rng, (step, kept), (ir.Accum(acc, init, new),)))
            case ir.While():
                self.while_loop(s)
            case ir.VecLoop() | ir.PredLoop() | ir.Prefix() | ir.Local() | ir.Bits():
                raise AssertionError(f"not scalar: {s!r}")
            case _:
                assert_never(s)

    def where(self, mask: ir.Expr | None, act: Values, names: list[str]) -> None:
        """Run `act` where `mask` is true; it gives the new values of `names`."""
        kept = self.state(names)
        values = act() if mask is None else self.choose(self.value(mask), act, lambda: kept)
        self.names.update(zip(names, values, strict=True))

    def store(self, array: str, index: tuple[ir.Expr, ...], value: ir.Expr) -> list[str]:
        """Emit a store; it gives no values."""
        given = self.value(value)
        at, type_ = self.element(array, index)
        self.lines.append(f"memref.store {given}, {at} : {type_}")
        return []

    def check(self, holds: str, code: str, bits: int) -> None:
        """Emit a check: unless `holds`, its `bits` are set in the status, and the kernel may stop.
        """
        status = self.names[STATE]
        gained = self.call("bitor", (status, self.integer(bits)), INDEX, INDEX)
        self.names[STATE] = self.call("select", (holds, status, gained), INDEX, INDEX)
        if self.kernel.stops and code == "replay":
            self.names |= {GO: holds, RETURNED: self.negated(holds)}

    def branch(self, s: ir.If) -> None:
        """Emit a branch, with its yields and the state that either side changes."""
        changed = self.changed((*s.then, *s.orelse))

        def side(body: tuple[ir.Stmt, ...], yields: list[ir.Expr]) -> list[str]:
            """The values of `yields` and the changed state at the end of one side."""
            zeros = [ir.Const(0, e.dtype) for e in yields]
            return self.block(
                body,
                lambda: [*map(self.value, yields), *self.state(changed)],
                lambda: [*map(self.value, zeros), *self.state(changed)],
            )

        values = self.choose(
            self.value(s.cond),
            lambda: side(s.then, [y.then for y in s.yields]),
            lambda: side(s.orelse, [y.orelse for y in s.yields]),
        )
        names = [*(y.name for y in s.yields), *changed]
        self.names.update(zip(names, values, strict=True))
