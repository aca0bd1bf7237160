"""Names of arrays that nothing else holds, bound to others of their lengths: memory is kept."""
from __future__ import annotations

import ast

from .context import Context
from .elementwise import is_elementwise
from .firing import fires_on
from .names import used

__all__ = ["array_rebound"]


@fires_on(ast.Assign, targets=ast.Name, when=lambda _, cx: cx.depth)
def array_rebound(node: ast.AST, cx: Context) -> list[ast.stmt] | None:
    """The elements change, and the array stays.

        u = np.ones(n)
        for _ in range(3):
            u = u * 0.5 + 1.0
    →
        u = np.empty(n, np.float64)
        for _i in range(n):
            u[_i] = 1
        for _ in range(3):
            for _i_1 in range(n):
                u[_i_1] = np.add(np.multiply(u[_i_1], 0.5), 1.0)
    """
    match node:
        case ast.Assign(targets=[ast.Name(id=name) as target], value=value) if (
            cx.depth and name in used(value)
        ):
            read = ast.copy_location(ast.Name(name, ast.Load()), target)
            old, new = cx.fact(read), cx.fact(value)
            if old.array is None or old.kinds != new.kinds or len(old.kinds) > 1:
                return None
            if not old.shape or old.shape != new.shape or not all(old.shape):
                return None
            if not cx.facts.is_alone(name):
                return None
            if is_elementwise(value, cx):
                return cx.code("X[:] = E", X=read, E=value)
            return cx.code("NEW = E\nX[:] = NEW", NEW=cx.fresh("a"), X=read, E=value)
    return None
