"""Whole functions as source text, of all kinds of statements, drawn from a tape of choices.

They may raise: a name may have no value, a subscript no element, a divisor be zero.
"""
from __future__ import annotations

from typing import TypeAlias

from random_forms import Forms

__all__ = ["HELPERS", "function_text"]

Lines: TypeAlias = "list[str]"

HELPERS = """
from typing import NamedTuple

import numpy as np

def half(p, q):
    return (p - q) * 0.5

def larger(p, q):
    if p > q:
        return p
    return q

def bumped(p, d=1):
    q = p + d
    return q if q != p else d

def total(v, start=0.0):
    s = start
    for e in v:
        s = s + e
    return s

def scaled(v, by):
    for i in range(len(v)):
        v[i] = v[i] * by
    return v

def ends(v):
    return v[0], v[-1]

class Pair(NamedTuple):
    low: int
    high: float

PAIR = Pair(2, 0.5)
"""
_DEEPEST = 3


def function_text(tape: bytes) -> str:
    """A function ``f`` of two vectors, a matrix, a float, an int and a bool."""
    return _Maker(tape).text()


def _indented(lines: Lines) -> Lines:
    return [f"    {line}" for line in lines]


class _Maker(Forms):
    """Draws one function, from top to bottom."""

    def text(self) -> str:
        self.vectors, self.lists, self.rows = ["x", "y"], list[str](), ["m"]
        self.numbers, self.own, self.indices = ["a", "k", "n"], list[str](), list[str]()
        self.count, self.depth, self.loops = 0, 0, 0
        body = ["n = len(x)"]
        for _ in range(self.one_of(1, 2, 3, 4, 5)):
            body += self.statement()
        return "\n".join(["def f(x, y, m, a, k, flag):", *_indented([*body, self.ending()])]) + "\n"

    def ending(self) -> str:
        some = [v for v in (*self.own, *self.lists, *self.vectors[2:]) if not self.chance(5)]
        some += [v for v in ("x", "y", "m[0]", "x[1:]") if self.chance(9)]
        return f"return {', '.join(some)}" if some else "return n"

    def new(self, hint: str) -> str:
        self.count += 1
        return f"{hint}{self.count}"

    # -- statements

    def statement(self) -> Lines:
        simple = [self.bound, self.updated, self.stored, self.stored, self.paired]
        simple += [self.renamed] if self.chance(3) else []
        whole = [self.whole, self.moved, self.listed, self.folded, self.sought]
        whole += [self.form, self.form]
        loops = [self.loop] * 4 + [self.repeated, self.elements, self.nest]
        nested = [*(loops if self.loops < 2 else []), self.branch, self.branch]
        if self.depth >= _DEEPEST:
            nested = []
        leaving = [self.left] if self.loops else [self.returned] if self.chance(4) else []
        return self.one_of(*simple, *(whole if not self.loops or self.chance(6) else []), *nested,
                           *leaving)()

    def block(self) -> Lines:
        """What is bound in it may have no value behind it."""
        before = self.numbers[:], self.own[:], self.vectors[:], self.lists[:]
        self.depth += 1
        lines = [s for _ in range(self.one_of(1, 1, 2, 3)) for s in self.statement()]
        self.depth -= 1
        if not self.chance(12):
            self.numbers, self.own, self.vectors, self.lists = before
        return _indented(lines)

    def bound(self) -> Lines:
        value = self.number(2)
        name = self.one_of(self.new("s"), *self.own)
        if name not in self.own:
            self.numbers.append(name)
            self.own.append(name)
        return [f"{name} = {value}"]

    def updated(self) -> Lines:
        if not self.own:
            return self.bound()
        name = self.one_of(*self.own)
        return [self.one_of(
            f"{name} {self.one_of('+', '-')}= {self.number(2)}", f"{name} *= {self.factor()}",
        )]

    def paired(self) -> Lines:
        names = self.own
        if len(names) < 2 or self.chance(3):
            x = self.one_of(*self.vectors[:2])
            i, j = self.index(), self.index()
            return [f"{x}[{i}], {x}[{j}] = {x}[{j}], {x}[{i}]"]
        s, t = self.one_of(*names), self.one_of(*names)
        return [f"{s}, {t} = {t}, {self.number(1)}"]

    def renamed(self) -> Lines:
        """A name is another array, or may be None."""
        x, y = self.one_of(*self.vectors), self.one_of(*self.vectors)
        options = [[f"{x}, {y} = {y}, {x}"], [f"{x} = {y}"], [f"{x} = {self.array(1)}"]]
        if self.own:
            s = self.one_of(*self.own)
            options += [[f"{s} = None"], [f"if {s} is None:", f"    {s} = {self.number(1)}"]]
        return self.one_of(*options)

    def stored(self) -> Lines:
        if self.chance(4) and self.indices:
            place = f"m[{self.one_of('0', '-1')}, {self.one_of('0', '1', '-1')}]"
            return [f"{place} = {self.number(2)}"]
        place = f"{self.one_of(*self.vectors)}[{self.index()}]"
        return [f"{place} {self.one_of('', '', '+', '-', '*')}= {self.number(2)}"]

    def branch(self) -> Lines:
        lines = [f"if {self.condition()}:", *self.block()]
        if self.chance(3):
            lines += [f"elif {self.condition()}:", *self.block()]
        return [*lines, "else:", *self.block()] if self.chance(2) else lines

    def left(self) -> Lines:
        return [f"if {self.condition()}:", f"    {self.one_of('break', 'continue', 'break')}"]

    def returned(self) -> Lines:
        return [f"if {self.condition()}:", f"    return {self.number(1)}"]

    # -- loops

    def inside(self, header: str, index: str | None, values: tuple[str, ...] = ()) -> Lines:
        outer = self.numbers[:], self.indices[:]
        self.indices += [index] if index else []
        self.numbers += [*values, *([index] if index else [])]
        self.loops += 1
        lines = [header, *self.block()]
        self.loops -= 1
        self.numbers, self.indices = outer
        if index and self.chance(8):
            self.numbers.append(index)
        if self.chance(10):
            lines += ["else:", *self.block()]
        return lines

    def loop(self) -> Lines:
        i = self.new("i")
        ends = ("n", "n", "n", "1, n", "n - 1", "n - 1, -1, -1", "0, n, 2")
        end = self.one_of(*ends, "min(k, n)", "min(n, 4)", "len(y)")
        return self.inside(f"for {i} in range({end}):", i)

    def elements(self) -> Lines:
        v, i = self.new("v"), self.new("i")
        x, y = self.one_of(*self.vectors, *self.lists), self.one_of(*self.vectors)
        match self.one_of(0, 1, 2, 3):
            case 0:
                return self.inside(f"for {v} in {x}:", None, (v,))
            case 1:
                return self.inside(f"for {i}, {v} in enumerate({x}):", i, (v,))
            case 2:
                return self.inside(f"for {v}, {i} in zip({x}, {y}):", None, (v, i))
        return self.inside(f"for {v} in {x}[{self.cut()}]:", None, (v,))

    def nest(self) -> Lines:
        i, j = self.new("i"), self.new("j")
        outer = self.numbers[:], self.depth
        self.numbers += [f"m[{i}, {j}]", i, j]
        self.depth, self.loops = self.depth + 1, self.loops + 1
        at = self.one_of(f"m[{i}, {j}]", f"m[{i}, {j}]", f"m[{i}, 0]", f"x[{j}]")
        action = self.one_of(f"{at} = {self.number(2)}", f"{at} += {self.number(1)}")
        inner = [f"for {j} in range(m.shape[1]):", f"    {action}"]
        (self.numbers, self.depth), self.loops = outer, self.loops - 1
        return [f"for {i} in range(m.shape[0]):", *_indented(inner)]

    def repeated(self) -> Lines:
        """A while that ends."""
        t, outer = self.new("t"), self.numbers[:]  # nothing else is bound to it
        self.numbers.append(t)
        self.indices.append(t)
        self.loops += 1
        more = f" and ({self.condition()})" if self.chance(2) else ""
        inner = self.block()
        self.loops -= 1
        self.indices.pop()
        self.numbers = outer
        return [f"{t} = {self.one_of('n', '5', 'k % 7')}", f"while {t} > 0{more}:",
                f"    {t} = {t} - 1", *inner]

    # -- whole arrays, lists

    def whole(self) -> Lines:
        name = self.new("z")
        line = f"{name} = {self.array(2)}"
        self.vectors.append(name)
        return [line]

    def array(self, depth: int) -> str:
        if not depth or self.chance(3):
            x = self.one_of(*self.vectors)
            return self.one_of(x, x, x, f"{x}[::-1]", f"{x}.copy()", f"{x}[:]")
        a, b = self.array(depth - 1), self.array(depth - 1)
        match self.one_of(0, 0, 1, 2, 3, 4, 5, 6, 7):
            case 7:
                return f"np.clip({a}, {self.one_of('-1.0', '-0.0', b)}, {self.one_of('0.0', b)})"
            case 0:
                return f"({a} {self.one_of('+', '-', '*')} {b})"
            case 1:
                return f"({a} {self.one_of('+', '-', '*')} {self.number(0)})"
            case 2:
                return f"np.where({a} {self.one_of('<', '>=')} {b}, {a}, {b})"
            case 3:
                return f"np.{self.one_of('minimum', 'maximum')}({a}, {b})"
            case 4:
                return f"np.{self.one_of('abs', 'negative', 'square')}({a})"
            case 5:
                made = "np.zeros(n)", "np.ones(n, dtype=x.dtype)", "np.full(n, 2, m.dtype)"
                return self.one_of(f"np.zeros_like({a})", *made)
        return f"np.cumsum({a})"

    def moved(self) -> Lines:
        x, y = self.one_of(*self.vectors), self.one_of(*self.vectors)
        cuts = (("1:", ":-1"), (":-1", "1:"), (":", "::-1"), ("::2", "::2"), (":3", ":3"))
        (to, of), e = self.one_of(*cuts), self.number(0)
        return [self.one_of(
            f"{x}[{to}] = {y}[{of}]", f"{x}[{to}] += {y}[{of}]", f"{x}[:] = {e}",
            f"{x} {self.one_of('+', '-', '*')}= {e}", f"{x}[{self.cut()}] = {e}",
        )]

    def cut(self) -> str:
        return self.one_of("1:", ":k", "k:", "::2", "::-1", "1:-1", "-3:", ":n", "2:2")

    def listed(self) -> Lines:
        name, v, x = self.new("l"), self.new("v"), self.one_of(*self.vectors)
        outer = self.numbers[:]
        self.numbers.append(v)
        element = self.number(2)
        where = f" if {self.condition()}" if self.chance(2) else ""
        self.numbers = outer
        line = f"{name} = [{element} for {v} in {x}{where}]"
        self.lists.append(name)
        return [line]

    def folded(self) -> Lines:
        name, v, x = self.new("s"), self.new("v"), self.one_of(*self.vectors, *self.lists)
        outer = self.numbers[:]
        self.numbers.append(v)
        e, c, z = self.number(1), self.condition(), self.one_of(*self.vectors)
        self.numbers = [*outer, name]
        self.own.append(name)
        return [self.one_of(
            f"{name} = sum({e} for {v} in {x})", f"{name} = sum([{e} for {v} in {x} if {c}])",
            f"{name} = any({c} for {v} in {x})", f"{name} = all({c} for {v} in {x})",
            f"{name} = max({v} for {v} in {x})", f"{name} = min({x})",
            f"{name} = np.{self.one_of('sum', 'max', 'min', 'argmax')}({z})",
        )]

    def sought(self) -> Lines:
        """An extremum of what there is, if anything."""
        name, v, x = self.new("s"), self.new("v"), self.one_of(*self.vectors, *self.lists)
        outer = self.numbers[:]
        self.numbers.append(v)
        e, c = self.number(1), self.condition()
        self.numbers = [*outer, name]
        self.own.append(name)
        better = f"{name} is None or {e} {self.one_of('<', '>')} {name}"
        test = self.one_of(better, better, f"{c} and ({better})", c)
        return [f"{name} = None", f"for {v} in {x}:", f"    if {test}:", f"        {name} = {e}"]

    # -- numbers

    def index(self) -> str:
        i = self.one_of(*(self.indices[-2:] * 2), "0", "-1", "k") if self.indices else "0"
        if i in ("0", "-1", "k"):
            return i
        return self.one_of(i, i, i, f"{i} - 1", f"n - 1 - {i}", f"{i} // 2")

    def number(self, depth: int) -> str:
        if depth <= 0 or self.chance(4):
            return self.atom()
        a, b = self.number(depth - 1), self.number(depth - 1)
        match self.one_of(0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8):
            case 8:
                return self.one_of(f"np.sqrt({a})", f"(1.0 / np.sqrt({a}))", f"max({a}, 0.0)")
            case 0:
                return self.one_of(f"({a} + {b})", f"({a} - {b})", f"({a} * {self.factor()})")
            case 1:
                return f"({a} {self.one_of('//', '%', '/')} {self.one_of('2', '3', '-4', b)})"
            case 2:
                return f"{self.one_of('min', 'max')}({a}, {b})"
            case 3:
                return f"({a} if {self.condition()} else {b})"
            case 4:
                return f"{self.one_of('abs', '-')}({a})"
            case 5:
                return f"{self.one_of('half', 'larger', 'bumped')}({a}, {b})"
            case 6:
                return f"np.{self.one_of('minimum', 'maximum', 'add')}({a}, {b})"
        return f"({a} {self.one_of('<', '>', '==')} {b})"

    def factor(self) -> str:
        """Not an int that grows: products of those soon fill the memory."""
        element = f"{self.one_of(*self.vectors)}[{self.index()}]"
        return self.one_of(element, "2", "-3", "0.5", "flag")

    def atom(self) -> str:
        element = f"{self.one_of(*self.vectors)}[{self.index()}]"
        return self.one_of(
            element, element, element, *self.numbers[-3:], self.one_of(*self.numbers),
            self.one_of("0", "1", "2", "-3", "0.5", "2.0", "7", "flag", "PAIR.low", "PAIR[1]"),
        )

    def condition(self) -> str:
        a, b = self.number(1), self.number(1)
        plain = f"{a} {self.one_of('<', '>', '<=', '>=', '==', '!=')} {b}"
        match self.one_of(0, 0, 0, 0, 1, 2, 3, 4, 5, 6):
            case 6:
                return f"{a} {self.one_of('<', '<=', '>', '==')} {self.one_of('0.0', '1e-50')}"
            case 1:
                return f"{plain} {self.one_of('and', 'or')} {self.number(0)} < {self.number(0)}"
            case 2:
                return f"not {plain}"
            case 3:
                return f"{self.atom()} < {a} <= {self.atom()}"
            case 4:
                return self.one_of("flag", "k > 0", "n > 2", plain)
            case 5:
                return self.one_of("y.dtype == np.float64", "isinstance(a, float)", "m.ndim > 1")
        return plain
