"""Products of vectors and matrices → loop nests that sum up one element after the other."""
from __future__ import annotations

import ast
from typing import NamedTuple

from ..types import PARTS, ScalarType
from .context import Context
from .nests import allocated, dtype, nest, unless
from .views import View, element, view

__all__ = ["array_outer", "array_product"]


class _Product(NamedTuple):
    """``left`` and ``right``, summed over the last axis of one and, but for an inner product, the
    last but one of the other.
    """

    left: ast.expr
    right: ast.expr
    inner: bool = False


def array_product(node: ast.AST, cx: Context) -> ast.expr | None:
    """Each element is a sum of products.

        s = x @ y
        U = X.T @ X
    →
        if x.shape[0] != y.shape[0]:
            "Python's to answer"
            _dot = x @ y
        else:
            _dot = np.float64(0)
            for _k in range(x.shape[0]):
                _dot = np.add(_dot, np.multiply(x[_k], y[_k]))
        s = _dot
        _dot_1 = np.empty((X.shape[1], X.shape[1]), np.float64)
        for _i in range(X.shape[1]):
            for _i_1 in range(X.shape[1]):
                _acc = np.float64(0)
                for _k_1 in range(X.shape[0]):
                    _acc = np.add(_acc, np.multiply(X[_k_1, _i], X[_k_1, _i_1]))
                _dot_1[_i, _i_1] = _acc
        U = _dot_1
    """
    product = _product(node, cx)
    if product is None:
        return None
    assert isinstance(node, ast.expr)
    name = cx.fresh("dot")
    return cx.made(name, lambda: _lines(name, node, product, cx))


def array_outer(node: ast.AST, cx: Context) -> ast.expr | None:
    """Each element by each.

        U = np.outer(x, y)
    →
        _a = np.empty((x.shape[0], y.shape[0]), np.float64)
        for _i in range(x.shape[0]):
            for _i_1 in range(y.shape[0]):
                _a[_i, _i_1] = np.multiply(x[_i], y[_i_1])
        U = _a
    """
    match node:
        case ast.Call(func=func, args=[a, b], keywords=[]) if cx.is_numpy(func, "outer"):
            if _vector(a, cx) and _vector(b, cx):
                return cx.expr("NP.multiply(A[:, None], B[None, :])", NP=cx.numpy, A=a, B=b)
    return None


def _vector(e: ast.expr, cx: Context) -> bool:
    ty = cx.fact(e).array
    return ty is not None and ty.rank == 1


def _product(node: ast.AST, cx: Context) -> _Product | None:
    match node:
        case ast.BinOp(left=a, op=ast.MatMult(), right=b):
            return _Product(a, b)
        case ast.Call(func=func, args=[a, b], keywords=[]):
            if cx.is_numpy(func, "inner"):
                return _Product(a, b, inner=True)
            vdot = cx.is_numpy(func, "vdot") and _vector(a, cx) and _vector(b, cx)
            if vdot and any(t.dtype in PARTS for t in cx.fact(a).types):
                return _Product(cx.expr("NP.conj(A)", NP=cx.numpy, A=a), b)
            known = vdot or cx.is_numpy(func, "dot") or cx.is_numpy(func, "matmul")
            return _Product(a, b) if known else None
        case ast.Call(func=ast.Attribute(value=a, attr="dot") as func, args=[b], keywords=[]):
            return _Product(a, b) if cx.resolve(func) is None else None
    return None


def _lines(name: str, node: ast.expr, p: _Product, cx: Context) -> list[ast.stmt] | None:
    """Statements that leave the product under `name`."""
    arrays, types = (cx.fact(p.left).array, cx.fact(p.right).array), cx.fact(node).types
    if len(types) != 1 or not all(ty and ty.rank <= 2 for ty in arrays):
        return None
    if next(iter(types)).dtype == "f16":
        return None  # NumPy's partial sums have more bits
    a, b = view(p.left, cx), view(p.right, cx)
    if a is None or b is None:
        return None
    (out,) = types
    across = len(b.shape) - 1 if p.inner or len(b.shape) == 1 else 0
    rows, columns = a.shape[:-1], tuple(n for k, n in enumerate(b.shape) if k != across)
    checks = [*a.checks, *b.checks, cx.expr("A != B", A=a.shape[-1], B=b.shape[across])]
    if ast.dump(a.shape[-1]) == ast.dump(b.shape[across]):
        checks.pop()

    def terms(acc: str, at: list[ast.expr]) -> list[ast.stmt]:
        return _sum(acc, a, b, at, across, out.dtype, cx)

    (original,) = cx.code("NAME = E", NAME=name, E=node)
    if isinstance(out, ScalarType):
        return unless(checks, original, terms(name, []), cx)
    lines = [allocated(name, (*rows, *columns), out.dtype, cx)]

    def body(at: list[ast.expr]) -> list[ast.stmt]:
        acc = cx.fresh("acc")
        place = element(ast.Name(name, ast.Load()), at, cx)
        return [*terms(acc, at), *cx.code("PLACE = ACC", PLACE=place, ACC=acc)]

    lines += nest((*rows, *columns), lambda at: body(list(at)), cx)
    return unless(checks, original, lines, cx)


def _sum(
    acc: str, a: View, b: View, at: list[ast.expr], across: int, type_: str, cx: Context
) -> list[ast.stmt]:
    k = ast.Name(cx.fresh("k"), ast.Load())
    rows = len(a.shape) - 1
    other = at[rows:]
    other.insert(across, k)
    add, multiply = ("logical_or", "logical_and") if type_ == "bool" else ("add", "multiply")
    return cx.code(
        f"""
        ACC = T(ZERO)
        for K in range(N):
            ACC = NP.{add}(ACC, NP.{multiply}(A, B))
        """,
        ACC=acc, T=dtype(type_, cx), ZERO=ast.Constant(False if type_ == "bool" else 0),
        K=k, N=a.shape[-1], NP=cx.numpy, A=a.at([*at[:rows], k]), B=b.at(other),
    )  # fmt: skip
