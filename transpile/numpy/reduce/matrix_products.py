"""Matrix and vector products (``@``, dot, inner, outer) as loop nests of sums of products.

`matrix_product` is the macro for all products but `outer_product`. The loops are the plain triple
loop; passes of Loop IR make it fast (jam, blocking for the cache). The sum may be reassociated.
"""
from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ...frontend.ast_walk import same_tree
from ...frontend.macros.macro_context import Context
from ...frontend.macros.macro_index import fires_on
from ...frontend.macros.replay_guards import guarded
from ...types.value_types import PARTS, ScalarType
from ..array_nests import allocate_array, dtype_expr, loop_nest
from ..array_views import View, broadcast_subscripts, broadcast_views, element_at, view_of

__all__ = ["outer_product", "matrix_product"]


class _Product(NamedTuple):
    """A product of two arrays, summed over the last axis of ``left`` and an axis of ``right``."""

    left: ast.expr
    right: ast.expr
    inner: bool = False  # whether that is the last axis of ``right``, and not the last but one
    stacked: bool = False  # whether further axes are those of stacks of matrices, as for ``@``


@fires_on(ast.BinOp, op=ast.MatMult)
@fires_on(ast.Call, calls=[".dot", np.dot, np.inner, np.matmul, np.vdot])
def matrix_product(node: ast.AST, cx: Context) -> ast.expr | None:
    """``A @ B``, ``np.dot`` and ``np.inner`` → a loop nest, each element a sum of products.

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

    `_parse_product` tells which axes are summed, `_product_loops` makes the nest. NumPy calls BLAS,
    which adds in another order and warns for the product as a whole: so the loops are marked as
    folds and as parts of one operation (`Context.mark_folds`, `Context.mark_operation_parts`).
    Of complex infinities BLAS makes other infinities and NaNs than the loop (`_requires_finite`).
    """
    product = _parse_product(node, cx)
    if product is None:
        return None
    assert isinstance(node, ast.expr)
    name = cx.fresh("dot")
    cx.mark_operation_parts()
    return cx.bound_name(name, lambda: _product_loops(name, node, product, cx))


@fires_on(ast.Call, calls=[np.outer])
def outer_product(node: ast.AST, cx: Context) -> ast.expr | None:
    """``np.outer(a, b)`` of vectors → ``np.multiply(a[:, None], b[None, :])``.

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
            if _as_vector(a, cx) and _as_vector(b, cx):
                cx.mark_operation_parts()  # NumPy's warning names np.outer
                return cx.expr("NP.multiply(A[:, None], B[None, :])", NP=cx.numpy, A=a, B=b)
    return None


def _as_vector(e: ast.expr, cx: Context) -> bool:
    """Whether `e` is surely a vector."""
    ty = cx.fact(e).array
    return ty is not None and ty.rank == 1


def _parse_product(node: ast.AST, cx: Context) -> _Product | None:
    """The product that `node` computes, as an operator, function or method; None for others.

    ``dot`` sums over the last axis of `a` and the last but one of `b`, ``inner`` over the last of
    both; ``@`` and ``matmul`` take further axes for those of stacks of matrices; ``vdot`` is taken
    for vectors only, and conjugates `a`.
    """
    match node:
        case ast.BinOp(left=a, op=ast.MatMult(), right=b):
            return _Product(a, b, stacked=True)
        case ast.Call(func=func, args=[a, b], keywords=[]):
            if cx.is_numpy(func, "inner"):
                return _Product(a, b, inner=True)
            vdot = cx.is_numpy(func, "vdot") and _as_vector(a, cx) and _as_vector(b, cx)
            if vdot and any(t.dtype in PARTS for t in cx.fact(a).types):
                return _Product(cx.expr("NP.conj(A)", NP=cx.numpy, A=a), b)
            if cx.is_numpy(func, "matmul"):
                return _Product(a, b, stacked=True)
            return _Product(a, b) if vdot or cx.is_numpy(func, "dot") else None
        case ast.Call(func=ast.Attribute(value=a, attr="dot") as func, args=[b], keywords=[]):
            return _Product(a, b) if cx.resolve(func) is None else None
    return None


def _product_loops(
    name: str, node: ast.expr, product: _Product, cx: Context
) -> list[ast.stmt] | None:
    """Statements that bind `name` to the product; `node` is replayed where the summed axes differ
    in length. None for operands that are not surely arrays of rank 1 or more, for float16 (NumPy's
    partial sums are wider), and for stacks in another order than C.
    """
    arrays, types = (cx.fact(product.left).array, cx.fact(product.right).array), cx.fact(node).types
    if len(types) != 1 or not all(ty and ty.rank for ty in arrays):
        return None
    if next(iter(types)).dtype == "f16":
        return None
    a, b = view_of(product.left, cx), view_of(product.right, cx)
    if a is None or b is None:
        return None
    (result,) = types
    summed_axis = len(b.shape) - (1 if product.inner or len(b.shape) == 1 else 2)
    a_stack_rank, b_stack_rank = (
        max(len(v.shape) - 2, 0) if product.stacked else 0 for v in (a, b)
    )
    stacks = [View(a.shape[:a_stack_rank], a.at), View(b.shape[:b_stack_rank], b.at)]
    if max(a_stack_rank, b_stack_rank) > 1 and {a.order, b.order} != {"C"}:
        return None  # the memory order of NumPy's result depends on that of the operands
    stack = broadcast_views(stacks, lambda e: e[0], cx)
    rows = a.shape[a_stack_rank:-1]
    columns = tuple(n for k, n in enumerate(b.shape) if k >= b_stack_rank and k != summed_axis)
    checks = [*a.checks, *b.checks, *stack.checks]
    checks.append(cx.expr("A != B", A=a.shape[-1], B=b.shape[summed_axis]))
    if same_tree(a.shape[-1], b.shape[summed_axis]):
        checks.pop()
    (original,) = cx.code("NAME = E", NAME=name, E=node)
    cx.mark_folds(result.dtype)

    def element(acc: str, at: list[ast.expr]) -> list[ast.stmt]:
        """The loop that sums in `acc` the products for the element of the result at `at`."""
        k = ast.Name(cx.fresh("k"), ast.Load())
        in_stack, in_matrix = at[: len(stack.shape)], at[len(stack.shape) :]
        row, column = in_matrix[: len(rows)], in_matrix[len(rows) :]
        a_index = [*broadcast_subscripts(a.shape[:a_stack_rank], in_stack), *row, k]
        b_index = [*broadcast_subscripts(b.shape[:b_stack_rank], in_stack), *column]
        b_index.insert(summed_axis, k)
        return _inner_sum(acc, a.at(a_index), b.at(b_index), k, a.shape[-1], result.dtype, cx)

    if isinstance(result, ScalarType):
        lines = [*element(name, []), *_requires_finite(name, (), result.dtype, original, cx)]
        return guarded(checks, original, lines, cx)
    shape = (*stack.shape, *rows, *columns)

    def body(at: Sequence[ast.expr]) -> list[ast.stmt]:
        acc = cx.fresh("acc")
        place = element_at(ast.Name(name, ast.Load()), at, cx)
        return [*element(acc, list(at)), *cx.code("PLACE = ACC", PLACE=place, ACC=acc)]

    lines = [
        allocate_array(name, shape, result.dtype, cx), *loop_nest(shape, body, cx),
        *_requires_finite(name, shape, result.dtype, original, cx),
    ]
    return guarded(checks, original, lines, cx)


def _requires_finite(
    name: str, shape: Sequence[ast.expr], dtype: str, original: ast.stmt, cx: Context
) -> list[ast.stmt]:
    """Statements after the product `name` that replay `original` where an element of complex
    numbers is not finite: BLAS multiplies real and imaginary parts in an order of its own, so that
    ``np.dot([inf + 1j, 1], [2 - 1j, 1])`` is nan - infj on one machine, and inf - infj on another.
    An empty list for other dtypes, of which any order gives the same infinities and NaNs.
    """
    if dtype not in PARTS:
        return []
    finite = ast.Name(cx.fresh("finite"), ast.Load())

    def test(at: Sequence[ast.expr]) -> list[ast.stmt]:
        """The statement that tests one element."""
        element = element_at(ast.Name(name, ast.Load()), at, cx) if at else name
        text = "OK = OK and bool(NP.isfinite(E))" if at else "OK = bool(NP.isfinite(E))"
        return cx.internal_code(text, OK=finite, NP=cx.numpy, E=element)

    start = cx.code("OK = True", OK=finite) if shape else []
    failed = ast.UnaryOp(ast.Not(), finite)
    return [*start, *loop_nest(shape, test, cx), *guarded([failed], original, [ast.Pass()], cx)]


def _inner_sum(
    acc: str, left: ast.expr, right: ast.expr, k: ast.expr, length: ast.expr, dtype: str,
    cx: Context,
) -> list[ast.stmt]:
    """The loop over `k` that sums the products of `left` and `right` in `acc`."""
    add, multiply = ("logical_or", "logical_and") if dtype == "bool" else ("add", "multiply")
    return cx.code(
        f"""
        ACC = T(ZERO)
        for K in range(N):
            ACC = NP.{add}(ACC, NP.{multiply}(A, B))
        """,
        ACC=acc, T=dtype_expr(dtype, cx), ZERO=ast.Constant(False if dtype == "bool" else 0),
        K=k, N=length, NP=cx.numpy, A=left, B=right,
    )  # fmt: skip
