"""Places in arrays, as arrays: ``np.meshgrid``, ``triu_indices``, ``indices``, ``np.kron``."""
from __future__ import annotations

import ast
from collections.abc import Sequence

from .arguments import Arguments, flag
from .context import Context
from .counting import Pairs
from .integers import integer_constant, plus
from .nests import allocated, dtype, nest, unless
from .searching import Way, steady
from .template import Part
from .views import element, held, view

__all__ = ["PAIRS", "WAYS"]


def _mesh(
    given: Arguments, names: Sequence[str], node: ast.Call, cx: Context
) -> list[ast.stmt] | None:
    """Of two vectors: one along each row, the other along each column, or likewise turned."""
    sparse, indexing = flag(given.get("sparse"), False), given.get("indexing")
    way = indexing.value if isinstance(indexing, ast.Constant) else None if indexing else "xy"
    if "y" not in given.given or sparse is not False or way not in ("xy", "ij"):
        return None
    operands = [given["x"], given["y"]]
    if not all(cx.fact(e).rank == 1 and cx.fact(e).array for e in operands):
        return None
    x, y = (steady(e, cx) for e in operands)
    n, m = (cx.expr("X.shape[0]", X=e) for e in (x, y))
    lines: list[ast.stmt] = []
    for name, e, axis in zip(names, (x, y), (1, 0) if way == "xy" else (0, 1), strict=True):
        ty = cx.fact(e).array
        assert ty is not None
        shape = (m, n) if way == "xy" else (n, m)
        lines += [allocated(name, shape, ty.dtype, cx), *_filled(name, shape, e, axis, cx)]
    return lines


def _filled(
    name: str, shape: Sequence[ast.expr], of: ast.expr, axis: int, cx: Context
) -> list[ast.stmt]:
    """With the elements of a vector along an axis."""
    def body(at: Sequence[ast.expr]) -> list[ast.stmt]:
        place = element(ast.Name(name, ast.Load()), at, cx)
        return cx.code("PLACE = X[I]", PLACE=place, X=of, I=at[axis])

    return nest(shape, body, cx)


_TRIANGLE = """
    AT = 0
    for I in range(N):
        for J in range(FIRST, LAST):
            ROWS[AT] = I
            COLUMNS[AT] = J
            AT = AT + 1
"""


def _triangle(first: str, last: str, below: bool) -> Pairs:
    """The places above a diagonal, or below it."""

    def way(
        given: Arguments, names: Sequence[str], node: ast.Call, cx: Context
    ) -> list[ast.stmt] | None:
        sizes = [given["n"], given.get("k") or ast.Constant(0), given.get("m") or given["n"]]
        if not all(cx.fact(e).is_int for e in sizes):
            return None
        n, k, m = (e if isinstance(e, ast.Constant) else steady(e, cx) for e in sizes)
        parts: dict[str, Part] = {h.upper(): cx.fresh(h) for h in ("i", "j", "at")}
        parts |= {"N": n, "M": m, "K": k, "NP": cx.numpy, "ROWS": names[0], "COLUMNS": names[1]}
        parts |= {"FIRST": cx.expr(first, **parts), "LAST": cx.expr(last, **parts)}
        count = _above(n, m, plus(k, ast.Constant(1), cx) if below else k, cx)
        if below:
            count = cx.expr("N * M - COUNT", COUNT=count, **parts)
        count = held(count, "count", cx)
        checks = [cx.expr("N < 0", N=e) for e in (n, m) if (integer_constant(e, None) or 0) < 1]
        lines = [allocated(name, [count], "i64", cx) for name in names]
        (original,) = cx.code("A, B = E", A=names[0], B=names[1], E=node)
        return unless(checks, original, [*lines, *cx.code(_TRIANGLE, **parts)], cx)

    return way


def _above(n: ast.expr, m: ast.expr, k: ast.expr, cx: Context) -> ast.expr:
    """How many places of `n` times `m` are on the k-th diagonal, or above it: of some rows all, of
    those that follow one less from row to row.
    """
    parts = {"N": n, "M": m, "K": k}
    whole = held(cx.expr("min(max(-K, 0), N)", **parts), "whole", cx)
    some = held(cx.expr("max(min(M - K, N), W)", W=whole, **parts), "some", cx)
    text = "W * M + (S - W) * (M - K) - (S * (S - 1) - W * (W - 1)) // 2"
    return cx.expr(text, W=whole, S=some, **parts)


def _indices(given: Arguments, name: str, node: ast.Call, cx: Context) -> list[ast.stmt] | None:
    """Along each axis of a matrix how far along it is."""
    shape, to = given["dimensions"], cx.fact(node).array
    match shape:
        case ast.Tuple(elts=[_, _] as lengths) | ast.List(elts=[_, _] as lengths):
            pass
        case ast.Attribute(attr="shape", value=ast.Name() as x) if cx.fact(x).rank == 2:
            lengths = [cx.expr("X.shape[K]", X=x, K=ast.Constant(k)) for k in range(2)]
        case _:
            return None
    if to is None or to.rank != 3 or not all(cx.fact(n).is_int for n in lengths):
        return None
    n, m = (e if isinstance(e, ast.Constant) else steady(e, cx) for e in lengths)
    into, of = ast.Name(name, ast.Load()), dtype(to.dtype, cx)

    def body(at: Sequence[ast.expr]) -> list[ast.stmt]:
        return cx.code("X[0, I, J] = T(I)\nX[1, I, J] = T(J)", X=into, I=at[0], J=at[1], T=of)

    (original,) = cx.code("NAME = E", NAME=name, E=node)
    checks = [cx.expr("N < 0", N=e) for e in (n, m) if (integer_constant(e, None) or -1) < 0]
    whole = [allocated(name, (ast.Constant(2), n, m), to.dtype, cx), *nest((n, m), body, cx)]
    return unless(checks, original, whole, cx)


def _kron(given: Arguments, name: str, node: ast.Call, cx: Context) -> list[ast.stmt] | None:
    """Each element by all of the other array."""
    made, b = cx.fact(node).array, given.get("b")
    if b is None or made is None or made.rank > 2:
        return None
    views = [view(e, cx) for e in (given["a"], b)]
    known = [v for v in views if v is not None and v.order == "C" and len(v.shape) == made.rank]
    if len(known) < 2:
        return None
    left, right = known
    shape = [cx.expr("N * M", N=n, M=m) for n, m in zip(left.shape, right.shape, strict=True)]

    def body(at: Sequence[ast.expr]) -> list[ast.stmt]:
        outer, inner = at[: made.rank], at[made.rank :]
        place = [cx.expr("I * M + J", I=i, M=m, J=j)
                 for i, m, j in zip(outer, right.shape, inner, strict=True)]
        return cx.code("PLACE = NP.multiply(A, B)", NP=cx.numpy, A=left.at(outer),
                       B=right.at(inner), PLACE=element(ast.Name(name, ast.Load()), place, cx))

    (original,) = cx.code("NAME = E", NAME=name, E=node)
    lines = [allocated(name, shape, made.dtype, cx), *nest((*left.shape, *right.shape), body, cx)]
    return unless([*left.checks, *right.checks], original, lines, cx)


_POWERS = """
    for I in range(X.shape[0]):
        V = T(X[I])
        ACC = T(1)
        for K in range(N):
            NAME[I, PLACE] = ACC
            ACC = NP.multiply(ACC, V)
"""


def _vander(given: Arguments, name: str, node: ast.Call, cx: Context) -> list[ast.stmt] | None:
    """Powers, each of them the one before times the number."""
    made, rising = cx.fact(node).array, flag(given.get("increasing"), False)
    x = steady(given["x"], cx)
    n = given.get("N") or cx.expr("X.shape[0]", X=x)
    if made is None or made.dtype == "f16" or rising is None or not cx.fact(n).is_int:
        return None
    parts: dict[str, Part] = {h.upper(): cx.fresh(h) for h in ("i", "k", "v", "acc")}
    parts |= {"X": x, "N": n if isinstance(n, ast.Constant) else steady(n, cx), "NP": cx.numpy}
    parts |= {"NAME": name, "T": dtype(made.dtype, cx)}
    parts["PLACE"] = cx.expr("K" if rising else "N - 1 - K", **parts)
    (original,) = cx.code("NAME = E", NAME=name, E=node)
    lengths = [cx.expr("X.shape[0]", **parts), cx.expr("N", **parts)]
    lines = [allocated(name, lengths, made.dtype, cx), *cx.code(_POWERS, **parts)]
    return unless([cx.expr("N < 0", **parts)], original, lines, cx)


WAYS: dict[str, tuple[str, Way]] = {
    "indices": ("dimensions dtype", _indices),
    "kron": ("a b", _kron),
    "vander": ("x N increasing", _vander),
}
PAIRS: dict[str, tuple[str, Pairs]] = {
    "meshgrid": ("x y indexing sparse", _mesh),
    "tril_indices": ("n k m", _triangle("0", "min(max(I + K + 1, 0), M)", below=True)),
    "triu_indices": ("n k m", _triangle("min(max(I + K, 0), M)", "M", below=False)),
}
