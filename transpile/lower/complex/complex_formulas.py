"""Complex functions as formulas over real and imaginary parts, as Python, NumPy and libm."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from loopir.dtypes import DTYPES
from loopir.nodes import Call, Const, Expr
from loopir.op_table import OPS

from ...types.typed_values import FALSE, TRUE, bool_op
from ..state.float_exceptions import check_warning, note_warning, status_raised
from ..state.ir_builder import IRBuilder
from ..state.path_conditions import apply_op

__all__ = [
    "COMPLEX_FUNCTIONS", "COMPLEX_OPS", "ComplexParts", "ComplexSteps", "complex_function",
    "complex_power", "is_nonzero", "select_parts",
]


class ComplexParts(NamedTuple):
    """The real and the imaginary part of a complex number."""

    re: Expr
    im: Expr


class ComplexSteps:
    """Applies operations; each may raise what the whole then warns of, once."""

    def __init__(self, b: IRBuilder) -> None:
        self.b = b
        self._done: list[tuple[str, tuple[Expr, ...], Expr]] = []
        self._loud: list[Expr] = []

    def __call__(self, op: str, *operands: Expr) -> Expr:
        b = self.b
        if b.warnings.raised_array is not None:
            operands = tuple(map(b.bind, operands))
        value = apply_op(b, op, *operands)
        if b.warnings.raised_array is not None:
            value = b.bind(value)
        self._done.append((op, operands, value))
        return value

    def loud(self, e: Expr) -> None:
        """`e` is compared in a way that a NaN makes invalid."""
        if not isinstance(e, Const):
            nan = Call("isnan", (e,), "bool")
            check_warning(self.b, bool_op("not", nan), "invalid")
            self._loud.append(nan)

    def warned(
        self, whole: str, parts: ComplexParts, spelled: str, node: ast.AST, *, certain: bool
    ) -> ComplexParts:
        """`parts`, which the steps gave: NumPy may warn of all that `whole` may raise."""
        for status in OPS[whole].raises:
            by: Expr = FALSE
            for each in self._raised(status):
                by = bool_op("or", by, each)
            note_warning(self.b, status, spelled, node, by, certain=certain)
        return parts

    def _raised(self, status: str) -> list[Expr]:
        if self.b.warnings.raised_array is None:
            return [TRUE]
        by = [status_raised(status, *done) for done in self._done if status in OPS[done[0]].raises]
        return by + self._loud if status == "invalid" else by


def _add(a: ComplexParts, c: ComplexParts, do: ComplexSteps, *, python: bool) -> ComplexParts:
    return ComplexParts(do("add", a.re, c.re), do("add", a.im, c.im))


def _sub(a: ComplexParts, c: ComplexParts, do: ComplexSteps, *, python: bool) -> ComplexParts:
    return ComplexParts(do("sub", a.re, c.re), do("sub", a.im, c.im))


def _mul(a: ComplexParts, c: ComplexParts, do: ComplexSteps, *, python: bool) -> ComplexParts:
    re = do("sub", do("mul", a.re, c.re), do("mul", a.im, c.im))
    im = do("add", do("mul", a.re, c.im), do("mul", a.im, c.re))
    return ComplexParts(re, im)


def _fused_mul(a: ComplexParts, c: ComplexParts, do: ComplexSteps, *, python: bool) -> ComplexParts:
    """As NumPy's loops for arrays do where they can."""
    low = do("mul", a.im, c.im)
    re = do("fma", a.re, c.re, Call("neg", (low,), low.dtype))
    return ComplexParts(re, do("fma", a.re, c.im, do("mul", a.im, c.re)))


def _div(a: ComplexParts, c: ComplexParts, do: ComplexSteps, *, python: bool) -> ComplexParts:
    """Smith's algorithm: by the larger part of the divisor first.

    Python divides by ``large + small * ratio`` twice, NumPy multiplies by its reciprocal; by 0
    NumPy divides each part by the divisor's size, and a NaN in the divisor it calls invalid.
    (R. L. Smith, CACM 5(8), 1962.)
    """
    b, one, zero = do.b, Const(1.0, a.re.dtype), Const(0.0, a.re.dtype)
    size = [_size(c.re), _size(c.im)]
    large_re = b.bind(_folded(operator.ge, "ge", *size), "large")
    null = FALSE if python else b.bind(bool_op("not", is_nonzero(c)), "null")
    for e in () if python else c:
        do.loud(e)
    large = b.bind(select_parts(large_re, c.re, c.im), "large")
    small = b.bind(select_parts(large_re, c.im, c.re), "small")
    ratio = b.bind(do("div", small, select_parts(null, one, large)), "ratio")
    scale = b.bind(do("add", large, do("mul", small, ratio)), "scale")
    p = b.bind(select_parts(null, zero, select_parts(large_re, a.re, a.im)))
    q = b.bind(select_parts(null, zero, select_parts(large_re, a.im, a.re)))
    re = b.bind(do("add", p, do("mul", q, ratio)))
    turned = b.bind(do("mul", p, ratio))
    im = b.bind(select_parts(large_re, do("sub", q, turned), do("sub", turned, q)))
    if python:
        return ComplexParts(do("div", re, scale), do("div", im, scale))
    inverse = b.bind(do("div", one, select_parts(null, one, scale)), "inverse")
    whole = b.bind(select_parts(null, size[0], one), "whole")
    return ComplexParts(
        select_parts(null, do("div", a.re, whole), do("mul", re, inverse)),
        select_parts(null, do("div", a.im, whole), do("mul", im, inverse)),
    )


def complex_power(a: ComplexParts, n: int, do: ComplexSteps) -> ComplexParts:
    """``a ** n`` for n from 2 to 99, as NumPy multiplies: the cube has an order of its own, and
    higher powers begin with 1.
    """
    def times(x: ComplexParts, y: ComplexParts) -> ComplexParts:
        return ComplexParts(*map(do.b.bind, _mul(x, y, do, python=False)))

    if n == 2:
        return times(a, a)
    if n == 3:
        return times(a, times(a, a))
    value = ComplexParts(Const(1.0, a.re.dtype), Const(0.0, a.re.dtype))
    while True:
        if n & 1:
            value = times(value, a)
        n >>= 1
        if not n:
            return value
        a = times(a, a)


COMPLEX_OPS = {"add": _add, "sub": _sub, "mul": _mul, "fused mul": _fused_mul, "div": _div}
"""What an operation does with the parts of two numbers, as `python` does or as NumPy."""


def _size(e: Expr) -> Expr:
    return Const(abs(e.value), e.dtype) if isinstance(e, Const) else Call("abs", (e,), e.dtype)


def _folded(function: Callable[..., Any], op: str, a: Expr, c: Expr) -> Expr:
    """``op`` of two values, computed here where both are constants."""
    compares = op in ("ge", "ne")
    if isinstance(a, Const) and isinstance(c, Const):
        value = function(a.value, c.value)
        return Const(value, "bool" if compares else a.dtype)
    return Call(op, (a, c), "bool" if compares else a.dtype)


def is_nonzero(c: ComplexParts) -> Expr:
    """Whether a complex number is not 0."""
    sides = (_folded(operator.ne, "ne", e, Const(0.0, e.dtype)) for e in c)
    return bool_op("or", *sides)


def select_parts(cond: Expr, a: Expr, c: Expr) -> Expr:
    """``a if cond else c``"""
    if isinstance(cond, Const):
        return a if cond == TRUE else c
    return Call("select", (cond, a, c), a.dtype)


class _ComplexFormula(NamedTuple):
    """``turned`` of rows `name`: sinh z is -i sin(i z), cosh z is cos(-i z). Then times `scale`."""

    name: str
    turned: str = ""
    scale: float = 1.0


COMPLEX_FUNCTIONS: dict[Any, _ComplexFormula] = {
    np.exp: _ComplexFormula("cexp"),
    np.log: _ComplexFormula("clog"),
    np.log2: _ComplexFormula("clog", scale=1.4426950408889634),
    np.log10: _ComplexFormula("clog", scale=0.4342944819032518),
    np.sqrt: _ComplexFormula("csqrt"),
    np.sin: _ComplexFormula("csin"),
    np.cos: _ComplexFormula("ccos"),
    np.tan: _ComplexFormula("ctan"),
    np.sinh: _ComplexFormula("csin", turned="both"),
    np.cosh: _ComplexFormula("ccos", turned="given"),
    np.tanh: _ComplexFormula("ctan", turned="both"),
}
"""Those that have libm's bits in NumPy."""


def complex_function(
    b: IRBuilder, function: Any, x: ComplexParts, node: ast.AST, *, certain: bool
) -> ComplexParts:
    """``function(x)``, which NumPy may warn of.

    libm may call invalid what comes of a NaN, too: that only Python knows.
    """
    way = COMPLEX_FUNCTIONS[function]
    re, im = map(b.bind, x)
    given = (re, im)
    if way.turned:
        given = im, re if way.turned == "both" else b.bind(Call("neg", (re,), re.dtype))
    value = tuple(b.bind(apply_op(b, f"{way.name}_{part}", *given)) for part in ("re", "im"))
    for status in OPS[f"{way.name}_re"].raises:
        sides = (_complex_status_raised(b, status, f"{way.name}_re", given, e) for e in value)
        by = bool_op("or", *sides)
        note_warning(
            b, status, function.__name__, node, by, certain=certain and status != "invalid"
        )
    out = ComplexParts(*(reversed(value) if way.turned == "both" else value))
    if way.scale == 1.0:
        return out
    scale = Const(float(DTYPES[re.dtype].numpy.type(way.scale)), re.dtype)
    return ComplexParts(*(apply_op(b, "mul", e, scale) for e in out))


def _complex_status_raised(
    b: IRBuilder, status: str, op: str, given: tuple[Expr, ...], value: Expr
) -> Expr:
    if b.warnings.raised_array is None:
        return TRUE
    if status == "invalid":
        return Call("isnan", (value,), "bool")
    return status_raised(status, op, given, value)
