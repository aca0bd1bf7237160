"""Functions of whole arrays that other functions of NumPy say as well: a row each."""
from __future__ import annotations

import ast
import re
from collections.abc import Sequence

from loopir.record import record

from ..types import ELEMENTS
from .arguments import Arguments, arguments, function_named
from .context import Context
from .integers import integer_constant
from .nests import dtype, unless
from .views import held

__all__ = ["SAYINGS", "Saying", "array_told"]


@record(frozen=True, slots=True, kw_only=True)
class Saying:
    """``call``: the function and the names of its arguments, each with what it is where it is not
    given, if anything. ``says`` in their capitals what it is, after ``first``; one that it does not
    name may not be given. Where one of ``python`` holds, of some element, NumPy answers.

    For an array of one of the ``kinds`` of dtypes, and of ``rank``. ``wants``: the argument that
    makes it this row; ``alike``: that has the shape of the array. NP is NumPy, T the dtype of the
    result.
    """

    call: str
    says: str
    first: tuple[str, ...] = ()
    python: tuple[str, ...] = ()
    kinds: str = "biuf"
    rank: int | None = None
    alike: str = ""
    wants: str = ""


_ALL_NAN = "NP.all(A != A, axis=AXIS)"
_COUNT = "C = NP.sum(A == A, axis=AXIS, keepdims={})"
_SUM = "S = NP.sum(NP.where(A != A, 0, A), axis=AXIS, keepdims={})"
_MEANS = (_COUNT.format("KEEPDIMS"), _SUM.format("KEEPDIMS"))
_VARIANCE = (
    _COUNT.format(True),
    _SUM.format(True),
    "D = NP.where(A != A, 0, A - T(NP.divide(S, NP.maximum(C, 1))))",
    "N = NP.sum(A == A, axis=AXIS, keepdims=KEEPDIMS)",
    "V = T(NP.divide(NP.sum(D * D, axis=AXIS, keepdims=KEEPDIMS), NP.maximum(N - DDOF, 1)))",
)
_FOLD = "a axis=None out keepdims=False"
_MEAN = "a axis=None dtype out keepdims=False"
_SPREAD = "a axis=None dtype out ddof=0 keepdims=False"

SAYINGS: tuple[Saying, ...] = (
    Saying(call="allclose a b rtol=1e-05 atol=1e-08 equal_nan=False",
           says="bool(NP.all(NP.isclose(A, B, rtol=RTOL, atol=ATOL, equal_nan=EQUAL_NAN)))"),
    Saying(call="array_equal a b equal_nan=False", wants="B", alike="B",
           says="bool(NP.all((A == B) | (EQUAL_NAN & (A != A) & (B != B))))"),
    Saying(call="average a axis=None weights returned keepdims=False",
           python=("A.size == 0",), says="NP.mean(A, axis=AXIS, keepdims=KEEPDIMS)"),
    Saying(call="average a axis=None weights returned keepdims=False", wants="WEIGHTS",
           alike="WEIGHTS", first=("S = NP.sum(WEIGHTS, axis=AXIS, dtype=T, keepdims=KEEPDIMS)",),
           python=("S == 0",),
           says="NP.sum(NP.multiply(A, WEIGHTS), axis=AXIS, keepdims=KEEPDIMS) / S"),
    Saying(call="ediff1d a", says="NP.diff(A)", rank=1),
    Saying(call="linalg.norm a ord axis keepdims", says="NP.sqrt(NP.sum(A * A))", kinds="f"),
    Saying(call="linalg.norm a ord axis keepdims", kinds="iu",
           says="NP.sqrt(NP.sum(NP.square(NP.asarray(A, dtype=float))))"),
    Saying(call="linalg.norm a ord axis keepdims=False", wants="AXIS", kinds="f",
           says="NP.sqrt(NP.sum(A * A, axis=AXIS, keepdims=KEEPDIMS))"),
    Saying(call=f"nanmax {_FOLD}", kinds="f", python=("A.size == 0", _ALL_NAN),
           says="NP.max(NP.where(A != A, -NP.inf, A), axis=AXIS, keepdims=KEEPDIMS)"),
    Saying(call=f"nanmin {_FOLD}", kinds="f", python=("A.size == 0", _ALL_NAN),
           says="NP.min(NP.where(A != A, NP.inf, A), axis=AXIS, keepdims=KEEPDIMS)"),
    Saying(call="nanargmax a axis=None", kinds="f", python=("A.size == 0", _ALL_NAN),
           first=("B = NP.where(A != A, -NP.inf, A)",), says="NP.argmax(B, axis=AXIS)"),
    Saying(call="nanargmin a axis=None", kinds="f", python=("A.size == 0", _ALL_NAN),
           first=("B = NP.where(A != A, NP.inf, A)",), says="NP.argmin(B, axis=AXIS)"),
    Saying(call=f"nansum {_MEAN}", kinds="f",
           says="NP.sum(NP.where(A != A, 0, A), axis=AXIS, keepdims=KEEPDIMS)"),
    Saying(call=f"nansum {_MEAN}", kinds="iub",
           says="NP.sum(A, axis=AXIS, keepdims=KEEPDIMS)"),
    Saying(call=f"nanprod {_MEAN}", kinds="f",
           says="NP.prod(NP.where(A != A, 1, A), axis=AXIS, keepdims=KEEPDIMS)"),
    Saying(call="nancumsum a axis=None dtype out", kinds="f",
           says="NP.cumsum(NP.where(A != A, 0, A), axis=AXIS)"),
    Saying(call=f"nanmean {_MEAN}", kinds="f", first=_MEANS,
           python=("C == 0",), says="T(NP.divide(S, C))"),
    Saying(call=f"nanmean {_MEAN}", kinds="iub",
           says="NP.mean(A, axis=AXIS, keepdims=KEEPDIMS)"),
    Saying(call=f"nanmax {_FOLD}", kinds="iub", python=("A.size == 0",),
           says="NP.max(A, axis=AXIS, keepdims=KEEPDIMS)"),
    Saying(call=f"nanmin {_FOLD}", kinds="iub", python=("A.size == 0",),
           says="NP.min(A, axis=AXIS, keepdims=KEEPDIMS)"),
    Saying(call=f"nanvar {_SPREAD}", kinds="iub",
           says="NP.var(A, axis=AXIS, ddof=DDOF, keepdims=KEEPDIMS)"),
    Saying(call=f"nanstd {_SPREAD}", kinds="iub",
           says="NP.std(A, axis=AXIS, ddof=DDOF, keepdims=KEEPDIMS)"),
    Saying(call=f"nanvar {_SPREAD}", kinds="f", first=_VARIANCE,
           python=("N <= DDOF",), says="V"),
    Saying(call=f"nanstd {_SPREAD}", kinds="f", first=_VARIANCE,
           python=("N <= DDOF",), says="NP.sqrt(V)"),
    Saying(call="trapezoid a x dx axis", rank=1, says="((A[1:] + A[:-1]) / 2.0).sum()", kinds="f"),
    Saying(call="trapezoid a x dx axis", rank=1, kinds="f", wants="DX",
           says="(DX * (A[1:] + A[:-1]) / 2.0).sum()"),
    Saying(call="trapezoid a x dx axis", rank=1, wants="X", alike="X",
           says="((X[1:] - X[:-1]) * (A[1:] + A[:-1]) / 2.0).sum()", kinds="f"),
)


_BY_NAME: dict[str, list[Saying]] = {}
for _row in SAYINGS:
    _BY_NAME.setdefault(_row.call.split()[0], []).append(_row)


def array_told(node: ast.AST, cx: Context) -> ast.expr | None:
    """In the words of others.

        s = np.nansum(x)
    →
        _sum = np.float64(0)
        for _i in range(x.shape[0]):
            _sum = np.add(_sum, np.where(np.not_equal(x[_i], x[_i]), 0, x[_i]))
        s = _sum
    """
    if not isinstance(node, ast.Call):
        return None
    for row in _BY_NAME.get(function_named(node.func, cx), ()):
        name, *words = row.call.split()
        given = arguments(node, cx, {name: " ".join(w.partition("=")[0] for w in words)})
        if given is not None and (parts := _parts(row, given, words, cx)) is not None:
            return _told(row, parts, node, cx)
    return None


def _parts(
    row: Saying, given: Arguments, words: Sequence[str], cx: Context
) -> dict[str, ast.expr] | None:
    """What the capitals of `row` stand for; None where it is not for these arguments."""
    defaults = dict(w.split("=") for w in words if "=" in w)
    parts = {k.upper(): cx.expr(v) for k, v in defaults.items()}
    parts |= {k.upper(): e for k in given.given if (e := given.get(k)) is not None}
    text = " ".join((row.says, *row.first, *row.python))
    named = set(re.findall(r"[A-Z_]+", text))
    of = cx.fact(parts["A"])
    if of.array is None or (row.wants and row.wants not in parts) or not named & {"A"}:
        return None
    known = {k.upper() for k in given.given if given.get(k) is not None} <= named
    shapes = row.rank in (None, of.rank) and (
        not row.alike or (cx.fact(parts[row.alike]).array and
                          cx.fact(parts[row.alike]).rank == of.rank))
    if not known or not shapes or ELEMENTS[of.array.dtype].kind not in row.kinds:
        return None
    if row.wants == "AXIS" and integer_constant(parts["AXIS"], None) is None:
        return None
    return parts


def _told(
    row: Saying, parts: dict[str, ast.expr], node: ast.Call, cx: Context
) -> ast.expr | None:
    name, made = cx.fresh("a"), cx.fact(node).types
    to = next(iter(made)).dtype if len(made) == 1 else "f64"
    texts = (row.says, *row.first, *row.python)
    for k, e in parts.items():
        uses = sum(len(re.findall(rf"\b{k}\b", t)) for t in texts) + (row.alike == k or k == "A")
        if uses > 1 and not isinstance(e, (ast.Name, ast.Constant)):
            parts[k] = held(e, "a", cx)
    parts |= {"NP": cx.numpy, "T": dtype(to, cx)}
    for line in row.first:
        target, _, text = line.partition(" = ")
        parts[target] = held(_said(text, parts, to, cx), "a", cx)
    checks = _unlike(row, parts, cx)
    for text in row.python:
        check = _said(text, parts, to, cx)
        if cx.fact(check).rank:
            check = cx.expr("NP.any(C)", NP=cx.numpy, C=check)
        checks.append(held(check, "python", cx))
    value = _said(row.says, parts, to, cx)
    if not checks:
        return value
    (original,) = cx.code("NAME = E", NAME=name, E=node)
    cx.before(*unless(checks, original, cx.code("NAME = E", NAME=name, E=value), cx))
    return cx.expr("NAME", NAME=name)


def _said(text: str, parts: dict[str, ast.expr], to: str, cx: Context) -> ast.expr:
    """`text` about `parts`; what is a double anyway is not converted to one."""
    return cx.expr(text.replace("T(", "(") if to == "f64" else text, **parts)


def _unlike(row: Saying, parts: dict[str, ast.expr], cx: Context) -> list[ast.expr]:
    """Whether two arrays differ in shape."""
    if not row.alike:
        return []
    return [
        cx.expr("A.shape[K] != B.shape[K]", A=parts["A"], B=parts[row.alike], K=ast.Constant(k))
        for k in range(cx.fact(parts["A"]).rank or 0)
    ]
