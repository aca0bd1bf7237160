"""Histograms: ``np.bincount`` and ``np.histogram`` as one loop that counts elements.

Rules of the columns ``loops`` and ``pair`` of `function_table`, applied by `function_loops`. The
bin of an element is the element itself (bincount), computed from its distance to the first edge
(equal widths), or searched among the edges (`searchsorted.Search`).
"""
from __future__ import annotations

import ast
from collections.abc import Sequence

from ...frontend.ast_walk import integer_constant
from ...frontend.macros.bind_operands import bind_fresh, bind_operand
from ...frontend.macros.macro_context import Context, Part
from ...frontend.macros.replay_guards import guarded
from ...types.int_limits import EXACT_F64
from ...types.value_types import ELEMENTS
from ..array_nests import dtype_expr, loop_nest
from ..array_views import length_mismatches, view_of
from ..call_arguments import BoundArguments, constant_flag
from .searchsorted import search_for

__all__ = ["bincount_rule", "histogram_rule"]

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
    """``np.bincount(x, weights, minlength)`` → a loop that finds the greatest element, and one that
    counts. The call is replayed for a negative element, where the greatest one is beyond a
    `minlength` other than 0, and, with weights, for an empty `x` or another number of weights. None
    where `x` is not surely a vector of ints or bools (uint64 excepted), or `weights`, if given, not
    surely one of real numbers.
    """
    ty, weights = cx.fact(bound["x"]).array, bound.get("weights")
    length = bound.arguments.get("minlength", ast.Constant(0))
    if ty is None or ty.rank != 1 or not _has_kind(ty.dtype, "biu") or ty.dtype == "u64":
        return None
    if not cx.fact(length).is_int:
        return None
    parts: dict[str, Part] = {n.upper(): cx.fresh(n) for n in ("i", "most", "least")}
    parts |= {"K": bind_operand(bound["x"], cx), "NAME": name, "NP": cx.numpy}
    parts["LENGTH"] = length if isinstance(length, ast.Constant) else bind_operand(length, cx)
    checks = ["LEAST < 0", "MOST >= LENGTH"]
    if integer_constant(length, None) == 0:
        parts["LENGTH"] = cx.fresh("length")
        checks = ["LEAST < 0"]
    if weights is not None:
        weights_type = cx.fact(weights).array
        if weights_type is None or weights_type.rank != 1:
            return None
        if not _has_kind(weights_type.dtype, "biuf"):
            return None
        parts["W"] = bind_operand(weights, cx)
        checks += ["K.shape[0] < 1", "K.shape[0] != W.shape[0]"]
    (original,) = cx.code("NAME = E", NAME=name, E=node)
    lines = cx.code(_COUNT_LOOP if weights is None else _WEIGHTED_COUNT_LOOP, **parts)
    tests = [cx.expr(text, **parts) for text in checks]
    extremes = _EXTREMES_LOOP + ("" if "MOST >= LENGTH" in checks else "    LENGTH = MOST + 1\n")
    return [*cx.code(extremes, **parts), *guarded(tests, original, lines, cx)]


_UNIFORM_BIN_LOOP = """
    X = NP.float64(E)
    if FIRST <= X and X <= LAST:
        J = min(max(int((X - FIRST) / WIDTH * N), 0), N - 1)
        if X < B[J] or X >= B[J + 1]:
            J = max(J - 1, 0) if X < B[J] else min(J + 1, N - 1)
        H[J] += BY
"""
"""As NumPy does it: the bin is computed from the distance to the first edge, and corrected by one
where rounding made it wrong. That is rare, so that a branch is cheaper than a select.
"""

def histogram_rule(
    bound: BoundArguments, names: Sequence[str], node: ast.Call, cx: Context
) -> list[ast.stmt] | None:
    """``np.histogram(x, bins, range)`` of float64 or ints in bins of equal width → a loop that
    counts; the last bin includes both of its edges. Where `bins` are edges: `_histogram_of_edges`.
    None for other dtypes, and for weights of another dtype than float64 or another rank than `x`.
    The call is replayed where a condition of `_spread_edges` holds, or the lengths of the weights
    differ.
    """
    ty, bins = cx.fact(bound["a"]).array, bound.arguments.get("bins", ast.Constant(10))
    if cx.fact(bins).rank == 1 or isinstance(bins, (ast.List, ast.Tuple)):
        return _histogram_of_edges(bound, names, node, cx)
    density, weights = constant_flag(bound.get("density"), False), bound.get("weights")
    weights_type = cx.fact(weights).array if weights is not None else None
    valid = ty is not None and (ty.dtype == "f64" or _has_kind(ty.dtype, "iu"))
    if not valid or ty is None or density is None or not cx.fact(bins).is_int:
        return None
    expected = ("f64", ty.rank)
    if weights is not None and (
        weights_type is None or (weights_type.dtype, weights_type.rank) != expected
    ):
        return None
    a = bind_operand(bound["a"], cx)
    range_ends = _range_of(bound, a, cx)
    x, increments = view_of(a, cx), view_of(weights or ast.Constant(1), cx)
    if range_ends is None or x is None or increments is None:
        return None
    parts: dict[str, Part] = {n.upper(): cx.fresh(n) for n in ("x", "j")}
    parts |= {"NP": cx.numpy, "H": cx.fresh("h") if density else names[0]}
    parts["N"] = bins if isinstance(bins, ast.Constant) else bind_operand(bins, cx)
    tests = [*x.checks, *increments.checks, *length_mismatches(x.shape, increments.shape, cx)]
    tests += _spread_edges(range_ends, ty.dtype, parts, cx)

    def body(at: Sequence[ast.expr]) -> list[ast.stmt]:
        increment = increments.at(at[: len(increments.shape)])
        return cx.code(_UNIFORM_BIN_LOOP, E=x.at(at), BY=increment, **parts)

    result = "NAME = NP.divide(NP.divide(H, NP.diff(B)), NP.sum(H))\n" if density else ""
    lines = cx.code(
        f"H = NP.zeros(N, T)\nEACH\n{result}OTHER = B",
        NAME=names[0],
        OTHER=names[1],
        T=dtype_expr("i64" if weights_type is None else "f64", cx),
        EACH=loop_nest(x.shape, body, cx),
        **parts,
    )
    (original,) = cx.code("NAME, OTHER = E", NAME=names[0], OTHER=names[1], E=node)
    return guarded(tests, original, lines, cx)


def _histogram_of_edges(
    bound: BoundArguments, names: Sequence[str], node: ast.Call, cx: Context
) -> list[ast.stmt] | None:
    """``np.histogram(a, edges)`` → a search for each element; the last bin includes both of its
    edges. None with a range or weights, and for bools, of which NumPy warns. The call is replayed
    for fewer than two edges, and for edges that are not ascending.
    """
    density, edges = constant_flag(bound.get("density"), False), bound["bins"]
    if not cx.fact(edges).array:
        edges = cx.expr("NP.array(E)", NP=cx.numpy, E=edges)
    edges = bind_operand(edges, cx)
    search = search_for(edges, bound["a"], True, cx)
    ty = cx.fact(bound["a"]).array
    if density is None or search is None or ty is None or not _has_kind(ty.dtype, "iuf") or (
            not bound.only("a", "bins", "density")):
        return None
    h = cx.fresh("h") if density else names[0]
    parts: dict[str, Part] = {"H": h, "NAME": names[0], "OTHER": names[1]}

    def body(at: Sequence[ast.expr]) -> list[ast.stmt]:
        key = search.keys.at(at)
        return search.code(_SEARCHED_BIN_LOOP, V=key, FAST=search.in_order(), **parts)

    result = "NAME = NP.divide(NP.divide(H, NP.diff(A)), NP.sum(H))\n" if density else ""
    lines = search.code(f"H = NP.zeros(N - 1, NP.int64)\nLO = 0\nEACH\n{result}OTHER = A",
                       EACH=loop_nest(search.keys.shape, body, cx), **parts)
    (original,) = cx.code("NAME, OTHER = E", E=node, **parts)
    checks = ["A.shape[0] < 2", "not NP.all(A[:-1] <= A[1:])"]
    tests = [cx.expr(text, A=edges, NP=cx.numpy) for text in checks]
    return guarded([*search.keys.checks, *tests], original, lines, cx)


_SEARCHED_BIN_LOOP = """
    KEY = T(V)
    FAST
    if HI == N and KEY <= A[N - 1]:
        HI = N - 1
    if 0 < HI and HI < N:
        H[HI - 1] += 1
"""


def _spread_edges(
    range_ends: Sequence[ast.expr], dtype: str, parts: dict[str, Part], cx: Context
) -> list[ast.expr]:
    """Adds to `parts` the holes FIRST, LAST, WIDTH and B, the edges of N bins over the range.
    Returns the conditions under which NumPy raises or bins in another way: ends that are not finite
    or in the wrong order, ints beyond `EXACT_F64`, edges that are not ascending after
    rounding.
    """
    for hole, e in zip(("LOW", "HIGH"), range_ends, strict=True):
        parts[hole] = bind_fresh(cx.expr("NP.float64(E)", E=e, NP=cx.numpy), "end", cx)
    checks = ["not NP.isfinite(LOW)", "not NP.isfinite(HIGH)", "LOW > HIGH"]
    if dtype in ("i64", "u64"):
        checks += [f"LOW < {float(EXACT_F64[0])}", f"HIGH > {float(EXACT_F64[1])}"]
    tests = [cx.expr(text, **parts) for text in checks]
    for hole, text in (("FIRST", "LOW - 0.5 if LOW == HIGH else LOW"),
                       ("LAST", "HIGH + 0.5 if LOW == HIGH else HIGH"),
                       ("WIDTH", "LAST - FIRST"), ("B", "NP.linspace(FIRST, LAST, N + 1)")):
        parts[hole] = bind_fresh(cx.expr(text, **parts), hole.lower(), cx)
    return [*tests, bind_fresh(cx.expr("NP.any(B[:-1] >= B[1:])", **parts), "mixed", cx)]


def _range_of(bound: BoundArguments, a: ast.expr, cx: Context) -> list[ast.expr] | None:
    """The two ends of the argument ``range``, by default the minimum and maximum of `a`; None where
    it is no display of two scalar numbers.
    """
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
    """Whether `dtype` is of one of the NumPy kinds in `kinds`, such as "iu"."""
    return ELEMENTS[dtype].kind in kinds
