"""Functions of whole arrays that other functions of NumPy say as well: the rows."""
from __future__ import annotations

from loopir.record import record

__all__ = ["SAYINGS", "Saying"]


@record(frozen=True, slots=True, kw_only=True)
class Saying:
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
_TAKEN = "C = NP.sum(WHERE, axis=AXIS, keepdims={})"
_TOTAL = "S = NP.sum(A, axis=AXIS, where=WHERE, keepdims={})"
_SPREAD_WHERE = (
    _TAKEN.format(True),
    _TOTAL.format(True),
    "D = A - T(NP.divide(S, NP.maximum(C, 1)))",
    "N = NP.sum(WHERE, axis=AXIS, keepdims=KEEPDIMS)",
    "Q = NP.sum(D * D, axis=AXIS, where=WHERE, keepdims=KEEPDIMS)",
    "V = T(NP.divide(Q, NP.maximum(N - DDOF, 1)))",
)
_FOLD = "a axis=None out keepdims=False"
_MEAN = "a axis=None dtype out keepdims=False"
_SPREAD = "a axis=None dtype out ddof=0 keepdims=False"
_NORM = "linalg.norm a ord=None axis=None keepdims=False"
_NONE = ("A.size == 0",)
_COV = "a y rowvar=True bias=False ddof=1"
_DOUBLES = "D = NP.asarray(A, dtype=NP.float64)"
_CENTRED = "P = D - NP.mean(D, axis={}, keepdims=True)"
_STEP = (
    "D = NP.diff(A)",
    "M = NP.mod(D + PERIOD / 2, PERIOD) - PERIOD / 2",
    "W = NP.where((M == -PERIOD / 2) & (D > 0), PERIOD / 2, M) - D",
)
_UNWRAP = "unwrap a discont axis=-1 period=6.283185307179586"
_UNWRAPPED = "NP.concatenate((A[:1], A[1:] + NP.cumsum(NP.where(NP.abs(D) < LEAST, 0, W))))"
_UNSURE = ("not NP.all(S > 0)", "not NP.all(NP.isfinite(C))")
_BY_ROOTS = "NP.clip(C / S[:, None] / S[None, :], -1, 1)"

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
           says="NP.sum(NP.asarray(A, dtype=T) * NP.asarray(WEIGHTS, dtype=T), axis=AXIS, "
                "keepdims=KEEPDIMS) / S"),
    Saying(call=f"corrcoef {_COV}", rank=2, python=_UNSURE,
           first=("C = NP.cov(A)", "S = NP.sqrt(NP.diag(C))"), says=_BY_ROOTS),
    Saying(call=f"corrcoef {_COV}", wants="ROWVAR=False", rank=2, python=_UNSURE,
           first=("C = NP.cov(A, rowvar=False)", "S = NP.sqrt(NP.diag(C))"), says=_BY_ROOTS),
    Saying(call=f"corrcoef {_COV}", wants="Y", alike="Y", rank=1,
           says="NP.corrcoef(NP.stack((A, Y)))"),
    Saying(call=f"cov {_COV}", rank=2, first=(_DOUBLES, _CENTRED.format(1)),
           python=("A.shape[0] < 2", "A.shape[1] <= DDOF"),
           says="NP.dot(P, P.T) * (1 / (A.shape[1] - DDOF))"),
    Saying(call=f"cov {_COV}", wants="ROWVAR=False", rank=2, first=(_DOUBLES, _CENTRED.format(0)),
           python=("A.shape[1] < 2", "A.shape[0] <= DDOF"),
           says="NP.dot(P.T, P) * (1 / (A.shape[0] - DDOF))"),
    Saying(call=f"cov {_COV}", wants="Y", alike="Y", rank=1,
           says="NP.cov(NP.stack((A, Y)), ddof=DDOF)"),
    Saying(call="cov a y rowvar=True bias", wants="BIAS=True", rank=2,
           says="NP.cov(A, rowvar=ROWVAR, ddof=0)"),
    Saying(call="cov a y rowvar bias", wants="Y BIAS=True", alike="Y", rank=1,
           says="NP.cov(A, Y, ddof=0)"),
    Saying(call="ediff1d a", says="NP.diff(A)", rank=1, kinds="iuf"),
    Saying(call=_NORM, says="NP.sqrt(NP.sum(A * A))", kinds="f"),
    Saying(call=_NORM, wants="AXIS", kinds="f",
           says="NP.sqrt(NP.sum(A * A, axis=AXIS, keepdims=KEEPDIMS))"),
    Saying(call=_NORM, wants="ORD=2", kinds="f", rank=1, says="NP.sqrt(NP.sum(A * A))"),
    Saying(call=_NORM, wants="ORD='fro'", kinds="f", rank=2, says="NP.sqrt(NP.sum(A * A))"),
    Saying(call=_NORM, wants="ORD=1", kinds="f", rank=1, says="NP.sum(NP.abs(A))"),
    Saying(call=_NORM, wants="ORD=inf", kinds="f", rank=1, python=_NONE, says="NP.max(NP.abs(A))"),
    Saying(call=_NORM, wants="ORD=-inf", kinds="f", rank=1, python=_NONE,
           says="NP.min(NP.abs(A))"),
    Saying(call=_NORM, wants="ORD=1", kinds="f", rank=2, python=_NONE,
           says="NP.max(NP.sum(NP.abs(A), axis=0))"),
    Saying(call=_NORM, wants="ORD=inf", kinds="f", rank=2, python=_NONE,
           says="NP.max(NP.sum(NP.abs(A), axis=1))"),
    Saying(call=_NORM, wants="ORD=1 AXIS", kinds="f",
           says="NP.sum(NP.abs(A), axis=AXIS, keepdims=KEEPDIMS)"),
    Saying(call=_NORM, wants="ORD=2 AXIS", kinds="f",
           says="NP.sqrt(NP.sum(A * A, axis=AXIS, keepdims=KEEPDIMS))"),
    Saying(call=_NORM, wants="ORD=inf AXIS", kinds="f", python=_NONE,
           says="NP.max(NP.abs(A), axis=AXIS, keepdims=KEEPDIMS)"),
    Saying(call=_NORM, kinds="iub",
           says="NP.linalg.norm(NP.asarray(A, dtype=NP.float64), ORD, AXIS, KEEPDIMS)"),
    Saying(call=f"mean {_MEAN} where", wants="WHERE", alike="WHERE", kinds="f",
           first=(_TAKEN.format("KEEPDIMS"), _TOTAL.format("KEEPDIMS")), python=("C == 0",),
           says="T(NP.divide(S, C))"),
    *(Saying(call=f"{name} {_SPREAD} where", wants="WHERE", alike="WHERE", kinds="f",
             first=_SPREAD_WHERE, python=("N <= DDOF",), says=says)
      for name, says in (("var", "V"), ("std", "NP.sqrt(V)"))),
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
    Saying(call="nancumsum a axis=None dtype out", kinds="iub", says="NP.cumsum(A, axis=AXIS)"),
    Saying(call="nancumprod a axis=None dtype out", kinds="f",
           says="NP.cumprod(NP.where(A != A, 1, A), axis=AXIS)"),
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
    Saying(call=_UNWRAP, kinds="f", rank=1, first=_STEP,
           says=_UNWRAPPED.replace("LEAST", "PERIOD / 2")),
    Saying(call=_UNWRAP, wants="DISCONT", kinds="f", rank=1, first=_STEP,
           says=_UNWRAPPED.replace("LEAST", "DISCONT")),
    Saying(call=f"nanvar {_SPREAD}", kinds="f", first=_VARIANCE,
           python=("N <= DDOF",), says="V"),
    Saying(call=f"nanstd {_SPREAD}", kinds="f", first=_VARIANCE,
           python=("N <= DDOF",), says="NP.sqrt(V)"),
)
