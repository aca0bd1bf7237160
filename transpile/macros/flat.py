"""Vectors in another shape: ``np.arange(6).reshape(2, 3)``, ``(x.reshape(2, n) + 1)``."""
from __future__ import annotations

import ast
from collections.abc import Sequence

from .calls import reshaping
from .context import Context
from .integers import integer_constant
from .nests import product, row_major
from .views import View, held, is_one, view

__all__ = ["in_another_shape", "is_reshaped"]

_OPERATIONS = ast.BinOp, ast.UnaryOp, ast.Compare


def is_reshaped(e: ast.expr, cx: Context) -> bool:
    """Whether `e` is a new vector in another shape, which is nobody's view."""
    found = _called(e, cx)
    if found is None or isinstance(found[0], ast.Name):
        return False
    return isinstance(found[0], _OPERATIONS) or cx.fact(found[0]).owner == ""


def _called(e: ast.expr, cx: Context) -> tuple[ast.expr, Sequence[ast.expr]] | None:
    """The vector, and the lengths that it is to have."""
    match e:
        case ast.Call(func=func):
            found = reshaping(e, cx.resolve(func))
        case _:
            return None
    if found is None or cx.fact(found[0]).array is None or cx.fact(found[0]).rank != 1:
        return None
    lengths = cx.facts.spread(found[1])
    return (found[0], lengths) if all(cx.fact(n).is_int for n in lengths) else None


def in_another_shape(e: ast.expr, cx: Context) -> View | None:
    """`e` by the elements of the vector, one after the other."""
    found = _called(e, cx)
    of = view(found[0], cx) if found else None
    if found is None or of is None:
        return None
    total = of.shape[0]
    lengths = list(found[1])
    if not lengths:
        return of
    checks, shape = [*of.checks], _shape(lengths, total, cx)
    if shape is None:
        return None
    if len(shape) > 1 or integer_constant(lengths[0]) != -1:
        checks.append(cx.expr("A != B", A=product(shape, cx), B=total))
    least = "N < 1" if any(integer_constant(n, None) == -1 for n in lengths) else "N < 0"
    some = shape if least == "N < 0" else [
        n for n, given in zip(shape, lengths, strict=True) if integer_constant(given, None) != -1]
    checks += [cx.expr(least, N=n) for n in some if (integer_constant(n, None) or 0) < 1]

    def at(index: Sequence[ast.expr]) -> ast.expr:
        return of.at([row_major(index, shape, cx)])

    return View(tuple(shape), at, tuple(checks))


def _shape(lengths: Sequence[ast.expr], total: ast.expr, cx: Context) -> list[ast.expr] | None:
    """The lengths, of which one may be -1."""
    free = [k for k, n in enumerate(lengths) if integer_constant(n, None) == -1]
    if len(free) > 1:
        return None
    plain = (ast.Constant, ast.Name, ast.UnaryOp)
    out = [n if isinstance(n, plain) else held(n, "n", cx) for n in lengths]
    if free:
        rest = [n for k, n in enumerate(out) if k != free[0]]
        others = product(rest, cx) if rest else ast.Constant(1)
        text = "T" if all(map(is_one, rest)) else "T // max(N, 1)"
        out[free[0]] = total if text == "T" else held(cx.expr(text, T=total, N=others), "n", cx)
    return out
