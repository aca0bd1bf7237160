"""Data movement: roll, tile, repeat, triu, take and pad as index functions of another array."""
from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

from ...frontend.int_exprs import integer_constant
from ...frontend.macros.macro_context import Context, add_ints, subtract_ints
from ...frontend.macros.replay_guards import unique_nodes
from ...types.value_types import ELEMENTS
from ..array_nests import dtype_expr
from ..array_views import View, is_unit_length, scalar_view, view_of
from ..call_arguments import BoundArguments, bind_arguments, representable_constant
from ..function_table import expansion_rule, signatures

__all__ = [
    "NO_VIEW", "MovementRule", "movement_axis", "is_data_movement", "movement_view", "take_rule",
    "take_along_axis_rule", "pad_rule", "roll_rule", "repeat_rule", "tile_rule", "tril_rule",
    "triu_rule",
]

MovementRule = Callable[[BoundArguments, Context, "View | None"], "View | None"]
"""The view; of no view whether there is one: `NO_VIEW`, or None."""

NO_VIEW = View((), lambda at: at[0])


def movement_axis(given: BoundArguments, cx: Context) -> int | None:
    """Along which axis elements move: of a vector the only one."""
    rank = cx.fact(given["a"]).rank or 0
    axis = integer_constant(given.get("axis"), 0 if rank == 1 else None)
    return axis % rank if axis is not None and -rank <= axis < rank else None


def take_rule(given: BoundArguments, cx: Context, of: View | None) -> View | None:
    """By places along an axis; in some modes they may be any, and come into it."""
    axis, at, mode = movement_axis(given, cx), given.get("indices"), given.get("mode")
    text = _TAKE_MODES.get(mode.value) if isinstance(mode, ast.Constant) else (
        None if mode is not None else "K")
    known = at is not None and cx.fact(at).array and all(
        ELEMENTS[t.dtype].kind in "iu" for t in cx.fact(at).types)
    if axis is None or text is None or not known or at is None or given.get("out") is not None:
        return None
    if of is None:
        return NO_VIEW
    places = view_of(at, cx)
    if places is None:
        return None
    many, n = len(places.shape), of.shape[axis]

    def element(index: Sequence[ast.expr]) -> ast.expr:
        k = cx.expr(text, K=places.at(index[axis : axis + many]), N=n)
        return of.at([*index[:axis], k, *index[axis + many :]])

    shape = (*of.shape[:axis], *places.shape, *of.shape[axis + 1 :])
    return View(shape, element, (*of.checks, *places.checks))


def take_along_axis_rule(given: BoundArguments, cx: Context, of: View | None) -> View | None:
    """Along an axis by places that differ from row to row."""
    fact, at = cx.fact(given["a"]), given.get("indices")
    axis = movement_axis(given, cx) if given.get("axis") is not None else None
    known = at is not None and cx.fact(at).array and cx.fact(at).rank == fact.rank and all(
        ELEMENTS[t.dtype].kind == "i" for t in cx.fact(at).types)
    if axis is None or not known or at is None or fact.rank not in (1, 2):
        return None
    if of is None:
        return NO_VIEW
    places = view_of(at, cx)
    if places is None or places.order != "C":
        return None
    others = [k for k in range(len(of.shape)) if k != axis]
    checks = [cx.expr("N != M", N=of.shape[k], M=places.shape[k]) for k in others]

    def element(index: Sequence[ast.expr]) -> ast.expr:
        return of.at([*index[:axis], places.at(index), *index[axis + 1 :]])

    return View(places.shape, element, (*of.checks, *places.checks, *checks))


_TAKE_MODES: dict[object, str] = {
    "raise": "K", "clip": "min(max(int(K), 0), N - 1)", "wrap": "int(K) % N",
}


_PAD_MODES = {
    "edge": ("min(max(I, 0), N - 1)", "N < 1"),
    "reflect": ("min(max(N - 1 - abs(N - 1 - abs(I)), 0), N - 1)", "N <= W"),
    "symmetric": ("min(max(-1 - I if I < 0 else I if I < N else 2 * N - 1 - I, 0), N - 1)",
                  "N < W"),
    "wrap": ("I % N", "N < W"),
}
"""In which place the element is that stands at I, and when it is for NumPy to say, with at most W
more elements on a side.
"""


def pad_rule(given: BoundArguments, cx: Context, of: View | None) -> View | None:
    """Around there is a constant, or elements of the array."""
    fact, mode = cx.fact(given["a"]).array, given.get("mode") or ast.Constant("constant")
    value = given.get("constant_values") or ast.Constant(0)
    widths = _pad_widths(given.get("pad_width"), cx.fact(given["a"]).rank or 0, cx)
    kind = mode.value if isinstance(mode, ast.Constant) else ""
    if fact is None or widths is None or kind not in ("constant", *_PAD_MODES) or (
            cx.fact(given["a"]).order != "C"):
        return None
    if kind == "constant" and not representable_constant(value, fact.dtype, cx):
        return None
    if kind != "constant" and "constant_values" in given.given:
        return None
    if of is None:
        return NO_VIEW
    matrix = of
    widths = [tuple(scalar_view(w, cx).at(()) for w in pair) for pair in widths]
    padded = [any(integer_constant(w, None) != 0 for w in pair) for pair in widths]
    outer = cx.expr("T(V)", T=dtype_expr(fact.dtype, cx), V=value)

    def at(index: Sequence[ast.expr]) -> ast.expr:
        own = [subtract_ints(i, low, cx) for i, (low, _) in zip(index, widths, strict=True)]
        if kind in _PAD_MODES:
            text = _PAD_MODES[str(kind)][0]
            return matrix.at([cx.expr(text, I=i, N=n) if more else i
                              for i, n, more in zip(own, matrix.shape, padded, strict=True)])
        tests = [cx.expr("0 <= I and I < N", I=i, N=n)
                 for i, n, more in zip(own, matrix.shape, padded, strict=True) if more]
        if not tests:
            return matrix.at(own)
        test = ast.BoolOp(ast.And(), tests) if len(tests) > 1 else tests[0]
        return cx.expr("E if TEST else V", E=matrix.at(own), TEST=test, V=outer)

    shape = [add_ints(n, add_ints(low, high, cx), cx)
             for n, (low, high) in zip(of.shape, widths, strict=True)]
    return View(tuple(shape), at, (*of.checks, *_pad_refusals(str(kind), of.shape, widths, cx)))


def _pad_refusals(
    kind: str, shape: Sequence[ast.expr], widths: Sequence[tuple[ast.expr, ...]], cx: Context
) -> list[ast.expr]:
    """When NumPy has to say what is around: it refuses some widths, and goes round more often."""
    checks = []
    for n, pair in zip(shape, widths, strict=True):
        checks += [cx.expr("W < 0", W=w) for w in pair if integer_constant(w, None) is None]
        if kind in _PAD_MODES:
            checks += [cx.expr(_PAD_MODES[kind][1], N=n, W=w) for w in pair]
    return unique_nodes(checks)


def _pad_widths(
    e: ast.expr | None, rank: int, cx: Context
) -> list[tuple[ast.expr, ...]] | None:
    """How many elements there are to be before and after, axis by axis."""
    parts = e.elts if isinstance(e, (ast.Tuple, ast.List)) else []
    if len(parts) == rank and all(isinstance(p, (ast.Tuple, ast.List)) for p in parts):
        found = [w for p in parts for w in _pad_widths(p, 1, cx) or []]
        return found if len(found) == rank else None
    several = parts if len(parts) == 2 else [e, e]
    known = [p for p in several if p is not None and cx.fact(p).is_int]
    if len(known) < 2 or any((integer_constant(p, None) or 0) < 0 for p in known):
        return None
    return [tuple(known)] * rank


_SIGNATURES = signatures("movement")


def is_data_movement(e: ast.expr, cx: Context) -> bool:
    """Whether `movement_view` may know the elements of `e`."""
    given = bind_arguments(e, cx, _SIGNATURES)
    return given is not None and cx.fact(given["a"]).array is not None and (
        expansion_rule("movement", given.name)(given, cx, None) is not None)


def movement_view(e: ast.expr, cx: Context) -> View | None:
    """`e` by the elements of another array; None where it is none of these."""
    if not is_data_movement(e, cx):
        return None
    given = bind_arguments(e, cx, _SIGNATURES)
    of = view_of(given["a"], cx) if given else None
    if given is None or of is None:
        return None
    found: View | None = expansion_rule("movement", given.name)(given, cx, of)
    return found


def _with_axis(
    of: View, axis: int, length: ast.expr, place: Callable[[ast.expr], ast.expr], order: str = "C"
) -> View:
    """`of` with another length of an axis, and its elements from other places."""
    shape = (*of.shape[:axis], length, *of.shape[axis + 1 :])

    def at(index: Sequence[ast.expr]) -> ast.expr:
        return of.at([*index[:axis], place(index[axis]), *index[axis + 1 :]])

    return View(shape, at, of.checks, order)


def roll_rule(given: BoundArguments, cx: Context, of: View | None) -> View | None:
    """``np.roll(a, shift, axis)`` as a view of other elements of `a`."""
    axis, by = movement_axis(given, cx), given.get("shift")
    if axis is None or by is None or not cx.fact(by).is_int:
        return None
    if of is None:
        return NO_VIEW
    n, k = of.shape[axis], scalar_view(by, cx).at(())
    return _with_axis(of, axis, n, lambda i: cx.expr("(I + -K % N) % N", I=i, K=k, N=n), of.order)


def repeat_rule(given: BoundArguments, cx: Context, of: View | None) -> View | None:
    """``np.repeat(a, k, axis)`` for a constant `k` as a view of elements of `a`."""
    axis, times = movement_axis(given, cx), integer_constant(given.get("repeats"), None)
    if axis is None or times is None or times < 1:
        return None
    if of is None:
        return NO_VIEW
    n, k = of.shape[axis], ast.Constant(times)
    length = cx.expr("N * K", N=n, K=k)
    return _with_axis(
        of, axis, length, lambda i: i if is_unit_length(k) else cx.expr("I // K", I=i, K=k)
    )


def tile_rule(given: BoundArguments, cx: Context, of: View | None) -> View | None:
    """As often along each axis as is said; more axes come first."""
    reps = given.get("reps")
    several = reps.elts if isinstance(reps, (ast.Tuple, ast.List)) else [reps]
    rank = cx.fact(given["a"]).rank or 0
    if not all(r is not None and cx.fact(r).is_int for r in several):
        return None
    if of is None:
        return NO_VIEW
    times = [ast.Constant(1)] * (rank - len(several)) + [
        scalar_view(r, cx).at(()) for r in several if r is not None]
    more = len(times) - rank
    own = (ast.Constant(1),) * more + of.shape
    shape = tuple(
        n if is_unit_length(k) else cx.expr("max(K, 0)", K=k) if is_unit_length(n) else
        cx.expr("N * max(K, 0)", N=n, K=k) for n, k in zip(own, times, strict=True)
    )

    def at(index: Sequence[ast.expr]) -> ast.expr:
        places = zip(index[more:], of.shape, times[more:], strict=True)
        return of.at([i if is_unit_length(k) else ast.Constant(0) if is_unit_length(n) else
                      cx.expr("I % N", I=i, N=n) for i, n, k in places])

    return View(shape, at, of.checks)


def _triangle(below: bool) -> MovementRule:
    """One side of a diagonal; zeros on the other. A vector is each row."""

    def way(given: BoundArguments, cx: Context, of: View | None) -> View | None:
        fact = cx.fact(given["a"])
        k = given.get("k") or ast.Constant(0)
        if fact.rank not in (1, 2) or fact.array is None or not cx.fact(k).is_int:
            return None
        if of is None:
            return NO_VIEW
        zero = cx.expr("T(Z)", T=dtype_expr(fact.array.dtype, cx),
                       Z=ast.Constant(False if fact.array.dtype == "bool" else 0))
        by, matrix = scalar_view(k, cx).at(()), of
        text = "E if J <= D else ZERO" if below else "E if J >= D else ZERO"

        def at(index: Sequence[ast.expr]) -> ast.expr:
            i, j = index
            d = (
                subtract_ints(i, ast.Constant(0), cx)
                if integer_constant(by) == 0
                else add_ints(i, by, cx)
            )
            return cx.expr(text, E=matrix.at(index[-len(matrix.shape):]), J=j, D=d, ZERO=zero)

        return View((of.shape[0], of.shape[-1]), at, of.checks, "C" if of.order == "C" else "?")

    return way


tril_rule = _triangle(below=True)
triu_rule = _triangle(below=False)
