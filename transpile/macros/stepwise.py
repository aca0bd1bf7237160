"""What a function of two makes of one element after the other: ``np.bitwise_or.reduce``."""
from __future__ import annotations

import ast
from collections.abc import Sequence

from .arguments import Arguments, is_none
from .context import Context
from .integers import integer_constant
from .nests import allocated, nest, unless
from .searching import Way
from .template import Part
from .views import element, view

__all__ = ["WAYS"]

_FUNCTIONS = (
    "bitwise_and", "bitwise_or", "bitwise_xor", "divide", "fmax", "fmin", "hypot", "logical_xor",
    "subtract",
)
_REDUCED = """
    ACC = FIRST
    for K in range(1, N):
        ACC = NP.FUNCTION(ACC, E)
"""
_ACCUMULATED = """
    ACC = FIRST
    BEGIN = ACC
    for K in range(1, N):
        ACC = NP.FUNCTION(ACC, E)
        PLACE = ACC
"""


def _stepwise(all_: bool) -> Way:
    """The last result, or ``all_``."""

    def way(given: Arguments, name: str, node: ast.Call, cx: Context) -> list[ast.stmt] | None:
        types, of = cx.fact(node).types, cx.fact(given["a"]).array
        axis, rank = given.given.get("axis", ast.Constant(0)), cx.fact(given["a"]).rank or 0
        at = 0 if is_none(axis) and rank == 1 and not all_ else integer_constant(axis, None)
        if of is None or at is None or not -rank <= at < rank:
            return None
        x = view(given["a"], cx)
        if x is None or x.order != "C" or {t.dtype for t in types} != {of.dtype} or (
                of.dtype == "f16"):
            return None
        at %= rank
        shape = [*x.shape[:at], *x.shape[at + 1 :]]
        k = ast.Name(cx.fresh("k"), ast.Load())
        text = (_ACCUMULATED if all_ else _REDUCED).replace("FUNCTION", given.name.split(".")[0])

        def lines(acc: str, others: Sequence[ast.expr]) -> list[ast.stmt]:
            first, each = ([*others[:at], i, *others[at:]] for i in (ast.Constant(0), k))
            into: ast.expr = ast.Name(name, ast.Load())
            parts: dict[str, Part] = {"ACC": acc, "K": k, "N": x.shape[at], "NP": cx.numpy}
            parts |= {"FIRST": x.at(first), "E": x.at(each)}
            parts |= {"BEGIN": element(into, first, cx), "PLACE": element(into, each, cx)}
            return cx.code(text, **parts)

        def body(others: Sequence[ast.expr]) -> list[ast.stmt]:
            acc = cx.fresh("acc")
            own = lines(acc, others)
            place = element(ast.Name(name, ast.Load()), others, cx) if shape else None
            end = cx.code("PLACE = ACC", PLACE=place, ACC=acc) if place and not all_ else []
            return [*own, *end]

        (original,) = cx.code("NAME = E", NAME=name, E=node)
        if not shape and not all_:
            new = lines(name, ())
        else:
            lengths = x.shape if all_ else shape
            new = [allocated(name, lengths, of.dtype, cx), *nest(shape, body, cx)]
        return unless([*x.checks, cx.expr("N < 1", N=x.shape[at])], original, new, cx)

    return way


WAYS: dict[str, tuple[str, Way]] = {
    **{f"{name}.reduce": ("a axis", _stepwise(all_=False)) for name in _FUNCTIONS},
    **{f"{name}.accumulate": ("a axis", _stepwise(all_=True)) for name in _FUNCTIONS},
}
