"""``math.gamma`` and ``math.lgamma`` by Lanczos' approximation, as CPython computes them.

The templates follow ``Modules/mathmodule.c`` (``lanczos_sum``, ``m_tgamma``, ``m_lgamma``, N = 13)
operation by operation, so that the results have the same bits. Overflow, poles and extreme
arguments are left to Python by a replay guard.
"""
from __future__ import annotations

import ast
import math
from functools import reduce
from textwrap import indent

from ..macros.bind_operands import bind_fresh
from ..macros.macro_context import Context, Part
from ..macros.macro_index import fires_on
from ..macros.replay_guards import guarded
from .scalar_calls import is_real

__all__ = ["gamma_call"]

_G = 6.024680040776729583740234375
"""The parameter g of Lanczos' approximation."""

_CONSTANTS = {"PI": ast.Constant(math.pi), "G": ast.Constant(_G), "H": ast.Constant(_G - 0.5)}

_NUMERATOR = (
    23531376880.410759688572007674451636754734846804940,
    42919803642.649098768957899047001988850926355848959,
    35711959237.355668049440185451547166705960488635843,
    17921034426.037209699919755754458931112671403265390,
    6039542586.3520280050642916443072979210699388420708,
    1439720407.3117216736632230727949123939715485786772,
    248874557.86205415651146038641322942321632125127801,
    31426415.585400194380614231628318205362874684987640,
    2876370.6289353724412254090516208496135991145378768,
    186056.26539522349504029498971604569928220784236328,
    8071.6720023658162106380029022722506138218516325024,
    210.82427775157934587250973392071336271166969580291,
    2.5066282746310002701649081771338373386264310793408,
)
_DENOMINATOR = (
    0.0, 39916800.0, 120543840.0, 150917976.0, 105258076.0, 45995730.0, 13339535.0, 2637558.0,
    357423.0, 32670.0, 1925.0, 66.0, 1.0,
)
"""Coefficients, from the constant term on, of the numerator and the denominator of the Lanczos sum.
"""


def _polynomial(coefficients: tuple[float, ...], op: str) -> str:
    """Horner's scheme in S: ``((c0 op S + c1) op S + c2) …``, where ``op`` is ``*`` or ``/``."""
    first, *others = map(repr, coefficients)
    return reduce(lambda text, c: f"({text} {op} S + {c})", others, first)


_SUM = f"""
if S < 5.0: R = {_polynomial(_NUMERATOR[::-1], "*")} / {_polynomial(_DENOMINATOR[::-1], "*")}
else: R = {_polynomial(_NUMERATOR, "/")} / {_polynomial(_DENOMINATOR, "/")}
"""
"""R = the Lanczos sum of S; for a large S in powers of 1 / S, which do not overflow."""
_SINE = """
W = S % 2.0
if W < 0.25: W = float(NP.sin(PI * W))
elif W < 0.75: W = float(NP.cos(PI * (W - 0.5)))
elif W < 1.25: W = float(NP.sin(PI * (1.0 - W)))
elif W < 1.75: W = -float(NP.cos(PI * (W - 1.5)))
else: W = float(NP.sin(PI * (W - 2.0)))
"""
"""W = sin(pi S), reduced to [-pi / 4, pi / 4]."""

_LOGARITHM = f"""
S = min(X, 1e20)
R = {_polynomial(_NUMERATOR[::-1], "*")} / {_polynomial(_DENOMINATOR[::-1], "*")}
NAME = float(NP.log(R)) - G + (X - 0.5) * (float(NP.log(X + G - 0.5)) - 1.0)
if X == 1.0 or X == 2.0: NAME = 0.0
"""
"""NAME = log(gamma(X))"""

_GAMMA = f"""
S = abs(X)
Y = S + H
Z = ((Y - S) - H if S > H else (Y - H) - S) * G / Y
{_SUM}
T = Y ** (S - 0.5 if S < 140.0 else S / 2.0 - 0.25)
U = 1.0 if S < 140.0 else T
if X < 0.0:
{indent(_SINE, "    ")}
    NAME = -PI / W / S * float(NP.exp(Y)) / R
    NAME = (NAME - Z * NAME) / T / U
elif X <= 23.0 and X == NP.floor(X):
    NAME = 1.0
    for I in range(2, int(X)): NAME = NAME * I
else:
    NAME = R / float(NP.exp(Y))
    NAME = (NAME + Z * NAME) * T * U
"""
"""NAME = gamma(X): by reflection for X < 0, by a product for small ints."""

_FUNCTIONS = (
    (math.lgamma, "not 1e-20 <= X < 1e300", _LOGARITHM),
    (math.gamma, "not 1e-20 <= abs(X) <= 170.0 or X < 0.0 and X == NP.floor(X)", _GAMMA),
)
"""Each function, the condition under which the call is left to Python, and its template."""


@fires_on(ast.Call, calls=[row[0] for row in _FUNCTIONS])
def gamma_call(node: ast.AST, cx: Context) -> ast.expr | None:
    """Gamma functions are written out as CPython computes them. Poles, overflow and extreme
    arguments are replayed.

        s = math.lgamma(n)
    →
        _x = float(n)
        if not 1e-20 <= _x < 1e+300:
            "Python's to answer"
            _gamma = math.lgamma(n)
        else:
            _s = min(_x, 1e+20)
            _r = (… * _s + 23531376880.41076) / (… * _s + 0.0)
            _gamma = float(np.log(_r)) - 6.02468004077673 + (_x - 0.5) * (float(np.log(…)) - 1.0)
            if _x == 1.0 or _x == 2.0:
                _gamma = 0.0
        s = _gamma
    """
    match node:
        case ast.Call(func=func, args=[x], keywords=[]):
            function = cx.resolve(func)
        case _:
            return None
    row = next(((test, text) for f, test, text in _FUNCTIONS if f is function), None)
    has_builtins = cx.is_builtin("float", "abs", "min", "int", "range")
    if row is None or not is_real(x, cx) or not has_builtins:
        return None
    test, text = row
    name = cx.fresh("gamma")

    def lines() -> list[ast.stmt]:
        argument = x if isinstance(x, ast.Name) else bind_fresh(x, "t", cx)
        value = bind_fresh(cx.expr("float(X)", X=argument), "x", cx)
        parts: dict[str, Part] = {h: cx.fresh(h.lower()) for h in "SRWYZTUI" if h in text}
        rewritten = cx.code(text, NAME=name, X=value, NP=cx.numpy, **_CONSTANTS, **parts)
        original = cx.code("NAME = E", NAME=name, E=ast.Call(func, [argument], []))
        return guarded([cx.expr(test, X=value, NP=cx.numpy)], original[0], rewritten, cx)

    return cx.bound_name(name, lines)
