"""Arithmetic of complex numbers: operations on floats, and what they raise together."""
from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Any, NamedTuple

from loopir.nodes import Call, Const, Expr
from loopir.ops import OPS

from ..infer import FALSE, TRUE, logic
from .builder import Builder
from .raised import raised

__all__ = ["BY_PARTS", "Parts", "Steps", "nonzero", "pick", "power"]


class Parts(NamedTuple):
    """The real and the imaginary part of a complex number."""

    re: Expr
    im: Expr


class Steps:
    """Applies operations; each may raise what the whole then warns of, once."""

    def __init__(self, b: Builder) -> None:
        self.b = b
        self._done: list[tuple[str, tuple[Expr, ...], Expr]] = []
        self._loud: list[Expr] = []

    def __call__(self, op: str, *operands: Expr) -> Expr:
        b = self.b
        if b.told is not None:
            operands = tuple(map(b.bind, operands))
        value = b.apply(op, *operands)
        if b.told is not None:
            value = b.bind(value)
        self._done.append((op, operands, value))
        return value

    def loud(self, e: Expr) -> None:
        """`e` is compared in a way that a NaN makes invalid."""
        if not isinstance(e, Const):
            nan = Call("isnan", (e,), "bool")
            self.b.check(logic("not", nan), "invalid")
            self._loud.append(nan)

    def warned(
        self, whole: str, parts: Parts, spelled: str, node: ast.AST, *, certain: bool
    ) -> Parts:
        """`parts`, which the steps gave: NumPy may warn of all that `whole` may raise."""
        for status in OPS[whole].raises:
            by: Expr = FALSE
            for each in self._raised(status):
                by = logic("or", by, each)
            self.b.source(status, spelled, node, by, certain=certain)
        return parts

    def _raised(self, status: str) -> list[Expr]:
        if self.b.told is None:
            return [TRUE]
        by = [raised(status, *done) for done in self._done if status in OPS[done[0]].raises]
        return by + self._loud if status == "invalid" else by


def _add(a: Parts, c: Parts, do: Steps, *, python: bool) -> Parts:
    return Parts(do("add", a.re, c.re), do("add", a.im, c.im))


def _sub(a: Parts, c: Parts, do: Steps, *, python: bool) -> Parts:
    return Parts(do("sub", a.re, c.re), do("sub", a.im, c.im))


def _mul(a: Parts, c: Parts, do: Steps, *, python: bool) -> Parts:
    re = do("sub", do("mul", a.re, c.re), do("mul", a.im, c.im))
    im = do("add", do("mul", a.re, c.im), do("mul", a.im, c.re))
    return Parts(re, im)


def _fused_mul(a: Parts, c: Parts, do: Steps, *, python: bool) -> Parts:
    """As NumPy's loops for arrays do where they can."""
    low = do("mul", a.im, c.im)
    re = do("fma", a.re, c.re, Call("neg", (low,), low.dtype))
    return Parts(re, do("fma", a.re, c.im, do("mul", a.im, c.re)))


def _div(a: Parts, c: Parts, do: Steps, *, python: bool) -> Parts:
    """Smith's algorithm: by the larger part of the divisor first.

    Python divides by ``large + small * ratio`` twice, NumPy multiplies by its reciprocal; by 0
    NumPy divides each part by the divisor's size, and a NaN in the divisor it calls invalid.
    (R. L. Smith, CACM 5(8), 1962.)
    """
    b, one, zero = do.b, Const(1.0, a.re.dtype), Const(0.0, a.re.dtype)
    size = [_size(c.re), _size(c.im)]
    large_re = b.bind(_known(operator.ge, "ge", *size), "large")
    null = FALSE if python else b.bind(logic("not", nonzero(c)), "null")
    for e in () if python else c:
        do.loud(e)
    large = b.bind(pick(large_re, c.re, c.im), "large")
    small = b.bind(pick(large_re, c.im, c.re), "small")
    ratio = b.bind(do("div", small, pick(null, one, large)), "ratio")
    scale = b.bind(do("add", large, do("mul", small, ratio)), "scale")
    p = b.bind(pick(null, zero, pick(large_re, a.re, a.im)))
    q = b.bind(pick(null, zero, pick(large_re, a.im, a.re)))
    re = b.bind(do("add", p, do("mul", q, ratio)))
    turned = b.bind(do("mul", p, ratio))
    im = b.bind(pick(large_re, do("sub", q, turned), do("sub", turned, q)))
    if python:
        return Parts(do("div", re, scale), do("div", im, scale))
    inverse = b.bind(do("div", one, pick(null, one, scale)), "inverse")
    whole = b.bind(pick(null, size[0], one), "whole")
    return Parts(
        pick(null, do("div", a.re, whole), do("mul", re, inverse)),
        pick(null, do("div", a.im, whole), do("mul", im, inverse)),
    )


def power(a: Parts, n: int, do: Steps) -> Parts:
    """``a ** n`` for n from 2 to 99, as NumPy multiplies: the cube has an order of its own, and
    higher powers begin with 1.
    """
    def times(x: Parts, y: Parts) -> Parts:
        return Parts(*map(do.b.bind, _mul(x, y, do, python=False)))

    if n == 2:
        return times(a, a)
    if n == 3:
        return times(a, times(a, a))
    value = Parts(Const(1.0, a.re.dtype), Const(0.0, a.re.dtype))
    while True:
        if n & 1:
            value = times(value, a)
        n >>= 1
        if not n:
            return value
        a = times(a, a)


BY_PARTS = {"add": _add, "sub": _sub, "mul": _mul, "fused mul": _fused_mul, "div": _div}
"""What an operation does with the parts of two numbers, as `python` does or as NumPy."""


def _size(e: Expr) -> Expr:
    return Const(abs(e.value), e.dtype) if isinstance(e, Const) else Call("abs", (e,), e.dtype)


def _known(function: Callable[..., Any], op: str, a: Expr, c: Expr) -> Expr:
    """``op`` of two values, computed here where both are constants."""
    compares = op in ("ge", "ne")
    if isinstance(a, Const) and isinstance(c, Const):
        value = function(a.value, c.value)
        return Const(value, "bool" if compares else a.dtype)
    return Call(op, (a, c), "bool" if compares else a.dtype)


def nonzero(c: Parts) -> Expr:
    """Whether a complex number is not 0."""
    sides = (_known(operator.ne, "ne", e, Const(0.0, e.dtype)) for e in c)
    return logic("or", *sides)


def pick(cond: Expr, a: Expr, c: Expr) -> Expr:
    """``a if cond else c``"""
    if isinstance(cond, Const):
        return a if cond == TRUE else c
    return Call("select", (cond, a, c), a.dtype)
