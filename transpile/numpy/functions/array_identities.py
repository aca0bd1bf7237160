"""Identities: functions that make new arrays, rewritten as concatenation, slices and sums.

``np.delete``, ``insert``, ``diff``, ``roll``, ``trapezoid``, ``compress``, ``take``, window
functions, the trace.
"""
from __future__ import annotations

import ast
import math
from collections.abc import Callable, Sequence

import numpy as np

from ...frontend.int_exprs import integer_constant
from ...frontend.macros.macro_context import Context
from ...frontend.macros.macro_index import fires_on
from ...frontend.macros.replay_guards import bind_fresh, guarded
from ...types.value_types import ELEMENTS, PARTS
from ..array_nests import dtype_expr
from ..call_arguments import BoundArguments, constant_flag
from ..elementwise.boolean_indexing import truth_mask

__all__ = [
    "ArrayRule", "guarded_name", "copyto", "diff_trace", "delete_rule", "insert_rule", "diff_rule",
    "roll_rule", "repeat_flat_rule", "block_rule", "trapezoid_rule", "weighted_average_rule",
    "arg_reduction_keepdims_rule", "several_quantiles_rule", "compress_rule", "nonzero_rule",
    "take_one_rule", "bartlett_rule", "blackman_rule", "hamming_rule", "hanning_rule",
]

ArrayRule = Callable[[BoundArguments, Context], "ast.expr | None"]


def delete_rule(bound: BoundArguments, cx: Context) -> ast.expr | None:
    """``np.delete(v, i)`` of a vector → the concatenation of ``v[:i]`` and ``v[i + 1:]``."""
    x, at = _vector_argument(bound, cx), bound.get("obj")
    if x is None or at is None or not cx.fact(at).is_int:
        return None
    k = at if isinstance(at, ast.Constant) else bind_fresh(at, "k", cx)
    checks = [cx.expr("K < -X.shape[0] or K >= X.shape[0]", K=k, X=x)]
    text = "NP.concatenate((X[:K % X.shape[0]], X[K % X.shape[0] + 1:]))"
    return guarded_name(checks, cx.expr(text, NP=cx.numpy, X=x, K=k), cx)


def insert_rule(bound: BoundArguments, cx: Context) -> ast.expr | None:
    """``np.insert(v, i, x)`` of one number → the concatenation of ``v[:i]``, ``[x]`` and ``v[i:]``.
    """
    x, at, value = _vector_argument(bound, cx), bound.get("obj"), bound.get("values")
    of = cx.fact(x).array if x is not None else None
    if x is None or of is None or at is None or value is None or not cx.fact(at).is_int:
        return None
    types = cx.fact(value).types
    if (
        cx.fact(value).rank != 0
        or not types
        or not all(_values_fit(t.dtype, of.dtype) for t in types)
    ):
        return None
    k = at if isinstance(at, ast.Constant) else bind_fresh(at, "k", cx)
    parts = {"NP": cx.numpy, "X": x, "K": k, "V": value, "T": dtype_expr(of.dtype, cx)}
    checks = [cx.expr("K < -X.shape[0] or K > X.shape[0]", **parts)]
    parts["K"] = bind_fresh(cx.expr("K + X.shape[0] if K < 0 else K", **parts), "k", cx)
    new = cx.expr("NP.concatenate((X[:K], NP.full(1, V, T), X[K:]))", **parts)
    return guarded_name(checks, new, cx)


def _values_fit(value: str, to: str) -> bool:
    """Whether each such number is one of `to`, or as near as one can be."""
    kinds = ELEMENTS[value].kind, ELEMENTS[to].kind
    return value == to or (kinds[1] == "f" and kinds[0] in "biuf" and to != "f16")


def _vector_argument(bound: BoundArguments, cx: Context) -> ast.expr | None:
    """``arr`` by a name, where it is a vector, which has one axis."""
    x, axis = bound["arr"], integer_constant(bound.get("axis"), 0)
    if cx.fact(x).rank != 1 or cx.fact(x).array is None or axis not in (0, -1):
        return None
    return x if isinstance(x, ast.Name) else bind_fresh(x, "a", cx)


def guarded_name(checks: Sequence[ast.expr], new: ast.expr, cx: Context) -> ast.expr:
    """A fresh name bound to `new`; where one of `checks` holds it is bound to the original
    expression, which NumPy computes.
    """
    name, node = cx.fresh("a"), cx.at
    assert isinstance(node, ast.expr)
    (original,) = cx.code("NAME = E", NAME=name, E=node)
    cx.before(*guarded(checks, original, cx.code("NAME = E", NAME=name, E=new), cx))
    return cx.expr("NAME", NAME=name)


def diff_rule(bound: BoundArguments, cx: Context) -> ast.expr | None:
    """``np.diff(a, prepend=…, append=…)`` → ``np.diff`` of the concatenation."""
    x, ends = bound["a"], [bound.get("prepend"), bound.get("append")]
    rank, axis = cx.fact(x).rank or 0, integer_constant(bound.get("axis"), -1)
    if ends == [None, None] or axis is None or not -rank <= axis < rank:
        return None
    if rank > 1 and cx.fact(x).order != "C":
        return None  # NumPy puts what is joined in an order of its own
    x = x if isinstance(x, ast.Name) else bind_fresh(x, "a", cx)
    shape = ", ".join("1" if k == axis % rank else f"X.shape[{k}]" for k in range(rank))
    parts = []
    for e in (ends[0], x, ends[1]):
        if e is not None and cx.fact(e).rank == 0 and cx.fact(e).types:
            parts.append(cx.expr(f"NP.full(({shape},), V)", NP=cx.numpy, X=x, V=e))
        elif e is not None and cx.fact(e).array is not None and cx.fact(e).rank == rank:
            parts.append(e)
        elif e is not None:
            return None
    return cx.expr("NP.diff(NP.concatenate(P, axis=A), N, A)", NP=cx.numpy,
                   P=ast.Tuple(parts, ast.Load()), A=ast.Constant(axis),
                   N=bound.get("n") or ast.Constant(1))


def roll_rule(bound: BoundArguments, cx: Context) -> ast.expr | None:
    """``np.roll`` over several axes → one axis after the other; without an axis → of the flat
    elements.
    """
    x, by, axis = bound["a"], bound.get("shift"), bound.get("axis")
    rank, parts = cx.fact(x).rank or 0, {"NP": cx.numpy, "X": x}
    if by is None or rank < 2 or cx.fact(x).array is None:
        return None
    if axis is None:
        if not cx.fact(by).is_int:
            return None
        parts["X"] = x if isinstance(x, ast.Name) else bind_fresh(x, "a", cx)
        shape = ", ".join(f"X.shape[{k}]" for k in range(rank))
        return cx.expr(f"NP.roll(X.ravel(), K).reshape({shape})", K=by, **parts)
    axes = axis.elts if isinstance(axis, (ast.Tuple, ast.List)) else []
    if not axes:
        return None
    shifts = by.elts if isinstance(by, (ast.Tuple, ast.List)) else [by] * len(axes)
    if len(shifts) != len(axes) or not all(cx.fact(k).is_int for k in (*shifts, *axes)):
        return None
    for k, a in zip(shifts, axes, strict=True):
        x = cx.expr("NP.roll(X, K, axis=A)", NP=cx.numpy, X=x, K=k, A=a)
    return x


def repeat_flat_rule(bound: BoundArguments, cx: Context) -> ast.expr | None:
    """``np.repeat(a, k)`` of an array of several axes → of its flat elements."""
    x, times = bound["a"], bound.get("repeats")
    known = (cx.fact(x).rank or 0) > 1 and bound.get("axis") is None and times is not None
    if not known or times is None or cx.fact(times).rank != 0:
        return None
    return cx.expr("NP.repeat(X.ravel(), K)", NP=cx.numpy, X=x, K=times)


def block_rule(bound: BoundArguments, cx: Context) -> ast.expr | None:
    """``np.block([[a, b], [c, d]])`` of matrices in C order → concatenations of rows of blocks."""
    match bound["arrays"]:
        case ast.List(elts=[_, *_] as rows) if all(
            isinstance(r, ast.List) and r.elts and all(
                cx.fact(e).rank == 2 and cx.fact(e).order == "C" for e in r.elts) for r in rows
        ):
            beside = [cx.expr("NP.concatenate(P, axis=1)", NP=cx.numpy, P=r) for r in rows]
            parts = ast.Tuple(beside, ast.Load())
            return cx.expr("NP.concatenate(P, axis=0)", NP=cx.numpy, P=parts)
    return None


def trapezoid_rule(bound: BoundArguments, cx: Context) -> ast.expr | None:
    """``np.trapezoid(y, x)`` → the sum of the trapezoids between neighbours along an axis."""
    y, x, step = bound["y"], bound.get("x"), bound.arguments.get("dx", ast.Constant(1.0))
    rank, axis = cx.fact(y).rank or 0, integer_constant(bound.arguments.get("axis"), -1)
    if axis is None or not -rank <= axis < rank or not cx.fact(y).array:
        return None
    known = cx.fact(step).rank == 0 if x is None else (
        cx.fact(x).array is not None and cx.fact(x).rank in (1, rank))
    if not known:
        return None
    y, at = y if isinstance(y, ast.Name) else bind_fresh(y, "a", cx), axis % rank
    low, high = (_axis_subscripts(at, rank, part) for part in (":-1", "1:"))
    parts = {"NP": cx.numpy, "Y": y, "D": step, "K": ast.Constant(at)}
    if x is not None and cx.fact(x).rank == rank:
        parts["D"] = cx.expr("NP.diff(X, axis=K)", X=x, **parts)
    elif x is not None:
        apart = bind_fresh(cx.expr("NP.diff(X)", X=x, **parts), "d", cx)
        places = ", ".join(":" if k == at else "None" for k in range(rank))
        parts["D"] = cx.expr(f"D[{places}]", D=apart)
    return cx.expr(f"NP.sum(D * (Y[{high}] + Y[{low}]) / 2.0, axis=K)", **parts)


def _axis_subscripts(axis: int, rank: int, part: str) -> str:
    return ", ".join(part if k == axis else ":" for k in range(rank))


def weighted_average_rule(bound: BoundArguments, cx: Context) -> ast.expr | None:
    """``np.average(a, weights=w)`` → the sum of products over the sum of weights, along an axis."""
    a, weights, axis = bound["a"], bound.get("weights"), integer_constant(bound.get("axis"), None)
    rank = cx.fact(a).rank or 0
    if weights is None or axis is None or not -rank <= axis < rank or rank < 2 or (
            cx.fact(weights).rank != 1 or not bound.only("a", "axis", "weights")):
        return None
    a, weights = (e if isinstance(e, ast.Name) else bind_fresh(e, "w", cx) for e in (a, weights))
    places = _axis_subscripts(axis % rank, rank, "_").replace(":", "None").replace("_", ":")
    by = cx.expr(f"NP.multiply(A, W[{places}])", NP=cx.numpy, A=a, W=weights)
    made, of = cx.fact(by).array, [cx.fact(e).array for e in (a, weights)]
    if made is None or made.dtype not in ("f32", "f64") or not all(
            t and (t.dtype == made.dtype or made.dtype == "f64") for t in of):
        return None
    total = bind_fresh(
        cx.expr("NP.sum(W, dtype=T)", NP=cx.numpy, W=weights, T=dtype_expr(made.dtype, cx)),
        "total",
        cx,
    )
    new = cx.expr("NP.sum(E, axis=K) / TOTAL", NP=cx.numpy, E=by, K=ast.Constant(axis % rank),
                  TOTAL=total)
    unlike = cx.expr("A.shape[K] != W.shape[0]", A=a, K=ast.Constant(axis % rank), W=weights)
    return guarded_name([unlike, cx.expr("TOTAL == 0", TOTAL=total)], new, cx)


def arg_reduction_keepdims_rule(bound: BoundArguments, cx: Context) -> ast.expr | None:
    """``np.argmin(a, axis, keepdims=True)`` and ``argmax`` → the result without that axis, and a
    new axis of length 1.
    """
    rank = cx.fact(bound["a"]).rank or 0
    axis = integer_constant(bound.get("axis"), 0 if rank == 1 else None)
    known = constant_flag(bound.get("keepdims"), False) and bound.only("a", "axis", "keepdims")
    if not known or axis is None or not -rank <= axis < rank:
        return None
    parts = {"NP": cx.numpy, "A": bound["a"], "K": ast.Constant(axis)}
    places = bind_fresh(cx.expr(f"NP.{bound.name}(A, axis=K)", **parts), "at", cx)
    if rank == 1:
        return cx.expr("NP.array([A])", NP=cx.numpy, A=places)
    return cx.expr(f"A[{_axis_subscripts(axis % rank, rank, 'None')}]", A=places)


_MAX_QUANTILES = 8
"""Quantiles of one call."""


def several_quantiles_rule(bound: BoundArguments, cx: Context) -> ast.expr | None:
    """``np.quantile(a, [p, q])`` → one quantile after the other, for arrays short enough; NumPy
    sorts long ones once.
    """
    if not cx.depth:
        return None
    of, q = cx.fact(bound["a"]).array, bound.get("q")
    if of is None or of.dtype in ("f16", "f32", *PARTS) or not bound.only("a", "q"):
        return None
    if isinstance(q, ast.Call) and cx.is_numpy(q.func, "array") and not q.keywords:
        q = q.args[0]
    if not isinstance(q, (ast.List, ast.Tuple)) or not 0 < len(q.elts) <= _MAX_QUANTILES:
        return None
    x = bound["a"] if isinstance(bound["a"], ast.Name) else bind_fresh(bound["a"], "a", cx)
    text = f"NP.{bound.name}(X, Q)"
    each = [cx.expr(text, NP=cx.numpy, X=x, Q=e) for e in q.elts]
    return cx.expr("NP.array(E)", NP=cx.numpy, E=ast.List(each, ast.Load()))


def compress_rule(bound: BoundArguments, cx: Context) -> ast.expr | None:
    """``np.compress(mask, v)`` of a vector and a mask of its length → ``v[mask]``."""
    mask, x = bound["condition"], bound.get("a")
    known = x is not None and cx.fact(x).array and cx.fact(mask).array
    if x is None or not known or (cx.fact(x).rank, cx.fact(mask).rank) != (1, 1):
        return None
    return None if bound.get("axis") is not None else cx.expr("X[M]", X=x, M=truth_mask(mask, cx))


def nonzero_rule(bound: BoundArguments, cx: Context) -> ast.expr | None:
    """``np.argwhere(v)`` and ``np.nonzero(v)`` of a vector → ``np.flatnonzero(v)`` as a column, or
    in a tuple.
    """
    x = bound["a"]
    text = "NP.flatnonzero(X)[:, None]" if bound.name == "argwhere" else "(NP.flatnonzero(X),)"
    known = cx.fact(x).rank == 1 and cx.fact(x).array and bound.only("a")
    return cx.expr(text, NP=cx.numpy, X=x) if known else None


def take_one_rule(bound: BoundArguments, cx: Context) -> ast.expr | None:
    """``np.take(v, i)`` of one index → ``v[i]``."""
    x, at = bound["a"], bound.get("indices")
    known = at is not None and cx.fact(at).is_int and cx.fact(x).rank == 1 and bound.only(
        "a", "indices", "axis") and integer_constant(bound.get("axis"), 0) in (0, -1)
    return cx.expr("X[I]", X=x, I=at) if known and at is not None and cx.fact(x).array else None


def _window_rule(text: str) -> ArrayRule:
    """The expansion of a window function of M points: `text` of the numbers N = 1 - M, 3 - M, ...,
    M - 1; for one point NumPy itself is called.
    """

    def say(bound: BoundArguments, cx: Context) -> ast.expr | None:
        """``np.hanning(m)`` and the like → a formula on ``np.arange``."""
        m = bound["M"]
        if not cx.fact(m).is_int or not isinstance(m, (ast.Name, ast.Constant)):
            return None
        numbers = cx.expr("NP.arange(M) * 2.0 + (1.0 - M)", NP=cx.numpy, M=m)
        parts = {"NP": cx.numpy, "M": m, "N": numbers, "PI": ast.Constant(math.pi)}
        return guarded_name([cx.expr("M <= 1", M=m)], cx.expr(text, **parts), cx)

    return say


bartlett_rule = _window_rule("NP.where(N <= 0, 1 + N / (M - 1), 1 - N / (M - 1))")
blackman_rule = _window_rule(
    "0.42 + 0.5 * NP.cos(PI * N / (M - 1)) + 0.08 * NP.cos(2.0 * PI * N / (M - 1))"
)
hamming_rule = _window_rule("0.54 + 0.46 * NP.cos(PI * N / (M - 1))")
hanning_rule = _window_rule("0.5 + 0.5 * NP.cos(PI * N / (M - 1))")


@fires_on(ast.Call, calls=[".trace", np.diff, np.trace])
def diff_trace(node: ast.AST, cx: Context) -> ast.expr | None:
    """``np.diff(x)`` → differences of slices; ``np.trace(X)`` → the sum of the diagonal.

        s = np.trace(X)
    →
        _trace = np.float64(0)
        for _i in range(min(X.shape[0], X.shape[1])):
            _trace = np.add(_trace, X[_i, _i])
        s = _trace
    """
    match node:
        case ast.Call(func=func, args=[x, *_]) if cx.is_numpy(func, "diff"):
            return _diff_of_order(node, x, cx)
        case ast.Call(func=func, args=[x, k], keywords=[]) if cx.is_numpy(func, "trace") and (
            cx.fact(x).rank == 2 and integer_constant(k, None) is not None
        ):
            return cx.expr("NP.sum(NP.diagonal(X, K))", NP=cx.numpy, X=x, K=k)
        case ast.Call(func=func, args=[x], keywords=[]) if cx.is_numpy(func, "trace"):
            return _trace(node, x, cx)
        case ast.Call(func=ast.Attribute(value=x, attr="trace"), args=[], keywords=[]):
            return _trace(node, x, cx) if cx.resolve(node.func) is None else None
    return None


@fires_on(ast.Expr, value=ast.Call, calls=[np.copyto, np.put, np.putmask])
def copyto(node: ast.AST, cx: Context) -> list[ast.stmt] | None:
    """``np.copyto(x, y)`` → a store into the existing array `x`.

        np.copyto(x, y)
    →
        if x.shape[0] != y.shape[0]:
            "Python's to answer"
            x[...] = y
        else:
            for _i in range(x.shape[0]):
                x[_i] = y[_i]
    """
    match node:
        case ast.Expr(value=ast.Call(func=func, args=[x, y], keywords=[])) if (
            cx.is_numpy(func, "copyto") and cx.fact(x).array and cx.fact(y).types
        ):
            types = {t.dtype for t in cx.fact(y).types}
            same = types == {t.dtype for t in cx.fact(x).types}
            return cx.code("X[...] = Y", X=x, Y=y) if same else None
        case ast.Expr(value=ast.Call(func=func, args=[x, at, y], keywords=[])) if (
            cx.fact(x).array and cx.fact(at).array and cx.fact(y).rank == 0
        ):
            masks = {t.dtype for t in cx.fact(at).types} == {"bool"}
            known = (cx.is_numpy(func, "put") and cx.fact(x).rank == 1 and not masks) or (
                cx.is_numpy(func, "putmask") and masks and cx.fact(x).rank == cx.fact(at).rank)
            return cx.code("X[AT] = Y", X=x, AT=at, Y=y) if known else None
    return None


_MAX_DIFF_ORDER = 8
"""Of more, NumPy goes on with what it has."""


def _diff_of_order(node: ast.Call, x: ast.expr, cx: Context) -> ast.expr | None:
    """Of neighbours along an axis; more than once, one by one."""
    given = dict(zip(("n", "axis"), node.args[1:], strict=False))
    given |= {k.arg: k.value for k in node.keywords if k.arg}
    rank = cx.fact(x).rank
    axis = integer_constant(given.pop("axis", None), -1)
    times = integer_constant(given.pop("n", None), 1)
    if given or cx.fact(x).array is None or not rank or axis is None:
        return None
    if not times or not 1 <= times <= _MAX_DIFF_ORDER:
        return None
    if not -rank <= axis < rank:
        return None
    for _ in range(times):
        function = "not_equal" if _is_bool(x, cx) else "subtract"
        x = x if isinstance(x, ast.Name) else bind_fresh(x, "a", cx)
        before = ":, " * (axis % rank)
        text = f"NP.{function}(X[{before}1:], X[{before}:-1])"
        x = cx.expr(text, NP=cx.numpy, X=x)
    return x


def _is_bool(x: ast.expr, cx: Context) -> bool:
    return {t.dtype for t in cx.fact(x).types} == {"bool"}


def _trace(node: ast.expr, x: ast.expr, cx: Context) -> ast.expr | None:
    types = cx.fact(node).types
    if cx.fact(x).rank != 2 or len(types) != 1:
        return None
    (out,) = types
    x = x if isinstance(x, ast.Name) else bind_fresh(x, "a", cx)
    name = cx.fresh("trace")
    text = """
        NAME = T(0)
        for I in range(min(X.shape[0], X.shape[1])):
            NAME = NP.add(NAME, X[I, I])
    """
    i, of = cx.fresh("i"), dtype_expr(out.dtype, cx)
    cx.folds(out.dtype)
    cx.before(*cx.code(text, NAME=name, T=of, I=i, X=x, NP=cx.numpy))
    return cx.expr("NAME", NAME=name)
