"""Formulas as long as a display: ``np.select``, ``np.isin``, ``np.polyval``."""
from __future__ import annotations

import ast

from loopir.record import record

from ..types import ELEMENTS
from .arguments import Arguments, arguments
from .context import Context

__all__ = ["Applied", "isin", "polyval", "selected"]

_MOST = 12
"""So long a formula may be."""


@record(frozen=True, slots=True)
class Applied:
    """``text`` of the elements of ``operands``, which go by A, B, … there, T by the dtype of the
    result; None: of the one operand a copy.
    """

    text: str | None
    operands: list[ast.expr]


def selected(e: ast.Call, cx: Context) -> Applied | None:
    """``np.select``: the first choice whose condition holds."""
    given = arguments(e, cx, {"select": "condlist choicelist default"})
    if given is None or "choicelist" not in given.given:
        return None
    match given["condlist"], given["choicelist"]:
        case (ast.List(elts=tests) | ast.Tuple(elts=tests)), (
            ast.List(elts=choices) | ast.Tuple(elts=choices)
        ) if len(tests) == len(choices) <= 6:
            pass
        case _:
            return None
    bools = all({t.dtype for t in cx.fact(t).types} == {"bool"} for t in tests)
    bools = bools and all(cx.fact(x).order == "C" for x in (*tests, *choices) if cx.fact(x).array)
    if not bools or cx.fact(e).array is None:
        return None
    names = "ABCDEFGHIJKLM"
    text = f"T({names[2 * len(tests)]})"
    for k in reversed(range(len(tests))):
        text = f"NP.where({names[2 * k]}, T({names[2 * k + 1]}), {text})"
    pairs = [x for pair in zip(tests, choices, strict=True) for x in pair]
    return Applied(text, [*pairs, given.get("default") or ast.Constant(0)])


def isin(given: Arguments, cx: Context, to: str) -> Applied | None:
    """One of some constants; what is asked of a number is an array, which is NumPy's."""
    of, numbers = cx.fact(given["x"]).array, _numbers(given.get("among"))
    if of is None or not numbers or not given.only("x", "among"):
        return None
    if of.rank > 1 and cx.fact(given["x"]).order != "C":
        return None  # the result lies as in C
    kind = ELEMENTS[of.dtype].kind
    if kind not in "iuf" or of.dtype == "u64":
        return None
    made = "float64" if any(isinstance(v, float) for v in numbers) else "int64"
    text = " | ".join(f"NP.equal(A, NP.{made}({v!r}))" for v in numbers)
    return Applied(text, [given["x"]])


def polyval(given: Arguments, cx: Context, to: str) -> Applied | None:
    """From the highest power down, as NumPy does it: from 0 times the number."""
    numbers, x = _numbers(given["p"]), given.get("x")
    if x is None:
        return None
    kinds = {ELEMENTS[t.dtype].kind for t in cx.fact(x).types}
    if not numbers or not kinds <= set("iuf") or to not in ("i64", "f32", "f64"):
        return None
    text = "T(0)"
    for v in numbers:
        text = f"NP.add(NP.multiply({text}, T(A)), T({v!r}))"
    return Applied(text, [x])


def _numbers(e: ast.expr | None) -> list[int | float]:
    """The constants of a display; none where there are others, or too many."""
    if not isinstance(e, (ast.List, ast.Tuple)) or len(e.elts) > _MOST:
        return []
    found: list[int | float] = []
    for x in e.elts:
        match x:
            case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
                found.append(value)
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
                found.append(-value)
            case _:
                return []
    return found if all(abs(v) < 1 << 62 for v in found) else []
