"""Index grids and repeated elements: meshgrid, indices, triu_indices, kron, vander, repeat.

Rules of the columns ``loops`` and ``pair`` of `function_table`: each returns statements that fill
one new array or two, or None where it refuses the arguments. `function_loops` applies them.
"""
from __future__ import annotations

import ast
from collections.abc import Sequence

from ...frontend.ast_walk import integer_constant
from ...frontend.macros.bind_operands import bind_fresh, bind_operand
from ...frontend.macros.macro_context import Context, Part, add_ints
from ...frontend.macros.replay_guards import guarded
from ...types.value_types import ELEMENTS, PARTS
from ..array_nests import allocate_array, dtype_expr, loop_nest
from ..array_views import element_at, view_of
from ..call_arguments import BoundArguments, constant_flag
from .function_loops import PairRule

__all__ = [
    "meshgrid_rule", "indices_rule", "kron_rule", "vander_rule", "tril_indices_rule",
    "triu_indices_rule", "repeat_by_counts_rule",
]


def meshgrid_rule(
    bound: BoundArguments, names: Sequence[str], node: ast.Call, cx: Context
) -> list[ast.stmt] | None:
    """``X, Y = np.meshgrid(x, y)`` of two vectors → loops that fill two matrices, one with `x`
    along each row, one with `y` along each column; exchanged for ``indexing="ij"``. None for
    ``sparse=True``, and where an argument is no vector.
    """
    sparse, indexing = constant_flag(bound.get("sparse"), False), bound.get("indexing")
    layout = indexing.value if isinstance(indexing, ast.Constant) else None if indexing else "xy"
    if "y" not in bound.arguments or sparse is not False or layout not in ("xy", "ij"):
        return None
    operands = [bound["x"], bound["y"]]
    if not all(cx.fact(e).rank == 1 and cx.fact(e).array for e in operands):
        return None
    x, y = (bind_operand(e, cx) for e in operands)
    n, m = (cx.expr("X.shape[0]", X=e) for e in (x, y))
    lines: list[ast.stmt] = []
    for name, e, axis in zip(names, (x, y), (1, 0) if layout == "xy" else (0, 1), strict=True):
        ty = cx.fact(e).array
        assert ty is not None
        shape = (m, n) if layout == "xy" else (n, m)
        lines += [
            allocate_array(name, shape, ty.dtype, cx),
            *_fill_along_axis(name, shape, e, axis, cx),
        ]
    return lines


def _fill_along_axis(
    name: str, shape: Sequence[ast.expr], vector: ast.expr, axis: int, cx: Context
) -> list[ast.stmt]:
    """Loops that fill the array `name` of `shape` with the elements of `vector` along one axis."""
    def body(at: Sequence[ast.expr]) -> list[ast.stmt]:
        place = element_at(ast.Name(name, ast.Load()), at, cx)
        return cx.code("PLACE = X[I]", PLACE=place, X=vector, I=at[axis])

    return loop_nest(shape, body, cx)


_TRIANGLE_LOOP = """
    AT = 0
    for I in range(N):
        for J in range(FIRST, LAST):
            ROWS[AT] = I
            COLUMNS[AT] = J
            AT = AT + 1
"""


def _triangle_indices(first: str, last: str, below: bool) -> PairRule:
    """The rule of ``np.tril_indices`` (`below`) or ``np.triu_indices``. The indices of row I are
    the columns from `first` to below `last`, two expressions of I, K (the diagonal) and M (the
    columns).
    """

    def rule(
        bound: BoundArguments, names: Sequence[str], node: ast.Call, cx: Context
    ) -> list[ast.stmt] | None:
        """Statements for ``rows, columns = np.tril_indices(n, k, m)``, or ``triu_indices``: a
        count, and a loop that fills both vectors. None where a size is not surely a Python int.
        """
        sizes = [bound["n"], bound.get("k") or ast.Constant(0), bound.get("m") or bound["n"]]
        if not all(cx.fact(e).is_int for e in sizes):
            return None
        n, k, m = (e if isinstance(e, ast.Constant) else bind_operand(e, cx) for e in sizes)
        parts: dict[str, Part] = {h.upper(): cx.fresh(h) for h in ("i", "j", "at")}
        parts |= {"N": n, "M": m, "K": k, "NP": cx.numpy, "ROWS": names[0], "COLUMNS": names[1]}
        parts |= {"FIRST": cx.expr(first, **parts), "LAST": cx.expr(last, **parts)}
        count = _count_above_diagonal(n, m, add_ints(k, ast.Constant(1), cx) if below else k, cx)
        if below:
            count = cx.expr("N * M - COUNT", COUNT=count, **parts)
        count = bind_fresh(count, "count", cx)
        checks = [cx.expr("N < 0", N=e) for e in (n, m) if (integer_constant(e, None) or 0) < 1]
        lines = [allocate_array(name, [count], "i64", cx) for name in names]
        (original,) = cx.code("A, B = E", A=names[0], B=names[1], E=node)
        return guarded(checks, original, [*lines, *cx.code(_TRIANGLE_LOOP, **parts)], cx)

    return rule


def _count_above_diagonal(n: ast.expr, m: ast.expr, k: ast.expr, cx: Context) -> ast.expr:
    """The number of elements of a matrix of `n` rows and `m` columns that are on or above its k-th
    diagonal: `full_rows` rows in full, then one element less from row to row, until a row has none.
    """
    parts = {"N": n, "M": m, "K": k}
    full_rows = bind_fresh(cx.expr("min(max(-K, 0), N)", **parts), "whole", cx)
    nonempty_rows = bind_fresh(cx.expr("max(min(M - K, N), W)", W=full_rows, **parts), "some", cx)
    text = "W * M + (S - W) * (M - K) - (S * (S - 1) - W * (W - 1)) // 2"
    return cx.expr(text, W=full_rows, S=nonempty_rows, **parts)


def indices_rule(
    bound: BoundArguments, name: str, node: ast.Call, cx: Context
) -> list[ast.stmt] | None:
    """``np.indices((n, m))`` of two lengths → loops that fill an array of shape (2, n, m) with the
    index of each element along both axes.
    """
    shape, result = bound["dimensions"], cx.fact(node).array
    match shape:
        case ast.Tuple(elts=[_, _] as lengths) | ast.List(elts=[_, _] as lengths):
            pass
        case ast.Attribute(attr="shape", value=ast.Name() as x) if cx.fact(x).rank == 2:
            lengths = [cx.expr("X.shape[K]", X=x, K=ast.Constant(k)) for k in range(2)]
        case _:
            return None
    if result is None or result.rank != 3 or not all(cx.fact(n).is_int for n in lengths):
        return None
    n, m = (e if isinstance(e, ast.Constant) else bind_operand(e, cx) for e in lengths)
    grid, dtype = ast.Name(name, ast.Load()), dtype_expr(result.dtype, cx)

    def body(at: Sequence[ast.expr]) -> list[ast.stmt]:
        return cx.code("X[0, I, J] = T(I)\nX[1, I, J] = T(J)", X=grid, I=at[0], J=at[1], T=dtype)

    (original,) = cx.code("NAME = E", NAME=name, E=node)
    checks = [cx.expr("N < 0", N=e) for e in (n, m) if (integer_constant(e, None) or -1) < 0]
    lines = [
        allocate_array(name, (ast.Constant(2), n, m), result.dtype, cx),
        *loop_nest((n, m), body, cx),
    ]
    return guarded(checks, original, lines, cx)


def kron_rule(
    bound: BoundArguments, name: str, node: ast.Call, cx: Context
) -> list[ast.stmt] | None:
    """``np.kron(a, b)`` → loops that multiply each element of `a` with all of `b`. None unless both
    are vectors, or both matrices, in C order.
    """
    result, b = cx.fact(node).array, bound.get("b")
    if b is None or result is None or result.rank > 2:
        return None
    views = [view_of(e, cx) for e in (bound["a"], b)]
    valid = [v for v in views if v is not None and v.order == "C" and len(v.shape) == result.rank]
    if len(valid) < 2:
        return None
    left, right = valid
    shape = [cx.expr("N * M", N=n, M=m) for n, m in zip(left.shape, right.shape, strict=True)]

    def body(at: Sequence[ast.expr]) -> list[ast.stmt]:
        outer, inner = at[: result.rank], at[result.rank :]
        place = [cx.expr("I * M + J", I=i, M=m, J=j)
                 for i, m, j in zip(outer, right.shape, inner, strict=True)]
        return cx.code("PLACE = NP.multiply(A, B)", NP=cx.numpy, A=left.at(outer),
                       B=right.at(inner), PLACE=element_at(ast.Name(name, ast.Load()), place, cx))

    (original,) = cx.code("NAME = E", NAME=name, E=node)
    lines = [
        allocate_array(name, shape, result.dtype, cx),
        *loop_nest((*left.shape, *right.shape), body, cx),
    ]
    return guarded([*left.checks, *right.checks], original, lines, cx)


_POWER_LOOP = """
    for I in range(X.shape[0]):
        V = T(X[I])
        ACC = T(1)
        for K in range(N):
            NAME[I, PLACE] = ACC
            ACC = NEXT
"""


def vander_rule(
    bound: BoundArguments, name: str, node: ast.Call, cx: Context
) -> list[ast.stmt] | None:
    """``np.vander(x, N)`` → loops that fill each row with powers, by repeated multiplication as
    NumPy does it. None for float16, and where `increasing` is no constant.
    """
    result, increasing = cx.fact(node).array, constant_flag(bound.get("increasing"), False)
    x = bind_operand(bound["x"], cx)
    n = bound.get("N") or cx.expr("X.shape[0]", X=x)
    if result is None or result.dtype == "f16" or increasing is None or not cx.fact(n).is_int:
        return None
    parts: dict[str, Part] = {h.upper(): cx.fresh(h) for h in ("i", "k", "v", "acc")}
    parts |= {
        "X": x,
        "N": n if isinstance(n, ast.Constant) else bind_operand(n, cx),
        "NP": cx.numpy,
    }
    parts |= {"NAME": name, "T": dtype_expr(result.dtype, cx)}
    parts["PLACE"] = cx.expr("K" if increasing else "N - 1 - K", **parts)
    (original,) = cx.code("NAME = E", NAME=name, E=node)
    lengths = [cx.expr("X.shape[0]", **parts), cx.expr("N", **parts)]
    product = "NP.multiply(ACC, V)"
    if result.dtype in PARTS:  # 1 times a complex number may have another zero, or NaN
        product = f"V if K == 0 else {product}"
    parts["NEXT"] = cx.expr(product, **parts)
    lines = [allocate_array(name, lengths, result.dtype, cx), *cx.code(_POWER_LOOP, **parts)]
    return guarded([cx.expr("N < 0", **parts)], original, lines, cx)


tril_indices_rule = _triangle_indices("0", "min(max(I + K + 1, 0), M)", below=True)
triu_indices_rule = _triangle_indices("min(max(I + K, 0), M)", "M", below=False)


_REPEAT_LOOP = """
    NAME = NP.empty(TOTAL, T)
    AT = 0
    for I in range(A.shape[0]):
        for J in range(int(K[I])):
            NAME[AT] = A[I]
            AT = AT + 1
"""
_TOTAL_LOOP = """
    TOTAL = 0
    LEAST = 0
    for I in range(K.shape[0]):
        TOTAL = TOTAL + int(K[I])
        LEAST = min(LEAST, int(K[I]))
"""


def repeat_by_counts_rule(
    bound: BoundArguments, name: str, node: ast.Call, cx: Context
) -> list[ast.stmt] | None:
    """``np.repeat(v, counts)`` of two vectors → a loop over `v`, in which each element is stored as
    often as its count says. The call is replayed where a count is negative or the lengths differ,
    for which NumPy raises.
    """
    counts = bound.get("repeats")
    ty = cx.fact(bound["a"]).array
    counts_type = cx.fact(counts).array if counts is not None else None
    if counts is None or ty is None or counts_type is None or counts_type.dtype == "u64":
        return None
    if (ty.rank, counts_type.rank) != (1, 1):
        return None
    axis = integer_constant(bound.get("axis"), 0)
    if ELEMENTS[counts_type.dtype].kind not in "iub" or axis not in (0, -1):
        return None
    holes = ("total", "least", "at", "i", "j")
    parts: dict[str, Part] = {n.upper(): cx.fresh(n) for n in holes}
    parts |= {
        "A": bind_operand(bound["a"], cx),
        "K": bind_operand(counts, cx),
        "NAME": name,
        "NP": cx.numpy,
    }
    checks = [cx.expr(e, **parts) for e in ("LEAST < 0", "A.shape[0] != K.shape[0]")]
    (original,) = cx.code("NAME = E", NAME=name, E=node)
    lines = cx.code(_REPEAT_LOOP, T=dtype_expr(ty.dtype, cx), **parts)
    return [*cx.code(_TOTAL_LOOP, **parts), *guarded(checks, original, lines, cx)]
