"""Whole Python functions as source text, drawn at random from the language that is compiled.

The text has marks that tell how far a result may be from Python's (`nearness`): ``_term(k, e)`` is
a term of fold `k`, ``_step(k, s, c, e)`` is ``s * c + e`` of a recurrence; ``s = _sum(k, s)`` or
``_product(k, s)`` stands where the fold ends; in ``_near(f, …)`` and ``_power(a, b)`` the last bits
of the result are free.
"""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from random_expressions import Expressions

__all__ = ["TEMPORARY", "Program", "program"]

Lines: TypeAlias = "list[str]"

LIKE = ("np.zeros_like({0})", "np.ones_like({0})", "np.full_like({0}, 3)", "np.empty_like({0})")
SHAPED = (
    "np.zeros({1})", "np.zeros({1}, dtype={0}.dtype)", "np.ones({1}, dtype=np.float32)",
    "np.full({1}, 2.5)", "np.full({1}, 7)", "np.zeros({1}, dtype=np.int64)", "np.empty({1})",
    "np.ones({1}, dtype=bool)", "np.zeros({1}, np.int8)", "np.empty({1}, dtype={0}.dtype)",
)
WHOLE = ("range(n)", "range(n - 1, -1, -1)", "reversed(range(0, n))")
TEMPORARY = "t"
STEPS = (1, 1, 1, 1, 2, 3, -1, -1, -2)


@dataclass(frozen=True)
class Program:
    """A function ``f`` with marks, and what its parameters are, in order."""

    text: str
    params: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class _Fold:
    """How a fold starts, what it does with each element, and what closes it."""

    name: str
    start: str
    step: Callable[[], Lines]
    close: Lines


def program(tape: bytes) -> Program:
    """A program that most likely compiles, and does not raise."""
    return _Maker(tape).program()


def _indented(lines: Lines) -> Lines:
    return [f"    {line}" for line in lines]


class _Maker(Expressions):
    """Draws one function, from top to bottom."""

    def program(self) -> Program:
        self.vectors = ["x", "y", "z"][: self.one_of(1, 2, 2, 3)]
        self.matrices = ["m", "w"][: self.one_of(0, 0, 0, 1, 1, 2)]
        self.scalars = [s for s in ("a", "k", "flag") if self.chance(2)]
        kinds = {"a": "float", "k": "int", "flag": "bool"}
        params = [(v, "vector") for v in self.vectors] + [(m, "matrix") for m in self.matrices]
        params += [(s, kinds[s]) for s in self.scalars]
        self.length = self.one_of("len(x)", "len(x)", "x.shape[0]", self.shortest())
        body = [f"n = {self.length}"]
        if self.matrices:
            body.append(f"rows, cols = {self.matrices[0]}.shape")
        for _ in range(self.one_of(1, 1, 2, 2, 3)):
            body += self.block()
        body += self.ending()
        names = ", ".join(name for name, _ in params)
        return Program("\n".join([f"def f({names}):", *_indented(body)]) + "\n", tuple(params))

    def shortest(self) -> str:
        return f"min({', '.join(f'len({v})' for v in self.vectors)}, len(x))"

    def ending(self) -> Lines:
        some = list(self.results)  # all: nobody promises the warnings of what is not used
        some += [v for v in (*self.vectors, *self.matrices) if self.chance(8)]
        some += [f"{s} / n" for s in self.accs if self.chance(6)]
        if len(some) == 1 and not self.chance(4):
            return [f"return {some[0]}"]
        return [f"return {', '.join(some)}{',' * (len(some) == 1)}"] if some else []

    def block(self) -> Lines:
        kinds = [self.loop] * 5 + [self.comprehension, self.generator, self.elements]
        return self.one_of(*kinds, *([self.nest] * 3 if self.matrices else []))()

    # -- loops

    def loop(self) -> Lines:
        """A loop over an index."""
        i, lo, hi = self.new("i"), self.one_of(0, 0, 0, 1, 2), self.one_of(0, 0, 0, 1, 2)
        self.at = (i, lo, hi)
        return self.filled(self.domain(lo, hi), i, f"for {i} in {{}}:")

    def domain(self, lo: int, hi: int) -> str:
        stop = f"n - {hi}" if hi else "n"
        step = self.one_of(*STEPS)
        if step < 0:
            return f"range(n - {1 + hi}, {lo - 1}, {step})"
        if step == 1 and self.chance(8):
            return self.one_of(f"reversed(range({lo}, {stop}))", "range(min(n, 5))", "range(3)")
        if step == 1 and self.chance(10) and "k" in self.scalars:
            return self.one_of(
                "range(min(k, n))", "range(k, n)", "range(k)",
                f"range({lo}, {stop}, k)", f"range({stop} - 1, {lo}, -k)",
            )
        ends = stop if not lo and step == 1 else f"{lo}, {stop}"
        return f"range({ends}{f', {step}' * (step != 1)})"

    def elements(self) -> Lines:
        """A loop over the elements of arrays."""
        target, domain, index = self.stream()
        return self.filled(domain, index, f"for {target} in {{}}:")

    def stream(self) -> tuple[str, str, str | None]:
        """A target, what it runs over, and the index if there is one; the names are readable."""
        x, y = self.one_of(*self.vectors, *self.lists), self.one_of(*self.vectors, *self.lists)
        v, u, i = self.new("v"), self.new("u"), self.new("i")
        two = (f"{v}, {u}", f"zip({x}, {y}{', strict=False' * self.chance(9)})")
        kind = self.one_of(0, 0, 1, 2, 3, 4, 5)
        self.at = (i, 0, 0) if kind in (2, 4, 5) else None
        self.values = [v, u] if kind in (3, 4) else [v]
        match kind:
            case 0:
                return v, x, None
            case 1:
                return v, f"reversed({x})", None
            case 2:
                return f"{i}, {v}", f"enumerate({x})", i
            case 3:
                return *two, None
            case 4:
                return f"{i}, ({two[0]})", f"enumerate({two[1]})", i
            case _:
                self.at = (i, 1, -1)
                return f"{i}, {v}", f"enumerate({x}, 1)", i

    def filled(self, domain: str, index: str | None, header: str) -> Lines:
        """A loop over `domain` with folds, arrays and lists made for it."""
        before = self.fresh(domain) if self.at and self.at[1:] == (0, 0) and self.chance(2) else []
        if self.chance(6):
            made = self.new("kept")
            self.open = [made]
            before.append(f"{made} = []")
        folds = [self.fold() for _ in range(self.one_of(0, 0, 1, 1, 2, 3))]
        outer = list(self.scalars)
        if index:
            self.scalars.append(index)
        self.scalars += self.values
        body = self.body(folds)
        self.scalars, self.values, self.at = outer, [], None
        self.results += [*self.open, *([index] if index and self.chance(12) else [])]
        self.open, self.guaranteed = [], []
        return self.closed(before, folds, [header.format(domain), *_indented(body)])

    def closed(self, before: Lines, folds: list[_Fold], loop: Lines) -> Lines:
        after = [line for fold in folds for line in fold.close]
        for fold in folds:
            self.scalars.append(fold.name)
            self.accs.append(fold.name)
            self.results.append(fold.name)
        return [*before, *(f"{f.name} = {f.start}" for f in folds), *loop, *after]

    def fresh(self, domain: str) -> Lines:
        """An array that the loop stores to; one without values only where it stores all of them."""
        assert self.at
        name, like = self.new("o"), self.one_of(*self.vectors)
        spelled = self.one_of(*LIKE, *SHAPED).format(like, "n")
        whole = domain in WHOLE and ("(n" in spelled or (like == "x" and "min" not in self.length))
        if not whole:
            spelled = spelled.replace("empty", "zeros")
        self.guaranteed = [f"{name}[{self.at[0]}]"]
        self.results.append(name)
        if "empty" not in spelled:
            self.vectors.append(name)
        return [f"{name} = {spelled}"]

    def body(self, folds: list[_Fold]) -> Lines:
        out: Lines = []
        for _ in range(self.one_of(0, 0, 1)):
            out += self.temporary()
        for target in self.guaranteed:
            out.append(f"{target} = {self.num(3)}")
        for fold in folds:
            out += self.perhaps_if(fold.step)
        if self.open:
            out += self.perhaps_if(self.append)
        for _ in range(self.one_of(0, 1, 1, 2)):
            out += self.perhaps_if(self.effect)
        return out or ["pass"]

    def perhaps_if(self, make: Callable[[], Lines]) -> Lines:
        if not self.chance(4):
            return make()
        out = [f"if {self.cond(2)}:", *_indented(make())]
        if self.chance(4):
            out += [f"elif {self.cond(1)}:", *_indented(self.effect())]
        if self.chance(3):
            out += ["else:", *_indented(self.effect())]
        return out

    def temporary(self) -> Lines:
        name, value = self.new(TEMPORARY), self.num(2)
        self.scalars.append(name)
        return [f"{name} = {value}"]

    def effect(self) -> Lines:
        """Something that the loop leaves behind."""
        kinds = [self.append] * 2 if self.open else []
        kinds += [self.store] * 4 + [self.update] if self.at else []
        return self.one_of(*kinds, self.change)()

    def append(self) -> Lines:
        return [f"{self.one_of(*self.open)}.append({self.num(2)})"]

    def store(self) -> Lines:
        return [f"{self.place()} = {self.num(3)}"]

    def update(self) -> Lines:
        return [f"{self.place()} {self.one_of('+', '-', '*')}= {self.num(2)}"]

    def change(self) -> Lines:
        """A temporary has a new value."""
        temps = [t for t in self.scalars if t.startswith(TEMPORARY)]
        if not temps:
            return self.store() if self.at else ["pass"]
        name = self.one_of(*temps)
        return [f"{name} = {self.num(2)}"]

    # -- folds

    def fold(self) -> _Fold:
        kinds = [self.adding] * 3 + [self.multiplying, self.extreme, self.extreme, self.counting]
        return self.one_of(*kinds, self.finding, self.recurrence)(self.new("s"))

    def adding(self, s: str) -> _Fold:
        k, start = self.number(), self.one_of("0", "0.0", "0.0", "x[0]", "1.5", "np.float32(0)")

        def step() -> Lines:
            e = f"_term({k}, {self.num(3)})"
            options = (f"{s} += {e}", f"{s} = {s} + {e}", f"{s} = {e} + {s}", f"{s} -= {e}")
            return [self.one_of(options[0], *options)]

        return _Fold(s, start, step, [f"{s} = _sum({k}, {s})"])

    def multiplying(self, s: str) -> _Fold:
        k = self.number()

        def step() -> Lines:
            return [f"{s} *= _term({k}, {self.num(2)})"]

        return _Fold(s, self.one_of("1", "1.0", "x[0]"), step, [f"{s} = _product({k}, {s})"])

    def extreme(self, s: str) -> _Fold:
        start = self.one_of("x[0]", "x[0]", "float('inf')", "1e9", "0", "-1.0")

        def step() -> Lines:
            e = self.of_data(self.num(2) if self.chance(2) else self.element())
            f, sign = self.one_of(("min", "<"), ("max", ">"))
            match self.one_of(0, 0, 1, 2, 3, 4):
                case 0:
                    return [f"{s} = {f}({s}, {e})"]
                case 1:
                    return [f"{s} = {f}({e}, {s})"]
                case 2:
                    return [f"if {e} {sign} {s}:", f"    {s} = {e}"]
                case 3:
                    return [f"{s} = np.{f}imum({s}, {e})"]
                case _:
                    return [f"{s} = {e} if {e} {sign} {s} else {s}"]

        return _Fold(s, start, step, [])

    def counting(self, s: str) -> _Fold:
        def step() -> Lines:
            c = self.cond(2)
            return self.one_of([f"if {c}:", f"    {s} += 1"], [f"{s} += 1 if {c} else 0"])

        return _Fold(s, "0", step, [])

    def finding(self, s: str) -> _Fold:
        def step() -> Lines:
            c = self.cond(2)
            return self.one_of(
                [f"if {c}:", f"    {s} = True"], [f"{s} = {s} or {c}"], [f"{s} = {s} and {c}"]
            )

        return _Fold(s, self.one_of("False", "True"), step, [])

    def recurrence(self, s: str) -> _Fold:
        k = self.number()

        def step() -> Lines:
            term = self.num(1)
            return [f"{s} = _step({k}, {s}, {self.one_of('0.5', '2', 'x[0]')}, {term})"]

        return _Fold(s, self.one_of("0.0", "1", "x[0]"), step, [f"{s} = _sum({k}, {s})"])

    # -- comprehensions and generators

    def generated(self) -> tuple[str, str]:
        """An element's expression, and the ``for … if …`` behind it."""
        outer = list(self.scalars)
        if self.matrices and self.chance(4):
            row, self.values = self.new("row"), [self.new("v")]
            clause = f"for {row} in {self.one_of(*self.matrices)} for {self.values[0]} in {row}"
        elif self.chance(3):
            self.at = (self.new("i"), 0, 0)
            clause = f"for {self.at[0]} in {self.domain(0, 0)}"
        else:
            target, domain, _ = self.stream()
            clause = f"for {target} in {domain}"
        self.scalars += self.values
        element = self.num(2)
        if self.chance(2):
            clause += f" if {self.cond(2)}"
        self.scalars, self.values, self.at = outer, [], None
        return element, clause

    def comprehension(self) -> Lines:
        e, clause = self.generated()
        name = self.new("l")
        self.results.append(name)
        if self.chance(3):
            return [f"{name} = np.array([{e} {clause}])"]
        if self.chance(4) and " if " not in clause:
            self.lists.append(name)
        return [f"{name} = [{e} {clause}]"]

    def of_data(self, e: str) -> str:
        """`e`, or an element where it has none: of a constant it is soon known which is least."""
        return e if "[" in e or "v" in e else f"(x[0] + {e})"

    def generator(self) -> Lines:
        e, clause = self.generated()
        name, k = self.new("s"), self.number()
        self.results.append(name)
        kind = self.one_of("sum", "sum", "min", "max", "any", "all")
        if kind == "sum":
            value = f"_sum({k}, sum(_term({k}, {e}) {clause}))"
        elif kind in ("any", "all"):
            value = f"{kind}({self.one_of(e, f'{e} > 0.5')} {clause})"
        else:
            value = f"{kind}({self.of_data(e)} {clause})"
        self.scalars.append(name)
        self.accs.append(name)
        return [f"{name} = {value}"]

    # -- nests

    def nest(self) -> Lines:
        """Two loops over the matrices."""
        i, j, hi = self.new("i"), self.new("j"), self.one_of(0, 0, 0, 1)
        outer, before = list(self.scalars), self.fresh_matrix(i, j) if self.chance(2) else []
        folds = [self.fold() for _ in range(self.one_of(0, 0, 1, 2))]
        row = self.fold() if self.chance(4) else None
        self.grid, self.at = (i, j, hi), (j, 0, hi)
        self.scalars += [i, j]
        columns = self.one_of("cols", f"{self.matrices[0]}.shape[1]") + f" - {hi}" * hi
        inner = [f"for {j} in range({columns}):"]
        inner += _indented(self.body([*folds, *([row] if row else [])]))
        if row:
            kept = self.one_of(*self.vectors)
            inner = [f"{row.name} = {row.start}", *inner, *row.close, f"{kept}[{i}] = {row.name}"]
        self.scalars, self.grid, self.at, self.guaranteed = outer, None, None, []
        header = f"for {i} in range({self.one_of('rows', 'rows', f'len({self.matrices[0]})')}):"
        return self.closed(before, folds, [header, *_indented(inner)])

    def fresh_matrix(self, i: str, j: str) -> Lines:
        name, like = self.new("o"), self.one_of(*self.matrices)
        spelled = self.one_of(*LIKE, *SHAPED).format(like, "(rows, cols)")
        self.results.append(name)
        if "empty" in spelled:
            spelled = spelled.replace("empty", "zeros")
        self.guaranteed = [f"{name}[{i}, {j}]"]
        self.matrices.append(name)
        return [f"{name} = {spelled}"]
