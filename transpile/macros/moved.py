"""Elements in other places, in a new array: ``np.roll``, ``tile``, ``repeat``, ``triu``."""
from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

from .arguments import Arguments, arguments
from .context import Context
from .integers import integer_constant, minus, plus
from .nests import dtype
from .placed import NOTHING, PLACED, Way, along
from .views import View, is_one, scalar, view

__all__ = ["SIGNATURES", "is_moved", "moved"]


def is_moved(e: ast.expr, cx: Context) -> bool:
    """Whether `moved` may know the elements of `e`."""
    given = arguments(e, cx, SIGNATURES)
    return given is not None and cx.fact(given["a"]).array is not None and (
        _WAYS[given.name][1](given, cx, None) is not None)


def moved(e: ast.expr, cx: Context) -> View | None:
    """`e` by the elements of another array; None where it is none of these."""
    if not is_moved(e, cx):
        return None
    given = arguments(e, cx, SIGNATURES)
    of = view(given["a"], cx) if given else None
    if given is None or of is None:
        return None
    return _WAYS[given.name][1](given, cx, of)


def _with(
    of: View, axis: int, length: ast.expr, place: Callable[[ast.expr], ast.expr], order: str = "C"
) -> View:
    """`of` with another length of an axis, and its elements from other places."""
    shape = (*of.shape[:axis], length, *of.shape[axis + 1 :])

    def at(index: Sequence[ast.expr]) -> ast.expr:
        return of.at([*index[:axis], place(index[axis]), *index[axis + 1 :]])

    return View(shape, at, of.checks, order)


def _rolled(given: Arguments, cx: Context, of: View | None) -> View | None:
    axis, by = along(given, cx), given.get("shift")
    if axis is None or by is None or not cx.fact(by).is_int:
        return None
    if of is None:
        return NOTHING
    n, k = of.shape[axis], scalar(by, cx).at(())
    return _with(of, axis, n, lambda i: cx.expr("(I + -K % N) % N", I=i, K=k, N=n), of.order)


def _repeated(given: Arguments, cx: Context, of: View | None) -> View | None:
    axis, times = along(given, cx), integer_constant(given.get("repeats"), None)
    if axis is None or times is None or times < 1:
        return None
    if of is None:
        return NOTHING
    n, k = of.shape[axis], ast.Constant(times)
    length = cx.expr("N * K", N=n, K=k)
    return _with(of, axis, length, lambda i: i if is_one(k) else cx.expr("I // K", I=i, K=k))


def _tiled(given: Arguments, cx: Context, of: View | None) -> View | None:
    """As often along each axis as is said; more axes come first."""
    reps = given.get("reps")
    several = reps.elts if isinstance(reps, (ast.Tuple, ast.List)) else [reps]
    rank = cx.fact(given["a"]).rank or 0
    if not all(r is not None and cx.fact(r).is_int for r in several):
        return None
    if of is None:
        return NOTHING
    times = [ast.Constant(1)] * (rank - len(several)) + [
        scalar(r, cx).at(()) for r in several if r is not None]
    more = len(times) - rank
    own = (ast.Constant(1),) * more + of.shape
    shape = tuple(
        n if is_one(k) else cx.expr("max(K, 0)", K=k) if is_one(n) else
        cx.expr("N * max(K, 0)", N=n, K=k) for n, k in zip(own, times, strict=True)
    )

    def at(index: Sequence[ast.expr]) -> ast.expr:
        places = zip(index[more:], of.shape, times[more:], strict=True)
        return of.at([i if is_one(k) else ast.Constant(0) if is_one(n) else
                      cx.expr("I % N", I=i, N=n) for i, n, k in places])

    return View(shape, at, of.checks)


def _triangle(below: bool) -> Way:
    """One side of a diagonal; zeros on the other. A vector is each row."""

    def way(given: Arguments, cx: Context, of: View | None) -> View | None:
        fact = cx.fact(given["a"])
        k = given.get("k") or ast.Constant(0)
        if fact.rank not in (1, 2) or fact.array is None or not cx.fact(k).is_int:
            return None
        if of is None:
            return NOTHING
        zero = cx.expr("T(Z)", T=dtype(fact.array.dtype, cx),
                       Z=ast.Constant(False if fact.array.dtype == "bool" else 0))
        by, matrix = scalar(k, cx).at(()), of
        text = "E if J <= D else ZERO" if below else "E if J >= D else ZERO"

        def at(index: Sequence[ast.expr]) -> ast.expr:
            i, j = index
            d = minus(i, ast.Constant(0), cx) if integer_constant(by) == 0 else plus(i, by, cx)
            return cx.expr(text, E=matrix.at(index[-len(matrix.shape):]), J=j, D=d, ZERO=zero)

        return View((of.shape[0], of.shape[-1]), at, of.checks, "C" if of.order == "C" else "?")

    return way


_WAYS: dict[str, tuple[str, Way]] = {
    **PLACED,
    "repeat": ("a repeats axis", _repeated),
    "roll": ("a shift axis", _rolled),
    "tile": ("a reps", _tiled),
    "tril": ("a k", _triangle(below=True)),
    "triu": ("a k", _triangle(below=False)),
}
"""By the function: its arguments, and the view; of no view whether there is one."""

SIGNATURES = {name: names for name, (names, _) in _WAYS.items()}
