"""Loop nests over the subscripts of an array, and what stays Python's beside them."""
from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

from ..types import ELEMENTS
from .context import Context
from .liveness import PYTHON
from .views import is_one, unique

__all__ = ["Body", "allocated", "dtype", "indices", "nest", "product", "row_major", "unless"]

Body = Callable[[Sequence[ast.expr]], "list[ast.stmt]"]


def nest(shape: Sequence[ast.expr], body: Body, cx: Context, backward: bool = False
         ) -> list[ast.stmt]:
    """`body` at each subscript of an array of `shape`; with `backward`, the first runs fastest."""
    names = indices(shape, cx)
    lines = body([n or ast.Constant(0) for n in names])
    order = list(zip(shape, names, strict=True))
    for length, name in order if backward else order[::-1]:
        if name is not None:
            lines = cx.code("for I in range(N): BODY", I=name, N=length, BODY=lines)
    return lines


def row_major(at: Sequence[ast.expr], shape: Sequence[ast.expr], cx: Context) -> ast.expr:
    """The place of an element among all, in C order."""
    place: ast.expr | None = None
    for i, n in zip(at, shape, strict=True):
        if not is_one(n):
            place = i if place is None else cx.expr("P * N + I", P=place, N=n, I=i)
    return place or ast.Constant(0)


def indices(shape: Sequence[ast.expr], cx: Context) -> list[ast.expr | None]:
    """A fresh name an axis; None for one that has no need of it."""
    return [None if is_one(n) else ast.Name(cx.fresh("i"), ast.Load()) for n in shape]


def allocated(
    name: str, shape: Sequence[ast.expr], type_: str, cx: Context, *, backward: bool = False
) -> ast.stmt:
    """An array for the elements of a nest."""
    lengths = ast.Tuple(list(shape), ast.Load()) if len(shape) > 1 else shape[0]
    text = "NAME = NP.empty(SHAPE, T, order='F')" if backward else "NAME = NP.empty(SHAPE, T)"
    (line,) = cx.code(text, NAME=name, NP=cx.numpy, SHAPE=lengths, T=dtype(type_, cx))
    return line


def dtype(name: str, cx: Context) -> ast.expr:
    """``np.float64``"""
    spelled = "bool_" if name == "bool" else ELEMENTS[name].numpy.name
    return cx.expr(f"NP.{spelled}", NP=cx.numpy)


def unless(
    checks: Sequence[ast.expr], original: ast.stmt, lines: list[ast.stmt], cx: Context
) -> list[ast.stmt]:
    """`lines` in place of `original`; which stays where one of `checks` holds."""
    checks = unique(checks)
    if not checks:
        return lines
    test = checks[0] if len(checks) == 1 else ast.BoolOp(ast.Or(), list(checks))
    mark = ast.Expr(ast.Constant(PYTHON))
    text = "if TEST:\n    MARK\n    PYTHON\nelse:\n    LINES"
    return cx.code(text, TEST=test, MARK=[mark], PYTHON=[original], LINES=lines)


def product(lengths: Sequence[ast.expr], cx: Context) -> ast.expr:
    """The product of `lengths`: of all those of an array its size."""
    match lengths:
        case [ast.Subscript(value=ast.Attribute(value=ast.Name() as x, attr="shape")), _, _, *_]:
            own = [cx.expr("X.shape[K]", X=x, K=ast.Constant(k)) for k in range(len(lengths))]
            if cx.fact(x).rank == len(own) and [*map(ast.dump, own)] == [*map(ast.dump, lengths)]:
                return cx.expr("X.size", X=x)
    out, *others = lengths or [ast.Constant(1)]
    for n in others:
        out = cx.expr("A * B", A=out, B=n)
    return out
