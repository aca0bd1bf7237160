"""Identity table: the definitions of NumPy functions by other NumPy functions (``nansum`` …).

A row of `IDENTITIES` is a definition: the signature of a call, conditions on its arguments, and the
expression that replaces it, with a capitalised hole for each parameter. For example ::

    _identity(call="ediff1d a", result="NP.diff(A)", rank=1, kinds="iuf")

replaces ``np.ediff1d(x)`` of a vector of numbers by ``np.diff(x)``. The macro that applies the rows
is `call_identities.call_identity`. An elementwise function is no identity but a formula
(`elementwise_formulas`), which also serves scalars. Each function has a row in `function_table`,
too.
"""
from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from loopir.lazy_dataclass import record

from ...frontend.ast_walk import walk_nodes

__all__ = ["ANY_VALUE", "IDENTITIES", "Identity"]


@record(frozen=True, slots=True, kw_only=True)
class Identity:
    """The definition of one form of a call.

    In ``result``, ``bindings`` and ``replay_if`` the holes are the parameters in capitals (A for
    ``a``), the names that ``bindings`` bind, NP for NumPy and T for the dtype of the result. A call
    matches only if each argument that differs from its default has a hole.
    """

    function: str
    """The function's name in NumPy: "mean", "linalg.norm"."""
    parameters: tuple[str, ...]
    """Its parameters, in their order."""
    defaults: Mapping[str, Any]
    """The defaults of those that have a hole; of the others it is None."""
    result: str
    """The expression that replaces the call."""
    bindings: Mapping[str, str]
    """Fresh names and their values, which are bound before it, in order."""
    replay_if: tuple[str, ...]
    """Conditions, maybe of arrays: where an element of one is true, the call is replayed."""
    kinds: str
    """NumPy's kinds of dtypes that the array A may have."""
    rank: int | None
    """The rank that A must have; None: any."""
    same_shape: str
    """The hole of an argument that must be an array of the shape of A; "": none."""
    requires: Mapping[str, object]
    """The arguments that must be given, as holes, each with the value that it must have, or
    `ANY_VALUE`.
    """

    @property
    def uses(self) -> Mapping[str, int]:
        """How often each hole occurs in the result, the bindings and ``replay_if``."""
        return _uses_of_holes((self.result, *self.bindings.values(), *self.replay_if))

    def has_hole(self, parameter: str) -> bool:
        """Whether the definition has a hole for `parameter`, or requires a value of it."""
        hole = parameter.upper()
        return hole in self.uses or hole in self.requires


@lru_cache(maxsize=128)
def _uses_of_holes(templates: tuple[str, ...]) -> Mapping[str, int]:
    """How often each hole occurs in these expressions."""
    trees = (ast.parse(text) for text in templates)
    names = (n.id for tree in trees for n in walk_nodes(tree) if isinstance(n, ast.Name))
    return Counter(name for name in names if name.isupper())


ANY_VALUE = ...
"""In `Identity.requires`: the argument may have any value; AXIS any constant one."""


def _identity(
    *, call: str, result: str, bindings: Sequence[str] = (), replay_if: Sequence[str] = (),
    kinds: str = "biuf", rank: int | None = None, same_shape: str = "", requires: str = "",
) -> Identity:
    """A row of `IDENTITIES` as it is written: ``call`` is the function and its parameters, with
    defaults ("mean a axis=None"), each of ``bindings`` an assignment, ``requires`` the holes that
    must be given, some with a value ("ORD=2 AXIS").
    """
    function, *words = call.split()
    given = [word.partition("=") for word in words]
    required = [word.partition("=") for word in requires.split()]
    values = {target: value for target, _, value in (line.partition(" = ") for line in bindings)}
    return Identity(
        function=function, parameters=tuple(name for name, _, _ in given),
        defaults={name: _value(text) for name, equals, text in given if equals}, result=result,
        bindings=values, replay_if=tuple(replay_if), kinds=kinds, rank=rank, same_shape=same_shape,
        requires={hole: _value(text) if equals else ANY_VALUE for hole, equals, text in required},
    )


def _value(text: str) -> Any:
    """The value that a row writes as `text`."""
    return float(text) if text.endswith("inf") else ast.literal_eval(text)


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
_VECTOR_NORM_SIGNATURE = "linalg.vector_norm a axis=None keepdims=False ord=2"
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
    _identity(
        call="allclose a b rtol=1e-05 atol=1e-08 equal_nan=False",
        result="bool(NP.all(NP.isclose(A, B, rtol=RTOL, atol=ATOL, equal_nan=EQUAL_NAN)))",
    ),
    _identity(
        call="array_equal a b equal_nan=False",
        requires="B",
        same_shape="B",
        result="bool(NP.all((A == B) | (EQUAL_NAN & (A != A) & (B != B))))",
    ),
    _identity(
        call="average a axis=None weights returned keepdims=False",
        replay_if=("A.size == 0",),
        result="NP.mean(A, axis=AXIS, keepdims=KEEPDIMS)",
    ),
    _identity(
        call="average a axis=None weights returned keepdims=False",
        requires="WEIGHTS",
        same_shape="WEIGHTS",
        bindings=("S = NP.sum(WEIGHTS, axis=AXIS, dtype=T, keepdims=KEEPDIMS)",),
        replay_if=("S == 0",),
        result="NP.sum(NP.asarray(A, dtype=T) * NP.asarray(WEIGHTS, dtype=T), axis=AXIS, "
        "keepdims=KEEPDIMS) / S",
    ),
    _identity(
        call=f"corrcoef {_COV_SIGNATURE}",
        rank=2,
        replay_if=_CORRELATION_CHECKS,
        bindings=("C = NP.cov(A)", "S = NP.sqrt(NP.diag(C))"),
        result=_CORRELATION_RESULT,
    ),
    _identity(
        call=f"corrcoef {_COV_SIGNATURE}",
        requires="ROWVAR=False",
        rank=2,
        replay_if=_CORRELATION_CHECKS,
        bindings=("C = NP.cov(A, rowvar=False)", "S = NP.sqrt(NP.diag(C))"),
        result=_CORRELATION_RESULT,
    ),
    _identity(
        call=f"corrcoef {_COV_SIGNATURE}",
        requires="Y",
        same_shape="Y",
        rank=1,
        result="NP.corrcoef(NP.stack((A, Y)))",
    ),
    _identity(
        call=f"cov {_COV_SIGNATURE}",
        rank=2,
        bindings=(_LET_DOUBLES, _LET_CENTRED.format(1)),
        replay_if=("A.shape[0] < 2", "A.shape[1] <= DDOF"),
        result="NP.dot(P, P.T) * (1 / (A.shape[1] - DDOF))",
    ),
    _identity(
        call=f"cov {_COV_SIGNATURE}",
        requires="ROWVAR=False",
        rank=2,
        bindings=(_LET_DOUBLES, _LET_CENTRED.format(0)),
        replay_if=("A.shape[1] < 2", "A.shape[0] <= DDOF"),
        result="NP.dot(P.T, P) * (1 / (A.shape[0] - DDOF))",
    ),
    _identity(
        call=f"cov {_COV_SIGNATURE}",
        requires="Y",
        same_shape="Y",
        rank=1,
        result="NP.cov(NP.stack((A, Y)), ddof=DDOF)",
    ),
    _identity(
        call="cov a y rowvar=True bias",
        requires="BIAS=True",
        rank=2,
        result="NP.cov(A, rowvar=ROWVAR, ddof=0)",
    ),
    _identity(
        call="cov a y rowvar bias",
        requires="Y BIAS=True",
        same_shape="Y",
        rank=1,
        result="NP.cov(A, Y, ddof=0)",
    ),
    _identity(call="ediff1d a", result="NP.diff(A)", rank=1, kinds="iuf"),
    # NumPy trims coefficients that are 0 at the start
    _identity(call="polymul a b", result="NP.convolve(A, B)", rank=1, kinds="f",
              replay_if=["A[0] == 0", "B[0] == 0"]),
    _identity(call=_NORM_SIGNATURE, result="NP.sqrt(NP.sum(A * A))", kinds="f"),
    _identity(
        call=_NORM_SIGNATURE,
        requires="AXIS",
        kinds="f",
        result="NP.sqrt(NP.sum(A * A, axis=AXIS, keepdims=KEEPDIMS))",
    ),
    _identity(
        call=_NORM_SIGNATURE, requires="ORD=2", kinds="f", rank=1, result="NP.sqrt(NP.sum(A * A))"
    ),
    _identity(
        call=_NORM_SIGNATURE, requires="ORD='fro'", kinds="f", rank=2,
        result="NP.sqrt(NP.sum(A * A))",
    ),
    _identity(
        call=_NORM_SIGNATURE, requires="ORD=1", kinds="f", rank=1, result="NP.sum(NP.abs(A))",
    ),
    _identity(
        call=_NORM_SIGNATURE, requires="ORD=inf", kinds="f", rank=1, replay_if=_CHECK_EMPTY,
        result="NP.max(NP.abs(A))",
    ),
    _identity(
        call=_NORM_SIGNATURE, requires="ORD=-inf", kinds="f", rank=1, replay_if=_CHECK_EMPTY,
        result="NP.min(NP.abs(A))",
    ),
    _identity(
        call=_NORM_SIGNATURE,
        requires="ORD=1",
        kinds="f",
        rank=2,
        replay_if=_CHECK_EMPTY,
        result="NP.max(NP.sum(NP.abs(A), axis=0))",
    ),
    _identity(
        call=_NORM_SIGNATURE,
        requires="ORD=inf",
        kinds="f",
        rank=2,
        replay_if=_CHECK_EMPTY,
        result="NP.max(NP.sum(NP.abs(A), axis=1))",
    ),
    _identity(
        call=_NORM_SIGNATURE,
        requires="ORD=1 AXIS",
        kinds="f",
        result="NP.sum(NP.abs(A), axis=AXIS, keepdims=KEEPDIMS)",
    ),
    _identity(
        call=_NORM_SIGNATURE,
        requires="ORD=2 AXIS",
        kinds="f",
        result="NP.sqrt(NP.sum(A * A, axis=AXIS, keepdims=KEEPDIMS))",
    ),
    _identity(
        call=_NORM_SIGNATURE,
        requires="ORD=inf AXIS",
        kinds="f",
        replay_if=_CHECK_EMPTY,
        result="NP.max(NP.abs(A), axis=AXIS, keepdims=KEEPDIMS)",
    ),
    _identity(
        call=_NORM_SIGNATURE,
        kinds="iub",
        result="NP.linalg.norm(NP.asarray(A, dtype=NP.float64), ORD, AXIS, KEEPDIMS)",
    ),
    _identity(
        call=_VECTOR_NORM_SIGNATURE,
        kinds="f",
        result="NP.sqrt(NP.sum(A * A, axis=AXIS, keepdims=KEEPDIMS))",
    ),
    _identity(
        call=_VECTOR_NORM_SIGNATURE,
        requires="ORD=0",
        kinds="f",
        result="NP.sum(NP.asarray(A != 0, dtype=T), axis=AXIS, keepdims=KEEPDIMS)",
    ),
    _identity(
        call=_VECTOR_NORM_SIGNATURE,
        requires="ORD=1",
        kinds="f",
        result="NP.sum(NP.abs(A), axis=AXIS, keepdims=KEEPDIMS)",
    ),
    _identity(
        call=_VECTOR_NORM_SIGNATURE,
        requires="ORD=inf",
        kinds="f",
        result="NP.max(NP.abs(A), axis=AXIS, keepdims=KEEPDIMS)",
    ),
    _identity(
        call=_VECTOR_NORM_SIGNATURE,
        requires="ORD=-inf",
        kinds="f",
        result="NP.min(NP.abs(A), axis=AXIS, keepdims=KEEPDIMS)",
    ),
    _identity(
        call=_VECTOR_NORM_SIGNATURE,
        kinds="iub",
        result="NP.linalg.vector_norm(NP.asarray(A, dtype=NP.float64), axis=AXIS, ord=ORD, "
        "keepdims=KEEPDIMS)",
    ),
    _identity(
        call=f"mean {_MEAN_SIGNATURE} where",
        requires="WHERE",
        same_shape="WHERE",
        kinds="f",
        bindings=(_LET_WHERE_COUNT.format("KEEPDIMS"), _LET_WHERE_SUM.format("KEEPDIMS")),
        replay_if=("C == 0",),
        result="T(NP.divide(S, C))",
    ),
    *(
        _identity(
            call=f"{name} {_VARIANCE_SIGNATURE} where",
            requires="WHERE",
            same_shape="WHERE",
            kinds="f",
            bindings=_WHERE_VARIANCE_STEPS,
            replay_if=("N <= DDOF",),
            result=result,
        )
        for name, result in (("var", "V"), ("std", "NP.sqrt(V)"))
    ),
    _identity(
        call=f"nanmax {_REDUCTION_SIGNATURE}",
        kinds="f",
        replay_if=("A.size == 0", _CHECK_ALL_NAN),
        result="NP.max(NP.where(A != A, -NP.inf, A), axis=AXIS, keepdims=KEEPDIMS)",
    ),
    _identity(
        call=f"nanmax {_REDUCTION_SIGNATURE}",
        kinds="iub",
        replay_if=("A.size == 0",),
        result="NP.max(A, axis=AXIS, keepdims=KEEPDIMS)",
    ),
    _identity(
        call=f"nanmin {_REDUCTION_SIGNATURE}",
        kinds="f",
        replay_if=("A.size == 0", _CHECK_ALL_NAN),
        result="NP.min(NP.where(A != A, NP.inf, A), axis=AXIS, keepdims=KEEPDIMS)",
    ),
    _identity(
        call=f"nanmin {_REDUCTION_SIGNATURE}",
        kinds="iub",
        replay_if=("A.size == 0",),
        result="NP.min(A, axis=AXIS, keepdims=KEEPDIMS)",
    ),
    _identity(
        call="nanargmax a axis=None",
        kinds="f",
        replay_if=("A.size == 0", _CHECK_ALL_NAN),
        bindings=("B = NP.where(A != A, -NP.inf, A)",),
        result="NP.argmax(B, axis=AXIS)",
    ),
    _identity(
        call="nanargmin a axis=None",
        kinds="f",
        replay_if=("A.size == 0", _CHECK_ALL_NAN),
        bindings=("B = NP.where(A != A, NP.inf, A)",),
        result="NP.argmin(B, axis=AXIS)",
    ),
    _identity(
        call=f"nansum {_MEAN_SIGNATURE}",
        kinds="f",
        result="NP.sum(NP.where(A != A, 0, A), axis=AXIS, keepdims=KEEPDIMS)",
    ),
    _identity(
        call=f"nansum {_MEAN_SIGNATURE}",
        kinds="iub",
        result="NP.sum(A, axis=AXIS, keepdims=KEEPDIMS)",
    ),
    _identity(
        call=f"nanprod {_MEAN_SIGNATURE}",
        kinds="f",
        result="NP.prod(NP.where(A != A, 1, A), axis=AXIS, keepdims=KEEPDIMS)",
    ),
    _identity(
        call=f"nanprod {_MEAN_SIGNATURE}",
        kinds="iub",
        result="NP.prod(A, axis=AXIS, keepdims=KEEPDIMS)",
    ),
    _identity(
        call="nancumsum a axis=None dtype out",
        kinds="f",
        result="NP.cumsum(NP.where(A != A, 0, A), axis=AXIS)",
    ),
    _identity(
        call="nancumsum a axis=None dtype out", kinds="iub", result="NP.cumsum(A, axis=AXIS)",
    ),
    _identity(
        call="nancumprod a axis=None dtype out",
        kinds="f",
        result="NP.cumprod(NP.where(A != A, 1, A), axis=AXIS)",
    ),
    _identity(
        call="nancumprod a axis=None dtype out", kinds="iub", result="NP.cumprod(A, axis=AXIS)"
    ),
    _identity(
        call=f"nanmean {_MEAN_SIGNATURE}",
        kinds="f",
        bindings=_NAN_MEAN_STEPS,
        replay_if=("C == 0",),
        result="T(NP.divide(S, C))",
    ),
    _identity(
        call=f"nanmean {_MEAN_SIGNATURE}",
        kinds="iub",
        result="NP.mean(A, axis=AXIS, keepdims=KEEPDIMS)",
    ),
    _identity(
        call=f"nanvar {_VARIANCE_SIGNATURE}",
        kinds="f",
        bindings=_NAN_VARIANCE_STEPS,
        replay_if=("N <= DDOF",),
        result="V",
    ),
    _identity(
        call=f"nanvar {_VARIANCE_SIGNATURE}",
        kinds="iub",
        result="NP.var(A, axis=AXIS, ddof=DDOF, keepdims=KEEPDIMS)",
    ),
    _identity(
        call=f"nanstd {_VARIANCE_SIGNATURE}",
        kinds="f",
        bindings=_NAN_VARIANCE_STEPS,
        replay_if=("N <= DDOF",),
        result="NP.sqrt(V)",
    ),
    _identity(
        call=f"nanstd {_VARIANCE_SIGNATURE}",
        kinds="iub",
        result="NP.std(A, axis=AXIS, ddof=DDOF, keepdims=KEEPDIMS)",
    ),
    _identity(
        call=_UNWRAP_SIGNATURE,
        kinds="f",
        rank=1,
        bindings=_UNWRAP_STEPS,
        result=_UNWRAPPED.replace("LEAST", "PERIOD / 2"),
    ),
    _identity(
        call=_UNWRAP_SIGNATURE,
        requires="DISCONT",
        kinds="f",
        rank=1,
        bindings=_UNWRAP_STEPS,
        result=_UNWRAPPED.replace("LEAST", "DISCONT"),
    ),
)
"""The definitions, by function in the alphabet; `Identity` explains the columns. A function may
have several rows, for different arguments: the first whose conditions hold is applied
(`call_identity`). These are ``requires``, ``rank``, ``kinds`` and ``same_shape``.
"""
