"""``np.repeat`` of each element as often as an array says."""
from __future__ import annotations

import ast

from ..types import ELEMENTS
from .arguments import Arguments
from .context import Context
from .integers import integer_constant
from .nests import dtype, unless
from .searching import Way, steady
from .template import Part

__all__ = ["WAYS"]

_REPEATED = """
    NAME = NP.empty(TOTAL, T)
    AT = 0
    for I in range(A.shape[0]):
        for J in range(int(K[I])):
            NAME[AT] = A[I]
            AT = AT + 1
"""
_TOTAL = """
    TOTAL = 0
    LEAST = 0
    for I in range(K.shape[0]):
        TOTAL = TOTAL + int(K[I])
        LEAST = min(LEAST, int(K[I]))
"""


def _repeated(given: Arguments, name: str, node: ast.Call, cx: Context) -> list[ast.stmt] | None:
    """Of vectors of one length; a count below zero raises."""
    times = given.get("repeats")
    of, by = cx.fact(given["a"]).array, cx.fact(times).array if times is not None else None
    known = of is not None and by is not None and (of.rank, by.rank) == (1, 1)
    if times is None or of is None or by is None or not known or by.dtype == "u64":
        return None
    axis = integer_constant(given.get("axis"), 0)
    if ELEMENTS[by.dtype].kind not in "iub" or axis not in (0, -1):
        return None
    holes = ("total", "least", "at", "i", "j")
    parts: dict[str, Part] = {n.upper(): cx.fresh(n) for n in holes}
    parts |= {"A": steady(given["a"], cx), "K": steady(times, cx), "NAME": name, "NP": cx.numpy}
    checks = [cx.expr(e, **parts) for e in ("LEAST < 0", "A.shape[0] != K.shape[0]")]
    (original,) = cx.code("NAME = E", NAME=name, E=node)
    lines = cx.code(_REPEATED, T=dtype(of.dtype, cx), **parts)
    return [*cx.code(_TOTAL, **parts), *unless(checks, original, lines, cx)]


WAYS: dict[str, tuple[str, Way]] = {"repeat": ("a repeats axis", _repeated)}
