"""Histograms: ``np.bincount`` and ``np.histogram`` as one loop that counts elements."""
from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

from ...frontend.int_exprs import integer_constant
from ...frontend.macros.macro_context import Context, Part
from ...frontend.macros.replay_guards import bind_fresh, guarded
from ...types.value_types import ELEMENTS
from ..array_nests import dtype_expr, loop_nest
from ..array_views import length_mismatches, view_of
from ..call_arguments import BoundArguments, constant_flag
from .searchsorted import bound_operand, search_for

__all__ = ["PairExpansion", "bincount_rule", "histogram_rule"]

PairExpansion = Callable[
    [BoundArguments, Sequence[str], ast.Call, Context], "list[ast.stmt] | None"
]

_EXTREMES_LOOP = """
    MOST = -1
    LEAST = 0
    for I in range(K.shape[0]):
        MOST = max(MOST, int(K[I]))
        LEAST = min(LEAST, int(K[I]))
"""

_COUNT_LOOP = """
    NAME = NP.zeros(LENGTH, NP.int64)
    for I in range(K.shape[0]):
        NAME[K[I]] += 1
"""

_WEIGHTED_COUNT_LOOP = """
    NAME = NP.zeros(LENGTH, NP.float64)
    for I in range(K.shape[0]):
        NAME[K[I]] += W[I]
"""


def bincount_rule(
    bound: BoundArguments, name: str, node: ast.Call, cx: Context
) -> list[ast.stmt] | None:
    """``np.bincount(x, weights, minlength)`` → a loop that counts into an array as long as the
    greatest element demands, at least ``minlength``. Counts are ints without weights.
    """
    of, weights = cx.fact(bound["x"]).array, bound.get("weights")
    length = bound.arguments.get("minlength", ast.Constant(0))
    if of is None or of.rank != 1 or not _has_kind(of.dtype, "biu") or of.dtype == "u64":
        return None
    if not cx.fact(length).is_int:
        return None
    parts: dict[str, Part] = {n.upper(): cx.fresh(n) for n in ("i", "most", "least")}
    parts |= {"K": bound_operand(bound["x"], cx), "NAME": name, "NP": cx.numpy}
    parts["LENGTH"] = length if isinstance(length, ast.Constant) else bound_operand(length, cx)
    checks = ["LEAST < 0", "MOST >= LENGTH"]
    if integer_constant(length, None) == 0:
        parts["LENGTH"] = cx.fresh("length")
        checks = ["LEAST < 0"]
    if weights is not None:
        own = cx.fact(weights).array
        if own is None or own.rank != 1 or not _has_kind(own.dtype, "biuf"):
            return None
        parts["W"] = bound_operand(weights, cx)
        checks += ["K.shape[0] < 1", "K.shape[0] != W.shape[0]"]
    (original,) = cx.code("NAME = E", NAME=name, E=node)
    lines = cx.code(_COUNT_LOOP if weights is None else _WEIGHTED_COUNT_LOOP, **parts)
    tests = [cx.expr(text, **parts) for text in checks]
    before = _EXTREMES_LOOP + ("" if "MOST >= LENGTH" in checks else "    LENGTH = MOST + 1\n")
    return [*cx.code(before, **parts), *guarded(tests, original, lines, cx)]


_UNIFORM_BIN_LOOP = """
    X = NP.float64(E)
    if FIRST <= X and X <= LAST:
        J = min(max(int((X - FIRST) / WIDTH * N), 0), N - 1)
        if X < B[J] or X >= B[J + 1]:
            J = max(J - 1, 0) if X < B[J] else min(J + 1, N - 1)
        H[J] += BY
"""
"""As NumPy, by how far along it is; as rounded, it may be one bin too far, or one too few, which is
seldom: a branch is cheaper there than what chooses.
"""

_MAX_EXACT_INT = float(1 << 53)


def histogram_rule(
    bound: BoundArguments, names: Sequence[str], node: ast.Call, cx: Context
) -> list[ast.stmt] | None:
    """``np.histogram(x, bins, range)`` of floats or ints in bins of equal width → a loop that
    counts; the last bin includes both of its edges.
    """
    of, bins = cx.fact(bound["a"]).array, bound.arguments.get("bins", ast.Constant(10))
    if cx.fact(bins).rank == 1 or isinstance(bins, (ast.List, ast.Tuple)):
        return _histogram_of_edges(bound, names, node, cx)
    density, weights = constant_flag(bound.get("density"), False), bound.get("weights")
    own = cx.fact(weights).array if weights is not None else None
    known = of is not None and (of.dtype == "f64" or _has_kind(of.dtype, "iu"))
    if not known or of is None or density is None or not cx.fact(bins).is_int:
        return None
    if weights is not None and (own is None or (own.dtype, own.rank) != ("f64", of.rank)):
        return None
    a = bound_operand(bound["a"], cx)
    ends = _range_of(bound, a, cx)
    x, by = view_of(a, cx), view_of(weights or ast.Constant(1), cx)
    if ends is None or x is None or by is None:
        return None
    parts: dict[str, Part] = {n.upper(): cx.fresh(n) for n in ("x", "j")}
    parts |= {"NP": cx.numpy, "H": cx.fresh("h") if density else names[0]}
    parts["N"] = bins if isinstance(bins, ast.Constant) else bound_operand(bins, cx)
    tests = [*x.checks, *by.checks, *length_mismatches(x.shape, by.shape, cx)]
    tests += _spread_edges(ends, of.dtype, parts, cx)

    def body(at: Sequence[ast.expr]) -> list[ast.stmt]:
        return cx.code(_UNIFORM_BIN_LOOP, E=x.at(at), BY=by.at(at[: len(by.shape)]), **parts)

    result = "NAME = NP.divide(NP.divide(H, NP.diff(B)), NP.sum(H))\n" if density else ""
    lines = cx.code(
        f"H = NP.zeros(N, T)\nEACH\n{result}OTHER = B",
        NAME=names[0],
        OTHER=names[1],
        T=dtype_expr("i64" if own is None else "f64", cx),
        EACH=loop_nest(x.shape, body, cx),
        **parts,
    )
    (original,) = cx.code("NAME, OTHER = E", NAME=names[0], OTHER=names[1], E=node)
    return guarded(tests, original, lines, cx)


def _histogram_of_edges(
    bound: BoundArguments, names: Sequence[str], node: ast.Call, cx: Context
) -> list[ast.stmt] | None:
    """In bins between edges that are given, the last one with both its ends; not of bools, which
    NumPy warns of.
    """
    density, edges = constant_flag(bound.get("density"), False), bound["bins"]
    if not cx.fact(edges).array:
        edges = cx.expr("NP.array(E)", NP=cx.numpy, E=edges)
    edges = bound_operand(edges, cx)
    found = search_for(edges, bound["a"], True, cx)
    of = cx.fact(bound["a"]).array
    if density is None or found is None or of is None or not _has_kind(of.dtype, "iuf") or (
            not bound.only("a", "bins", "density")):
        return None
    h = cx.fresh("h") if density else names[0]
    parts: dict[str, Part] = {"H": h, "NAME": names[0], "OTHER": names[1]}

    def body(at: Sequence[ast.expr]) -> list[ast.stmt]:
        return found.code(_SEARCHED_BIN_LOOP, V=found.keys.at(at), FAST=found.in_order(), **parts)

    result = "NAME = NP.divide(NP.divide(H, NP.diff(A)), NP.sum(H))\n" if density else ""
    lines = found.code(f"H = NP.zeros(N - 1, NP.int64)\nLO = 0\nEACH\n{result}OTHER = A",
                       EACH=loop_nest(found.keys.shape, body, cx), **parts)
    (original,) = cx.code("NAME, OTHER = E", E=node, **parts)
    checks = ["A.shape[0] < 2", "not NP.all(A[:-1] <= A[1:])"]
    tests = [cx.expr(text, A=edges, NP=cx.numpy) for text in checks]
    return guarded([*found.keys.checks, *tests], original, lines, cx)


_SEARCHED_BIN_LOOP = """
    KEY = T(V)
    FAST
    if HI == N and KEY <= A[N - 1]:
        HI = N - 1
    if 0 < HI and HI < N:
        H[HI - 1] += 1
"""


def _spread_edges(
    ends: Sequence[ast.expr], of: str, parts: dict[str, Part], cx: Context
) -> list[ast.expr]:
    """Adds to `parts` the edges B between `ends`; gives what makes them NumPy's to tell."""
    for hole, e in zip(("LOW", "HIGH"), ends, strict=True):
        parts[hole] = bind_fresh(cx.expr("NP.float64(E)", E=e, NP=cx.numpy), "end", cx)
    checks = ["not NP.isfinite(LOW)", "not NP.isfinite(HIGH)", "LOW > HIGH"]
    if of in ("i64", "u64"):
        checks += [f"LOW < -{_MAX_EXACT_INT}", f"HIGH > {_MAX_EXACT_INT}"]
    tests = [cx.expr(text, **parts) for text in checks]
    for hole, text in (("FIRST", "LOW - 0.5 if LOW == HIGH else LOW"),
                       ("LAST", "HIGH + 0.5 if LOW == HIGH else HIGH"),
                       ("WIDTH", "LAST - FIRST"), ("B", "NP.linspace(FIRST, LAST, N + 1)")):
        parts[hole] = bind_fresh(cx.expr(text, **parts), hole.lower(), cx)
    return [*tests, bind_fresh(cx.expr("NP.any(B[:-1] >= B[1:])", **parts), "mixed", cx)]


def _range_of(bound: BoundArguments, a: ast.expr, cx: Context) -> list[ast.expr] | None:
    """The least and the greatest of what is counted."""
    match bound.get("range"):
        case None:
            parts = {"NP": cx.numpy, "A": a}
            return [cx.expr("NP.min(A)", **parts), cx.expr("NP.max(A)", **parts)]
        case ast.Tuple(elts=[low, high]) | ast.List(elts=[low, high]) if all(
            cx.fact(e).rank == 0 and all(_has_kind(t.dtype, "iuf") for t in cx.fact(e).types)
            for e in (low, high)
        ):
            return [low, high]
    return None


def _has_kind(dtype: str, kinds: str) -> bool:
    return ELEMENTS[dtype].kind in kinds
