"""Places in an array, by how many elements are before: ``np.unravel_index``."""
from __future__ import annotations

import ast

from ..types import ELEMENTS
from .arguments import arguments
from .context import Context
from .firing import fires_on, named
from .nests import product, unless
from .views import held

__all__ = ["place_unravelled"]


@fires_on(ast.Call, calls=named(["unravel_index"]))
def place_unravelled(node: ast.AST, cx: Context) -> ast.expr | None:
    """What is left after whole rows; there is no place beyond the last.

        i, j = np.unravel_index(n, X.shape)
    →
        if n < 0 or n >= X.shape[0] * X.shape[1]:
            "Python's to answer"
            _at, _at_1 = np.unravel_index(n, X.shape)
        else:
            _at_1 = np.int64(n % X.shape[1])
            _at = np.int64(n // X.shape[1])
        i = _at
        j = _at_1
    """
    given = arguments(node, cx, {"unravel_index": "indices shape"})
    if given is None or "shape" not in given.given or not isinstance(node, ast.Call):
        return None
    at, lengths = given["indices"], cx.facts.items(given["shape"])
    kinds = {ELEMENTS[t.dtype].kind for t in cx.fact(at).types if t.dtype != "u64"}
    if not lengths or cx.fact(at).rank != 0 or not all(cx.fact(n).is_int for n in lengths):
        return None
    if kinds not in ({"i"}, {"u"}) or not cx.means("int"):
        return None
    if not cx.fact(at).is_int:
        at = cx.expr("int(I)", I=at)
    at = at if isinstance(at, ast.Name) else held(at, "at", cx)
    lengths = [n if _is_plain(n) else held(n, "n", cx) for n in lengths]
    names = [ast.Name(cx.fresh("at"), ast.Load()) for _ in lengths]
    total = product(lengths, cx)
    lines: list[ast.stmt] = []
    left: ast.expr = at
    for k, (name, n) in reversed([*enumerate(zip(names, lengths, strict=True))]):
        text = "NAME = NP.int64(I % N)" if k else "NAME = NP.int64(I)"
        lines += cx.code(text, NAME=name, NP=cx.numpy, I=left, N=n)
        left = cx.expr("I // N", I=left, N=n)
    places = ast.Tuple([*names], ast.Load())
    (original,) = cx.code("PLACES = E", PLACES=places, E=node)
    checks = [cx.expr("I < 0", I=at), cx.expr("I >= N", I=at, N=total)]
    cx.before(*unless(checks, original, lines, cx))
    return places


def _is_plain(n: ast.expr) -> bool:
    return isinstance(n, (ast.Name, ast.Constant, ast.Subscript))
