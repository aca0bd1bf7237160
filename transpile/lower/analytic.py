"""Functions of complex numbers as libm has them: which rows of the op table, on which parts."""
from __future__ import annotations

import ast
from typing import Any, NamedTuple

import numpy as np

from loopir.nodes import Call, Const, Expr
from loopir.ops import OPS
from loopir.types import DTYPES

from ..infer import TRUE, logic
from .builder import Builder
from .raised import raised
from .steps import Parts

__all__ = ["ANALYTIC", "analytic"]


class _Way(NamedTuple):
    """``turned`` of rows `name`: sinh z is -i sin(i z), cosh z is cos(-i z). Then times `scale`."""

    name: str
    turned: str = ""
    scale: float = 1.0


ANALYTIC: dict[Any, _Way] = {
    np.exp: _Way("cexp"),
    np.log: _Way("clog"),
    np.log2: _Way("clog", scale=1.4426950408889634),
    np.log10: _Way("clog", scale=0.4342944819032518),
    np.sqrt: _Way("csqrt"),
    np.sin: _Way("csin"),
    np.cos: _Way("ccos"),
    np.tan: _Way("ctan"),
    np.sinh: _Way("csin", turned="both"),
    np.cosh: _Way("ccos", turned="given"),
    np.tanh: _Way("ctan", turned="both"),
}
"""Those that have libm's bits in NumPy."""


def analytic(b: Builder, function: Any, x: Parts, node: ast.AST, *, certain: bool) -> Parts:
    """``function(x)``, which NumPy may warn of.

    libm may call invalid what comes of a NaN, too: that only Python knows.
    """
    way = ANALYTIC[function]
    re, im = map(b.bind, x)
    given = (re, im)
    if way.turned:
        given = im, re if way.turned == "both" else b.bind(Call("neg", (re,), re.dtype))
    value = tuple(b.bind(b.apply(f"{way.name}_{part}", *given)) for part in ("re", "im"))
    for status in OPS[f"{way.name}_re"].raises:
        sides = (_raised(b, status, f"{way.name}_re", given, e) for e in value)
        by = logic("or", *sides)
        b.source(status, function.__name__, node, by, certain=certain and status != "invalid")
    out = Parts(*(reversed(value) if way.turned == "both" else value))
    if way.scale == 1.0:
        return out
    scale = Const(float(DTYPES[re.dtype].numpy.type(way.scale)), re.dtype)
    return Parts(*(b.apply("mul", e, scale) for e in out))


def _raised(b: Builder, status: str, op: str, given: tuple[Expr, ...], value: Expr) -> Expr:
    if b.told is None:
        return TRUE
    if status == "invalid":
        return Call("isnan", (value,), "bool")
    return raised(status, op, given, value)
