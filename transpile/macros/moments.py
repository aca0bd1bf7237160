"""``np.var`` and its kin → other folds."""
from __future__ import annotations

import ast

from ..types import PARTS, ScalarType
from .context import Context
from .firing import fires_on, named
from .nests import product
from .reductions import MOMENTS, fold_of
from .views import held

__all__ = ["array_moment"]


@fires_on(ast.Call, calls=named(MOMENTS))
def array_moment(node: ast.AST, cx: Context) -> ast.expr | None:
    """What is made of other folds.

        s = np.count_nonzero(x)
    →
        _sum = np.int64(0)
        for _i in range(x.shape[0]):
            _sum = np.add(_sum, np.not_equal(x[_i], 0))
        s = _sum
    """
    fold = fold_of(node, cx)
    if fold is None or fold.name not in MOMENTS:
        return None
    x = fold.array if isinstance(fold.array, ast.Name) else held(fold.array, "a", cx)
    axes = ast.Tuple([ast.Constant(k) for k in fold.axes], ast.Load())
    parts = {"NP": cx.numpy, "X": x, "A": axes, "K": ast.Constant(fold.keepdims)}
    if fold.name == "ptp":
        text = "NP.subtract(NP.max(X, axis=A, keepdims=K), NP.min(X, axis=A, keepdims=K))"
        return cx.expr(text, **parts)
    if fold.name == "count_nonzero":
        call = cx.expr("NP.sum(NP.not_equal(X, 0), axis=A, keepdims=K)", **parts)
        weak = ScalarType("i64", weak=True) in cx.fact(node).types  # type: ignore[arg-type]
        return cx.expr("int(E)", E=call) if weak else call
    mean = held(cx.expr("NP.mean(X, axis=A, keepdims=True)", **parts), "mean", cx)
    square = _square(cx.expr("NP.subtract(X, M)", M=mean, **parts), cx)
    lengths = [cx.expr("X.shape[K]", X=x, K=ast.Constant(k)) for k in fold.axes]
    count = product(lengths, cx)
    if fold.ddof:
        count = cx.expr("max(N - D, 0)", N=count, D=ast.Constant(fold.ddof))
    text = "NP.divide(NP.sum(S, axis=A, keepdims=K), N)"
    variance = cx.expr(text, S=square, N=count, **parts)
    return variance if fold.name == "var" else cx.expr("NP.sqrt(V)", NP=cx.numpy, V=variance)


def _square(x: ast.expr, cx: Context) -> ast.expr:
    """The square of what is real; of complex numbers that of their size."""
    of = cx.fact(x).array
    if of is None or of.dtype not in PARTS:
        return cx.expr("NP.square(X)", NP=cx.numpy, X=x)
    parts = {"NP": cx.numpy, "X": held(x, "from_mean", cx)}
    return cx.expr("NP.add(NP.square(X.real), NP.square(X.imag))", **parts)
