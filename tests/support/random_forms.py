"""Random statements of special forms, for random functions: masks, extrema, closures, lists."""
from __future__ import annotations

from typing import TypeAlias

from choices import Choices

__all__ = ["Forms"]

Lines: TypeAlias = "list[str]"


class Forms(Choices):
    """Draws whole statements; what stands in them is the subclass's to draw."""

    vectors: list[str]
    lists: list[str]
    numbers: list[str]
    own: list[str]

    def form(self) -> Lines:
        """One of them."""
        return self.one_of(
            self.masked, self.placed, self.along, self.handed, self.defined, self.best,
            self.filled, self.grown, self.named, self.asserted, self.apart,
        )()

    def new(self, hint: str) -> str:
        raise NotImplementedError

    def number(self, depth: int) -> str:
        raise NotImplementedError

    def condition(self) -> str:
        raise NotImplementedError

    def vector(self) -> str:
        return self.one_of(*self.vectors)

    def result(self, hint: str = "s") -> str:
        """A new name of a number."""
        name = self.new(hint)
        self.own.append(name)
        return name

    def over(self, names: list[str], draw: str) -> str:
        """A number of depth 1, or a condition, of these names too."""
        outer = self.numbers[:]
        self.numbers += names
        drawn = self.condition() if draw == "condition" else self.number(1)
        self.numbers = outer
        return drawn

    def masked(self) -> Lines:
        x, e = self.vector(), self.number(0)
        test = f"{x} {self.one_of('<', '>', '==', '>=')} {e}"
        match self.one_of(0, 1, 2, 3, 4):
            case 0:
                return [f"{x}[{test}] = {self.number(0)}"]
            case 1:
                return [f"{x}[{test}] {self.one_of('+', '-')}= {self.number(0)}"]
            case 2:
                return self.bound_to(f"np.sum({x} {self.one_of('<', '>')} {e})")
            case 3:
                return self.bound_to(f"np.count_nonzero({test})")
        name = self.new("z")
        self.vectors.append(name)
        return [f"{name} = {x}[{test}]"]

    def bound_to(self, value: str) -> Lines:
        name = self.result()
        self.numbers.append(name)
        return [f"{name} = {value}"]

    def placed(self) -> Lines:
        """By an array of places."""
        x, at, name = self.vector(), self.new("p"), self.new("z")
        made = self.one_of("np.arange(n) // 2", "np.array([0, -1, 1])", "np.flatnonzero(y > 0)")
        a, read = self.vector(), self.one_of("", " * 2", "[::-1]")
        use = self.one_of(
            f"{x}[{at}] += {self.number(0)}", f"{x}[{at}] = 0", f"{x}[{at}] = {a}[{at}]{read}", "",
        )
        if use:
            return [f"{at} = {made}", use]
        self.vectors.append(name)
        return [f"{at} = {made}", f"{name} = {x}[{at}]"]

    def along(self) -> Lines:
        """A fold of a matrix along one of its axes."""
        name = self.new("z")
        self.vectors.append(name)
        axis = self.one_of("0", "1", "-1")
        return [self.one_of(
            f"{name} = (m > 0).sum(axis={axis})", f"{name} = np.max(m, axis={axis})",
            f"{name} = np.cumsum(m, axis={axis})[0]", f"{name} = m.min({axis})",
            f"{name} = (m * 2)[{self.one_of('0', '-1')}]", f"{name} = m.T[0]",
        )]

    def handed(self) -> Lines:
        """To helpers that take arrays."""
        x = self.vector()
        match self.one_of(0, 1, 2):
            case 0:
                return self.bound_to(f"total({x}, start={self.number(0)})")
            case 1:
                return [f"scaled({x}, {self.number(0)})"]
        a, b = self.result(), self.result()
        self.numbers += [a, b]
        return [f"{a}, {b} = ends({x})"]

    def defined(self) -> Lines:
        """A function within, of what stands around it."""
        name, p = self.new("g"), self.new("q")
        body = self.over([p], "number")
        if self.chance(2):
            lines = [f"{name} = lambda {p}: {body}"]
        else:
            test = self.over([p], "condition")
            lines = [f"def {name}({p}, by=2):", f"    if {test}:", f"        return {p}",
                     f"    return ({body}) - by"]
        return [*lines, *self.bound_to(f"{name}({self.number(0)}) + {name}({self.number(1)})")]

    def best(self) -> Lines:
        """None until there is one."""
        name, v, x = self.result("b"), self.new("v"), self.vector()
        sign = self.one_of("<", ">")
        return [f"{name} = None", f"for {v} in {x}:",
                f"    if {name} is None or {v} {sign} {name}:", f"        {name} = {v}"]

    def filled(self) -> Lines:
        """A list of a length, set by subscripts."""
        name, i = self.new("l"), self.new("i")
        self.lists.append(name)
        value = self.over([i], "number")
        start = self.one_of("0", "0.0", "1")
        return [f"{name} = [{start}] * n", f"for {i} in range(n):", f"    {name}[{i}] = {value}"]

    def grown(self) -> Lines:
        """A list that is appended to."""
        name, v = self.new("l"), self.new("v")
        lines = [f"{name} = []", f"for {v} in {self.vector()}:"]
        if self.chance(2):
            lines += [f"    if {self.over([v], 'condition')}:", "        continue"]
        lines.append(f"    {name}.append({self.over([v], 'number')})")
        self.lists.append(name)
        return lines

    def named(self) -> Lines:
        """Within an expression, or twice at once."""
        a, b = self.result(), self.result()
        value = self.number(1)
        self.numbers += [a, b]
        return [self.one_of(f"{a} = {b} = {value}", f"{b} = ({a} := {value}) * 2")]

    def asserted(self) -> Lines:
        return [f"assert {self.condition()}, 'so'" if self.chance(3) else "assert n >= 0"]

    def apart(self) -> Lines:
        """Tuples made and taken apart."""
        a, b = self.result(), self.result()
        lines = [f"{a}, {b} = {self.number(1)}, {self.number(0)}"]
        self.numbers += [a, b]
        return lines if self.chance(2) else ["rows, columns = m.shape", *lines]
