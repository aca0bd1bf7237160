"""Linear interpolation: ``np.interp``.

The two points around are found as NumPy finds them; then the line between them.
"""
from __future__ import annotations

import ast

from ...frontend.macros.macro_context import Context, Part
from ...frontend.macros.replay_guards import bind_fresh, guarded
from ...types.value_types import ELEMENTS
from ..array_nests import allocate_array, product_of
from ..call_arguments import BoundArguments
from .searchsorted import IS_SORTED_CHECK, bound_operand, search_for

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
"""The place as HI, near that of the element before; it matters where the points are in no order."""

_FIRST_STEPS = """
    HI = 1
    while HI < N and HI < 4 and (KEY >= X[HI] or N > 4 and not KEY < X[HI]):
        HI = HI + 1
    if HI == 4 and N > 4:
        LO = HI - 1
        HI = HI + 5 if N > 10 and KEY < X[HI + 5] else N
        BISECTED
"""
"""Likewise, of one element only."""

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
    """``np.interp(x, xp, fp, left, right)`` as loops; None where types are not known."""
    if not {"xp", "fp"} <= bound.arguments.keys():
        return None
    points, ends = [bound["xp"], bound["fp"]], [bound.get("left"), bound.get("right")]
    known = all(cx.fact(e).rank == 1 and _is_real_number(e, cx) for e in points)
    if not known or not all(
        e is None or (_is_real_number(e, cx) and cx.fact(e).rank == 0) for e in ends
    ):
        return None
    x, y = (bound_operand(_as_doubles(e, cx), cx) for e in points)
    found = search_for(x, bound["x"], True, cx)
    if found is None or found.dtype != "f64":
        return None
    parts: dict[str, Part] = {n.upper(): cx.fresh(n) for n in ("r", "slope", "at")}
    parts |= {"X": x, "Y": y}
    lengths = ["X.shape[0] < 1", "X.shape[0] != Y.shape[0]"]
    checks = [*found.keys.checks, *(cx.expr(text, **parts) for text in lengths)]
    for hole, e, place in zip(("LEFT", "RIGHT"), ends, ("0", "X.shape[0] - 1"), strict=True):
        value = cx.expr(f"Y[{place}]" if e is None else "NP.float64(E)", NP=cx.numpy,
                        E=e or ast.Constant(0), **parts)
        parts[hole] = value if e is None else bind_fresh(value, "end", cx)
    bisected = found.bisected()
    (original,) = cx.code("NAME = E", NAME=name, E=node)
    if not found.keys.shape:
        first = found.code(_FIRST_STEPS, BISECTED=bisected, **parts)
        text = "AT = 0\nSLOPE = 0.0\nKEY = T(V)\nLINES\nNAME = R"
        lines = found.code(text, NAME=name, V=found.keys.at(()),
                           LINES=found.code(_LINE_STEPS, FOUND=first, **parts), **parts)
        return guarded(checks, original, lines, cx)
    guessed = found.code(_GUESS_STEPS, BISECTED=bisected, **parts)
    fast, slow = (
        found.each(
            found.code(_LINE_STEPS, FOUND=way, **parts), ast.Name(name, ast.Load()), "R", **parts
        )
        for way in (found.in_order(), guessed)
    )
    text = f"AT = LO = 0\nHI = 1\nSLOPE = 0.0\nif {IS_SORTED_CHECK}:\n    FAST\nelse:\n    SLOW"
    lines = found.code(text, FAST=fast, SLOW=slow, COUNT=product_of(found.keys.shape, cx), **parts)
    return guarded(
        checks, original, [allocate_array(name, found.keys.shape, "f64", cx), *lines], cx
    )


def _is_real_number(e: ast.expr, cx: Context) -> bool:
    types = cx.fact(e).types
    return bool(types) and all(ELEMENTS[t.dtype].kind in "iufb" for t in types)


def _as_doubles(e: ast.expr, cx: Context) -> ast.expr:
    """`e`, whose elements are all doubles."""
    if all(t.dtype == "f64" for t in cx.fact(e).types):
        return e
    return cx.expr("NP.asarray(E, dtype=NP.float64)", NP=cx.numpy, E=e)
