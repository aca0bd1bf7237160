"""Random functions of two to six neighbouring loops over shared arrays, drawn from bytes.

Loops go up, down, in steps, over rows and columns, over slices and whole arrays, and over the items
that an earlier loop has kept. They map, fold, scan, filter, scatter and have branches. Between them
are statements on scalars and single elements. Array arguments may be one array, or overlap.
"""
from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["ARRAYS", "MATRICES", "PARAMETERS", "calls", "sequence_text"]

ARRAYS = ("a", "b", "t", "u")
MATRICES = ("m", "w")
PARAMETERS = (*ARRAYS, *MATRICES, "index", "k")
_NEAR = (0, 0, 0, 0, 1, -1, 1, -1, 2, -2, 5)


class _Writer:
    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.lines: list[str] = []
        self.scalars = ["1.5"]
        self.made: list[str] = []
        self.folds: list[str] = []
        self.kept: list[str] = []
        self.places: list[str] = []

    def pick(self, *of: str) -> str:
        return self.rng.choice(of)

    def array(self) -> str:
        return self.pick(*ARRAYS, *ARRAYS, *self.made)

    def say(self, *lines: str) -> None:
        self.lines += lines

    # -- elements

    def at(self, i: str = "i") -> str:
        """A subscript that stays within 6 of `i`."""
        d = self.rng.choice(_NEAR)
        return f"{i} + {d + 6}"

    def element(self) -> str:
        match self.rng.randrange(12):
            case 0:
                return f"{self.pick(*ARRAYS)}[index[i]]"
            case 1:
                return f"{self.pick(*ARRAYS)}[n - 1 - i]"
            case 2:
                return f"{self.pick(*ARRAYS)}[{self.rng.randrange(3)}]"
            case 3 if self.made:
                return f"{self.pick(*self.made)}[i]"
            case 4:
                return self.pick(*self.scalars)
        return f"{self.pick(*ARRAYS)}[{self.at()}]"

    def value(self) -> str:
        e, f = self.element(), self.element()
        return self.pick(e, f"{e} + {f}", f"{e} * 0.5 - {f}", f"max({e}, {f})", f"{e} - {f}")

    def store(self) -> list[str]:
        target = self.rng.randrange(10)
        to = f"{self.pick(*ARRAYS)}[{self.at()}]"
        if target == 0:
            to = f"{self.pick(*ARRAYS)}[index[i]]"
        elif target == 1:
            to = f"{self.pick(*ARRAYS)}[n - 1 - i]"
        line = f"{to} {self.pick('=', '=', '=', '+=')} {self.value()}"
        if self.rng.randrange(5) == 0:
            other = ["else:", f"    {to} = {self.value()}"] if self.rng.randrange(2) else []
            return [f"if {self.element()} > 0:", f"    {line}", *other]
        return [line]

    # -- loops

    def head(self) -> str:
        return self.pick(
            *["for i in range(n - 12):"] * 6, "for i in range(1, n - 12):",
            "for i in range(n - 13):", "for i in range(n - 13, -1, -1):",
            "for i in range(n - 13, -1, -1):", "for i in range(0, n - 12, 2):",
            "for i in range(k):", "for i in range(2, n - 11):",
        )

    def loop(self) -> None:
        match self.rng.randrange(17):
            case 0 | 1:
                self.fold()
            case 2:
                self.nest()
            case 3:
                self.slices()
            case 4:
                self.whole()
            case 5:
                self.scan()
            case 6:
                self.grows()
            case 7 | 8:
                self.keeps()
            case 9 if self.kept:
                self.goes_through(self.pick(*self.kept))
            case _:
                body = [x for _ in range(self.rng.randint(1, 2)) for x in self.store()]
                self.say(self.head(), *(f"    {x}" for x in body))

    def fold(self) -> None:
        s = f"s{len(self.folds)}"
        step = self.pick(f"{s} += {self.value()}", f"{s} = max({s}, {self.value()})",
                         f"{s} = {s} * 0.5 + {self.value()}")
        also = self.store() if self.rng.randrange(3) == 0 else []
        self.say(f"{s} = 0.0", self.head(), f"    {step}", *(f"    {x}" for x in also))
        self.folds.append(s)
        if self.rng.randrange(3) == 0:
            self.scalars.append(s)

    def scan(self) -> None:
        a = self.pick(*ARRAYS)
        self.say("for i in range(1, n - 12):", f"    {a}[i] = {a}[i - 1] * 0.5 + {self.element()}")

    def grows(self) -> None:
        x = f"l{len(self.made)}"
        self.say(f"{x} = []", "for i in range(n):", f"    {x}.append({self.pick(*ARRAYS)}[i] * 2)")
        self.made.append(x)

    def keeps(self) -> None:
        x, a = f"l{len(self.made) + len(self.kept)}_", self.pick(*ARRAYS)
        cond, value = f"{self.element()} > {self.pick('0', '1', '9')}", self.value()
        lines = [f"{x} = []", self.head(), f"    if {cond}:", f"        {x}.append({value})"]
        match self.rng.randrange(6):
            case 0:
                lines = [f"{x} = [v * 2 for v in {a} if v > 0]"]
            case 1:
                lines = [f"{x} = [i for i in range(n - 12) if {cond}]"]
                self.places.append(x)
            case 2:
                lines += ["    else:", f"        {x}.append({self.element()})"]
            case 3:
                lines.insert(3, f"        {self.pick(*ARRAYS)}[{self.at()}] = {self.element()}")
            case 4 if self.kept:
                lines = [f"{x} = [v + 1 for v in {self.pick(*self.kept)} if v != 3]"]
        self.say(*lines)
        self.kept.append(x)
        if self.rng.randrange(3):
            self.goes_through(x)

    def goes_through(self, x: str) -> None:
        """A loop over what is kept."""
        s, a = f"s{len(self.folds)}", self.pick(*ARRAYS)
        step = self.pick(f"{s} += v", f"{s} = max({s}, v)", f"{s} = {s} * 0.5 + v",
                         f"{s} += v * {a}[2]", f"{s} += v > 2")
        if x in self.places:
            step = self.pick(f"{s} += {a}[v]", f"{a}[v] += 1", f"{s} += {a}[v] * v")
        head = self.pick(f"for v in {x}:", f"for v in {x}:", f"for j, v in enumerate({x}):")
        self.say(f"{s} = 0.0", head, f"    {step}")
        self.folds.append(s)

    def nest(self) -> None:
        w, m = self.rng.sample(MATRICES, 2)
        di, dj = (self.pick("", "", " + 1", " + 2") for _ in "ij")
        read = self.pick(f"{m}[i{di}, j{dj}]", f"{w}[i{di}, j{dj}]", f"{m}[j, i]",
                         f"{self.pick(*ARRAYS)}[j]", f"{self.pick(*ARRAYS)}[i]")
        line = f"{w}[i{self.pick('', ' + 1')}, j] = {read} + {m}[i, j]"
        if self.rng.randrange(4) == 0:
            line = f"{self.pick(*ARRAYS)}[{self.pick('i', 'j')}] += {read}"
        self.say("for i in range(k):", "    for j in range(k):", f"        {line}")

    def slices(self) -> None:
        a, b, c = (self.pick(*ARRAYS) for _ in range(3))
        p, q, r = (self.rng.randrange(3) for _ in range(3))
        ends = [f"{x}:{x} + n - 12" for x in (p, q, r)]
        self.say(self.pick(
            f"{a}[{ends[0]}] = {b}[{ends[1]}] + {c}[{ends[2]}]",
            f"{a}[{p}:n - 2] = {b}[{p}:n - 2] * 0.5", f"{a}[::2] = {b}[::2] + 1",
            f"{a}[:] = {b}[::-1]", f"{a}[1:] = {b}[:-1]",
        ))

    def whole(self) -> None:
        a, b = self.array(), self.array()
        x = f"x{len(self.made)}"
        if not {a, b} <= {*ARRAYS}:
            a, b = "a", "t"
        self.say(f"{x} = {a} * 0.5 + {b}")
        self.made.append(x)

    def between(self) -> None:
        match self.rng.randrange(8):
            case 0:
                c = f"c{len(self.scalars)}"
                self.say(f"{c} = {self.pick(*ARRAYS)}[{self.rng.randrange(4)}] * 2")
                self.scalars.append(c)
            case 1:
                to = f"{self.pick(*ARRAYS)}[{self.rng.randrange(4)}]"
                self.say(f"{to} = {self.pick(*self.scalars)}")


def sequence_text(program: bytes) -> str:
    """A function `f` of `PARAMETERS`, as Python."""
    w = _Writer(random.Random(program))
    for k in range(w.rng.randint(2, 6)):
        if k:
            w.between()
        w.loop()
    if w.rng.randrange(6) == 0:
        w.say("if k > 3:", "    k = 3")
    made = [*w.folds, *w.made, *(x for x in w.kept if w.rng.randrange(2))]
    lines = ["n = len(a)", *w.lines, f"return {', '.join(['n', *made])}"]
    return f"def f({', '.join(PARAMETERS)}):\n" + "\n".join(f"    {x}" for x in lines) + "\n"


def calls(data: bytes) -> list[Callable[[], tuple[Any, ...]]]:
    """Makers of arguments: arrays apart, two of them one, two that overlap; of two lengths."""
    rng = random.Random(data)
    made = []
    for n in (rng.choice((0, 12, 13, 14, 16)), rng.choice((20, 33, 50))):
        for by in (None, 0, rng.choice((1, 2, 3))):
            names = tuple(rng.sample(ARRAYS, 2))
            made.append(_maker(n, names, by, rng.randrange(1 << 30)))
    return made


def _maker(
    n: int, names: tuple[str, ...], by: int | None, start: int
) -> Callable[[], tuple[Any, ...]]:
    def make() -> tuple[Any, ...]:
        rng = np.random.default_rng(start)
        room = {p: rng.integers(-4, 6, n).astype(float) for p in ARRAYS}
        if by is not None:
            whole = rng.integers(-4, 6, n + by).astype(float)
            room[names[0]], room[names[1]] = whole[:n], whole[by:]
        k = min(n, 5)
        matrices = [rng.integers(-4, 6, (k + 3, k + 3)).astype(float) for _ in MATRICES]
        return (*room.values(), *matrices, rng.integers(0, max(n, 1), n), k)

    return make
