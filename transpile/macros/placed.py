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
from .views import View, scalar, unique, view

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
    if axis is None or text is None or not known or at is None or given.get("out") is not None:
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


def _taken_beside(given: Arguments, cx: Context, of: View | None) -> View | None:
    """Along an axis by places that differ from row to row."""
    fact, at = cx.fact(given["a"]), given.get("indices")
    axis = along(given, cx) if given.get("axis") is not None else None
    known = at is not None and cx.fact(at).array and cx.fact(at).rank == fact.rank and all(
        ELEMENTS[t.dtype].kind == "i" for t in cx.fact(at).types)
    if axis is None or not known or at is None or fact.rank not in (1, 2):
        return None
    if of is None:
        return NOTHING
    places = view(at, cx)
    if places is None or places.order != "C":
        return None
    others = [k for k in range(len(of.shape)) if k != axis]
    checks = [cx.expr("N != M", N=of.shape[k], M=places.shape[k]) for k in others]

    def element(index: Sequence[ast.expr]) -> ast.expr:
        return of.at([*index[:axis], places.at(index), *index[axis + 1 :]])

    return View(places.shape, element, (*of.checks, *places.checks, *checks))


_MODES: dict[object, str] = {
    "raise": "K", "clip": "min(max(int(K), 0), N - 1)", "wrap": "int(K) % N",
}


_SIDES = {
    "edge": ("min(max(I, 0), N - 1)", "N < 1"),
    "reflect": ("min(max(N - 1 - abs(N - 1 - abs(I)), 0), N - 1)", "N <= W"),
    "symmetric": ("min(max(-1 - I if I < 0 else I if I < N else 2 * N - 1 - I, 0), N - 1)",
                  "N < W"),
    "wrap": ("I % N", "N < W"),
}
"""In which place the element is that stands at I, and when it is for NumPy to say, with at most W
more elements on a side.
"""


def _padded(given: Arguments, cx: Context, of: View | None) -> View | None:
    """Around there is a constant, or elements of the array."""
    fact, mode = cx.fact(given["a"]).array, given.get("mode") or ast.Constant("constant")
    value = given.get("constant_values") or ast.Constant(0)
    widths = _widths(given.get("pad_width"), cx.fact(given["a"]).rank or 0, cx)
    kind = mode.value if isinstance(mode, ast.Constant) else ""
    if fact is None or widths is None or kind not in ("constant", *_SIDES) or (
            cx.fact(given["a"]).order != "C"):
        return None
    if kind == "constant" and not may_start(value, fact.dtype, cx):
        return None
    if kind != "constant" and "constant_values" in given.given:
        return None
    if of is None:
        return NOTHING
    matrix = of
    widths = [tuple(scalar(w, cx).at(()) for w in pair) for pair in widths]
    padded = [any(integer_constant(w, None) != 0 for w in pair) for pair in widths]
    outer = cx.expr("T(V)", T=dtype(fact.dtype, cx), V=value)

    def at(index: Sequence[ast.expr]) -> ast.expr:
        own = [minus(i, low, cx) for i, (low, _) in zip(index, widths, strict=True)]
        if kind in _SIDES:
            text = _SIDES[str(kind)][0]
            return matrix.at([cx.expr(text, I=i, N=n) if more else i
                              for i, n, more in zip(own, matrix.shape, padded, strict=True)])
        tests = [cx.expr("0 <= I and I < N", I=i, N=n)
                 for i, n, more in zip(own, matrix.shape, padded, strict=True) if more]
        if not tests:
            return matrix.at(own)
        test = ast.BoolOp(ast.And(), tests) if len(tests) > 1 else tests[0]
        return cx.expr("E if TEST else V", E=matrix.at(own), TEST=test, V=outer)

    shape = [plus(n, plus(low, high, cx), cx)
             for n, (low, high) in zip(of.shape, widths, strict=True)]
    return View(tuple(shape), at, (*of.checks, *_unpadded(str(kind), of.shape, widths, cx)))


def _unpadded(
    kind: str, shape: Sequence[ast.expr], widths: Sequence[tuple[ast.expr, ...]], cx: Context
) -> list[ast.expr]:
    """When NumPy has to say what is around: it refuses some widths, and goes round more often."""
    checks = []
    for n, pair in zip(shape, widths, strict=True):
        checks += [cx.expr("W < 0", W=w) for w in pair if integer_constant(w, None) is None]
        if kind in _SIDES:
            checks += [cx.expr(_SIDES[kind][1], N=n, W=w) for w in pair]
    return unique(checks)


def _widths(
    e: ast.expr | None, rank: int, cx: Context
) -> list[tuple[ast.expr, ...]] | None:
    """How many elements there are to be before and after, axis by axis."""
    parts = e.elts if isinstance(e, (ast.Tuple, ast.List)) else []
    if len(parts) == rank and all(isinstance(p, (ast.Tuple, ast.List)) for p in parts):
        found = [w for p in parts for w in _widths(p, 1, cx) or []]
        return found if len(found) == rank else None
    several = parts if len(parts) == 2 else [e, e]
    known = [p for p in several if p is not None and cx.fact(p).is_int]
    if len(known) < 2 or any((integer_constant(p, None) or 0) < 0 for p in known):
        return None
    return [tuple(known)] * rank


PLACED: dict[str, tuple[str, Way]] = {
    "pad": ("a pad_width mode constant_values", _padded),
    "take_along_axis": ("a indices axis", _taken_beside),
    "take": ("a indices axis out mode", _taken),
}
