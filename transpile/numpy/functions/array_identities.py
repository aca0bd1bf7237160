"""Array identities: ``np.delete``, ``insert``, ``diff`` … as concatenations, slices and sums.

Rules (column ``view`` of `function_table`, applied by `view_identities`) for ``np.delete``,
``insert``, ``diff``, ``roll``, ``trapezoid``, ``compress``, ``take`` and window functions; for
example ``np.block([[A, B], [C, D]])`` → concatenations. A rule returns an expression of the same
value, or None where it refuses the arguments; statements that it needs are emitted before the
statement. Two macros: `diff_trace` and `copyto`.
"""
from __future__ import annotations

import ast
import math
from collections.abc import Callable, Sequence

import numpy as np

from ...diagnostics import Rejection
from ...frontend.ast_walk import integer_constant
from ...frontend.core_nodes import note_obstacle, source_text
from ...frontend.macros.bind_operands import bind_fresh, bind_operand
from ...frontend.macros.macro_context import Context
from ...frontend.macros.macro_index import fires_on
from ...frontend.macros.replay_guards import guarded
from ...frontend.source import span_of
from ...types.effects import is_pure
from ...types.value_types import ELEMENTS, PARTS
from ..array_nests import dtype_expr
from ..call_arguments import BoundArguments, constant_flag
from ..creation.array_literals import literal_as_array
from ..elementwise.nonzero_indices import named_indices, truth_mask

__all__ = [
    "ArrayRule", "guarded_name", "copyto", "diff_trace", "delete_rule", "insert_rule", "diff_rule",
    "roll_axes_rule", "repeat_flat_rule", "block_rule", "trapezoid_rule", "weighted_average_rule",
    "arg_reduction_keepdims_rule", "several_quantiles_rule", "compress_rule", "nonzero_rule",
    "take_one_rule", "bartlett_rule", "blackman_rule", "hamming_rule", "hanning_rule",
]

ArrayRule = Callable[[BoundArguments, Context], "ast.expr | None"]
"""From the arguments of a call to an expression of the same value; None: refused."""


def delete_rule(bound: BoundArguments, cx: Context) -> ast.expr | None:
    """``np.delete(v, i)`` of a vector and one index → the concatenation of ``v[:i]`` and ``v[i +
    1:]``. The call is replayed for an index out of range, for which NumPy raises.
    """
    x, index = _vector_argument(bound, cx), bound.get("obj")
    if x is None or index is None or not cx.fact(index).is_int:
        return None
    k = index if isinstance(index, ast.Constant) else bind_fresh(index, "k", cx)
    checks = [cx.expr("K < -X.shape[0] or K >= X.shape[0]", K=k, X=x)]
    text = "NP.concatenate((X[:K % X.shape[0]], X[K % X.shape[0] + 1:]))"
    return guarded_name(checks, cx.expr(text, NP=cx.numpy, X=x, K=k), cx)


def insert_rule(bound: BoundArguments, cx: Context) -> ast.expr | None:
    """``np.insert(v, i, x)`` of a number, vector or list → the concatenation of ``v[:i]``, x and
    ``v[i:]``. The call is replayed for an index out of range, for which NumPy raises.
    """
    x, index, value = _vector_argument(bound, cx), bound.get("obj"), bound.get("values")
    ty = cx.fact(x).array if x is not None else None
    if x is None or ty is None or index is None or value is None or not cx.fact(index).is_int:
        return None
    value = literal_as_array(value, cx)
    types = cx.fact(value).types
    if (
        cx.fact(value).rank not in (0, 1)
        or not types
        or not all(_values_fit(t.dtype, ty.dtype) for t in types)
    ):
        return None
    k = index if isinstance(index, ast.Constant) else bind_fresh(index, "k", cx)
    parts = {"NP": cx.numpy, "X": x, "K": k, "V": value, "T": dtype_expr(ty.dtype, cx)}
    checks = [cx.expr("K < -X.shape[0] or K > X.shape[0]", **parts)]
    parts["K"] = bind_fresh(cx.expr("K + X.shape[0] if K < 0 else K", **parts), "k", cx)
    middle = "V.astype(T)" if cx.fact(value).rank else "NP.full(1, V, T)"
    new = cx.expr(f"NP.concatenate((X[:K], {middle}, X[K:]))", **parts)
    return guarded_name(checks, new, cx)


def _values_fit(source: str, target: str) -> bool:
    """Whether numbers of dtype `source` convert to `target` as NumPy converts them: the same dtype,
    or real numbers to float32 or float64.
    """
    kinds = ELEMENTS[source].kind, ELEMENTS[target].kind
    return source == target or (kinds[1] == "f" and kinds[0] in "biuf" and target != "f16")


def _vector_argument(bound: BoundArguments, cx: Context) -> ast.expr | None:
    """The argument ``arr``, bound to a name if computed; None where it is not surely a vector or
    ``axis`` is not its only axis.
    """
    x, axis = bound["arr"], integer_constant(bound.get("axis"), 0)
    if cx.fact(x).rank != 1 or cx.fact(x).array is None or axis not in (0, -1):
        return None
    return bind_operand(x, cx)


def guarded_name(checks: Sequence[ast.expr], new: ast.expr, cx: Context) -> ast.expr:
    """A fresh name that a guard, before the statement, binds to `new`; the call is replayed where
    one of `checks` is true.
    """
    name, node = cx.fresh("a"), cx.at
    assert isinstance(node, ast.expr)
    (original,) = cx.code("NAME = E", NAME=name, E=node)
    cx.before(*guarded(checks, original, cx.code("NAME = E", NAME=name, E=new), cx))
    return cx.expr("NAME", NAME=name)


def diff_rule(bound: BoundArguments, cx: Context) -> ast.expr | None:
    """``np.diff(a, prepend=…, append=…)`` → ``np.diff`` of the concatenation. None without either
    argument, and for an array of several axes that is not in C order.
    """
    x, ends = bound["a"], [bound.get("prepend"), bound.get("append")]
    rank, axis = cx.fact(x).rank or 0, integer_constant(bound.get("axis"), -1)
    if ends == [None, None] or axis is None or not -rank <= axis < rank:
        return None
    if rank > 1 and cx.fact(x).order != "C":
        return None  # the memory order of NumPy's concatenation would be another
    x = bind_operand(x, cx)
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


def roll_axes_rule(bound: BoundArguments, cx: Context) -> ast.expr | None:
    """``np.roll`` over several axes → a roll of one axis after the other; without an axis, of an
    array of several axes → a roll of its flat elements. (`data_movement.roll_rule`: of one axis.)
    """
    x, shift, axis = bound["a"], bound.get("shift"), bound.get("axis")
    rank, parts = cx.fact(x).rank or 0, {"NP": cx.numpy, "X": x}
    if shift is None or rank < 2 or cx.fact(x).array is None:
        return None
    if axis is None:
        if not cx.fact(shift).is_integer:
            return None
        parts["X"] = bind_operand(x, cx)
        shape = ", ".join(f"X.shape[{k}]" for k in range(rank))
        return cx.expr(f"NP.roll(X.ravel(), K).reshape({shape})", K=shift, **parts)
    axes = axis.elts if isinstance(axis, (ast.Tuple, ast.List)) else []
    if not axes:
        return None
    shifts = shift.elts if isinstance(shift, (ast.Tuple, ast.List)) else [shift] * len(axes)
    are_integers = all(cx.fact(k).is_integer for k in shifts)
    if len(shifts) != len(axes) or not are_integers or not all(cx.fact(a).is_int for a in axes):
        return None
    for k, a in zip(shifts, axes, strict=True):
        x = cx.expr("NP.roll(X, K, axis=A)", NP=cx.numpy, X=x, K=k, A=a)
    return x


def repeat_flat_rule(bound: BoundArguments, cx: Context) -> ast.expr | None:
    """``np.repeat(a, k)`` of an array of several axes, without an axis → ``np.repeat(a.ravel(),
    k)``, of its flat elements.
    """
    x, times = bound["a"], bound.get("repeats")
    flattens = (cx.fact(x).rank or 0) > 1 and bound.get("axis") is None and times is not None
    if not flattens or times is None or cx.fact(times).rank != 0:
        return None
    return cx.expr("NP.repeat(X.ravel(), K)", NP=cx.numpy, X=x, K=times)


def block_rule(bound: BoundArguments, cx: Context) -> ast.expr | None:
    """``np.block([[a, b], [c, d]])`` of matrices in C order → concatenations of rows of blocks."""
    match bound["arrays"]:
        case ast.List(elts=[_, *_] as rows) if all(
            isinstance(r, ast.List) and r.elts and all(
                cx.fact(e).rank == 2 and cx.fact(e).order == "C" for e in r.elts) for r in rows
        ):
            joined = [cx.expr("NP.concatenate(P, axis=1)", NP=cx.numpy, P=r) for r in rows]
            return cx.expr("NP.concatenate(P, axis=0)", NP=cx.numpy,
                           P=ast.Tuple(joined, ast.Load()))
    return None


def trapezoid_rule(bound: BoundArguments, cx: Context) -> ast.expr | None:
    """``np.trapezoid(y, x)`` → the sum of the trapezoids between neighbours along an axis, which
    must be a constant. `x` is a vector, or has the rank of `y`.
    """
    y, x, step = bound["y"], bound.get("x"), bound.arguments.get("dx", ast.Constant(1.0))
    rank, axis = cx.fact(y).rank or 0, integer_constant(bound.arguments.get("axis"), -1)
    if axis is None or not -rank <= axis < rank or not cx.fact(y).array:
        return None
    valid = cx.fact(step).rank == 0 if x is None else (
        cx.fact(x).array is not None and cx.fact(x).rank in (1, rank))
    if not valid:
        return None
    y, normalized = bind_operand(y, cx), axis % rank
    low, high = (_axis_subscripts(normalized, rank, part) for part in (":-1", "1:"))
    parts = {"NP": cx.numpy, "Y": y, "D": step, "K": ast.Constant(normalized)}
    if x is not None and cx.fact(x).rank == rank:
        parts["D"] = cx.expr("NP.diff(X, axis=K)", X=x, **parts)
    elif x is not None:
        differences = bind_fresh(cx.expr("NP.diff(X)", X=x, **parts), "d", cx)
        subscript = ", ".join(":" if k == normalized else "None" for k in range(rank))
        parts["D"] = cx.expr(f"D[{subscript}]", D=differences)
    return cx.expr(f"NP.sum(D * (Y[{high}] + Y[{low}]) / 2.0, axis=K)", **parts)


def _axis_subscripts(axis: int, rank: int, item: str) -> str:
    """The text of a subscript with `item` at `axis` and whole axes elsewhere."""
    return ", ".join(item if k == axis else ":" for k in range(rank))


def weighted_average_rule(bound: BoundArguments, cx: Context) -> ast.expr | None:
    """``np.average(a, axis, weights=w)`` of an array of several axes and a vector of weights → the
    sum of products over the sum of weights, along the axis. The call is replayed where the lengths
    differ or the sum of weights is 0, for which NumPy raises. (Weights of the shape of `a`:
    `call_identities`.)
    """
    a, weights, axis = bound["a"], bound.get("weights"), integer_constant(bound.get("axis"), None)
    rank = cx.fact(a).rank or 0
    if weights is None or axis is None or not -rank <= axis < rank or rank < 2 or (
            cx.fact(weights).rank != 1 or not bound.only("a", "axis", "weights")):
        return None
    a, weights = (bind_operand(e, cx, "w") for e in (a, weights))
    subscript = _axis_subscripts(axis % rank, rank, "_").replace(":", "None").replace("_", ":")
    products = cx.expr(f"NP.multiply(A, W[{subscript}])", NP=cx.numpy, A=a, W=weights)
    result, operands = cx.fact(products).array, [cx.fact(e).array for e in (a, weights)]
    if result is None or result.dtype not in ("f32", "f64") or not all(
            t and (t.dtype == result.dtype or result.dtype == "f64") for t in operands):
        return None
    total = bind_fresh(
        cx.expr("NP.sum(W, dtype=T)", NP=cx.numpy, W=weights, T=dtype_expr(result.dtype, cx)),
        "total",
        cx,
    )
    new = cx.expr("NP.sum(E, axis=K) / TOTAL", NP=cx.numpy, E=products, K=ast.Constant(axis % rank),
                  TOTAL=total)
    mismatch = cx.expr("A.shape[K] != W.shape[0]", A=a, K=ast.Constant(axis % rank), W=weights)
    return guarded_name([mismatch, cx.expr("TOTAL == 0", TOTAL=total)], new, cx)


def arg_reduction_keepdims_rule(bound: BoundArguments, cx: Context) -> ast.expr | None:
    """``np.argmin(a, axis, keepdims=True)`` and ``argmax`` → the result without that axis, in a
    shape with an axis of length 1. (A subscript ``None`` would give that axis the stride 0.)
    """
    rank = cx.fact(bound["a"]).rank or 0
    axis = integer_constant(bound.get("axis"), 0 if rank == 1 else None)
    keeps = constant_flag(bound.get("keepdims"), False) and bound.only("a", "axis", "keepdims")
    if not keeps or axis is None or not -rank <= axis < rank:
        return None
    parts = {"NP": cx.numpy, "A": bound["a"], "K": ast.Constant(axis)}
    index = bind_fresh(cx.expr(f"NP.{bound.name}(A, axis=K)", **parts), "at", cx)
    if rank == 1:
        return cx.expr("NP.array([A])", NP=cx.numpy, A=index)
    lengths = [f"A.shape[{k}]" for k in range(rank - 1)]
    lengths.insert(axis % rank, "1")
    return cx.expr(f"A.reshape({', '.join(lengths)})", A=index)


_MAX_QUANTILES = 8
"""The greatest number of quantiles that one call is split into."""


def several_quantiles_rule(bound: BoundArguments, cx: Context) -> ast.expr | None:
    """``np.quantile(a, [p, q])`` → ``np.array([np.quantile(a, p), np.quantile(a, q)])``. Only
    inside a loop or branch, where calling NumPy costs more than selecting several times; of at most
    `_MAX_QUANTILES`, and not of float32, float16 or complex numbers.
    """
    if not cx.depth:
        return None
    ty, q = cx.fact(bound["a"]).array, bound.get("q")
    if ty is None or ty.dtype in ("f16", "f32", *PARTS) or not bound.only("a", "q"):
        return None
    if isinstance(q, ast.Call) and cx.is_numpy(q.func, "array") and not q.keywords:
        q = q.args[0]
    if not isinstance(q, (ast.List, ast.Tuple)) or not 0 < len(q.elts) <= _MAX_QUANTILES:
        return None
    x = bind_operand(bound["a"], cx)
    text = f"NP.{bound.name}(X, Q)"
    quantiles = [cx.expr(text, NP=cx.numpy, X=x, Q=e) for e in q.elts]
    return cx.expr("NP.array(E)", NP=cx.numpy, E=ast.List(quantiles, ast.Load()))


def compress_rule(bound: BoundArguments, cx: Context) -> ast.expr | None:
    """``np.compress(mask, v)`` of two vectors → ``v[mask]``, under a guard that they have one
    length: NumPy also takes a shorter mask. None with an axis.
    """
    mask, x = bound["condition"], bound.get("a")
    are_arrays = x is not None and cx.fact(x).array and cx.fact(mask).array
    if x is None or not are_arrays or (cx.fact(x).rank, cx.fact(mask).rank) != (1, 1):
        return None
    if bound.get("axis") is not None:
        return None
    mask = truth_mask(mask, cx)
    if not is_pure(x, cx.resolve):  # Python evaluates the mask first
        mask = bind_operand(mask, cx, "m")
    return cx.expr("X[M]", X=x, M=mask)


def nonzero_rule(bound: BoundArguments, cx: Context) -> ast.expr | None:
    """``np.nonzero(x)``, ``np.where(x)`` and ``np.argwhere(x)`` in an expression: of a vector
    ``np.flatnonzero(x)`` in a tuple, or as a column; of other arrays a tuple of names, one for each
    axis, or these as columns.

        np.nonzero(X)     →    i, j = np.nonzero(X)    # before the statement
                               (i, j)
        np.argwhere(X)    →    np.array((i, j)).T
    """
    x, rank = bound["a"], cx.fact(bound["a"]).rank
    if not rank or not cx.fact(x).array or not bound.only("a"):
        return None
    is_table = bound.name == "argwhere"
    if rank == 1:
        text = "NP.flatnonzero(X)[:, None]" if is_table else "(NP.flatnonzero(X),)"
        return cx.expr(text, NP=cx.numpy, X=x)
    places = named_indices(x, cx)
    if places is None or not is_table:
        return places
    columns = cx.expr("NP.array(P).T", NP=cx.numpy, P=places)
    text = source_text(x)
    note_obstacle(columns, Rejection(
        "LOWER_UNSUPPORTED",
        f"`np.argwhere({text})` has columns of a length that is not known before", span_of(cx.at),
        help=f"use `np.nonzero({text})`, or of its rows `np.column_stack(np.nonzero({text}))`",
    ))
    return columns


def take_one_rule(bound: BoundArguments, cx: Context) -> ast.expr | None:
    """``np.take(v, i)`` of one index → ``v[i]``."""
    x, index = bound["a"], bound.get("indices")
    valid = index is not None and cx.fact(index).is_int and cx.fact(x).rank == 1 and bound.only(
        "a", "indices", "axis") and integer_constant(bound.get("axis"), 0) in (0, -1)
    if not valid or index is None or not cx.fact(x).array:
        return None
    return cx.expr("X[I]", X=x, I=index)


def _window_rule(text: str) -> ArrayRule:
    """The rule of a window function of M points: the formula `text` of the array N of the numbers
    1 - M, 3 - M, ..., M - 1; fewer than two points are left to NumPy.
    """

    def rule(bound: BoundArguments, cx: Context) -> ast.expr | None:
        """``np.hanning(m)`` → the formula of the numbers ``np.arange(m) * 2.0 + (1.0 - m)``. None
        where `m` is not surely an int, or no name or constant.
        """
        m = bound["M"]
        if not cx.fact(m).is_int or not isinstance(m, (ast.Name, ast.Constant)):
            return None
        numbers = cx.expr("NP.arange(M) * 2.0 + (1.0 - M)", NP=cx.numpy, M=m)
        parts = {"NP": cx.numpy, "M": m, "N": numbers, "PI": ast.Constant(math.pi)}
        return guarded_name([cx.expr("M <= 1", M=m)], cx.expr(text, **parts), cx)

    return rule


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
    """``np.copyto(x, y)`` of one dtype → ``x[...] = y``; ``np.put(x, k, s)`` and
    ``np.putmask(x, m, s)`` with a scalar → ``x[k] = s``.

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
            same_dtype = types == {t.dtype for t in cx.fact(x).types}
            return cx.code("X[...] = Y", X=x, Y=y) if same_dtype else None
        case ast.Expr(value=ast.Call(func=func, args=[x, index, y], keywords=[])) if (
            cx.fact(x).array and cx.fact(index).array and cx.fact(y).rank == 0
        ):
            is_mask = {t.dtype for t in cx.fact(index).types} == {"bool"}
            valid = (cx.is_numpy(func, "put") and cx.fact(x).rank == 1 and not is_mask) or (
                cx.is_numpy(func, "putmask") and is_mask and cx.fact(x).rank == cx.fact(index).rank)
            return cx.code("X[AT] = Y", X=x, AT=index, Y=y) if valid else None
    return None


_MAX_DIFF_ORDER = 8
"""The greatest order of differences that is expanded."""


def _diff_of_order(node: ast.Call, x: ast.expr, cx: Context) -> ast.expr | None:
    """``np.diff(x, n, axis)`` as ``x[1:] - x[:-1]`` along the axis, n times (``!=`` for bools).
    None where `n` or `axis` is no constant, or another argument is passed.
    """
    arguments = dict(zip(("n", "axis"), node.args[1:], strict=False))
    arguments |= {k.arg: k.value for k in node.keywords if k.arg}
    rank = cx.fact(x).rank
    axis = integer_constant(arguments.pop("axis", None), -1)
    order = integer_constant(arguments.pop("n", None), 1)
    if arguments or cx.fact(x).array is None or not rank or axis is None:
        return None
    if not order or not 1 <= order <= _MAX_DIFF_ORDER:
        return None
    if not -rank <= axis < rank:
        return None
    cx.mark_operation_parts()  # NumPy's warning is of a line of NumPy's
    for _ in range(order):
        function = "not_equal" if cx.fact(x).is_bool else "subtract"
        x = bind_operand(x, cx)
        leading = ":, " * (axis % rank)
        text = f"NP.{function}(X[{leading}1:], X[{leading}:-1])"
        x = cx.expr(text, NP=cx.numpy, X=x)
    return x


def _trace(node: ast.expr, x: ast.expr, cx: Context) -> ast.expr | None:
    """A fresh name that a loop, before the statement, binds to the trace of the matrix `x`; `node`
    is the call. None for another rank, and where the type of the result is not known.
    """
    types = cx.fact(node).types
    if cx.fact(x).rank != 2 or len(types) != 1:
        return None
    (result,) = types
    x = bind_operand(x, cx)
    name = cx.fresh("trace")
    text = """
        NAME = T(0)
        for I in range(min(X.shape[0], X.shape[1])):
            NAME = NP.add(NAME, X[I, I])
    """
    i, dtype = cx.fresh("i"), dtype_expr(result.dtype, cx)
    cx.mark_folds(result.dtype)
    cx.before(*cx.code(text, NAME=name, T=dtype, I=i, X=x, NP=cx.numpy))
    return cx.expr("NAME", NAME=name)
