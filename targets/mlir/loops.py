"""Scalar loops as ``scf.for``, ``scf.parallel`` and, where they may be left, ``scf.while``."""
from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable

from loopir import nodes as ir
from loopir.analysis.folds import Fold
from loopir.exhaustive import unhandled
from loopir.types import INDEX

from .parallel import folds_of
from .rows import element_type
from .state import GO, OFF, ON, RETURNED, STATE, State, Values

__all__ = ["Loops"]


class Loops(State):
    """The text of a kernel's body, but for what stands in blocks."""

    @abstractmethod
    def block(self, body: tuple[ir.Stmt, ...], done: Values, left: Values) -> list[str]:
        """What `done` gives at the end of `body`; what `left` gives where it is left before."""

    def loop(self, s: ir.Loop) -> None:
        outer = [n for n in self.outside(s) if n != GO]
        folds = folds_of(s, self.kernel, self.reassociate)
        if folds is not None and not self.kernel.stops:
            self.parallel(s, folds, outer)
        elif s.until is not None or GO in self.changed(s.body):
            self.leaving(s, outer)
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

    def leaving(self, s: ir.Loop, outer: list[str]) -> None:
        """``scf.while`` over the element and a flag."""
        lo, hi, step, element = self.range(s.range)
        here = f"${s.var}"

        def more() -> str:
            below = self.let(f"arith.cmpi slt, {self.names[here]}, {hi} : index", "i1")
            return self.call("and", (below, self.names[GO]), "bool", "bool")

        def turn() -> list[str]:
            i = self.names[here]
            del self.names[GO]
            self.names[s.var] = element(i)

            def done() -> list[str]:
                after = self.let(f"arith.addi {i}, {step} : index", "index", s.var)
                self.names |= dict(zip(accs, self.steps(s.accs), strict=True))
                go = self.constant(ON) if s.until is None else self.negated(self.value(s.until))
                return [after, go, *self.state((*accs, *outer))]

            return self.block(s.body, done, lambda: [i, *self.state((GO, *accs, *outer))])

        accs = [a.name for a in s.accs]
        starts = [lo, self.constant(ON), *(self.value(a.init) for a in s.accs), *self.state(outer)]
        self.repeat([here, GO, *accs, *outer], starts, more, turn)
        self.after(here, GO)

    def repeated(self, s: ir.While) -> None:
        """``scf.while`` over the accumulators, and a flag where it may be left."""
        outer = [n for n in self.outside(s) if n != GO]
        flags = [GO] if GO in self.changed(s.body) else []
        accs = [a.name for a in s.accs]

        def more() -> str:
            if not flags:
                return self.value(s.cond)
            none = self.constant(OFF)
            return self.choose(self.names[GO], lambda: [self.value(s.cond)], lambda: [none])[0]

        def turn() -> list[str]:
            self.names.pop(GO, None)
            return self.block(
                s.body,
                lambda: [*self.state(flags), *self.steps(s.accs), *self.state(outer)],
                lambda: self.state((*flags, *accs, *outer)),
            )

        inits = [self.value(a.init) for a in s.accs]
        starts = [*(self.constant(ON) for _ in flags), *inits, *self.state(outer)]
        self.repeat([*flags, *accs, *outer], starts, more, turn)
        self.after(*flags)

    def after(self, *own: str) -> None:
        """Behind a loop, whose own flags go; one that has returned leaves the block around it."""
        for name in own:
            del self.names[name]
        if GO in own and RETURNED in self.names:
            self.names[GO] = self.negated(self.names[RETURNED])

    def repeat(
        self, names: list[str], starts: list[str], more: Callable[[], str], turn: Values
    ) -> None:
        """``scf.while``: `turn` gives the next values of `names` as long as there is `more`."""
        types = ", ".join(self.types[v] for v in starts)
        with self.region() as before:
            given = self.bound(names, starts)
            before.append(f"scf.condition({more()}) {self.typed(given)}")
        with self.region() as inside:
            seen = self.bound(names, starts)
            shown = ", ".join(f"{v}: {self.types[v]}" for v in seen)
            inside.append(f"scf.yield {self.typed(turn())}")
        results = self.bound(names, starts)
        head = f"scf.while ({_pairs(given, starts)}) : ({types}) -> ({types}) {{"
        self.lines += [f"{', '.join(results)} = {head}", *before, "} do {", f"^bb0({shown}):"]
        self.lines += [*inside, "}"]

    def parallel(self, s: ir.Loop, folds: tuple[Fold, ...], outer: list[str]) -> None:
        """``scf.parallel``, in its generic form; the status gathers those of all iterations."""
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
        """Bounds and step of a counter that goes up, and what makes an element of it."""
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
                    down = self.let(f"arith.muli {k}, {by} : index", "index")
                    return self.let(f"arith.subi {start}, {down} : index", "index")

                return self.number(0), count, self.number(1), element
            case _:
                return unhandled(r)

    def steps(self, accs: tuple[ir.Accum, ...]) -> list[str]:
        return [self.value(a.step) for a in accs]

    def bound(self, names: list[str], like: list[str]) -> list[str]:
        """Fresh values of the types of others, by which `names` are known from here on."""
        values = [self.name(n, self.types[v]) for n, v in zip(names, like, strict=True)]
        self.names.update(zip(names, values, strict=True))
        return values


def _pairs(names: list[str], values: list[str]) -> str:
    return ", ".join(f"{a} = {b}" for a, b in zip(names, values, strict=True))


def _with_regions(head: str, regions: list[list[str]]) -> list[str]:
    """An operation in its generic form, up to its type."""
    if not regions:
        return [head]
    first, *others = regions
    lines = [f"{head} ({{", *first]
    for region in others:
        lines += ["}, {", *region]
    return [*lines, "})"]
