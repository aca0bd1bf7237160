"""Data movement: roll, tile, repeat, triu, take and pad as index functions of another array.

Each element of the result is an element of the first argument (or a constant), so that a call has
a view with other subscripts::

    np.roll(x, k)   →   shape (n,), at(i) = x[(i + -k % n) % n]

A rule (column ``movement`` of `function_table`) has two modes. Called with the view of the first
argument, it returns the view of the call. Called with None, it only decides: it returns `NO_VIEW`
if it would return a view, and emits nothing. Both return None where it refuses the arguments.
"""
from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

from ...analysis.type_inference.type_lattice import UNKNOWN_ORDER
from ...frontend.ast_walk import integer_constant
from ...frontend.macros.macro_context import Context, add_ints, subtract_ints
from ...frontend.macros.replay_guards import unique_nodes
from ...types.value_types import ELEMENTS
from ..array_nests import dtype_expr
from ..array_views import View, is_unit_length, scalar_view, view_of
from ..call_arguments import BoundArguments, as_python_int, bind_arguments, representable_constant
from ..function_table import expansion_rule, signatures

__all__ = [
    "NO_VIEW", "MovementRule", "movement_axis", "is_data_movement", "movement_view", "take_rule",
    "take_along_axis_rule", "pad_rule", "roll_rule", "repeat_rule", "tile_rule", "tril_rule",
    "triu_rule",
]

MovementRule = Callable[[BoundArguments, Context, "View | None"], "View | None"]
"""From the arguments and the view of ``a`` to the view of the call; None: refused. With None in
place of the view, `NO_VIEW` or None.
"""

NO_VIEW = View((), lambda at: at[0])
"""What a rule returns for a call that it accepts, if it was not given the view of the argument."""


def movement_axis(bound: BoundArguments, cx: Context) -> int | None:
    """The axis along which elements move, from 0; None where it is no valid constant, or is
    missing for an array of several axes.
    """
    rank = cx.fact(bound["a"]).rank or 0
    axis = integer_constant(bound.get("axis"), 0 if rank == 1 else None)
    return axis % rank if axis is not None and -rank <= axis < rank else None


def take_rule(bound: BoundArguments, cx: Context, source: View | None) -> View | None:
    """``np.take(a, indices, axis, mode=…)`` of integer arrays `indices`: their axes replace `axis`.
    Modes "clip" and "wrap" map each index into the axis.
    """
    axis, indices, mode = movement_axis(bound, cx), bound.get("indices"), bound.get("mode")
    wrapped = _TAKE_MODES.get(mode.value) if isinstance(mode, ast.Constant) else (
        None if mode is not None else "K")
    if axis is None or wrapped is None or indices is None:
        return None
    if not (cx.fact(indices).array and cx.fact(indices).is_integral):
        return None
    if bound.get("out") is not None:
        return None
    if source is None:
        return NO_VIEW
    places = view_of(indices, cx)
    if places is None:
        return None
    indices_rank, n = len(places.shape), source.shape[axis]

    def element(index: Sequence[ast.expr]) -> ast.expr:
        k = cx.expr(wrapped, K=places.at(index[axis : axis + indices_rank]), N=n)
        return source.at([*index[:axis], k, *index[axis + indices_rank :]])

    other_lengths = [*source.shape[:axis], *source.shape[axis + 1 :]]
    shape = (*source.shape[:axis], *places.shape, *source.shape[axis + 1 :])
    # NumPy checks the indices even if the result has no elements, for which no loop runs.
    may_be_empty = [cx.expr("N < 1", N=n) for n in other_lengths if not is_unit_length(n)]
    return View(shape, element, (*source.checks, *places.checks, *may_be_empty))


def take_along_axis_rule(bound: BoundArguments, cx: Context, source: View | None) -> View | None:
    """``np.take_along_axis(a, indices, axis)`` for an explicit axis, rank 1 or 2, and signed
    `indices` in C order; the other axes are checked to have equal lengths.
    """
    fact, indices = cx.fact(bound["a"]), bound.get("indices")
    axis = movement_axis(bound, cx) if bound.get("axis") is not None else None
    if axis is None or indices is None or fact.rank not in (1, 2):
        return None
    index = cx.fact(indices)
    signed = all(ELEMENTS[t.dtype].kind == "i" for t in index.types)
    if not index.array or index.rank != fact.rank or not signed:
        return None
    if source is None:
        return NO_VIEW
    places = view_of(indices, cx)
    if places is None or places.order != "C":
        return None
    others = [k for k in range(len(source.shape)) if k != axis]
    checks = [cx.expr("N != M", N=source.shape[k], M=places.shape[k]) for k in others]

    def element(index: Sequence[ast.expr]) -> ast.expr:
        return source.at([*index[:axis], places.at(index), *index[axis + 1 :]])

    return View(places.shape, element, (*source.checks, *places.checks, *checks))


_TAKE_MODES: dict[object, str] = {
    "raise": "K", "clip": "min(max(int(K), 0), N - 1)", "wrap": "int(K) % N",
}
"""By the mode of ``np.take``: the subscript for the index K, in an axis of length N."""

_PAD_MODES = {
    "edge": ("min(max(I, 0), N - 1)", "N < 1"),
    "reflect": ("min(max(N - 1 - abs(N - 1 - abs(I)), 0), N - 1)", "N <= W"),
    "symmetric": ("min(max(-1 - I if I < 0 else I if I < N else 2 * N - 1 - I, 0), N - 1)",
                  "N < W"),
    "wrap": ("I % N", "N < W"),
}
"""By the mode of ``np.pad``: the subscript in the array, of length N, of the element at I (negative
before the array); and the condition under which that is wrong, for W padded elements on a side.
"""


def pad_rule(bound: BoundArguments, cx: Context, source: View | None) -> View | None:
    """``np.pad(a, pad_width, mode)`` of an array in C order: a constant, or elements of `a` by
    `_PAD_MODES`. None for other modes, and for a constant that the dtype cannot represent.
    """
    fact, kind = cx.fact(bound["a"]), _pad_mode(bound, cx)
    widths = _pad_widths(bound.get("pad_width"), fact.rank or 0, cx)
    if fact.array is None or fact.order != "C" or widths is None or kind is None:
        return None
    if source is None:
        return NO_VIEW
    widths = [tuple(scalar_view(w, cx).at(()) for w in pair) for pair in widths]
    is_padded = [any(integer_constant(w, None) != 0 for w in pair) for pair in widths]
    value = bound.get("constant_values") or ast.Constant(0)
    constant = cx.expr("T(V)", T=dtype_expr(fact.array.dtype, cx), V=value)

    def at(index: Sequence[ast.expr]) -> ast.expr:
        inner = [subtract_ints(i, low, cx) for i, (low, _) in zip(index, widths, strict=True)]
        axes = [*zip(inner, source.shape, is_padded, strict=True)]
        if kind in _PAD_MODES:
            text = _PAD_MODES[kind][0]
            return source.at([cx.expr(text, I=i, N=n) if padded else i for i, n, padded in axes])
        tests = [cx.expr("0 <= I and I < N", I=i, N=n) for i, n, padded in axes if padded]
        if not tests:
            return source.at(inner)
        test = ast.BoolOp(ast.And(), tests) if len(tests) > 1 else tests[0]
        return cx.expr("E if TEST else V", E=source.at(inner), TEST=test, V=constant)

    shape = [add_ints(n, add_ints(low, high, cx), cx)
             for n, (low, high) in zip(source.shape, widths, strict=True)]
    checks = _pad_refusals(kind, source.shape, widths, cx)
    return View(tuple(shape), at, (*source.checks, *checks))


def _pad_mode(bound: BoundArguments, cx: Context) -> str | None:
    """The mode of a call of ``np.pad``. None for modes that `pad_rule` does not know, and for a
    constant that the dtype of the array cannot represent, or that the mode does not use.
    """
    mode, array = bound.get("mode") or ast.Constant("constant"), cx.fact(bound["a"]).array
    kind = mode.value if isinstance(mode, ast.Constant) else ""
    if kind == "constant":
        value = bound.get("constant_values") or ast.Constant(0)
        fits = array is not None and representable_constant(value, array.dtype, cx)
        return kind if fits else None
    is_known = kind in _PAD_MODES and "constant_values" not in bound.arguments
    return str(kind) if is_known else None


def _pad_refusals(
    kind: str, shape: Sequence[ast.expr], widths: Sequence[tuple[ast.expr, ...]], cx: Context
) -> list[ast.expr]:
    """Conditions under which the view of ``np.pad`` is wrong: a negative width, for which NumPy
    raises, and a width beyond the range in which the subscript of the mode holds.
    """
    checks = []
    for n, pair in zip(shape, widths, strict=True):
        checks += [cx.expr("W < 0", W=w) for w in pair if integer_constant(w, None) is None]
        if kind in _PAD_MODES:
            checks += [cx.expr(_PAD_MODES[kind][1], N=n, W=w) for w in pair]
    return unique_nodes(checks)


def _pad_widths(
    e: ast.expr | None, rank: int, cx: Context
) -> list[tuple[ast.expr, ...]] | None:
    """The numbers of elements before and after each axis, from the argument ``pad_width``: an int,
    a pair, or a tuple of one of these for each axis. None where a width is not surely a Python int
    or is a negative constant.
    """
    parts = e.elts if isinstance(e, (ast.Tuple, ast.List)) else []
    if len(parts) == rank and all(isinstance(p, (ast.Tuple, ast.List)) for p in parts):
        pairs = [w for p in parts for w in _pad_widths(p, 1, cx) or []]
        return pairs if len(pairs) == rank else None
    both = parts if len(parts) == 2 else [e, e]
    widths = [p for p in both if p is not None and cx.fact(p).is_int]
    if len(widths) < 2 or any((integer_constant(p, None) or 0) < 0 for p in widths):
        return None
    return [tuple(widths)] * rank


_SIGNATURES = signatures("movement")


def is_data_movement(e: ast.expr, cx: Context) -> bool:
    """Whether `e` is a call of a row with ``movement`` on an array, and its rule accepts it."""
    bound = bind_arguments(e, cx, _SIGNATURES)
    return bound is not None and cx.fact(bound["a"]).array is not None and (
        expansion_rule("movement", bound.name)(bound, cx, None) is not None)


def movement_view(e: ast.expr, cx: Context) -> View | None:
    """The view of `e`; None where it is no data movement (`is_data_movement`)."""
    if not is_data_movement(e, cx):
        return None
    bound = bind_arguments(e, cx, _SIGNATURES)
    source = view_of(bound["a"], cx) if bound else None
    if bound is None or source is None:
        return None
    view: View | None = expansion_rule("movement", bound.name)(bound, cx, source)
    return view


def _with_axis(
    source: View, axis: int, length: ast.expr,
    source_subscript: Callable[[ast.expr], ast.expr], order: str = "C",
) -> View:
    """The view `source` with another length of one axis, whose subscripts `source_subscript` maps
    to those of `source`.
    """
    shape = (*source.shape[:axis], length, *source.shape[axis + 1 :])

    def at(index: Sequence[ast.expr]) -> ast.expr:
        return source.at([*index[:axis], source_subscript(index[axis]), *index[axis + 1 :]])

    return View(shape, at, source.checks, order)


def roll_rule(bound: BoundArguments, cx: Context, source: View | None) -> View | None:
    """``np.roll(a, shift, axis)`` along one axis, by an int."""
    axis, shift = movement_axis(bound, cx), as_python_int(bound.get("shift"), cx)
    if axis is None or shift is None:
        return None
    if source is None:
        return NO_VIEW
    n, k = source.shape[axis], scalar_view(shift, cx).at(())

    def rolled(i: ast.expr) -> ast.expr:
        return cx.expr("(I + -K % N) % N", I=i, K=k, N=n)

    return _with_axis(source, axis, n, rolled, source.order)


def repeat_rule(bound: BoundArguments, cx: Context, source: View | None) -> View | None:
    """``np.repeat(a, k, axis)`` for a positive constant `k`."""
    axis, times = movement_axis(bound, cx), integer_constant(bound.get("repeats"), None)
    if axis is None or times is None or times < 1:
        return None
    if source is None:
        return NO_VIEW
    n, k = source.shape[axis], ast.Constant(times)
    length = cx.expr("N * K", N=n, K=k)
    return _with_axis(
        source, axis, length, lambda i: i if is_unit_length(k) else cx.expr("I // K", I=i, K=k)
    )


def tile_rule(bound: BoundArguments, cx: Context, source: View | None) -> View | None:
    """``np.tile(a, reps)`` for an int or a tuple of ints; NumPy raises for negative ones. Where
    `reps` is longer than the rank of `a`, new axes come first.
    """
    reps = bound.get("reps")
    given = reps.elts if isinstance(reps, (ast.Tuple, ast.List)) else [reps]
    repetitions = [as_python_int(r, cx) for r in given]
    rank = cx.fact(bound["a"]).rank or 0
    if None in repetitions:
        return None
    if source is None:
        return NO_VIEW
    times = [ast.Constant(1)] * (rank - len(repetitions)) + [
        scalar_view(r, cx).at(()) for r in repetitions if r is not None]
    more = len(times) - rank
    padded_shape = (ast.Constant(1),) * more + source.shape
    shape = tuple(
        n if is_unit_length(k) else k if is_unit_length(n) else cx.expr("N * K", N=n, K=k)
        for n, k in zip(padded_shape, times, strict=True)
    )

    def at(index: Sequence[ast.expr]) -> ast.expr:
        places = zip(index[more:], source.shape, times[more:], strict=True)
        return source.at([i if is_unit_length(k) else ast.Constant(0) if is_unit_length(n) else
                      cx.expr("I % N", I=i, N=n) for i, n, k in places])

    negative = [cx.expr("K < 0", K=k) for k in times if not isinstance(k, ast.Constant)]
    return View(shape, at, (*source.checks, *negative))


def _triangle(below: bool) -> MovementRule:
    """The rule of ``np.tril`` (`below`) or ``np.triu``: elements on that side of the `k`-th
    diagonal, zeros on the other. A vector is every row of a square matrix.
    """

    def rule(bound: BoundArguments, cx: Context, source: View | None) -> View | None:
        fact = cx.fact(bound["a"])
        k = bound.get("k") or ast.Constant(0)
        if fact.rank not in (1, 2) or fact.array is None or not cx.fact(k).is_int:
            return None
        if source is None:
            return NO_VIEW
        zero = cx.expr("T(Z)", T=dtype_expr(fact.array.dtype, cx),
                       Z=ast.Constant(False if fact.array.dtype == "bool" else 0))
        offset, matrix = scalar_view(k, cx).at(()), source
        text = "E if J <= D else ZERO" if below else "E if J >= D else ZERO"

        def at(index: Sequence[ast.expr]) -> ast.expr:
            i, j = index
            diagonal = (
                subtract_ints(i, ast.Constant(0), cx)
                if integer_constant(offset) == 0
                else add_ints(i, offset, cx)
            )
            e = matrix.at(index[-len(matrix.shape):])
            return cx.expr(text, E=e, J=j, D=diagonal, ZERO=zero)

        order = "C" if source.order == "C" else UNKNOWN_ORDER
        return View((source.shape[0], source.shape[-1]), at, source.checks, order)

    return rule


tril_rule = _triangle(below=True)
triu_rule = _triangle(below=False)
