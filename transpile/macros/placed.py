"""Elements of an array by place, in a new one: ``np.take``, and ``np.pad`` with some around."""
from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

from ..types import ELEMENTS
from .arguments import Arguments
from .context import Context
from .integers import integer_constant, minus, plus
from .nests import dtype
from .starts import may_start
from .views import View, view

__all__ = ["NOTHING", "PLACED", "Way", "along"]

Way = Callable[[Arguments, Context, "View | None"], "View | None"]
"""The view; of no view whether there is one: `NOTHING`, or None."""

NOTHING = View((), lambda at: at[0])


def along(given: Arguments, cx: Context) -> int | None:
    """Along which axis elements move: of a vector the only one."""
    rank = cx.fact(given["a"]).rank or 0
    axis = integer_constant(given.get("axis"), 0 if rank == 1 else None)
    return axis % rank if axis is not None and -rank <= axis < rank else None


def _taken(given: Arguments, cx: Context, of: View | None) -> View | None:
    """By places along an axis; in some modes they may be any, and come into it."""
    axis, at, mode = along(given, cx), given.get("indices"), given.get("mode")
    text = _MODES.get(mode.value) if isinstance(mode, ast.Constant) else (
        None if mode is not None else "K")
    known = at is not None and cx.fact(at).array and all(
        ELEMENTS[t.dtype].kind in "iu" for t in cx.fact(at).types)
    if axis is None or text is None or not known or at is None:
        return None
    if of is None:
        return NOTHING
    places = view(at, cx)
    if places is None:
        return None
    many, n = len(places.shape), of.shape[axis]

    def element(index: Sequence[ast.expr]) -> ast.expr:
        k = cx.expr(text, K=places.at(index[axis : axis + many]), N=n)
        return of.at([*index[:axis], k, *index[axis + many :]])

    shape = (*of.shape[:axis], *places.shape, *of.shape[axis + 1 :])
    return View(shape, element, (*of.checks, *places.checks))


_MODES: dict[object, str] = {
    "raise": "K", "clip": "min(max(int(K), 0), N - 1)", "wrap": "int(K) % N",
}


_SIDES = {"edge": "min(max(I, 0), N - 1)", "constant": "I"}


def _padded(given: Arguments, cx: Context, of: View | None) -> View | None:
    """Around there is a constant, or the nearest elements, of which there must be one."""
    fact, mode = cx.fact(given["a"]).array, given.get("mode") or ast.Constant("constant")
    value = given.get("constant_values") or ast.Constant(0)
    widths = _widths(given.get("pad_width"), cx.fact(given["a"]).rank or 0)
    kind = mode.value if isinstance(mode, ast.Constant) else ""
    if fact is None or widths is None or kind not in _SIDES or cx.fact(given["a"]).order != "C":
        return None
    if (kind == "edge" and "constant_values" in given.given) or not may_start(
            value, fact.dtype, cx):
        return None
    if of is None:
        return NOTHING
    matrix, constant = of, kind == "constant"
    outer = cx.expr("T(V)", T=dtype(fact.dtype, cx), V=value)

    def at(index: Sequence[ast.expr]) -> ast.expr:
        own = [minus(i, ast.Constant(low), cx) for i, (low, _) in zip(index, widths, strict=True)]
        tests = [cx.expr("0 <= I and I < N", I=i, N=n)
                 for i, n, w in zip(own, matrix.shape, widths, strict=True) if any(w)]
        if constant and tests:
            test = ast.BoolOp(ast.And(), tests) if len(tests) > 1 else tests[0]
            return cx.expr("E if TEST else V", E=matrix.at(own), TEST=test, V=outer)
        return matrix.at([cx.expr("min(max(I, 0), N - 1)", I=i, N=n) if any(w) else i
                          for i, n, w in zip(own, matrix.shape, widths, strict=True)])

    shape = [plus(n, ast.Constant(sum(w)), cx) for n, w in zip(of.shape, widths, strict=True)]
    few = [] if constant else [cx.expr("N < 1", N=n) for n in of.shape]
    return View(tuple(shape), at, (*of.checks, *few))


def _widths(e: ast.expr | None, rank: int) -> list[tuple[int, int]] | None:
    """How many elements there are to be before and after, axis by axis."""
    parts = e.elts if isinstance(e, (ast.Tuple, ast.List)) else []
    if len(parts) == rank and all(isinstance(p, (ast.Tuple, ast.List)) for p in parts):
        found = [w for p in parts for w in _widths(p, 1) or []]
        return found if len(found) == rank else None
    several = parts if len(parts) == 2 else [e, e]
    low, high = (integer_constant(p, None) if p is not None else None for p in several)
    if low is None or high is None or low < 0 or high < 0:
        return None
    return [(low, high)] * rank


PLACED: dict[str, tuple[str, Way]] = {
    "pad": ("a pad_width mode constant_values", _padded),
    "take": ("a indices axis out mode", _taken),
}
