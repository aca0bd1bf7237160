"""Functions that say of each element what an expression of numbers says: formulas, a row each."""
from __future__ import annotations

import ast
import math
from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from ..places import spot
from ..types import ELEMENTS, PARTS, ScalarType
from .arguments import Arguments, arguments, flag
from .context import Context
from .integers import integer_constant
from .nests import dtype
from .operands import operands_by_index, recurring
from .repeating import Applied, isin, polyval, selected
from .template import expression
from .views import View, broadcast, is_viewable

__all__ = ["NAMES", "ROWS", "Applied", "applied", "formula", "formula_view", "told"]


_FLOAT = {ScalarType("f64", weak=True)}
_Row: TypeAlias = "Callable[[Arguments, Context, str], Applied | None]"


def formula(
    text: str | None, *names: str, kinds: str = "fiub", also: str | None = None
) -> _Row:
    """Of the arguments of these names, where all that are arrays are of the `kinds`; of other
    arrays than those of floats `also`, if anything.
    """

    def row(given: Arguments, cx: Context, to: str) -> Applied | None:
        if not given.only(*names) or any(n not in given.given for n in names):
            return None
        operands = [given[n] for n in names]
        of = {ELEMENTS[t.dtype].kind for e in operands for t in cx.fact(e).types}
        if of <= set(kinds):
            return Applied(text, operands)
        return Applied(also, operands) if also is not None and "c" not in of else None

    return row


def _cast(given: Arguments, cx: Context, to: str) -> Applied | None:
    """To a dtype: complex numbers lose a part, of which NumPy warns."""
    of = cx.fact(given["x"]).array
    copies = flag(given.get("copy"), True)
    if of is None or not given.only("x", "dtype", "copy") or copies is None:
        return None
    if of.dtype == to:
        return Applied(None, [given["x"]]) if copies else None
    return None if of.dtype in PARTS or to in PARTS else Applied("T(A)", [given["x"]])


def _made(given: Arguments, cx: Context, to: str) -> Applied | None:
    """``np.array(x)``: a copy, of whatever type."""
    return _cast(given, cx, to) if given.only("x", "dtype", "copy") else None


def _converted(given: Arguments, cx: Context, to: str) -> Applied | None:
    """``np.asarray(x, T)``: a copy, if it is of another type."""
    of = cx.fact(given["x"]).array
    other = of is not None and of.dtype != to and given.only("x", "dtype")
    return _cast(given, cx, to) if other else None


def _rounded(given: Arguments, cx: Context, to: str) -> Applied | None:
    """To some decimals: of ints they have none."""
    places = integer_constant(given.get("decimals"), 0)
    kind = ELEMENTS[to].kind
    if places is None or not given.only("a", "decimals") or kind not in "fiu" or to == "f16":
        return None
    if kind != "f":
        return Applied(None, [given["a"]]) if places >= 0 else None
    if not places:
        return Applied("NP.rint(A)", [given["a"]])
    if cx.fact(given["a"]).rank and cx.fact(given["a"]).order != "C":
        return None  # in that of C, but where the elements are neighbours in that of F
    first, last = ("multiply", "divide") if places > 0 else ("divide", "multiply")
    by = repr(10.0 ** abs(places))
    return Applied(f"NP.{last}(NP.rint(NP.{first}(A, {by})), {by})", [given["a"]])


def _clipped(given: Arguments, cx: Context, to: str) -> Applied | None:
    """Between bounds, of which one may be missing."""
    low, high = (given.get(n) or given.get(m) for n, m in (("a_min", "min"), ("a_max", "max")))
    if not given.only("a", "a_min", "a_max", "min", "max"):
        return None
    if low is not None and high is not None:
        return Applied("NP.clip(A, B, C)", [given["a"], low, high])
    bound, text = (low, "NP.maximum(A, B)") if low is not None else (high, "NP.minimum(A, B)")
    return None if bound is None else Applied(text, [given["a"], bound])


def _numbers(given: Arguments, cx: Context, to: str) -> Applied | None:
    """In place of NaN and of infinities; of ints a copy."""
    copies = flag(given.get("copy"), True)
    if not copies or to in PARTS:
        return None
    if ELEMENTS[to].kind != "f":
        return Applied(None, [given["x"]])
    most = float(np.finfo(ELEMENTS[to].numpy).max)
    none, high, low = (given.get(n) or ast.Constant(v) for n, v in
                       (("nan", 0.0), ("posinf", most), ("neginf", -most)))
    if not all(cx.fact(e).rank == 0 for e in (none, high, low)):
        return None
    text = "T(B) if A != A else T(C) if A == NP.inf else T(D) if A == -NP.inf else A"
    return Applied(text, [given["x"], none, high, low])


def _close(given: Arguments, cx: Context, to: str) -> Applied | None:
    """Of floats; NumPy makes floats of ints first."""
    operands = [given[n] for n in ("a", "b") if n in given.given]
    if len(operands) < 2:
        return None
    types = {t for e in operands for t in cx.fact(e).types}
    plain = {t.dtype for t in types if not getattr(t, "weak", False)}
    whole = all(ELEMENTS[t].kind in "iub" or t == "f64" for t in plain)
    if not whole and plain != {"f32"}:
        return None
    bounds = [given.get("rtol") or ast.Constant(1e-5), given.get("atol") or ast.Constant(1e-8)]
    nan = flag(given.get("equal_nan"), False)
    if nan is None or not all(cx.fact(e).types == _FLOAT for e in bounds):
        return None
    same = "A == B or A != A and B != B" if nan else "A == B"
    text = f"(abs(A - B) <= D + C * abs(B)) or {same} if NP.isfinite(B) else {same}"
    return Applied(text.replace("B", "NP.float64(B)") if whole else text, [*operands, *bounds])


def _is_real(yes: bool) -> _Row:
    """Whether the imaginary part is nothing."""

    def row(given: Arguments, cx: Context, to: str) -> Applied | None:
        of = cx.fact(given["x"]).array
        compared = f"NP.imag(A) {'==' if yes else '!='} 0"
        if of is None or (of.rank > 1 and cx.fact(given["x"]).order != "C"):
            return None  # the result lies as in C
        return Applied(compared if of.dtype in PARTS else f"T({yes})", [given["x"]])

    return row


def _conjugate(given: Arguments, cx: Context, to: str) -> Applied | None:
    text = "NP.conjugate(A)" if to in PARTS else None
    return Applied(text, [given["x"]]) if given.only("x") else None


def _angle(given: Arguments, cx: Context, to: str) -> Applied | None:
    of, degrees = cx.fact(given["z"]).array, flag(given.get("deg"), False)
    if of is None or of.dtype == "f16" or degrees is None:
        return None
    text = "NP.angle(A)" if of.dtype in PARTS else "NP.arctan2(0, A)"
    if degrees:
        text = f"NP.multiply({text}, {180 / math.pi!r})"
    return Applied(text, [given["z"]])


def _sinc(given: Arguments, cx: Context, to: str) -> Applied | None:
    """In place of zero there is almost zero."""
    if to == "f16" or to in PARTS:
        return None
    least = float(np.finfo(ELEMENTS[to].numpy).eps)
    y = f"(T({math.pi!r}) * T(A) if A != 0 else T({least!r}))"
    return Applied(f"NP.divide(NP.sin({y}), {y})", [given["x"]])


def _scaled(over: float, under: float) -> _Row:
    """`over` / `under` as much, which are of the dtype; of half floats computed in single ones."""
    single = np.float32(over) / np.float32(under)
    half = formula(f"T(NP.multiply(NP.float32(T(A)), NP.float32({single})))", "x")
    rows = {"f16": half, "f32": formula(f"NP.multiply(A, T({single}))", "x")}
    double = formula(f"NP.multiply(A, T({over / under}))", "x")
    return lambda given, cx, to: rows.get(to, double)(given, cx, to)


ROWS: dict[str, tuple[str, _Row]] = {
    "angle": ("z deg", _angle),
    "around": ("a decimals", _rounded),
    "array": ("x dtype copy", _made),
    "asarray": ("x dtype", _converted),
    "astype": ("x dtype copy", _cast),
    "clip": ("a a_min a_max out min max", _clipped),
    ".clip": ("a min max out", _clipped),
    "conjugate": ("x", _conjugate),
    ".conj": ("x", _conjugate),
    ".conjugate": ("x", _conjugate),
    "deg2rad": ("x", _scaled(math.pi, 180)),
    "degrees": ("x", _scaled(180, math.pi)),
    "fix": ("x", formula("NP.trunc(A)", "x", kinds="f")),
    "fmax": ("a b", formula("T(A) if A >= B or B != B else T(B)", "a", "b", kinds="f",
                            also="NP.maximum(A, B)")),
    "fmin": ("a b", formula("T(A) if A <= B or B != B else T(B)", "a", "b", kinds="f",
                            also="NP.minimum(A, B)")),
    "float_power": ("a b", formula("NP.power(NP.float64(A), NP.float64(B))", "a", "b",
                                   kinds="iuf")),
    "heaviside": ("x h", formula("T(A) if A != A else T(B) if A == 0 else T(0) if A < 0 else T(1)",
                                 "x", "h", kinds="f")),
    "isclose": ("a b rtol atol equal_nan", _close),
    "iscomplex": ("x", _is_real(False)),
    "isin": ("x among", isin),
    "isneginf": ("x out", formula("NP.equal(A, -NP.inf)", "x", kinds="f")),
    "isposinf": ("x out", formula("NP.equal(A, NP.inf)", "x", kinds="f")),
    "isreal": ("x", _is_real(True)),
    "nan_to_num": ("x copy nan posinf neginf", _numbers),
    "polyval": ("p x", polyval),
    "positive": ("x", formula(None, "x")),
    "rad2deg": ("x", _scaled(180, math.pi)),
    "radians": ("x", _scaled(math.pi, 180)),
    "reciprocal": ("x", formula("NP.divide(T(1), A)", "x", kinds="f")),
    "round": ("a decimals", _rounded),
    "sinc": ("x", _sinc),
}
"""By the name, or the method's after a dot: the arguments, and the formula."""

_SIGNATURES = {name: names for name, (names, _) in ROWS.items()}
NAMES = frozenset(ROWS)
_TYPES = {d.numpy.type for d in ELEMENTS.values()}

_WARNING = frozenset((
    "deg2rad", "degrees", "float_power", "rad2deg", "radians", "reciprocal", "sinc",
))
"""Those that warn in words of their own, and not in those of what the formula computes."""


def applied(e: ast.expr, cx: Context) -> Applied | None:
    """The formula that `e` is, of arrays and scalars; None where it is none."""
    found = _formula(e, cx)
    known = found is not None and all(is_viewable(cx.fact(x)) for x in found.operands)
    return found if known else None


def _formula(e: ast.expr, cx: Context) -> Applied | None:
    to = cx.fact(e).array
    match e:
        case ast.Call(func=func, args=[x], keywords=[]) if to is not None and (
            cx.resolve(func) in _TYPES and cx.fact(x).array
        ):
            return _converted(Arguments("asarray", {"x": x}), cx, to.dtype)
    if isinstance(e, ast.Call) and (found := selected(e, cx) or _typed(e, cx)) is not None:
        return found
    given = arguments(e, cx, _SIGNATURES)
    if given is None or to is None:
        return None
    name = given.name
    method = isinstance(e, ast.Call) and isinstance(e.func, ast.Attribute) and (
        cx.resolve(e.func) is None)
    return told(f".{name}" if method and f".{name}" in ROWS else name, given, cx, to.dtype)


def told(name: str, given: Arguments, cx: Context, to: str) -> Applied | None:
    """The formula of the row of that name."""
    if name in _WARNING:
        cx.steps()
    return ROWS[name][1](given, cx, to)


def _typed(e: ast.Call, cx: Context) -> Applied | None:
    """A function of numbers in a dtype of floats, of which all are first."""
    function, to = cx.resolve(e.func), cx.fact(e).array
    match e.keywords:
        case [ast.keyword(arg="dtype")] if isinstance(function, np.ufunc):
            pass
        case _:
            return None
    name = function.__name__
    known = cx.is_numpy(e.func, name) and function.nin == len(e.args) and function.nout == 1
    if not known or name in NAMES or to is None or to.dtype not in ("f32", "f64"):
        return None
    operands = ", ".join(f"T({hole})" for hole in "AB"[: len(e.args)])
    return Applied(f"NP.{name}({operands})", e.args)


def formula_view(e: ast.expr, cx: Context) -> View | None:
    """`e` by its formula."""
    found, to = applied(e, cx), cx.fact(e).array
    if found is None or found.text is None or to is None:
        return None
    text, of = found.text, dtype(to.dtype, cx)
    used = [n.id for n in ast.walk(ast.parse(text)) if isinstance(n, ast.Name)]
    pairs = enumerate(zip("ABCDEFGHIJKLM", found.operands, strict=False))
    again = {k for k, (name, e) in pairs if used.count(name) > 1 and _is_made(e)}
    parts = operands_by_index(found.operands, cx, again | recurring(found.operands, cx))

    def combine(elements: list[ast.expr]) -> ast.expr:
        names = dict(zip("ABCDEFGHIJKLM", elements, strict=False))
        return expression(text, spot(e, cx.at), {"NP": cx.numpy, "T": of, **names})

    return broadcast(parts, combine, cx)


def _is_made(e: ast.expr) -> bool:
    """Whether `e` is more than the elements of an array, or a number."""
    while isinstance(e, (ast.Subscript, ast.Attribute)):
        e = e.value
    return not isinstance(e, (ast.Name, ast.Constant))
