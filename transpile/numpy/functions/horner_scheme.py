"""Horner's scheme: ``np.polyval`` with an array of coefficients.

The coefficients begin with that of the highest power. (A display of constants is a formula, which
also serves other dtypes: `elementwise_formulas.polyval_formula`.)
"""
from __future__ import annotations

import ast
from collections.abc import Sequence

from ...frontend.macros.bind_operands import bind_operand
from ...frontend.macros.macro_context import Context
from ...frontend.macros.replay_guards import guarded
from ...types.value_types import ScalarType
from ..array_nests import allocate_array, loop_nest
from ..array_views import element_at, view_of
from ..call_arguments import BoundArguments

__all__ = ["polyval_rule"]

_HORNER = """
    ACC = NP.float64(0)
    V = E
    for K in range(P.shape[0]):
        ACC = NP.add(NP.multiply(ACC, V), P[K])
"""


def polyval_rule(
    bound: BoundArguments, name: str, node: ast.Call, cx: Context
) -> list[ast.stmt] | None:
    """``np.polyval(p, x)`` → a loop over the coefficients for each element of `x`. Needs vectors of
    float64 as `p`, and a float64, or an array of them in C order, as `x`; else None. For a number
    `x` and no coefficients, of which NumPy makes a 0-d array, the call is replayed.
    """
    if not {"p", "x"} <= bound.arguments.keys():
        return None
    coefficients, x = cx.fact(bound["p"]).array, cx.fact(bound["x"])
    if coefficients is None or (coefficients.dtype, coefficients.rank) != ("f64", 1):
        return None
    p = bind_operand(bound["p"], cx, "p")
    (original,) = cx.code("NAME = E", NAME=name, E=node)

    def horner(acc: str, e: ast.expr) -> list[ast.stmt]:
        """The value of the polynomial at `e`, as the name `acc`."""
        names = {"ACC": acc, "K": cx.fresh("k"), "V": cx.fresh("v")}
        return cx.code(_HORNER, P=p, E=e, NP=cx.numpy, **names)

    if x.rank == 0:
        if not x.types or not all(isinstance(t, ScalarType) and t.dtype == "f64" for t in x.types):
            return None
        none = cx.expr("P.shape[0] < 1", P=p)
        return guarded([none], original, horner(name, bound["x"]), cx)
    view = view_of(bound["x"], cx) if x.array is not None and x.array.dtype == "f64" else None
    if view is None or view.order != "C":
        return None

    def body(at: Sequence[ast.expr]) -> list[ast.stmt]:
        acc = cx.fresh("acc")
        place = element_at(ast.Name(name, ast.Load()), at, cx)
        return [*horner(acc, view.at(at)), *cx.code("PLACE = ACC", PLACE=place, ACC=acc)]

    nest = loop_nest(view.shape, body, cx)
    return guarded(view.checks, original, [allocate_array(name, view.shape, "f64", cx), *nest], cx)
