"""Formulas of numbers: what functions of whole arrays say of each element, said of a scalar."""
from __future__ import annotations

import ast

from ..types import ScalarType
from .arguments import Arguments, arguments
from .context import Context
from .firing import fires_on, named
from .formulas import ROWS, told
from .nests import dtype
from .views import held

__all__ = ["number_told"]

_ARRAYS = ("angle", "array", "asarray", "conjugate")
_SIGNATURES = {name: names for name, (names, _) in ROWS.items() if name not in _ARRAYS}


@fires_on(ast.Call, calls=[".astype", ".clip", ".round", *named(_SIGNATURES)])
def number_told(node: ast.AST, cx: Context) -> ast.expr | None:
    """In plainer words; what these name twice is computed once.

        s = np.fmin(s, t)
        t = np.round(x[0], 2)
    →
        s = np.float64(np.float64(s) if s <= t or t != t else np.float64(t))
        t = np.float64(np.divide(np.rint(np.multiply(x[0], 100.0)), 100.0))
    """
    fact = cx.fact(node) if isinstance(node, ast.Call) else None
    (out, *others) = fact.types if fact is not None and fact.rank == 0 and fact.types else (None,)
    if others or not isinstance(out, ScalarType) or out.weak or not isinstance(node, ast.Call):
        return None
    if (given := _given(node, cx)) is None:
        return None
    if given.name == "astype":
        return cx.expr("T(X)", T=dtype(out.dtype, cx), X=given["x"])
    found = told(given.name, given, cx, out.dtype)
    if found is None or any(cx.fact(e).rank != 0 for e in found.operands):
        return None
    text = ast.parse(found.text or "A", mode="eval")
    uses = [n.id for n in ast.walk(text) if isinstance(n, ast.Name)]
    parts = {
        name: e if isinstance(e, (ast.Name, ast.Constant)) or uses.count(name) == 1 else
        held(e, "a", cx) for name, e in zip("ABCD", found.operands, strict=False)
    }
    new = cx.expr(f"T({found.text or 'A'})", NP=cx.numpy, T=dtype(out.dtype, cx), **parts)
    return None if isinstance(new, ast.Call) and ast.dump(new.args[0]) == ast.dump(node) else new


def _given(node: ast.Call, cx: Context) -> Arguments | None:
    """The arguments, also of a method of a scalar of NumPy's."""
    match node.func:
        case ast.Attribute(value=x, attr="astype" | "clip" | "round" as name) if (
            cx.resolve(node.func) is None and cx.fact(x).rank == 0
        ):
            names = ROWS[f".{name}" if f".{name}" in ROWS else name][0].split()
            given = dict(zip(names, [x, *node.args], strict=False))
            more = {k.arg: k.value for k in node.keywords if k.arg in names}
            known = len(node.args) < len(names) and len(more) == len(node.keywords)
            return Arguments(f".{name}" if f".{name}" in ROWS else name, given | more) if (
                known and not given.keys() & more.keys()) else None
    return arguments(node, cx, _SIGNATURES)
