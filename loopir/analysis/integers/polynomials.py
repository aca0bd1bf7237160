"""Polynomials over integers, and a proof that one is never negative.

    (i * h + j) * w + k    →    h·i·w + j·w + k        (atoms: loop variables, lengths, widths)

Positions in a flattened table are polynomials: a row is as wide as a name says. `AffineForm`, which
has numbers for factors, is the form of all other subscripts.
"""
from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import count
from typing import TypeAlias

from .intervals import Bounds, result_bounds

__all__ = ["Polynomial", "Premises"]

Monomial: TypeAlias = tuple[str, ...]
"""The atoms of a product, sorted; the same one several times for a power. Empty: the constant."""

_FEW_TERMS, _FEW_ATOMS = 16, 6
"""Terms, and atoms in each, of a polynomial that is multiplied."""

_MAX_TERMS = 200
"""Terms of a polynomial of which something is proved."""


class Polynomial:
    """``Σ coefficient · atom · atom …``. Immutable. ``terms`` has no coefficients of 0."""

    __slots__ = ("terms",)

    def __init__(self, terms: Mapping[Monomial, int] | None = None) -> None:
        self.terms: Mapping[Monomial, int] = {} if terms is None else terms

    @staticmethod
    def constant(value: int) -> Polynomial:
        """A number."""
        return Polynomial({(): value} if value else {})

    @staticmethod
    def atom(name: str) -> Polynomial:
        """An atom."""
        return Polynomial({(name,): 1})

    def __eq__(self, other: object) -> bool:
        return self.terms == other.terms if isinstance(other, Polynomial) else NotImplemented

    def __hash__(self) -> int:
        return hash(frozenset(self.terms.items()))

    def __repr__(self) -> str:
        return f"Polynomial({self.terms!r})"

    def __add__(self, other: Polynomial) -> Polynomial:
        return _sum((*self.terms.items(), *other.terms.items()))

    def __sub__(self, other: Polynomial) -> Polynomial:
        return self + other * Polynomial.constant(-1)

    def __mul__(self, other: Polynomial) -> Polynomial:
        return _sum(
            (tuple(sorted((*m, *n))), c * d)
            for m, c in self.terms.items() for n, d in other.terms.items()
        )

    @property
    def number(self) -> int | None:
        """The value, where there are no atoms; else None."""
        return None if self.terms.keys() - {()} else self.terms.get((), 0)

    @property
    def atoms(self) -> frozenset[str]:
        """The atoms of all terms."""
        return frozenset(a for m in self.terms for a in m)

    @property
    def one_atom(self) -> str | None:
        """The atom where this is an atom plus a number; else None."""
        match [(m, c) for m, c in self.terms.items() if m]:
            case [((atom,), 1)]:
                return atom
        return None

    @property
    def is_small(self) -> bool:
        """Whether the polynomial has few terms, of few atoms: products of such are no trouble."""
        return len(self.terms) <= _FEW_TERMS and self.degree <= _FEW_ATOMS

    @property
    def degree(self) -> int:
        """The most atoms that a term multiplies."""
        return max(map(len, self.terms), default=0)

    def split(self, atom: str) -> tuple[Polynomial, Polynomial] | None:
        """``(p, q)``, without `atom`, where this is ``p * atom + q``; None where it is no such sum,
        as `atom` has powers.
        """
        factor: dict[Monomial, int] = {}
        rest: dict[Monomial, int] = {}
        for m, c in self.terms.items():
            if atom not in m:
                rest[m] = c
                continue
            others = tuple(a for a in m if a != atom)
            if len(others) + 1 != len(m):
                return None
            factor[others] = c
        return Polynomial(factor), Polynomial(rest)

    def substitute(self, atom: str, value: Polynomial) -> Polynomial:
        """This polynomial with `atom` replaced by `value`."""
        total = Polynomial({m: c for m, c in self.terms.items() if atom not in m})
        if len(total.terms) == len(self.terms):
            return self
        for m, c in self.terms.items():
            if atom in m:
                term = Polynomial({tuple(a for a in m if a != atom): c})
                for _ in range(m.count(atom)):
                    term *= value
                total += term
        return total

    def common(self, other: Polynomial) -> Polynomial:
        """The terms that both have, and the lesser one of their constants."""
        terms = {m: c for m, c in self.terms.items() if m and other.terms.get(m) == c}
        least = min(self.terms.get((), 0), other.terms.get((), 0))
        return Polynomial(terms) + Polynomial.constant(least)

    def divided(self, stride: Polynomial) -> tuple[Polynomial, Polynomial] | None:
        """``(q, r)`` where this is ``q * stride + r``, with all terms in q that the one term of
        `stride` divides. None if `stride` has several terms.
        """
        if len(stride.terms) != 1:
            return None
        (([*factors], size),) = stride.terms.items()
        quotient: dict[Monomial, int] = {}
        rest: dict[Monomial, int] = {}
        for m, c in self.terms.items():
            others = [*m]
            for a in factors:
                if a in others:
                    others.remove(a)
            if len(others) + len(factors) == len(m) and c % size == 0:
                quotient[tuple(others)] = c // size
            else:
                rest[m] = c
        return Polynomial(quotient), Polynomial(rest)

    def bounds(self, range_of: Callable[[str], Bounds]) -> Bounds:
        """The least and the greatest value, given the ranges of the atoms."""
        low = high = 0
        for m, c in self.terms.items():
            term = c, c
            for a in m:
                product = result_bounds("mul", [term, range_of(a)])
                assert product is not None
                term = product
            low, high = low + term[0], high + term[1]
        return low, high


def _sum(terms: Iterable[tuple[Monomial, int]]) -> Polynomial:
    total: dict[Monomial, int] = {}
    for m, c in terms:
        total[m] = total.get(m, 0) + c
    return Polynomial({m: c for m, c in total.items() if c})


class Premises:
    """What is known of the atoms of polynomials: a range of each, and polynomials >= 0.

        n - i - 1 >= 0,  w - 1 >= 0,  i >= 0    proves    n * w - i * w - 1 >= 0

    Each premise in which an atom stands alone gives that atom: n = i + 1 + s, with a new atom s >=
    0; so does the least value of an atom: w = 1 + t. What remains has only atoms >= 0, and is not
    negative if no term is.
    """

    def __init__(
        self, premises: Iterable[Polynomial], range_of: Callable[[str], Bounds]
    ) -> None:
        self._range_of = range_of
        self._values: list[tuple[str, Polynomial]] = []
        self._others: list[Polynomial] = []
        self._slacks = count()
        for p in premises:
            self._add(self._inserted(p))

    def _add(self, p: Polynomial) -> None:
        """Add the premise ``p >= 0``."""
        if self._has_no_negative_term(p):
            return
        for m, c in p.terms.items():
            found = p.split(m[0]) if c == 1 and len(m) == 1 and m[0][:1] != _SLACK else None
            if found is not None and found[0].number == 1:
                slack = Polynomial.atom(f"{_SLACK}{next(self._slacks)}")
                least = self._range_of(m[0])[0]
                self._values.append((m[0], slack - found[1]))
                self._others = [q.substitute(*self._values[-1]) for q in self._others]
                if least > -_UNBOUNDED:
                    self._others.append(slack - found[1] - Polynomial.constant(least))
                return
        self._others.append(p)

    def _inserted(self, p: Polynomial) -> Polynomial:
        """`p` with the values that the premises give, as long as it does not get too large."""
        for atom, value in self._values:
            if len(p.terms) <= _MAX_TERMS:
                p = p.substitute(atom, value)
        return p

    def _has_no_negative_term(self, p: Polynomial) -> bool:
        """Whether each term of `p` is certainly >= 0, counted from the least values of atoms."""
        if len(p.terms) > _MAX_TERMS:
            return False
        for a in p.atoms:
            low = 0 if a[:1] == _SLACK else self._range_of(a)[0]
            if low <= -_UNBOUNDED:
                return False
            if low:
                shifted = Polynomial.atom(f"{_SLACK}{a}") + Polynomial.constant(low)
                p = p.substitute(a, shifted)
        return all(c >= 0 for c in p.terms.values())

    def prove_nonnegative(self, p: Polynomial) -> bool:
        """Whether `p` is proved to be >= 0, by the values alone or by one premise more; or by the
        ranges of its atoms.
        """
        if p.bounds(self._range_of)[0] >= 0:
            return True
        p = self._inserted(p)
        return self._has_no_negative_term(p) or any(
            self._has_no_negative_term(p - q) for q in self._others
        )


_SLACK = "+"
"""First character of an atom that is >= 0 by its definition; no name begins with it."""

_UNBOUNDED = 1 << 62
"""Of an atom that may be less than minus this, no least value is used."""
