"""Elements of vectors that are chosen, and where those are: ``compress take nonzero``."""
from __future__ import annotations

import ast

from .arguments import Arguments
from .context import Context
from .integers import integer_constant
from .masking import true_of
from .rejoined import Way

__all__ = ["CHOICES"]


def _chosen(given: Arguments, cx: Context) -> ast.expr | None:
    """Of a vector, what a mask of its length chooses."""
    mask, x = given["condition"], given.get("a")
    known = x is not None and cx.fact(x).array and cx.fact(mask).array
    if x is None or not known or (cx.fact(x).rank, cx.fact(mask).rank) != (1, 1):
        return None
    return None if given.get("axis") is not None else cx.expr("X[M]", X=x, M=true_of(mask, cx))


def _places(given: Arguments, cx: Context) -> ast.expr | None:
    """Of a vector: a column, or one array of a tuple."""
    x = given["a"]
    text = "NP.flatnonzero(X)[:, None]" if given.name == "argwhere" else "(NP.flatnonzero(X),)"
    known = cx.fact(x).rank == 1 and cx.fact(x).array and given.only("a")
    return cx.expr(text, NP=cx.numpy, X=x) if known else None


def _one(given: Arguments, cx: Context) -> ast.expr | None:
    """The element at one place."""
    x, at = given["a"], given.get("indices")
    known = at is not None and cx.fact(at).is_int and cx.fact(x).rank == 1 and given.only(
        "a", "indices", "axis") and integer_constant(given.get("axis"), 0) in (0, -1)
    return cx.expr("X[I]", X=x, I=at) if known and at is not None and cx.fact(x).array else None


CHOICES: dict[str, tuple[str, Way]] = {
    "argwhere": ("a", _places),
    "compress": ("condition a axis", _chosen),
    "extract": ("condition a", _chosen),
    "nonzero": ("a", _places),
    "take": ("a indices axis mode", _one),
    "where": ("a b c", _places),
}
