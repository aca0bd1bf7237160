"""Comprehensions of tuples → loops that append them to a list with a name."""
from __future__ import annotations

import ast

from .comprehensions import nested, own_names, waits
from .context import Context
from .liveness import reads

__all__ = ["tuples_listed"]


def tuples_listed(node: ast.AST, cx: Context) -> list[ast.stmt] | None:
    """The list is filled under its own name.

        w = [(v, i) for i, v in enumerate(x) if v > s]
        for u, k in w:
            s = s + u * k
    →
        w = []
        for _i in range(len(x)):
            _v = x[_i]
            if _v > s:
                w.append((_v, _i))
        for _i_1 in range(len(w)):
            u = w[_i_1][0]
            k = w[_i_1][1]
            s = s + u * k
    """
    match node:
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.ListComp() as made) if (
            name in cx.facts.tuple_lists and name not in reads([made]) and not waits(made)
        ):
            own = own_names(made, cx)
            append = cx.code("LIST.append(E)", LIST=name, E=own.elt)
            return [*cx.code("LIST = []", LIST=name), *nested(own.generators, append, cx)]
    return None
