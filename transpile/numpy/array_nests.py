"""Loop nests over the index space of an array, and guards that fall back to Python.

Also what such nests need: allocation of the result, dtypes and sizes as Python.
"""
from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

from ..frontend.ast_walk import tree_key
from ..frontend.macros.macro_context import Context
from ..types.value_types import ELEMENTS
from .array_views import is_unit_length

__all__ = [
    "NestBody", "allocate_array", "dtype_expr", "fresh_indices", "loop_nest", "product_of",
    "row_major_index",
]

NestBody = Callable[[Sequence[ast.expr]], "list[ast.stmt]"]


def loop_nest(shape: Sequence[ast.expr], body: NestBody, cx: Context, backward: bool = False
         ) -> list[ast.stmt]:
    """`body` at each subscript of an array of `shape`; with `backward`, the first runs fastest."""
    names = fresh_indices(shape, cx)
    lines = body([n or ast.Constant(0) for n in names])
    order = list(zip(shape, names, strict=True))
    for length, name in order if backward else order[::-1]:
        if name is not None:
            lines = cx.code("for I in range(N): BODY", I=name, N=length, BODY=lines)
    return lines


def row_major_index(at: Sequence[ast.expr], shape: Sequence[ast.expr], cx: Context) -> ast.expr:
    """The place of an element among all, in C order."""
    place: ast.expr | None = None
    for i, n in zip(at, shape, strict=True):
        if not is_unit_length(n):
            place = i if place is None else cx.expr("P * N + I", P=place, N=n, I=i)
    return place or ast.Constant(0)


def fresh_indices(shape: Sequence[ast.expr], cx: Context) -> list[ast.expr | None]:
    """A fresh name an axis; None for one that has no need of it."""
    return [None if is_unit_length(n) else ast.Name(cx.fresh("i"), ast.Load()) for n in shape]


def allocate_array(
    name: str, shape: Sequence[ast.expr], type_: str, cx: Context, *, backward: bool = False
) -> ast.stmt:
    """An array for the elements of a nest."""
    lengths = ast.Tuple(list(shape), ast.Load()) if len(shape) > 1 else shape[0]
    text = "NAME = NP.empty(SHAPE, T, order='F')" if backward else "NAME = NP.empty(SHAPE, T)"
    (line,) = cx.code(text, NAME=name, NP=cx.numpy, SHAPE=lengths, T=dtype_expr(type_, cx))
    return line


def dtype_expr(name: str, cx: Context) -> ast.expr:
    """``np.float64``"""
    spelled = "bool_" if name == "bool" else ELEMENTS[name].numpy.name
    return cx.expr(f"NP.{spelled}", NP=cx.numpy)


def product_of(lengths: Sequence[ast.expr], cx: Context) -> ast.expr:
    """The product of `lengths`: of all those of an array its size."""
    match lengths:
        case [ast.Subscript(value=ast.Attribute(value=ast.Name() as x, attr="shape")), _, _, *_]:
            own = [cx.expr("X.shape[K]", X=x, K=ast.Constant(k)) for k in range(len(lengths))]
            if cx.fact(x).rank == len(own) and [*map(tree_key, own)] == [*map(tree_key, lengths)]:
                return cx.expr("X.size", X=x)
    out, *others = lengths or [ast.Constant(1)]
    for n in others:
        out = cx.expr("A * B", A=out, B=n)
    return out
