"""Functions as source text whose loops end in all ways: ``break``, ``return``, ``else``, ``while``.

With ``handlers`` they also have ``try``, ``raise`` and ``match``, whose blocks are left in the same
ways, and loops over several iterables at once, which become nests of loops.

Every loop ends: a ``while`` spends ``fuel``, of which a call has little.
"""
from __future__ import annotations

from random import Random

__all__ = ["program"]

_CONDITIONS = (
    "x[{i}] > {c}", "x[{i}] * s < {c}", "s > {c}", "m % 3 == {k}", "k < {k}", "{i} == {k}",
    "x[{i}] != x[{i}]", "m > {k} and x[{i}] < {c}", "{i} > {k} or s < {c}", "not k",
)
_ASSIGNMENTS = (
    "s = s + x[{i}]", "s = s * 0.5", "m = m + 1", "m = m - {k}", "k = {i}", "k = k + {i}",
    "y[{i}] = s", "y[{i}] = y[{i}] + x[{i}]", "late = {i}", "late = x[{i}]", "m = m * 2 + 1",
)
_RESULTS = ("s", "m", "k", "k, m", "x[{i}]", "None", "-1", "late", "s, late", "y")


_HEADS = (
    "for {i}, v{i} in itertools.product(range(n), (0.5, 2.0, 3.0)):",
    "for v{i}, {i} in itertools.product(x, range(n)):",
    "for {i}, v{i} in np.ndindex(n, 2):",
    "for {i}, v{i} in itertools.combinations(range(n), 2):",
    "for {i}, v{i} in itertools.permutations(range(n), 2):",
    "for {i}, (v{i}, w{i}) in enumerate(zip(x, y)):",
    "for {i}, v{i} in zip(range(n), itertools.chain(y, x)):",
)
_RAISING = ("raise ValueError", "raise ValueError('odd')", "m = m // (k - k)", "raise IndexError")
_HANDLED = ("ValueError", "(ValueError, ZeroDivisionError)", "Exception", "ZeroDivisionError")


def program(random: Random, *, handlers: bool = False) -> str:
    """The text of a function ``f(x, y, t)``: `t` a float, `y` as long as `x`."""
    return _Maker(random, handlers).program()


class _Maker:
    def __init__(self, random: Random, handlers: bool) -> None:
        self.random, self.handlers = random, handlers
        self.forms = 0 if handlers else 3  # statements with `try` or `match`, of which few are made
        self.loops = 0
        self.index: list[str] = []

    def program(self) -> str:
        body = ["n = len(x)", "s = t", "m = k = 0", "fuel = 3 * n"]
        if self.often(2):
            body.append("late = 0")
        for _ in range(self.random.choice((1, 1, 2, 3))):
            body += self.loop() if self.often(4) else self.statement()
        if self.often(4):
            body.append(f"return {self.random.choice(('s', 'm', 'k, s', 's, m, k', 'late', '-1'))}")
        return "\n    ".join(["def f(x, y, t):", *body]) + "\n"

    def often(self, parts: int) -> bool:
        return self.random.randrange(parts) > 0

    def filled(self, texts: tuple[str, ...]) -> str:
        i = self.index[-1] if self.index else "0"
        c = self.random.choice((-2.0, 0.5, 3.0))
        return self.random.choice(texts).format(i=i, c=c, k=self.random.randrange(-1, 6))

    def block(self, least: int = 1) -> list[str]:
        lines: list[str] = []
        for _ in range(self.random.randrange(least, 4)):
            lines += self.statement()
        return [f"    {line}" for line in lines or ["pass"]]

    def statement(self) -> list[str]:
        if self.index and self.forms < 3 and not self.often(4):
            self.forms += 1
            return self.matched() if not self.often(4) else self.tried()
        kind = self.random.randrange(10)
        if kind < 4 or (kind >= 8 and self.loops >= 3):
            unindexed = tuple(a for a in _ASSIGNMENTS if "{i}" not in a)
            return [self.filled(_ASSIGNMENTS if self.index else unindexed)]
        if kind < 6 and self.index:
            return [f"if {self.filled(_CONDITIONS)}:", f"    {self.way_out()}"]
        if kind < 8 and self.index:
            lines = [f"if {self.filled(_CONDITIONS)}:", *self.block()]
            return lines if self.often(2) else [*lines, "else:", *self.block()]
        return self.loop()

    def tried(self) -> list[str]:
        """A ``try`` that may raise, in a block of its own or not."""
        lines = ["try:", *self.block()]
        for _ in range(self.random.randrange(1, 3)):
            raising = self.random.choice(_RAISING)
            lines += [f"    if {self.filled(_CONDITIONS)}:", f"        {raising}"]
        if self.often(2):  # deeper
            around = f"if {self.filled(_CONDITIONS)}:" if self.often(3) else "for _ in range(2):"
            lines[1:] = [f"    {around}", *(f"    {line}" for line in lines[1:])]
        lines += [] if self.often(2) else self.block()
        lines += [f"except {self.random.choice(_HANDLED)}:"]
        lines += self.block() if self.often(3) else []
        lines += [f"    {self.way_out() if self.often(3) else self.filled(_ASSIGNMENTS)}"]
        if not self.often(4):
            lines += ["else:", *self.block()]
        if not self.often(6):
            lines += ["finally:", f"    {self.filled(_ASSIGNMENTS)}"]
        return lines

    def matched(self) -> list[str]:
        lines = ["match m % 4:", "    case 0:", *(f"    {line}" for line in self.block())]
        lines += ["    case 1 | 2:", *(f"    {line}" for line in self.block())]
        if self.often(2):
            lines[-1:] = [lines[-1], f"        {self.way_out()}"]
        return lines if self.often(2) else [*lines, "    case _:", *(
            f"    {line}" for line in self.block())]

    def way_out(self) -> str:
        return self.random.choice(("break", "continue", f"return {self.filled(_RESULTS)}"))

    def loop(self) -> list[str]:
        self.loops += 1
        i = f"i{self.loops}"
        self.index.append(i)
        match self.random.randrange(8 if self.handlers else 5):
            case 5 | 6 | 7:
                lines = [self.random.choice(_HEADS).format(i=i), f"    late = v{i}", *self.block()]
            case 0 | 1:
                lines = [f"for {i} in range({self.random.choice(('n', 'n', 'n - 1', '3, n'))}):"]
                lines += self.block()
            case 2:
                lines = [f"for {i}, v{i} in enumerate(x):", f"    late = v{i}", *self.block()]
            case 3:
                lines = [f"{i} = 0", f"while {i} < n and {self.filled(_CONDITIONS)}:"]
                lines += [f"    {i} = {i} + 1", "    fuel = fuel - 1"]
                lines += [f"    if fuel < 0 or {i} >= n:", "        break", *self.block()]
            case _:
                lines = [f"{i} = 0", "while True:", "    fuel = fuel - 1"]
                lines += [f"    if fuel < 0 or {i} >= n:", "        break", *self.block()]
                lines.append(f"    {i} = {i} + 1")
        self.index.pop()
        return lines if self.often(3) else [*lines, "else:", *self.block()]
