"""Numbers in plainer words: limits of types, angles, what ``operator`` does, items."""
from __future__ import annotations

import ast
import math
import operator
from typing import Any

import numpy as np

from ..types import ELEMENTS, ScalarType
from .context import Context
from .deciding import asked, known_as
from .firing import fires_on
from .tupled import is_steady
from .views import held

__all__ = ["is_real", "number_said"]

_ANGLES: dict[Any, float] = {math.degrees: 180.0 / math.pi, math.radians: math.pi / 180.0}
_OPERATORS: dict[Any, str] = {
    operator.add: "A + B", operator.sub: "A - B", operator.mul: "A * B", operator.truediv: "A / B",
    operator.floordiv: "A // B", operator.mod: "A % B", operator.pow: "A ** B",
    operator.lt: "A < B", operator.le: "A <= B", operator.gt: "A > B", operator.ge: "A >= B",
    operator.eq: "A == B", operator.ne: "A != B", operator.and_: "A & B", operator.or_: "A | B",
    operator.xor: "A ^ B", operator.neg: "-A", operator.not_: "not A",
}
_LIMITS = {
    np.iinfo: ("max", "min", "bits"),
    np.finfo: ("max", "min", "eps", "epsneg", "tiny", "smallest_normal", "resolution", "bits"),
}
_CLASSES = {"f": "float", "i": "int", "u": "int", "b": "bool"}


@fires_on(ast.Attribute, value=ast.Call, calls=[np.finfo, np.iinfo])
@fires_on(ast.Call, calls=[".item", math.isclose, math.log, *_ANGLES, *_OPERATORS])
def number_said(node: ast.AST, cx: Context) -> ast.expr | None:
    """What has no shorter name is written out.

        i = np.iinfo(np.int16).max
        s = s + math.degrees(t)
        t = operator.mul(s, t)
        e = x[0].item()
    →
        np.iinfo
        np.int16
        i = 32767
        s = s + float(t) * 57.29577951308232
        t = s * t
        e = float(x[0])
    """
    match node:
        case ast.Attribute(attr=limit, value=ast.Call(func=func, args=[of], keywords=[])):
            return _limit(limit, func, of, cx)
        case ast.Call(func=ast.Attribute(attr="item", value=of), args=[], keywords=[]):
            return _item(of, cx)
        case ast.Call(func=ast.Attribute(attr="item", value=of), args=[at], keywords=[]) if (
            cx.fact(of).rank == 1 and cx.fact(at).is_int
        ):
            return _item(cx.expr("X[I]", X=of, I=at), cx)
        case ast.Call(func=func, args=[a, *rest], keywords=keywords):
            function = cx.resolve(func)
            if function is math.isclose and len(rest) == 1:
                return _isclose(a, rest[0], keywords, cx)
            if function is math.log and len(rest) == 1 and not keywords:
                steady = (x if is_steady(x) else held(x, "t", cx) for x in (a, *rest))
                return cx.expr("LOG(A) / LOG(B)", LOG=func, **dict(zip("AB", steady, strict=True)))
            if keywords or function is None:
                return None
            if not rest and (by := _known(function, _ANGLES)) is not None:
                return _turned(a, by, cx)
            said = _known(function, _OPERATORS)
            if said is not None and len(rest) == ("B" in said):
                return cx.expr(said, A=a, B=rest[0] if rest else a)
    return None


def _known(function: object, table: dict[Any, Any]) -> Any:
    return next((v for f, v in table.items() if f is function), None)


def _limit(limit: str, func: ast.expr, of: ast.expr, cx: Context) -> ast.expr | None:
    """A limit of a type of numbers: Python's int, or for floats a number of that type."""
    info: Any = cx.resolve(func)
    if info not in (np.iinfo, np.finfo) or limit not in _LIMITS[info]:
        return None
    found = known_as(of, cx)
    kind: Any = found.value if found else cx.resolve(of)
    try:
        value = getattr(info(kind), limit)
    except (TypeError, ValueError):  # it is Python's to raise
        return None
    cx.before(*asked(func, cx), *asked(of, cx))
    if isinstance(value, int):
        return cx.expr("-A - 1" if value < 0 else "A", A=ast.Constant(value ^ -(value < 0)))
    if type(value) not in (np.float64, np.float32):
        return None
    return cx.expr("NP.T(E)".replace("T", type(value).__name__), NP=cx.numpy,
                   E=ast.parse(repr(float(value)), mode="eval").body)


def _reals(e: ast.expr, cx: Context) -> list[ScalarType]:
    """The types of a real number; none where it may be anything else."""
    types = [t for t in cx.fact(e).types if isinstance(t, ScalarType)]
    real = all(t.dtype != "c128" and t.dtype in ELEMENTS for t in types)
    return types if real and len(types) == len(cx.fact(e).types) else []


def is_real(e: ast.expr, cx: Context) -> bool:
    """Whether `e` is a number that is not complex."""
    return bool(_reals(e, cx))


def _turned(a: ast.expr, by: float, cx: Context) -> ast.expr | None:
    known = _reals(a, cx) and cx.means("float")
    return cx.expr("float(A) * B", A=a, B=ast.Constant(by)) if known else None


def _item(of: ast.expr, cx: Context) -> ast.expr | None:
    """An element as a number of Python's."""
    types = _reals(of, cx)
    names = {_CLASSES.get(ELEMENTS[t.dtype].numpy.kind, "") for t in types if not t.weak}
    (name,) = names if len(names) == 1 and not any(t.weak for t in types) else ("",)
    return cx.expr(f"{name}(A)", A=of) if name and cx.means(name) else None


def _isclose(
    a: ast.expr, b: ast.expr, keywords: list[ast.keyword], cx: Context
) -> ast.expr | None:
    """As Python compares two floats; its tolerances must be constants that are none below 0."""
    given = {"rel_tol": 1e-09, "abs_tol": 0.0}
    for keyword in keywords:
        value = getattr(keyword.value, "value", None)
        if keyword.arg not in given or not isinstance(value, (int, float)) or not value >= 0:
            return None
        given[keyword.arg] = float(value)
    if not (_reals(a, cx) and _reals(b, cx) and cx.means("float", "abs")):
        return None
    p, q = (held(cx.expr("float(E)", E=e), "t", cx) for e in (a, b))
    gap = held(cx.expr("abs(Q - P)", P=p, Q=q), "t", cx)
    return cx.expr(
        "P == Q or (abs(P) < 1e999 and abs(Q) < 1e999 and"
        " (D <= abs(R * Q) or D <= abs(R * P) or D <= T))",
        P=p, Q=q, D=gap, R=ast.Constant(given["rel_tol"]), T=ast.Constant(given["abs_tol"]),
    )
