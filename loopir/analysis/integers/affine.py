"""Affine (linear) forms: an integer as a sum of atoms, each times a number, plus a constant.

    2 * (i + 1) - n // 2  →  {i: 2, n // 2: -1} + 2        (atoms: the loop variable i, a symbol)

The caller of `linearize` chooses the atoms. For passes (`affine_form`) they are names of loop
variables, and *symbols*: expressions that keep their value while the loops run, such as a length, a
scalar parameter, or an opaque expression of those (``n // 2``). For lowering they are expressions;
for difference bounds they are names. Two expressions with equal forms are equal wherever both are
defined.
"""
from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar, cast

from ...algebra.constant_folding import index_const
from ...dtypes import DTYPES, INDEX
from ...ir_names import names_read
from ...ir_printer import show
from ...ir_traversal import contains
from ...nodes import Call, Const, Dim, Expr, Interval, Load, Var
from .intervals import Bounds

__all__ = [
    "Affine", "AffineBindings", "AffineForm", "LinearForm", "affine_form", "constant_form",
    "extreme_form", "affine_form_in", "is_linear_call", "linearize", "nonnegative_margins",
    "unclamped_end", "variable_form",
]

A = TypeVar("A", bound="Expr | str")


class AffineForm(Generic[A]):
    """``constant + Σ coefficient · atom``. Immutable.

    ``terms`` maps each atom to its coefficient, which is never 0. `expr` writes the terms in the
    order of the mapping; forms that differ in this order alone are equal.
    """

    __slots__ = ("constant", "terms")

    def __init__(self, terms: Mapping[A, int] | None = None, constant: int = 0) -> None:
        self.terms: Mapping[A, int] = {} if terms is None else terms
        self.constant = constant

    @staticmethod
    def of(atom: Expr) -> LinearForm:
        """The form of an expression that is not decomposed: a number, or one atom."""
        return AffineForm({}, int(atom.value)) if isinstance(atom, Const) else AffineForm({atom: 1})

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, AffineForm):
            return NotImplemented
        return self.constant == other.constant and self.terms == other.terms

    def __hash__(self) -> int:
        return hash((self.constant, frozenset(self.terms.items())))

    def __repr__(self) -> str:
        return f"AffineForm({self.terms!r}, {self.constant!r})"

    def __str__(self) -> str:
        """Names in the order of the alphabet, then other atoms."""
        names = sorted((a, c) for a, c in self.terms.items() if isinstance(a, str))
        parts = [(c, str(name)) for name, c in names] + [(c, show(e)) for e, c in self.symbols]
        text = "".join(_signed(c, name) for c, name in parts)
        if self.constant or not parts:
            text += _signed(self.constant, "")
        return text[3:] if text.startswith(" + ") else "-" + text[3:]

    def __add__(self, other: AffineForm[A]) -> AffineForm[A]:
        return self._plus(other, 1)

    def __sub__(self, other: AffineForm[A]) -> AffineForm[A]:
        return self._plus(other, -1)

    def _plus(self, other: AffineForm[A], sign: int) -> AffineForm[A]:
        """``self + sign * other``."""
        constant = self.constant + sign * other.constant
        if not other.terms:
            return AffineForm(self.terms, constant)
        terms = dict(self.terms)
        for atom, c in other.terms.items():
            terms[atom] = terms.get(atom, 0) + sign * c
        return AffineForm({a: c for a, c in terms.items() if c}, constant)

    def __mul__(self, k: int) -> AffineForm[A]:
        if not k:
            return AffineForm()
        return AffineForm({a: c * k for a, c in self.terms.items()}, self.constant * k)

    def coefficient(self, atom: A) -> int:
        """The factor of `atom`; 0 where the form does not contain it."""
        return self.terms.get(atom, 0)

    def substitute(self, atom: A, value: AffineForm[A]) -> AffineForm[A]:
        """This form with `atom` replaced by `value`."""
        c = self.terms.get(atom, 0)
        return self.without((atom,)) + value * c if c else self

    def at(self, atom: A, value: int) -> AffineForm[A]:
        """This form where `atom` has that value."""
        return self.substitute(atom, AffineForm({}, value))

    def without(self, atoms: Iterable[A]) -> AffineForm[A]:
        """This form without the terms of `atoms`."""
        drop = frozenset(atoms)
        if drop.isdisjoint(self.terms):
            return self
        return AffineForm({a: c for a, c in self.terms.items() if a not in drop}, self.constant)

    def bounds(self, interval: Callable[[A], Bounds]) -> Bounds:
        """The least and the greatest value, given the ``interval`` of each atom."""
        low = high = self.constant
        for atom, c in self.terms.items():
            a, b = interval(atom)
            low, high = low + min(c * a, c * b), high + max(c * a, c * b)
        return low, high

    def difference(self) -> tuple[A, A] | None:
        """``(p, q)`` where the form is ``p - q`` plus a constant; else None."""
        if len(self.terms) == 2:
            (p, c), (q, d) = self.terms.items()
            if c + d == 0 and abs(c) == 1:
                return (p, q) if c == 1 else (q, p)
        return None

    def expr(self) -> Expr:
        """The form as an i64 expression. Each atom must be an expression."""
        total: Expr | None = None
        for atom, c in cast("Iterable[tuple[Expr, int]]", self.terms.items()):
            term = atom if abs(c) == 1 else Call("mul", (atom, index_const(abs(c))), INDEX)
            if total is None:
                total = term if c > 0 else Call("neg", (term,), INDEX)
            else:
                total = Call("add" if c > 0 else "sub", (total, term), INDEX)
        if total is None:
            return index_const(self.constant)
        if self.constant == 0:
            return total
        op = "add" if self.constant > 0 else "sub"
        return Call(op, (total, index_const(abs(self.constant))), INDEX)

    @property
    def variables(self) -> frozenset[str]:
        """The atoms that are names."""
        return frozenset(a for a in self.terms if isinstance(a, str))

    @property
    def symbols(self) -> list[tuple[Expr, int]]:
        """The atoms that are expressions and their coefficients, in an order that does not depend
        on how the form was computed.
        """
        terms: list[Any] = [(a, c) for a, c in self.terms.items() if not isinstance(a, str)]
        return sorted(terms, key=lambda term: repr(term[0])) if len(terms) > 1 else terms

    @property
    def number(self) -> int | None:
        """The value, where the form has no atoms; else None."""
        return None if self.terms else self.constant

    @property
    def is_nonnegative(self) -> bool:
        """Whether the value is certainly >= 0. Assumes that names, which are loop variables, are
        >= 0; of symbols only lengths are taken to be.
        """
        return self.constant >= 0 and all(
            c > 0 and isinstance(a, (str, Dim)) for a, c in self.terms.items()
        )

    def is_at_least(self, other: AffineForm[A]) -> bool:
        """Whether this value is certainly >= that of `other`: ``(self - other).is_nonnegative``."""
        if self.constant < other.constant:
            return False
        for atom in self.terms.keys() | other.terms.keys():
            more = self.terms.get(atom, 0) - other.terms.get(atom, 0)
            if more < 0 or (more and not isinstance(atom, (str, Dim))):
                return False
        return True


if TYPE_CHECKING:
    LinearForm: TypeAlias = AffineForm[Expr]
    Affine: TypeAlias = "AffineForm[Expr | str]"
else:
    LinearForm = Affine = AffineForm

AffineBindings: TypeAlias = "Mapping[str, Affine | None]"
"""The affine form of each name; None for a name whose value varies and has no form."""


def constant_form(value: int) -> Affine:
    """The form of an integer constant."""
    return AffineForm({}, value)


@lru_cache(maxsize=1024)
def variable_form(name: str) -> Affine:
    """The form of a loop variable."""
    return AffineForm({name: 1})


def extreme_form(
    form: AffineForm[A],
    ranges: Iterable[tuple[A, tuple[AffineForm[A], AffineForm[A]] | None]],
    highest: bool,
) -> AffineForm[A] | None:
    """The greatest value of `form` (with ``highest``), or the least, over the ranges of its atoms.

    Each atom of `ranges`, in this order, is replaced by its last or first value: a range may depend
    on atoms that come later. Returns None if the form has an atom whose range is None.
    """
    for atom, ends in ranges:
        c = form.coefficient(atom)
        if c and ends is None:
            return None
        if c and ends is not None:
            form = form.substitute(atom, ends[(c > 0) == highest])
    return form


def nonnegative_margins(op: str, a: AffineForm[A], b: AffineForm[A]) -> list[AffineForm[A]]:
    """Forms that are all >= 0 exactly where ``a op b`` holds, of integers. Empty for ``ne``, which
    is not a conjunction of inequalities.
    """
    match op:
        case "lt":
            return [(a - b) * -1 - _ONE]
        case "le":
            return [(a - b) * -1]
        case "gt":
            return [a - b - _ONE]
        case "ge":
            return [a - b]
        case "eq":
            return [a - b, (a - b) * -1]
        case _:
            return []


_ONE: AffineForm[Any] = AffineForm({}, 1)
_LINEAR_OPS = frozenset(("add", "sub", "mul", "neg"))


def is_linear_call(e: Call) -> bool:
    """Whether `e` is a sum, difference, negation or product of i64, or a cast of i64 to i64."""
    return e.dtype == INDEX and (
        e.op in _LINEAR_OPS or (e.op == "cast" and e.args[0].dtype == INDEX)
    )


def linearize(
    e: Expr,
    leaf: Callable[[Expr], AffineForm[A] | None],
    splits: Callable[[Call], bool] = is_linear_call,
) -> AffineForm[A] | None:
    """The affine form of the integer `e`: the one decomposition, for passes and for lowering.

        2 * (i + 1) - n // 2    with ``leaf`` = `AffineForm.of`    →    2·i - 1·(n // 2) + 2

    Sums, differences, negations, casts and products with a constant are decomposed into the forms
    of their operands, if ``splits`` allows the call: a caller excludes those that may overflow.
    Every other expression, and a call whose operands give no form, becomes ``leaf(e)``: an atom
    that the caller chooses; or None, and then the whole form is None.
    """
    if isinstance(e, Const) and DTYPES[e.dtype].kind in "iu":
        return AffineForm({}, int(e.value))
    if isinstance(e, Call) and splits(e):
        operands = [linearize(a, leaf, splits) for a in e.args]
        match e.op, operands:
            case "add", [AffineForm() as a, AffineForm() as b]:
                return a + b
            case "sub", [AffineForm() as a, AffineForm() as b]:
                return a - b
            case "neg", [AffineForm() as a]:
                return a * -1
            case "mul", [AffineForm() as a, AffineForm() as b] if not (a.terms and b.terms):
                return a * b.constant if a.terms else b * a.constant
            case "cast", [AffineForm() as a]:
                return a
    return leaf(e)


def affine_form(
    expr: Expr, loop_vars: Iterable[str] = (), bindings: AffineBindings | None = None
) -> Affine | None:
    """The affine form of `expr`; names in `bindings` have their forms, every other name is a
    symbol.

    None where `expr` is not an i64, reads memory, or is not affine in `loop_vars`.
    """
    forms: dict[str, Affine | None] = dict(bindings or {})
    forms.update((v, variable_form(v)) for v in loop_vars)
    return affine_form_in(expr, forms)


def affine_form_in(expr: Expr, forms: AffineBindings) -> Affine | None:
    """As `affine_form`, where every loop variable is in `forms`, which is not copied."""

    def leaf(e: Expr) -> Affine | None:
        """A length, a name or an invariant i64 expression as an atom; None for what is not affine.
        """
        match e:
            case Dim():
                return AffineForm({e: 1})
            case Var(name=name, dtype=dtype, lanes=1) if name in forms or dtype == INDEX:
                return forms[name] if name in forms else AffineForm({e: 1})
            case Call(dtype="i64"):
                return _opaque_symbol(e, forms)
        return None

    return linearize(expr, leaf)


def unclamped_end(r: Interval) -> Expr:
    """The end of an equivalent range without a clamp at the start value.

    ``[0, max(n, 0))`` → ``n``; ``[0, max(max(n, 0) - 1, 0))`` → ``n - 1``: both ranges are empty in
    the same cases and equal otherwise.
    """
    match r.lo, r.hi:
        case Const(int(lo)), Call("max", (n, Const(int(least)))) if lo == least:
            return _unclamped(n, least)
    return r.hi


def _unclamped(n: Expr, least: int) -> Expr:
    """An expression without clamp that equals `n` wherever either of them exceeds `least`."""
    match n:
        case Call("sub", (Call("max", (m, Const(int(clamp)))), Const(int(offset))), dtype) if (
            clamp - offset <= least
        ):
            return Call("sub", (_unclamped(m, clamp), Const(offset, dtype)), dtype)
    return n


def _opaque_symbol(expr: Expr, forms: AffineBindings) -> Affine | None:
    """`expr` as one atom, if it is loop-invariant and reads no memory; else None."""
    is_invariant = all(_is_invariant(n, forms) for n in names_read(expr))
    return AffineForm({expr: 1}) if is_invariant and not contains(expr, Load) else None


def _is_invariant(name: str, forms: AffineBindings) -> bool:
    """Whether the name has one value while the loops run: it is bound outside, or its form has no
    loop variable.
    """
    if name not in forms:
        return True
    form = forms[name]
    return form is not None and not form.variables


def _signed(factor: int, name: str) -> str:
    """A term with its sign, as a part of a sum: ``+ 2 * n``; for an empty name the number alone."""
    size = abs(factor)
    term = str(size) if not name else name if size == 1 else f"{size} * {name}"
    return f" {'-' if factor < 0 else '+'} {term}"
