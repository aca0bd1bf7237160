"""Random Python expressions over what a loop's body can read."""
from __future__ import annotations

from choices import Choices

__all__ = ["Expressions"]

NUMBERS = (
    "0", "1", "2", "3", "-1", "5", "100", "0.5", "1.5", "2.0", "-0.25", "0.0", "1e3", "255", "True",
)
FREE = (
    "exp", "log", "sin", "cos", "tan", "tanh", "log2", "log10", "log1p", "expm1", "sinh", "cosh",
)
ROUNDING = ("np.floor", "np.ceil", "np.rint", "np.trunc", "math.floor", "math.ceil", "round")
COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")


class Expressions(Choices):
    """Draws expressions.

    ``at``: the index of the loop, and how far below and above it stays in bounds. ``grid``: the two
    of a nest. ``values``: elements that the loop itself binds.
    """

    def __init__(self, tape: bytes) -> None:
        super().__init__(tape)
        self.vectors: list[str] = []
        self.matrices: list[str] = []
        self.scalars: list[str] = []
        self.lists: list[str] = []
        self.accs: list[str] = []
        self.results: list[str] = []
        self.open: list[str] = []
        self.guaranteed: list[str] = []
        self.values: list[str] = []
        self.at: tuple[str, int, int] | None = None
        self.grid: tuple[str, str, int] | None = None
        self.count = 0
        self.free = self.chance(3)

    def number(self) -> int:
        self.count += 1
        return self.count

    def new(self, hint: str) -> str:
        return f"{hint}{self.number()}"

    # -- leaves

    def leaf(self) -> str:
        kinds = [self.element] * 6 if self.at or self.values else []
        kinds += [self.scalar] * 2 if self.scalars else []
        return str(self.one_of(*kinds, self.constant)())

    def constant(self) -> str:
        return str(self.one_of(*NUMBERS))

    def scalar(self) -> str:
        return str(self.one_of(*self.scalars))

    def element(self) -> str:
        if self.values and (self.at is None or self.chance(2)):
            return str(self.one_of(*self.values))
        return self.place()

    def place(self) -> str:
        """An element of an array, by subscript."""
        assert self.at
        if self.grid and not self.chance(4):
            return self.cell()
        i, lo, hi = self.at
        x = self.one_of(*self.vectors)
        if self.chance(10):
            return f"{x}[{self.one_of('0', '-1', f'n - 1 - {i}', f'{i} // 2', f'{i} - 1')}]"
        if self.chance(30):
            lo, hi = 2, 2
        if self.grid and self.chance(3):
            return f"{x}[{self.grid[0]}]"
        return f"{x}[{self.shifted(i, self.one_of(*range(-lo, hi + 1)))}]"

    @staticmethod
    def shifted(i: str, by: int) -> str:
        return i if by == 0 else f"{i} {'+-'[by < 0]} {abs(by)}"

    def cell(self) -> str:
        assert self.grid
        i, j, hi = self.grid
        m = self.one_of(*self.matrices)
        j = self.shifted(j, self.one_of(*range(hi + 1)))
        return f"{m}[{i}][{j}]" if self.chance(6) else f"{m}[{i}, {j}]"

    # -- numbers

    def num(self, depth: int) -> str:
        if depth == 0 or self.chance(4):
            return self.leaf()
        kinds = [self.sum_] * 5 + [self.quotient, self.negated, self.call, self.call, self.select]
        kinds += [self.rounded, self.power, *([self.any_bits] * 2 if self.free else [])]
        return str(self.one_of(*kinds)(depth - 1))

    def sum_(self, depth: int) -> str:
        return f"({self.num(depth)} {self.one_of('+', '-', '*')} {self.num(depth)})"

    def quotient(self, depth: int) -> str:
        op = self.one_of("/", "/", "//", "%")
        return f"({self.num(depth)} {op} {self.num(depth)})"

    def negated(self, depth: int) -> str:
        return f"(-{self.num(depth)})"

    def power(self, depth: int) -> str:
        if self.free and self.chance(2):
            exponent = self.one_of("0.5", "-1", "1.5", "x[0]", "2.0")
        else:
            exponent = self.one_of("2", "2", "3", "x.ndim + 4", "len(x) % 3")
        return f"_power({self.num(depth)}, {exponent})"

    def call(self, depth: int) -> str:
        f = self.one_of(
            "abs", "min", "max", "np.minimum", "np.maximum", "np.clip", "np.sqrt", "math.sqrt",
            "np.abs", "float", "np.float32", "int", "np.add", "bool", "np.isnan",
        )
        if f in ("min", "max", "np.minimum", "np.maximum", "np.add"):
            e = self.num(depth)
            more = f", {self.num(0)}" if f in ("min", "max") and self.chance(6) else ""
            return f"{f}({e}, {self.related(e, depth)}{more})"
        if f == "np.clip":
            low, high = self.one_of("0", "-1.5", "-2"), self.one_of("2", "0.5", "100")
            return f"np.clip({self.num(depth)}, {low}, {high})"
        return f"{f}(abs({self.num(depth)}))" if f == "math.sqrt" else f"{f}({self.num(depth)})"

    def select(self, depth: int) -> str:
        e, c = self.num(depth), self.cond(depth)
        other = self.related(e, depth)
        return f"np.where({c}, {e}, {other})" if self.chance(3) else f"({e} if {c} else {other})"

    def related(self, e: str, depth: int) -> str:
        """Another value, mostly of the type of `e`."""
        return self.one_of(f"{e} + 1", f"({e} * 2)", f"(-{e})", self.constant(), self.num(depth))

    def rounded(self, depth: int) -> str:
        if self.chance(6):
            return f"round({self.num(depth)}, {self.one_of(0, 1, 2, 5)})"
        return f"{self.one_of(*ROUNDING)}({self.num(depth)})"

    def any_bits(self, depth: int) -> str:
        f, of = self.one_of(*FREE), self.one_of("np", "np", "np", "math")
        if self.chance(6):
            return f"_near(math.pow, abs({self.num(depth)}), 1.5)"
        return f"_near({of}.{f}, {self.num(depth)})"

    # -- truth

    def cond(self, depth: int) -> str:
        kind = self.one_of(0, 0, 0, 1, 2, 3, 4, 5) if depth else 0
        depth = max(0, depth - 1)
        match kind:
            case 0:
                return f"{self.num(depth)} {self.one_of(*COMPARISONS)} {self.num(depth)}"
            case 1:
                a, b = (self.one_of(*COMPARISONS) for _ in range(2))
                return f"{self.num(depth)} {a} {self.num(depth)} {b} {self.num(depth)}"
            case 2:
                return f"({self.cond(depth)} and {self.cond(depth)})"
            case 3:
                return f"({self.cond(depth)} or {self.cond(depth)})"
            case 4:
                return f"(not {self.cond(depth)})"
            case _:
                return self.leaf()
