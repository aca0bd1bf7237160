"""Arrays that are made of parts of others: what ``np.concatenate`` and ``roll`` say as well."""
from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

from ..types import ELEMENTS, PARTS
from .arguments import Arguments, flag
from .context import Context
from .integers import integer_constant
from .nests import dtype, unless
from .views import held

__all__ = ["REJOINED", "Way", "checked"]

Way = Callable[[Arguments, Context], "ast.expr | None"]


def _deleted(given: Arguments, cx: Context) -> ast.expr | None:
    """One element of a vector: what is before and after it."""
    x, at = _vector(given, cx), given.get("obj")
    if x is None or at is None or not cx.fact(at).is_int:
        return None
    k = at if isinstance(at, ast.Constant) else held(at, "k", cx)
    checks = [cx.expr("K < -X.shape[0] or K >= X.shape[0]", K=k, X=x)]
    text = "NP.concatenate((X[:K % X.shape[0]], X[K % X.shape[0] + 1:]))"
    return checked(checks, cx.expr(text, NP=cx.numpy, X=x, K=k), cx)


def _inserted(given: Arguments, cx: Context) -> ast.expr | None:
    """A number into a vector, as an element of that."""
    x, at, value = _vector(given, cx), given.get("obj"), given.get("values")
    of = cx.fact(x).array if x is not None else None
    if x is None or of is None or at is None or value is None or not cx.fact(at).is_int:
        return None
    types = cx.fact(value).types
    if cx.fact(value).rank != 0 or not types or not all(_becomes(t.dtype, of.dtype) for t in types):
        return None
    k = at if isinstance(at, ast.Constant) else held(at, "k", cx)
    parts = {"NP": cx.numpy, "X": x, "K": k, "V": value, "T": dtype(of.dtype, cx)}
    checks = [cx.expr("K < -X.shape[0] or K > X.shape[0]", **parts)]
    parts["K"] = held(cx.expr("K + X.shape[0] if K < 0 else K", **parts), "k", cx)
    new = cx.expr("NP.concatenate((X[:K], NP.full(1, V, T), X[K:]))", **parts)
    return checked(checks, new, cx)


def _becomes(value: str, to: str) -> bool:
    """Whether each such number is one of `to`, or as near as one can be."""
    kinds = ELEMENTS[value].kind, ELEMENTS[to].kind
    return value == to or (kinds[1] == "f" and kinds[0] in "biuf" and to != "f16")


def _vector(given: Arguments, cx: Context) -> ast.expr | None:
    """``arr`` by a name, where it is a vector, which has one axis."""
    x, axis = given["arr"], integer_constant(given.get("axis"), 0)
    if cx.fact(x).rank != 1 or cx.fact(x).array is None or axis not in (0, -1):
        return None
    return x if isinstance(x, ast.Name) else held(x, "a", cx)


def checked(checks: Sequence[ast.expr], new: ast.expr, cx: Context) -> ast.expr:
    """A name for `new`; for what stands there now, where one of `checks` holds."""
    name, node = cx.fresh("a"), cx.at
    assert isinstance(node, ast.expr)
    (original,) = cx.code("NAME = E", NAME=name, E=node)
    cx.before(*unless(checks, original, cx.code("NAME = E", NAME=name, E=new), cx))
    return cx.expr("NAME", NAME=name)


def _differences(given: Arguments, cx: Context) -> ast.expr | None:
    """With more elements at the ends, which are differences, too."""
    x, ends = given["a"], [given.get("prepend"), given.get("append")]
    rank, axis = cx.fact(x).rank or 0, integer_constant(given.get("axis"), -1)
    if ends == [None, None] or axis is None or not -rank <= axis < rank:
        return None
    if rank > 1 and cx.fact(x).order != "C":
        return None  # NumPy puts what is joined in an order of its own
    x = x if isinstance(x, ast.Name) else held(x, "a", cx)
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
                   N=given.get("n") or ast.Constant(1))


def _rolled(given: Arguments, cx: Context) -> ast.expr | None:
    """Axis by axis; without one, all elements in a row."""
    x, by, axis = given["a"], given.get("shift"), given.get("axis")
    rank, parts = cx.fact(x).rank or 0, {"NP": cx.numpy, "X": x}
    if by is None or rank < 2 or cx.fact(x).array is None:
        return None
    if axis is None:
        if not cx.fact(by).is_int:
            return None
        parts["X"] = x if isinstance(x, ast.Name) else held(x, "a", cx)
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


def _repeated(given: Arguments, cx: Context) -> ast.expr | None:
    """All elements in a row."""
    x, times = given["a"], given.get("repeats")
    known = (cx.fact(x).rank or 0) > 1 and given.get("axis") is None and times is not None
    if not known or times is None or cx.fact(times).rank != 0:
        return None
    return cx.expr("NP.repeat(X.ravel(), K)", NP=cx.numpy, X=x, K=times)


def _blocks(given: Arguments, cx: Context) -> ast.expr | None:
    """Of matrices in C order: rows of blocks, one above the other."""
    match given["arrays"]:
        case ast.List(elts=[_, *_] as rows) if all(
            isinstance(r, ast.List) and r.elts and all(
                cx.fact(e).rank == 2 and cx.fact(e).order == "C" for e in r.elts) for r in rows
        ):
            beside = [cx.expr("NP.concatenate(P, axis=1)", NP=cx.numpy, P=r) for r in rows]
            parts = ast.Tuple(beside, ast.Load())
            return cx.expr("NP.concatenate(P, axis=0)", NP=cx.numpy, P=parts)
    return None


def _trapezoid(given: Arguments, cx: Context) -> ast.expr | None:
    """A sum of what is between neighbours along an axis."""
    y, x, step = given["y"], given.get("x"), given.given.get("dx", ast.Constant(1.0))
    rank, axis = cx.fact(y).rank or 0, integer_constant(given.given.get("axis"), -1)
    if axis is None or not -rank <= axis < rank or not cx.fact(y).array:
        return None
    known = cx.fact(step).rank == 0 if x is None else (
        cx.fact(x).array is not None and cx.fact(x).rank in (1, rank))
    if not known:
        return None
    y, at = y if isinstance(y, ast.Name) else held(y, "a", cx), axis % rank
    low, high = (_along(at, rank, part) for part in (":-1", "1:"))
    parts = {"NP": cx.numpy, "Y": y, "D": step, "K": ast.Constant(at)}
    if x is not None and cx.fact(x).rank == rank:
        parts["D"] = cx.expr("NP.diff(X, axis=K)", X=x, **parts)
    elif x is not None:
        apart = held(cx.expr("NP.diff(X)", X=x, **parts), "d", cx)
        places = ", ".join(":" if k == at else "None" for k in range(rank))
        parts["D"] = cx.expr(f"D[{places}]", D=apart)
    return cx.expr(f"NP.sum(D * (Y[{high}] + Y[{low}]) / 2.0, axis=K)", **parts)


def _along(axis: int, rank: int, part: str) -> str:
    return ", ".join(part if k == axis else ":" for k in range(rank))


def _weighted(given: Arguments, cx: Context) -> ast.expr | None:
    """With a weight for each place along an axis."""
    a, weights, axis = given["a"], given.get("weights"), integer_constant(given.get("axis"), None)
    rank = cx.fact(a).rank or 0
    if weights is None or axis is None or not -rank <= axis < rank or rank < 2 or (
            cx.fact(weights).rank != 1 or not given.only("a", "axis", "weights")):
        return None
    a, weights = (e if isinstance(e, ast.Name) else held(e, "w", cx) for e in (a, weights))
    places = _along(axis % rank, rank, "_").replace(":", "None").replace("_", ":")
    by = cx.expr(f"NP.multiply(A, W[{places}])", NP=cx.numpy, A=a, W=weights)
    made, of = cx.fact(by).array, [cx.fact(e).array for e in (a, weights)]
    if made is None or made.dtype not in ("f32", "f64") or not all(
            t and (t.dtype == made.dtype or made.dtype == "f64") for t in of):
        return None
    total = held(cx.expr("NP.sum(W, dtype=T)", NP=cx.numpy, W=weights, T=dtype(made.dtype, cx)),
                 "total", cx)
    new = cx.expr("NP.sum(E, axis=K) / TOTAL", NP=cx.numpy, E=by, K=ast.Constant(axis % rank),
                  TOTAL=total)
    unlike = cx.expr("A.shape[K] != W.shape[0]", A=a, K=ast.Constant(axis % rank), W=weights)
    return checked([unlike, cx.expr("TOTAL == 0", TOTAL=total)], new, cx)


def _kept(given: Arguments, cx: Context) -> ast.expr | None:
    """A place along an axis, which is kept."""
    rank = cx.fact(given["a"]).rank or 0
    axis = integer_constant(given.get("axis"), 0 if rank == 1 else None)
    known = flag(given.get("keepdims"), False) and given.only("a", "axis", "keepdims")
    if not known or axis is None or not -rank <= axis < rank:
        return None
    parts = {"NP": cx.numpy, "A": given["a"], "K": ast.Constant(axis)}
    places = held(cx.expr(f"NP.{given.name}(A, axis=K)", **parts), "at", cx)
    if rank == 1:
        return cx.expr("NP.array([A])", NP=cx.numpy, A=places)
    return cx.expr(f"A[{_along(axis % rank, rank, 'None')}]", A=places)


_FEW = 8
"""Quantiles of one call."""


def _each_quantile(given: Arguments, cx: Context) -> ast.expr | None:
    """Of several, one after the other: of arrays so short that there is a loop over them. Of long
    ones NumPy sorts once.
    """
    if not cx.depth:
        return None
    of, q = cx.fact(given["a"]).array, given.get("q")
    if of is None or of.dtype in ("f16", "f32", *PARTS) or not given.only("a", "q"):
        return None
    if isinstance(q, ast.Call) and cx.is_numpy(q.func, "array") and not q.keywords:
        q = q.args[0]
    if not isinstance(q, (ast.List, ast.Tuple)) or not 0 < len(q.elts) <= _FEW:
        return None
    x = given["a"] if isinstance(given["a"], ast.Name) else held(given["a"], "a", cx)
    text = f"NP.{given.name}(X, Q)"
    each = [cx.expr(text, NP=cx.numpy, X=x, Q=e) for e in q.elts]
    return cx.expr("NP.array(E)", NP=cx.numpy, E=ast.List(each, ast.Load()))


REJOINED: dict[str, tuple[str, Way]] = {
    "argmax": ("a axis out keepdims", _kept),
    "argmin": ("a axis out keepdims", _kept),
    "average": ("a axis weights returned keepdims", _weighted),
    "block": ("arrays", _blocks),
    "delete": ("arr obj axis", _deleted),
    "diff": ("a n axis prepend append", _differences),
    "insert": ("arr obj values axis", _inserted),
    "repeat": ("a repeats axis", _repeated),
    "roll": ("a shift axis", _rolled),
    "trapezoid": ("y x dx axis", _trapezoid),
    **{f"{nan}{name}": ("a q axis", _each_quantile)
       for nan in ("", "nan") for name in ("percentile", "quantile")},
}
