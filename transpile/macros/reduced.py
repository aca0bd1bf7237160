"""Folds by another name, and with ``dtype=``: ``np.add.reduce`` is ``np.sum``."""
from __future__ import annotations

import ast

from ..types import ELEMENTS
from .arguments import Arguments, arguments
from .context import Context
from .firing import fires_on, named

__all__ = ["SIGNATURES", "array_reduced"]

_REDUCE = "a axis dtype out keepdims initial where"
_TYPED = {
    "sum": _REDUCE, "prod": _REDUCE, "mean": "a axis dtype out keepdims where",
    "var": "a axis dtype out ddof keepdims where", "std": "a axis dtype out ddof keepdims where",
    "cumsum": "a axis dtype out", "cumprod": "a axis dtype out",
}
_UFUNCS = {
    "add.reduce": "sum", "multiply.reduce": "prod", "minimum.reduce": "min",
    "maximum.reduce": "max", "logical_or.reduce": "any", "logical_and.reduce": "all",
}
SIGNATURES = {**_TYPED, **dict.fromkeys(_UFUNCS, _REDUCE)}

_WIDE = ("i64", "u64", "f32", "f64", "c64", "c128")
"""What sums of these are, too."""


@fires_on(ast.Call, calls=named(SIGNATURES))
def array_reduced(node: ast.AST, cx: Context) -> ast.expr | None:
    """In the words of others.

        s = np.sum(k, dtype=np.float64)
        t = np.maximum.reduce(x)
    →
        _sum = np.float64(0)
        for _i in range(k.shape[0]):
            _sum = np.add(_sum, np.float64(k[_i]))
        s = _sum
        if x.shape[0] < 1:
            "Python's to answer"
            _max = np.max(x, axis=0)
        else:
            _max = x[0]
            for _i_1 in range(x.shape[0]):
                _max = np.maximum(_max, x[_i_1])
        t = _max
    """
    given = arguments(node, cx, SIGNATURES)
    if given is None or not isinstance(node, ast.expr) or cx.fact(given["a"]).array is None:
        return None
    if given.name in _UFUNCS:
        return _by_name(given, cx)
    return _in_type(given, node, cx) if given.get("dtype") is not None else None


def _by_name(given: Arguments, cx: Context) -> ast.expr | None:
    rest = {"axis": ast.Constant(0), **given.given}
    del rest["a"]
    name = _UFUNCS[given.name]
    if name in ("any", "all") and "dtype" in rest:
        return None
    return _call(name, given["a"], rest, cx)


def _in_type(given: Arguments, node: ast.expr, cx: Context) -> ast.expr | None:
    """The elements are converted first; where the result is of that type anyway, nothing is."""
    types, of = cx.fact(node).types, cx.fact(given["a"]).array
    rest = {k: e for k, e in given.given.items() if k not in ("a", "dtype")}
    if len(types) != 1 or of is None:
        return None
    (out,) = types
    to, source = ELEMENTS[out.dtype].numpy, ELEMENTS[of.dtype].numpy
    if out.dtype not in _WIDE or (given.name == "mean" and to.kind == "i"):
        return None
    wider = source.kind == "f" == to.kind and source.itemsize <= to.itemsize
    if given.name in ("var", "std") and not (wider or to.char == "d"):
        return None
    if of.dtype == out.dtype:
        return _call(given.name, given["a"], rest, cx)
    parts = {"X": given["a"], "T": given["dtype"], "NP": cx.numpy}
    return _call(given.name, cx.expr("NP.asarray(X, dtype=T)", **parts), rest, cx)


def _call(
    name: str, x: ast.expr, rest: dict[str, ast.expr], cx: Context
) -> ast.expr:
    call = cx.expr(f"NP.{name}(X)", NP=cx.numpy, X=x)
    assert isinstance(call, ast.Call)
    call.keywords = [ast.keyword(k, e) for k, e in rest.items()]
    return call
