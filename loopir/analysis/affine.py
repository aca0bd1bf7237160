"""Affine forms: an integer expression as multiples of loop variables and symbols, plus an offset.

A symbol is anything that is invariant while the loops run: a length, a scalar parameter, or an
opaque expression of those (``n // 2``). Expressions with equal forms are equal wherever both are
defined. Used by dependence analysis, fusion and the loop passes.
"""
from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeAlias

from ..dtypes import DTYPES, INDEX
from ..ir_names import used_names
from ..ir_printer import show
from ..ir_traversal import contains
from ..lazy_dataclass import record
from ..nodes import Call, Const, Dim, Expr, Interval, Load, Var

__all__ = [
    "Affine", "AffineBindings", "affine_form", "constant_form", "form_of", "unclamped_end",
    "variable_form",
]

AffineBindings: TypeAlias = "Mapping[str, Affine | None]"
"""The affine form of each name; None for a name whose value varies and has no form."""


@record(frozen=True, slots=True)
class Affine:
    """``terms``: (loop variable, coefficient); ``symbols``: (expression, coefficient); no zeros."""

    terms: tuple[tuple[str, int], ...]
    symbols: tuple[tuple[Expr, int], ...]
    offset: int

    def __add__(self, other: Affine) -> Affine:
        if not (other.terms or other.symbols):
            return self._moved(other.offset)
        if not (self.terms or self.symbols):
            return other._moved(self.offset)
        return _make(
            (*self.terms, *other.terms), (*self.symbols, *other.symbols), self.offset + other.offset
        )

    def __sub__(self, other: Affine) -> Affine:
        if not (other.terms or other.symbols):
            return self._moved(-other.offset)
        if self.terms == other.terms and self.symbols == other.symbols:
            return constant_form(self.offset - other.offset)
        return self + other.scaled(-1)

    def _moved(self, by: int) -> Affine:
        """The form with `by` added."""
        return Affine(self.terms, self.symbols, self.offset + by) if by else self

    def scaled(self, factor: int) -> Affine:
        if not factor:
            return constant_form(0)
        return Affine(
            tuple((v, c * factor) for v, c in self.terms),
            tuple((s, c * factor) for s, c in self.symbols),
            self.offset * factor,
        )

    def __str__(self) -> str:
        parts = [*((c, v) for v, c in self.terms), *((c, show(s)) for s, c in self.symbols)]
        text = "".join(_signed(c, name) for c, name in parts)
        if self.offset or not parts:
            text += _signed(self.offset, "")
        return text[3:] if text.startswith(" + ") else "-" + text[3:]

    def at(self, var: str, value: int) -> Affine:
        """The form with `var` replaced by `value`."""
        return self.without((var,)) + constant_form(value * self.coefficient(var))

    def coefficient(self, var: str) -> int:
        """The coefficient of the loop variable `var`, 0 if it does not occur."""
        return next((c for v, c in self.terms if v == var), 0)

    def without(self, variables: Iterable[str]) -> Affine:
        """The form with the terms of `variables` dropped."""
        if not self.terms:
            return self
        drop = frozenset(variables)
        return Affine(tuple(t for t in self.terms if t[0] not in drop), self.symbols, self.offset)

    @property
    def variables(self) -> frozenset[str]:
        return frozenset(v for v, _ in self.terms)

    @property
    def number(self) -> int | None:
        """The value, if the form is constant, else None."""
        return None if self.terms or self.symbols else self.offset

    @property
    def is_nonnegative(self) -> bool:
        """Whether the value is provably >= 0, given that loop variables and lengths are."""
        counts = all(isinstance(s, Dim) and c > 0 for s, c in self.symbols)
        return counts and all(c > 0 for _, c in self.terms) and self.offset >= 0


def constant_form(value: int) -> Affine:
    """The form of a constant."""
    return Affine((), (), value)


def variable_form(name: str) -> Affine:
    """The form of a loop variable."""
    return Affine(((name, 1),), (), 0)


def affine_form(
    expr: Expr, loop_vars: Iterable[str] = (), bindings: AffineBindings | None = None
) -> Affine | None:
    """The affine form of `expr`; names in `bindings` have their forms, every other name is a
    symbol.

    None where `expr` is not an i64, reads memory, or is not affine in `loop_vars`.
    """
    known: dict[str, Affine | None] = dict(bindings or {})
    known.update((v, variable_form(v)) for v in loop_vars)
    return form_of(expr, known)


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
        case Call("sub", (Call("max", (m, Const(int(low)))), Const(int(off))), dtype) if (
            low - off <= least
        ):
            return Call("sub", (_unclamped(m, low), Const(off, dtype)), dtype)
    return n


def form_of(expr: Expr, known: AffineBindings) -> Affine | None:
    """As `affine_form`, over names that are all in `known`, which it reads where it is."""
    match expr:
        case Const(value=value, dtype=dtype) if DTYPES[dtype].kind in "iu":
            return constant_form(int(value))
        case Dim():
            return _symbol(expr)
        case Var(name=name, dtype=dtype, lanes=1) if name in known or dtype == INDEX:
            return known[name] if name in known else _symbol(expr)
        case Call(op="add" | "sub" | "mul" | "neg" | "cast", dtype="i64"):
            return _form_of_call(expr, known) or _opaque_symbol(expr, known)
        case Call(dtype="i64"):
            return _opaque_symbol(expr, known)
    return None


def _form_of_call(expr: Call, known: AffineBindings) -> Affine | None:
    parts = [form_of(a, known) for a in expr.args]
    match expr.op, parts:
        case "add", [Affine() as a, Affine() as b]:
            return a + b
        case "sub", [Affine() as a, Affine() as b]:
            return a - b
        case "neg", [Affine() as a]:
            return a.scaled(-1)
        case "mul", [Affine() as a, Affine() as b]:
            return _scaled_form(a, b)
        case "cast", [Affine() as a] if expr.args[0].dtype == INDEX:
            return a
    return None


def _scaled_form(a: Affine, b: Affine) -> Affine | None:
    if (factor := a.number) is not None:
        return b.scaled(factor)
    if (factor := b.number) is not None:
        return a.scaled(factor)
    return None


def _opaque_symbol(expr: Expr, known: AffineBindings) -> Affine | None:
    """`expr` as one symbol, if it is loop-invariant."""
    fixed = all(_is_invariant(n, known) for n in used_names(expr))
    return _symbol(expr) if fixed and not contains(expr, Load) else None


def _is_invariant(name: str, known: AffineBindings) -> bool:
    if name not in known:
        return True
    form = known[name]
    return form is not None and not form.terms


def _symbol(expr: Expr) -> Affine:
    return Affine((), ((expr, 1),), 0)


def _signed(factor: int, name: str) -> str:
    size = abs(factor)
    shown = str(size) if not name else name if size == 1 else f"{size} * {name}"
    return f" {'-' if factor < 0 else '+'} {shown}"


def _make(
    terms: Iterable[tuple[str, int]], symbols: Iterable[tuple[Expr, int]], offset: int
) -> Affine:
    by_var: dict[str, int] = {}
    for v, c in terms:
        by_var[v] = by_var.get(v, 0) + c
    by_symbol: dict[Expr, int] = {}
    for s, c in symbols:
        by_symbol[s] = by_symbol.get(s, 0) + c
    kept = [(s, c) for s, c in by_symbol.items() if c]
    if len(kept) > 1:
        kept.sort(key=lambda p: repr(p[0]))
    return Affine(tuple(sorted((v, c) for v, c in by_var.items() if c)), tuple(kept), offset)
