"""Identities of calls: functions of whole arrays defined by other NumPy functions, a row each.

The table of definitions (``np.nanmean``, ``np.allclose``, ``np.cov``), and the macro that
applies a row.
"""
from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence

from loopir.lazy_dataclass import record

from ...frontend.int_exprs import integer_constant
from ...frontend.macros.macro_context import Context
from ...frontend.macros.macro_index import fires_on, named
from ...frontend.macros.replay_guards import bind_fresh, guarded
from ...types.value_types import ELEMENTS
from ..array_nests import dtype_expr
from ..call_arguments import BoundArguments, bind_arguments, numpy_function_name

__all__ = ["IDENTITIES", "Identity", "call_identity"]


@record(frozen=True, slots=True, kw_only=True)
class Identity:
    """``call``: the function and the names of its arguments, each with what it is where it is not
    given, if anything. ``says`` in their capitals what it is, after ``first``; one that it does not
    name may not be given. Where one of ``python`` holds, of some element, NumPy answers.

    For an array of one of the ``kinds`` of dtypes, and of ``rank``. ``wants``: the arguments that
    make it this row, some with what they are; ``alike``: that has the shape of the array. NP is
    NumPy, T the dtype of the result.
    """

    call: str
    says: str
    first: tuple[str, ...] = ()
    python: tuple[str, ...] = ()
    kinds: str = "biuf"
    rank: int | None = None
    alike: str = ""
    wants: str = ""


_CHECK_ALL_NAN = "NP.all(A != A, axis=AXIS)"
_LET_COUNT = "C = NP.sum(A == A, axis=AXIS, keepdims={})"
_LET_SUM = "S = NP.sum(NP.where(A != A, 0, A), axis=AXIS, keepdims={})"
_NAN_MEAN_STEPS = (_LET_COUNT.format("KEEPDIMS"), _LET_SUM.format("KEEPDIMS"))
_NAN_VARIANCE_STEPS = (
    _LET_COUNT.format(True),
    _LET_SUM.format(True),
    "D = NP.where(A != A, 0, A - T(NP.divide(S, NP.maximum(C, 1))))",
    "N = NP.sum(A == A, axis=AXIS, keepdims=KEEPDIMS)",
    "V = T(NP.divide(NP.sum(D * D, axis=AXIS, keepdims=KEEPDIMS), NP.maximum(N - DDOF, 1)))",
)
_LET_WHERE_COUNT = "C = NP.sum(WHERE, axis=AXIS, keepdims={})"
_LET_WHERE_SUM = "S = NP.sum(A, axis=AXIS, where=WHERE, keepdims={})"
_WHERE_VARIANCE_STEPS = (
    _LET_WHERE_COUNT.format(True),
    _LET_WHERE_SUM.format(True),
    "D = A - T(NP.divide(S, NP.maximum(C, 1)))",
    "N = NP.sum(WHERE, axis=AXIS, keepdims=KEEPDIMS)",
    "Q = NP.sum(D * D, axis=AXIS, where=WHERE, keepdims=KEEPDIMS)",
    "V = T(NP.divide(Q, NP.maximum(N - DDOF, 1)))",
)
_REDUCTION_SIGNATURE = "a axis=None out keepdims=False"
_MEAN_SIGNATURE = "a axis=None dtype out keepdims=False"
_VARIANCE_SIGNATURE = "a axis=None dtype out ddof=0 keepdims=False"
_NORM_SIGNATURE = "linalg.norm a ord=None axis=None keepdims=False"
_CHECK_EMPTY = ("A.size == 0",)
_COV_SIGNATURE = "a y rowvar=True bias=False ddof=1"
_LET_DOUBLES = "D = NP.asarray(A, dtype=NP.float64)"
_LET_CENTRED = "P = D - NP.mean(D, axis={}, keepdims=True)"
_UNWRAP_STEPS = (
    "D = NP.diff(A)",
    "M = NP.mod(D + PERIOD / 2, PERIOD) - PERIOD / 2",
    "W = NP.where((M == -PERIOD / 2) & (D > 0), PERIOD / 2, M) - D",
)
_UNWRAP_SIGNATURE = "unwrap a discont axis=-1 period=6.283185307179586"
_UNWRAPPED = "NP.concatenate((A[:1], A[1:] + NP.cumsum(NP.where(NP.abs(D) < LEAST, 0, W))))"
_CORRELATION_CHECKS = ("not NP.all(S > 0)", "not NP.all(NP.isfinite(C))")
_CORRELATION_RESULT = "NP.clip(C / S[:, None] / S[None, :], -1, 1)"

IDENTITIES: tuple[Identity, ...] = (
    Identity(
        call="allclose a b rtol=1e-05 atol=1e-08 equal_nan=False",
        says="bool(NP.all(NP.isclose(A, B, rtol=RTOL, atol=ATOL, equal_nan=EQUAL_NAN)))",
    ),
    Identity(
        call="array_equal a b equal_nan=False",
        wants="B",
        alike="B",
        says="bool(NP.all((A == B) | (EQUAL_NAN & (A != A) & (B != B))))",
    ),
    Identity(
        call="average a axis=None weights returned keepdims=False",
        python=("A.size == 0",),
        says="NP.mean(A, axis=AXIS, keepdims=KEEPDIMS)",
    ),
    Identity(
        call="average a axis=None weights returned keepdims=False",
        wants="WEIGHTS",
        alike="WEIGHTS",
        first=("S = NP.sum(WEIGHTS, axis=AXIS, dtype=T, keepdims=KEEPDIMS)",),
        python=("S == 0",),
        says="NP.sum(NP.asarray(A, dtype=T) * NP.asarray(WEIGHTS, dtype=T), axis=AXIS, "
        "keepdims=KEEPDIMS) / S",
    ),
    Identity(
        call=f"corrcoef {_COV_SIGNATURE}",
        rank=2,
        python=_CORRELATION_CHECKS,
        first=("C = NP.cov(A)", "S = NP.sqrt(NP.diag(C))"),
        says=_CORRELATION_RESULT,
    ),
    Identity(
        call=f"corrcoef {_COV_SIGNATURE}",
        wants="ROWVAR=False",
        rank=2,
        python=_CORRELATION_CHECKS,
        first=("C = NP.cov(A, rowvar=False)", "S = NP.sqrt(NP.diag(C))"),
        says=_CORRELATION_RESULT,
    ),
    Identity(
        call=f"corrcoef {_COV_SIGNATURE}",
        wants="Y",
        alike="Y",
        rank=1,
        says="NP.corrcoef(NP.stack((A, Y)))",
    ),
    Identity(
        call=f"cov {_COV_SIGNATURE}",
        rank=2,
        first=(_LET_DOUBLES, _LET_CENTRED.format(1)),
        python=("A.shape[0] < 2", "A.shape[1] <= DDOF"),
        says="NP.dot(P, P.T) * (1 / (A.shape[1] - DDOF))",
    ),
    Identity(
        call=f"cov {_COV_SIGNATURE}",
        wants="ROWVAR=False",
        rank=2,
        first=(_LET_DOUBLES, _LET_CENTRED.format(0)),
        python=("A.shape[1] < 2", "A.shape[0] <= DDOF"),
        says="NP.dot(P.T, P) * (1 / (A.shape[0] - DDOF))",
    ),
    Identity(
        call=f"cov {_COV_SIGNATURE}",
        wants="Y",
        alike="Y",
        rank=1,
        says="NP.cov(NP.stack((A, Y)), ddof=DDOF)",
    ),
    Identity(
        call="cov a y rowvar=True bias",
        wants="BIAS=True",
        rank=2,
        says="NP.cov(A, rowvar=ROWVAR, ddof=0)",
    ),
    Identity(
        call="cov a y rowvar bias",
        wants="Y BIAS=True",
        alike="Y",
        rank=1,
        says="NP.cov(A, Y, ddof=0)",
    ),
    Identity(call="ediff1d a", says="NP.diff(A)", rank=1, kinds="iuf"),
    Identity(call=_NORM_SIGNATURE, says="NP.sqrt(NP.sum(A * A))", kinds="f"),
    Identity(
        call=_NORM_SIGNATURE,
        wants="AXIS",
        kinds="f",
        says="NP.sqrt(NP.sum(A * A, axis=AXIS, keepdims=KEEPDIMS))",
    ),
    Identity(call=_NORM_SIGNATURE, wants="ORD=2", kinds="f", rank=1, says="NP.sqrt(NP.sum(A * A))"),
    Identity(
        call=_NORM_SIGNATURE, wants="ORD='fro'", kinds="f", rank=2, says="NP.sqrt(NP.sum(A * A))"
    ),
    Identity(call=_NORM_SIGNATURE, wants="ORD=1", kinds="f", rank=1, says="NP.sum(NP.abs(A))"),
    Identity(
        call=_NORM_SIGNATURE,
        wants="ORD=inf",
        kinds="f",
        rank=1,
        python=_CHECK_EMPTY,
        says="NP.max(NP.abs(A))",
    ),
    Identity(
        call=_NORM_SIGNATURE,
        wants="ORD=-inf",
        kinds="f",
        rank=1,
        python=_CHECK_EMPTY,
        says="NP.min(NP.abs(A))",
    ),
    Identity(
        call=_NORM_SIGNATURE,
        wants="ORD=1",
        kinds="f",
        rank=2,
        python=_CHECK_EMPTY,
        says="NP.max(NP.sum(NP.abs(A), axis=0))",
    ),
    Identity(
        call=_NORM_SIGNATURE,
        wants="ORD=inf",
        kinds="f",
        rank=2,
        python=_CHECK_EMPTY,
        says="NP.max(NP.sum(NP.abs(A), axis=1))",
    ),
    Identity(
        call=_NORM_SIGNATURE,
        wants="ORD=1 AXIS",
        kinds="f",
        says="NP.sum(NP.abs(A), axis=AXIS, keepdims=KEEPDIMS)",
    ),
    Identity(
        call=_NORM_SIGNATURE,
        wants="ORD=2 AXIS",
        kinds="f",
        says="NP.sqrt(NP.sum(A * A, axis=AXIS, keepdims=KEEPDIMS))",
    ),
    Identity(
        call=_NORM_SIGNATURE,
        wants="ORD=inf AXIS",
        kinds="f",
        python=_CHECK_EMPTY,
        says="NP.max(NP.abs(A), axis=AXIS, keepdims=KEEPDIMS)",
    ),
    Identity(
        call=_NORM_SIGNATURE,
        kinds="iub",
        says="NP.linalg.norm(NP.asarray(A, dtype=NP.float64), ORD, AXIS, KEEPDIMS)",
    ),
    Identity(
        call=f"mean {_MEAN_SIGNATURE} where",
        wants="WHERE",
        alike="WHERE",
        kinds="f",
        first=(_LET_WHERE_COUNT.format("KEEPDIMS"), _LET_WHERE_SUM.format("KEEPDIMS")),
        python=("C == 0",),
        says="T(NP.divide(S, C))",
    ),
    *(
        Identity(
            call=f"{name} {_VARIANCE_SIGNATURE} where",
            wants="WHERE",
            alike="WHERE",
            kinds="f",
            first=_WHERE_VARIANCE_STEPS,
            python=("N <= DDOF",),
            says=says,
        )
        for name, says in (("var", "V"), ("std", "NP.sqrt(V)"))
    ),
    Identity(
        call=f"nanmax {_REDUCTION_SIGNATURE}",
        kinds="f",
        python=("A.size == 0", _CHECK_ALL_NAN),
        says="NP.max(NP.where(A != A, -NP.inf, A), axis=AXIS, keepdims=KEEPDIMS)",
    ),
    Identity(
        call=f"nanmin {_REDUCTION_SIGNATURE}",
        kinds="f",
        python=("A.size == 0", _CHECK_ALL_NAN),
        says="NP.min(NP.where(A != A, NP.inf, A), axis=AXIS, keepdims=KEEPDIMS)",
    ),
    Identity(
        call="nanargmax a axis=None",
        kinds="f",
        python=("A.size == 0", _CHECK_ALL_NAN),
        first=("B = NP.where(A != A, -NP.inf, A)",),
        says="NP.argmax(B, axis=AXIS)",
    ),
    Identity(
        call="nanargmin a axis=None",
        kinds="f",
        python=("A.size == 0", _CHECK_ALL_NAN),
        first=("B = NP.where(A != A, NP.inf, A)",),
        says="NP.argmin(B, axis=AXIS)",
    ),
    Identity(
        call=f"nansum {_MEAN_SIGNATURE}",
        kinds="f",
        says="NP.sum(NP.where(A != A, 0, A), axis=AXIS, keepdims=KEEPDIMS)",
    ),
    Identity(
        call=f"nansum {_MEAN_SIGNATURE}",
        kinds="iub",
        says="NP.sum(A, axis=AXIS, keepdims=KEEPDIMS)",
    ),
    Identity(
        call=f"nanprod {_MEAN_SIGNATURE}",
        kinds="f",
        says="NP.prod(NP.where(A != A, 1, A), axis=AXIS, keepdims=KEEPDIMS)",
    ),
    Identity(
        call="nancumsum a axis=None dtype out",
        kinds="f",
        says="NP.cumsum(NP.where(A != A, 0, A), axis=AXIS)",
    ),
    Identity(call="nancumsum a axis=None dtype out", kinds="iub", says="NP.cumsum(A, axis=AXIS)"),
    Identity(
        call="nancumprod a axis=None dtype out",
        kinds="f",
        says="NP.cumprod(NP.where(A != A, 1, A), axis=AXIS)",
    ),
    Identity(
        call=f"nanmean {_MEAN_SIGNATURE}",
        kinds="f",
        first=_NAN_MEAN_STEPS,
        python=("C == 0",),
        says="T(NP.divide(S, C))",
    ),
    Identity(
        call=f"nanmean {_MEAN_SIGNATURE}",
        kinds="iub",
        says="NP.mean(A, axis=AXIS, keepdims=KEEPDIMS)",
    ),
    Identity(
        call=f"nanmax {_REDUCTION_SIGNATURE}",
        kinds="iub",
        python=("A.size == 0",),
        says="NP.max(A, axis=AXIS, keepdims=KEEPDIMS)",
    ),
    Identity(
        call=f"nanmin {_REDUCTION_SIGNATURE}",
        kinds="iub",
        python=("A.size == 0",),
        says="NP.min(A, axis=AXIS, keepdims=KEEPDIMS)",
    ),
    Identity(
        call=f"nanvar {_VARIANCE_SIGNATURE}",
        kinds="iub",
        says="NP.var(A, axis=AXIS, ddof=DDOF, keepdims=KEEPDIMS)",
    ),
    Identity(
        call=f"nanstd {_VARIANCE_SIGNATURE}",
        kinds="iub",
        says="NP.std(A, axis=AXIS, ddof=DDOF, keepdims=KEEPDIMS)",
    ),
    Identity(
        call=_UNWRAP_SIGNATURE,
        kinds="f",
        rank=1,
        first=_UNWRAP_STEPS,
        says=_UNWRAPPED.replace("LEAST", "PERIOD / 2"),
    ),
    Identity(
        call=_UNWRAP_SIGNATURE,
        wants="DISCONT",
        kinds="f",
        rank=1,
        first=_UNWRAP_STEPS,
        says=_UNWRAPPED.replace("LEAST", "DISCONT"),
    ),
    Identity(
        call=f"nanvar {_VARIANCE_SIGNATURE}",
        kinds="f",
        first=_NAN_VARIANCE_STEPS,
        python=("N <= DDOF",),
        says="V",
    ),
    Identity(
        call=f"nanstd {_VARIANCE_SIGNATURE}",
        kinds="f",
        first=_NAN_VARIANCE_STEPS,
        python=("N <= DDOF",),
        says="NP.sqrt(V)",
    ),
)


_IDENTITIES_BY_NAME: dict[str, list[Identity]] = {}
for _row in IDENTITIES:
    _IDENTITIES_BY_NAME.setdefault(_row.call.split()[0], []).append(_row)


@fires_on(ast.Call, calls=named(_IDENTITIES_BY_NAME))
def call_identity(node: ast.AST, cx: Context) -> ast.expr | None:
    """A call for which `Identity` has a row → the row's definition by other NumPy functions.

        s = np.nansum(x)
    →
        _sum = np.float64(0)
        for _i in range(x.shape[0]):
            _sum = np.add(_sum, np.where(np.not_equal(x[_i], x[_i]), 0, x[_i]))
        s = _sum
    """
    if not isinstance(node, ast.Call):
        return None
    called = numpy_function_name(node.func, cx) or getattr(node.func, "attr", "")
    for row in _IDENTITIES_BY_NAME.get(called, ()):
        name, *words = row.call.split()
        bound = bind_arguments(node, cx, {name: " ".join(w.partition("=")[0] for w in words)})
        if bound is not None and (parts := _identity_operands(row, bound, words, cx)) is not None:
            if name.startswith("linalg."):
                cx.steps()  # NumPy's norms are dot products
            return _apply_identity(row, parts, node, cx)
    return None


def _identity_operands(
    row: Identity, bound: BoundArguments, words: Sequence[str], cx: Context
) -> dict[str, ast.expr] | None:
    """What the capitals of `row` stand for; None where it is not for these arguments."""
    defaults = dict(w.split("=") for w in words if "=" in w)
    parts = {k.upper(): cx.expr(v) for k, v in defaults.items()}
    own = {k.upper(): e for k in bound.arguments if (e := bound.get(k)) is not None
           and ast.unparse(e) != defaults.get(k)}
    text, wanted = " ".join((row.says, *row.first, *row.python)), row.wants.split()
    named = {*re.findall(r"[A-Z_]+", text), *(w.partition("=")[0] for w in wanted)}
    of = cx.fact(own.get("A", ast.Constant(None)))
    if (
        of.array is None
        or not own.keys() <= named
        or not all(_argument_matches(w, own, cx) for w in wanted)
    ):
        return None
    shapes = row.rank in (None, of.rank) and (
        not row.alike or (cx.fact(own[row.alike]).array and
                          cx.fact(own[row.alike]).rank == of.rank))
    if not shapes or ELEMENTS[of.array.dtype].kind not in row.kinds:
        return None
    return {**parts, **own}


def _argument_matches(text: str, own: Mapping[str, ast.expr], cx: Context) -> bool:
    """Whether an argument is given, and what it has to be; an axis is a constant, or two are."""
    name, _, value = text.partition("=")
    e = own.get(name)
    if e is None:
        return False
    if not value:
        axes = e.elts if isinstance(e, ast.Tuple) and "ORD" not in own else [e]
        known = all(integer_constant(a, None) is not None for a in axes)
        return name != "AXIS" or (known and len(axes) in (1, 2))
    negative = value.startswith("-") and isinstance(e, ast.UnaryOp) and isinstance(e.op, ast.USub)
    e, value = (e.operand, value[1:]) if negative and isinstance(e, ast.UnaryOp) else (e, value)
    found = e.value if isinstance(e, ast.Constant) else cx.resolve(e)
    return repr(found) == value


def _apply_identity(
    row: Identity, parts: dict[str, ast.expr], node: ast.Call, cx: Context
) -> ast.expr | None:
    name, made = cx.fresh("a"), cx.fact(node).types
    to = next(iter(made)).dtype if len(made) == 1 else "f64"
    texts = (row.says, *row.first, *row.python)
    for k, e in parts.items():
        uses = sum(len(re.findall(rf"\b{k}\b", t)) for t in texts) + (row.alike == k or k == "A")
        if uses > 1 and not isinstance(e, (ast.Name, ast.Constant)):
            parts[k] = bind_fresh(e, "a", cx)
    parts |= {"NP": cx.numpy, "T": dtype_expr(to, cx)}
    for line in row.first:
        target, _, text = line.partition(" = ")
        parts[target] = bind_fresh(_instantiate(text, parts, to, cx), "a", cx)
    checks = _shapes_differ(row, parts, cx)
    for text in row.python:
        check = _instantiate(text, parts, to, cx)
        if cx.fact(check).rank:
            check = cx.expr("NP.any(C)", NP=cx.numpy, C=check)
        checks.append(bind_fresh(check, "python", cx))
    value = _instantiate(row.says, parts, to, cx)
    if not checks:
        return value
    (original,) = cx.code("NAME = E", NAME=name, E=node)
    cx.before(*guarded(checks, original, cx.code("NAME = E", NAME=name, E=value), cx))
    return cx.expr("NAME", NAME=name)


def _instantiate(text: str, parts: dict[str, ast.expr], to: str, cx: Context) -> ast.expr:
    """`text` about `parts`; what is a double anyway is not converted to one."""
    return cx.expr(text.replace("T(", "(") if to == "f64" else text, **parts)


def _shapes_differ(row: Identity, parts: dict[str, ast.expr], cx: Context) -> list[ast.expr]:
    """Whether two arrays differ in shape."""
    if not row.alike:
        return []
    return [
        cx.expr("A.shape[K] != B.shape[K]", A=parts["A"], B=parts[row.alike], K=ast.Constant(k))
        for k in range(cx.fact(parts["A"]).rank or 0)
    ]
