"""Arrays of numbers that are drawn → their elements, drawn one by one."""
from __future__ import annotations

import ast
from collections.abc import Sequence

from ..draws.sized import sized
from .context import Context
from .firing import BOUND, METHOD, fires_on
from .nests import allocated, nest, unless
from .views import held

__all__ = ["array_drawn"]


@fires_on(ast.Call, calls=[BOUND, METHOD])
def array_drawn(node: ast.AST, cx: Context) -> ast.expr | None:
    """An array takes what the generator gives next.

        y = np.random.rand(n)
    →
        _a = np.empty(n, np.float64)
        for _i in range(n):
            _a[_i] = np.random.rand()
        y = _a
    """
    if not isinstance(node, ast.Call):
        return None
    many = sized(node, cx.facts.type_of, cx.resolve)
    given = [*many.one.args, *(k.value for k in many.one.keywords)] if many else []
    if many is None or cx.fact(node).array is None or any(cx.fact(e).rank != 0 for e in given):
        return None

    def steady(e: ast.expr) -> ast.expr:
        return e if isinstance(e, ast.Constant) else held(e, "s", cx)

    lengths = [e if cx.facts.lasting(e) else held(e, "n", cx) for e in many.lengths]
    named = [ast.keyword(k.arg, steady(k.value)) for k in many.one.keywords]
    args = [steady(e) for e in many.one.args]
    one = ast.copy_location(ast.Call(many.one.func, args, named), node)
    name = cx.fresh("a")

    def draw(at: Sequence[ast.expr]) -> list[ast.stmt]:
        index = at[0] if len(at) == 1 else ast.Tuple([*at], ast.Load())
        return cx.code("NAME[AT] = E", NAME=name, AT=index, E=one)

    lines = [allocated(name, lengths, many.dtype, cx), *nest(lengths, draw, cx)]
    (whole,) = cx.code("NAME = E", NAME=name, E=node)
    none = [cx.expr("N < 1", N=n) for n in lengths]  # what is wrong is said of none, too
    cx.before(*unless(none if given else [], whole, lines, cx))
    return cx.expr("NAME", NAME=name)
