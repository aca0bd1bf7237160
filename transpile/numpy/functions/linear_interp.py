"""Linear interpolation: ``np.interp``.

For each key the interval of ``xp`` is searched, then the line between its two points is evaluated.
In sorted points any search finds the same interval (`Search.in_order`); in unsorted points, which
NumPy accepts, the answer depends on the steps of the search, so that the templates below repeat
the steps of NumPy's ``binary_search_with_guess``.

In the templates A or X are the points, Y the values, N their number, KEY the number that is
interpolated, and HI the result of a search: the number of points that are not greater than KEY.
"""
from __future__ import annotations

import ast

from ...frontend.macros.bind_operands import bind_fresh, bind_operand
from ...frontend.macros.macro_context import Context, Part
from ...frontend.macros.replay_guards import guarded
from ...types.effects import is_pure
from ...types.value_types import ELEMENTS
from ..array_nests import allocate_array, product_of
from ..call_arguments import BoundArguments
from .searchsorted import IS_SORTED_CHECK, search_for

__all__ = ["interp_rule"]

_GUESS_STEPS = """
    if N <= 4:
        HI = 1
        while HI < N and KEY >= X[HI]:
            HI = HI + 1
    else:
        M = min(max(HI - 1, 1), N - 3)
        LO = 0
        HI = N
        if KEY < X[M]:
            if KEY < X[M - 1]:
                if M > 8 and KEY >= X[M - 8]:
                    LO = M - 8
                HI = M - 1
            else:
                LO = M
                HI = M
        elif KEY < X[M + 1]:
            LO = M + 1
            HI = M + 1
        elif KEY < X[M + 2]:
            LO = M + 2
            HI = M + 2
        else:
            LO = M + 2
            if M < N - 9 and KEY < X[M + 8]:
                HI = M + 8
        BISECTED
"""
"""The search, starting from the HI of the key before."""

_FIRST_STEPS = """
    HI = 1
    while HI < N and HI < 4 and (KEY >= X[HI] or N > 4 and not KEY < X[HI]):
        HI = HI + 1
    if HI == 4 and N > 4:
        LO = HI - 1
        HI = HI + 5 if N > 10 and KEY < X[HI + 5] else N
        BISECTED
"""
"""The search for the first key, or the only one."""

_LINE_STEPS = """
    if N == 1:
        R = LEFT if KEY < X[0] else RIGHT if KEY > X[0] else Y[0]
    elif KEY != KEY:
        R = KEY
    elif KEY > X[N - 1]:
        R = RIGHT
        HI = N + 1
    elif KEY < X[0]:
        R = LEFT
        HI = 0
    else:
        FOUND
        if HI < 1:
            R = LEFT
        elif HI == N or X[HI - 1] == KEY:
            R = Y[HI - 1]
        else:
            if HI != AT:
                AT = HI
                SLOPE = NP.divide(Y[HI] - Y[HI - 1], X[HI] - X[HI - 1])
            R = SLOPE * (KEY - X[HI - 1]) + Y[HI - 1]
            if R != R:
                R = SLOPE * (KEY - X[HI]) + Y[HI]
                if R != R and Y[HI - 1] == Y[HI]:
                    R = Y[HI - 1]
"""


def interp_rule(
    bound: BoundArguments, name: str, node: ast.Call, cx: Context
) -> list[ast.stmt] | None:
    """``np.interp(x, xp, fp, left, right)`` → a search and a line for each key. The call is
    replayed for no points, or other numbers of points and values. None where `xp` or `fp` is not
    surely a vector of real numbers, or `x` is not converted to float64.
    """
    if not {"xp", "fp"} <= bound.arguments.keys():
        return None
    points, ends = [bound["xp"], bound["fp"]], [bound.get("left"), bound.get("right")]
    are_vectors = all(cx.fact(e).rank == 1 and _is_real_number(e, cx) for e in points)
    if not are_vectors or not all(
        e is None or (_is_real_number(e, cx) and cx.fact(e).rank == 0) for e in ends
    ):
        return None
    keys = bound["x"]
    if not is_pure(keys, cx.resolve):  # Python evaluates them first
        keys = bind_operand(keys, cx, "s")
    x, y = (bind_operand(_as_doubles(e, cx), cx) for e in points)
    search = search_for(x, keys, True, cx)
    if search is None or search.dtype != "f64":
        return None
    parts: dict[str, Part] = {n.upper(): cx.fresh(n) for n in ("r", "slope", "at")}
    parts |= {"X": x, "Y": y}
    lengths = ["X.shape[0] < 1", "X.shape[0] != Y.shape[0]"]
    checks = [*search.keys.checks, *(cx.expr(text, **parts) for text in lengths)]
    for hole, e, end_index in zip(("LEFT", "RIGHT"), ends, ("0", "X.shape[0] - 1"), strict=True):
        value = cx.expr(f"Y[{end_index}]" if e is None else "NP.float64(E)", NP=cx.numpy,
                        E=e or ast.Constant(0), **parts)
        parts[hole] = value if e is None else bind_fresh(value, "end", cx)
    bisected = search.bisected()
    (original,) = cx.code("NAME = E", NAME=name, E=node)
    if not search.keys.shape:
        first = search.code(_FIRST_STEPS, BISECTED=bisected, **parts)
        text = "AT = 0\nSLOPE = 0.0\nKEY = T(V)\nLINES\nNAME = R"
        lines = search.code(text, NAME=name, V=search.keys.at(()),
                           LINES=search.code(_LINE_STEPS, FOUND=first, **parts), **parts)
        return guarded(checks, original, lines, cx)
    guessed = search.code(_GUESS_STEPS, BISECTED=bisected, **parts)
    result = ast.Name(name, ast.Load())
    fast, slow = (
        search.for_each_key(search.code(_LINE_STEPS, FOUND=locate, **parts), result, "R", **parts)
        for locate in (search.in_order(), guessed)
    )
    text = f"AT = LO = 0\nHI = 1\nSLOPE = 0.0\nif {IS_SORTED_CHECK}:\n    FAST\nelse:\n    SLOW"
    count = product_of(search.keys.shape, cx)
    lines = search.code(text, FAST=fast, SLOW=slow, COUNT=count, **parts)
    return guarded(
        checks, original, [allocate_array(name, search.keys.shape, "f64", cx), *lines], cx
    )


def _is_real_number(e: ast.expr, cx: Context) -> bool:
    """Whether all elements of `e`, or `e` itself, are surely real numbers or bools."""
    types = cx.fact(e).types
    return bool(types) and all(ELEMENTS[t.dtype].kind in "iufb" for t in types)


def _as_doubles(e: ast.expr, cx: Context) -> ast.expr:
    """`e` as an array of float64: itself, or ``np.asarray(e, dtype=np.float64)``."""
    if all(t.dtype == "f64" for t in cx.fact(e).types):
        return e
    return cx.expr("NP.asarray(E, dtype=NP.float64)", NP=cx.numpy, E=e)
