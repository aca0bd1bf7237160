"""Functions as source text that compute with complex numbers, beside floats and ints.

They return a tuple. Its values have Python's bits if folds keep Python's order, except absolute
values, which are returned in lists of floats.
"""
from __future__ import annotations

from random import Random

import numpy as np

__all__ = ["arguments", "program"]

_NUMBERS = (
    "1j", "(2)", "(0.5)", "(0.5 - 2j)", "(-1)", "(3.25)", "(1 + 0j)", "(1e3)", "(-0.25j)",
)
_KINDS = (np.complex128, np.complex128, np.complex64)
_REALS = (np.float64, np.float32, np.int64, np.int8, np.float64)
_SCALARS = (2.5, 3, 1 - 2j, 0.5j, np.complex64(1 + 2j), np.complex128(-1j), np.float64(0.1), 0)
_SPECIAL = (0.0, -0.0, np.inf, -np.inf, np.nan, 1e300, -1e-300, 1e38, 1.0, -2.0, 5e-324)


def program(random: Random) -> str:
    """The text of ``f(z, w, x, c, d)``: of two complex arrays, a real one, and two scalars."""
    return _Maker(random).program()


def arguments(random: Random) -> tuple[object, ...]:
    """What such a function is called with; all arrays are of one length."""
    rng, n = np.random.default_rng(random.randrange(1 << 30)), random.choice((0, 1, 2, 5, 17, 40))
    wild, strided = random.random() < 0.2, random.random() < 0.2

    def real(dtype: type, count: int) -> np.ndarray:
        with np.errstate(all="ignore"):
            values = rng.choice(_SPECIAL, count) if wild else rng.standard_normal(count) * 3
            whole = np.dtype(dtype).kind == "i"
            return (rng.integers(-3, 4, count) if whole else values).astype(dtype)

    def pairs(dtype: type) -> np.ndarray:
        part = np.float32 if dtype is np.complex64 else np.float64
        return real(part, 4 * n).view(dtype)[::2] if strided else real(part, 2 * n).view(dtype)

    scalars = random.choice(_SCALARS), random.choice(_SCALARS)
    z, w = pairs(random.choice(_KINDS)), pairs(random.choice(_KINDS))
    return z, w, real(random.choice(_REALS), n), *scalars


class _Maker:
    def __init__(self, random: Random) -> None:
        self.random = random
        self.readable = ["c", "d"]
        self.at: str | None = None
        self.count = 0

    def program(self) -> str:
        body, results = ["n = len(z)"], []
        for _ in range(self.random.choice((1, 1, 2))):
            lines, names = self.block()
            body += lines
            results += names
        body.append(f"return {', '.join(results)},")
        return "\n".join(["def f(z, w, x, c, d):", *(f"    {line}" for line in body)]) + "\n"

    def new(self, hint: str) -> str:
        self.count += 1
        return f"{hint}{self.count}"

    def block(self) -> tuple[list[str], list[str]]:
        return self.random.choice((self.loop, self.loop, self.loop, self.whole, self.listed))()

    def whole(self) -> tuple[list[str], list[str]]:
        name = self.new("p")
        self.at = ""
        text = self.of_arrays(2)
        self.at = None
        return [f"{name} = {text}"], [name]

    def listed(self) -> tuple[list[str], list[str]]:
        name, outer = self.new("l"), list(self.readable)
        self.readable += ["v", "u"]
        text = f"{name} = [{self.number(3)} for v, u in zip(z, {self.random.choice('wx')})]"
        self.readable = outer
        return [text], [name]

    def loop(self) -> tuple[list[str], list[str]]:
        out, outer = self.new("o"), list(self.readable)
        accs = [self.new("s") for _ in range(self.random.choice((0, 1, 1, 2)))]
        starts = [self.random.choice(("0j", "1", "0", "0.0", "1j", "c")) for _ in accs]
        self.at = "i"
        head = self.random.choice((
            "for i in range(n):", "for i, v in enumerate(z):",
            "for i, (v, u) in enumerate(zip(z, w)):",
        ))
        self.readable += [name for name in "vu" if f"{name}" in head.split(" in ")[0][4:]]
        body = [line for s in accs for line in self.step(s)]
        temporary = self.new("t")
        body.append(f"{temporary} = {self.number(2)}")
        self.readable.append(temporary)
        body += self.perhaps([f"{out}[i] = {self.number(3)}"])
        far = [self.new("far")] if self.random.random() < 0.2 else []
        size = self.random.choice(("abs", "np.abs"))
        body += [f"{name}.append({size}({self.random.choice('zw')}[i]))" for name in far]
        for _ in range(self.random.choice((0, 0, 1, 1, 2))):
            body += self.perhaps([self.effect()])
        self.readable, self.at = [*outer, *accs], None
        made = f"{out} = np.zeros{self.random.choice(('_like(z)', '(n, complex)', '_like(w)'))}"
        lines = [made, *(f"{s} = {start}" for s, start in zip(accs, starts, strict=True))]
        lines += [*(f"{name} = []" for name in far), head]
        return [*lines, *(f"    {line}" for line in body)], [out, *accs, *far]

    def step(self, s: str) -> list[str]:
        op = self.random.choice(("+=", "+=", "-=", "*="))
        return self.perhaps([f"{s} {op} {self.number(2)}"])

    def effect(self) -> str:
        of = self.random.choice("zw")
        return self.random.choice((
            f"x[i] = ({self.number(1)}).real" if self.random.random() < 0.3 else "pass",
            f"{of}[i] = {self.number(2)}", f"{of}[i] {self.random.choice('+-*')}= {self.number(1)}",
        ))

    def perhaps(self, lines: list[str]) -> list[str]:
        if self.random.random() < 0.75:
            return lines
        return [f"if {self.condition()}:", *(f"    {line}" for line in lines)]

    # -- expressions

    def element(self) -> str:
        where = self.random.choice(("i", "i", "i", "n - 1 - i", "0"))
        return f"{self.random.choice('zzwwx')}[{where}]" if self.at else self.other()

    def other(self) -> str:
        return self.random.choice((*self.readable, self.random.choice(_NUMBERS)))

    def leaf(self) -> str:
        return self.element() if self.random.random() < 0.6 else self.other()

    def number(self, depth: int) -> str:
        if not depth or self.random.random() < 0.2:
            return self.leaf()
        a, b = self.number(depth - 1), self.number(depth - 1)
        op = self.random.choice("++--***/")
        return self.random.choice((
            *[f"({a} {op} {b})"] * 6, f"(-{a})", f"{a}.conjugate()", f"{a}.real", f"{a}.imag",
            f"complex({a}.real, {b}.imag)", self.chosen(a),
            f"np.{self.random.choice(('multiply', 'add', 'subtract', 'divide'))}({a}, {b})",
            f"np.conj({a})", f"({a} ** 2)", f"np.complex64({a})",
            f"complex({a})", f"np.where({self.condition()}, {a}, {b})",
        ))

    def chosen(self, a: str) -> str:
        other = self.random.choice((f"-{a}", f"({a} * 2)", f"{a}.conjugate()", self.leaf()))
        return f"({a} if {self.condition()} else {other})"

    def condition(self) -> str:
        a, b = self.leaf(), self.leaf()
        return self.random.choice((
            f"{a} == {b}", f"{a} != {b}", f"{a}.real < {b}.imag", f"{a}.imag > 0.5", f"{a}",
            f"np.isnan({a})", f"not {a}",
        ))

    def of_arrays(self, depth: int) -> str:
        if not depth:
            return self.random.choice(("z", "w", "x", "c", "d", *_NUMBERS))
        a, b = self.of_arrays(depth - 1), self.of_arrays(depth - 1)
        one = self.random.choice(("z", "w", "z[::-1]", "w.real", "z.imag"))
        return self.random.choice((
            f"({one} {self.random.choice('+-*/')} {b})", f"({a} {self.random.choice('+-*')} {one})",
            "np.conj(z)", "np.conj(w)", f"(-{one})", f"np.square({one})",
        ))
