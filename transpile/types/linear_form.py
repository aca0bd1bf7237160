"""Linear form of a Python int, and an interval that holds it."""
from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field

from loopir.lazy_dataclass import record
from loopir.nodes import Call, Const, Expr

__all__ = [
    "ANY", "ARGUMENT", "ENDLESS", "INT64", "LENGTH", "Interval", "LinearForm", "int_constant",
]

INT64 = (-(1 << 63), (1 << 63) - 1)
ENDLESS = (0, 1 << 59)  # the iterations of a `while` that anybody lives to see
LENGTH = (0, 1 << 47)  # an axis cannot be longer than the address space
ARGUMENT = (-(1 << 61), 1 << 61)  # what a Python int argument is guarded to
ANY = (-(1 << 62), 1 << 62)  # where an accumulator is proved, or guarded, to stay

Interval = tuple[int, int]


@record(frozen=True, slots=True)
class LinearForm:
    """``constant + Σ coefficient · atom``; an atom is any other i64 expression."""

    terms: Mapping[Expr, int] = field(default_factory=dict)
    constant: int = 0

    @staticmethod
    def of(atom: Expr) -> LinearForm:
        return LinearForm({}, int(atom.value)) if isinstance(atom, Const) else LinearForm({atom: 1})

    def __add__(self, other: LinearForm) -> LinearForm:
        terms = dict(self.terms)
        for atom, c in other.terms.items():
            terms[atom] = terms.get(atom, 0) + c
        return LinearForm({a: c for a, c in terms.items() if c}, self.constant + other.constant)

    def __mul__(self, k: int) -> LinearForm:
        return LinearForm({a: c * k for a, c in self.terms.items() if k}, self.constant * k)

    def __sub__(self, other: LinearForm) -> LinearForm:
        return self + other * -1

    def substitute(self, atom: Expr, value: LinearForm) -> LinearForm:
        """This form with `atom` replaced by `value`."""
        c = self.terms.get(atom, 0)
        rest = LinearForm({a: k for a, k in self.terms.items() if a != atom}, self.constant)
        return rest + value * c

    def bounds(self, interval: Callable[[Expr], Interval]) -> Interval:
        """An interval of the value, from one for each atom."""
        lo = hi = self.constant
        for atom, c in self.terms.items():
            a, b = interval(atom)
            lo, hi = lo + min(c * a, c * b), hi + max(c * a, c * b)
        return lo, hi

    def expr(self) -> Expr:
        """As an i64 expression."""
        out: Expr | None = None
        for atom, c in self.terms.items():
            term = atom if abs(c) == 1 else Call("mul", (atom, int_constant(abs(c))), "i64")
            if out is None:
                out = term if c > 0 else Call("neg", (term,), "i64")
            else:
                out = Call("add" if c > 0 else "sub", (out, term), "i64")
        if out is None:
            return int_constant(self.constant)
        if self.constant == 0:
            return out
        return Call(
            "add" if self.constant > 0 else "sub", (out, int_constant(abs(self.constant))), "i64"
        )


def int_constant(value: int) -> Const:
    """An i64 constant."""
    return Const(value, "i64")
