"""What is looked for in lists, and what turns their order round → loops."""
from __future__ import annotations

import ast

from ..types import ScalarType
from .context import Context
from .firing import fires_on
from .listlike import is_flat
from .nests import unless
from .tupled import is_steady
from .views import held

__all__ = ["list_found", "list_turned", "place_of"]

_WHOLE = frozenset({"i64", "bool", "i32", "i16", "i8"})


def _array(e: ast.expr, cx: Context) -> ast.expr | None:
    """The array that `e` is, or a list of whose elements it is."""
    match e:
        case ast.Call(args=[ast.Name() as of], keywords=[]) if (
            cx.builtin(e) == "list" and cx.fact(of).rank == 1
        ):
            e = of
    return e if cx.fact(e).array and isinstance(e, ast.Name) else None


@fires_on(ast.Compare, ops=(ast.In, ast.NotIn))
@fires_on(ast.Call, calls=[".count", ".index"])
def list_found(node: ast.AST, cx: Context) -> ast.expr | None:
    """Items that are equal. A NaN is found if it is the same object: that is Python's to tell.

        u = [n]
        for i in range(n):
            u.append(i)
        b = i in u
        m = u.count(i)
        j = u.index(i)
    →
        u = [n]
        for i in range(n):
            u.append(i)
        _any = False
        for _i in range(len(u)):
            _v_1 = u[_i]
            _any = _any or bool(_v_1 == i)
        _found = _any
        b = _found
        _sum = 0
        for _i_1 in range(len(u)):
            _v_2_1 = u[_i_1]
            if _v_2_1 == i:
                _sum = _sum + 1
        _count = _sum
        m = _count
        _place = -1
        for _i_2 in range(len(u)):
            _place = _i_2 if _place < 0 and u[_i_2] == i else _place
        if _place < 0:
            "Python's to answer"
            _place = u.index(i)
        else:
            pass
        j = _place
    """
    match node:
        case ast.Compare(left=wanted, ops=[ast.In() | ast.NotIn() as op], comparators=[of]) if (
            (array := _array(of, cx)) is not None
        ):
            text = "bool(NP.any(X == W))" if isinstance(op, ast.In) else "not NP.any(X == W)"
            known = cx.fact(wanted).rank == 0 and cx.fact(wanted).types and cx.means("bool", "list")
            return cx.expr(text, NP=cx.numpy, X=array, W=wanted) if known else None
        case ast.Compare(left=wanted, ops=[ast.In() | ast.NotIn()], comparators=[of]):
            name, text = "found", "any(V == W for V in X)"
        case ast.Call(func=ast.Attribute(value=of, attr="count"), args=[wanted], keywords=[]):
            name, text = "count", "sum(1 for V in X if V == W)"
        case ast.Call(func=ast.Attribute(value=of, attr="index"), args=[wanted], keywords=[]):
            name, text = "place", ""
        case _:
            return None
    known = is_flat(of, cx) and cx.means("any", "sum", "range", "len", "bool")
    if not known or cx.fact(wanted).rank != 0:
        return None
    return _looked_for(node, of, wanted, name, text, cx)


def _looked_for(
    node: ast.Compare | ast.Call, of: ast.expr, wanted: ast.expr, name: str, text: str,
    cx: Context,
) -> ast.expr:
    asked = wanted if is_steady(wanted) else held(wanted, "e", cx)
    found = cx.fresh(name)
    lines = place_of(found, of, asked, cx) if not text else cx.code(
        f"NAME = {text}", NAME=found, V=cx.fresh("v"), X=of, W=asked
    )
    types = cx.fact(wanted).types
    whole = bool(types) and all(isinstance(t, ScalarType) and t.dtype in _WHOLE for t in types)
    checks = [] if whole else [cx.expr("W != W", W=asked)]
    (original,) = cx.code("NAME = E", NAME=found, E=_asked_with(node, asked))
    if not text:
        lines += unless([cx.expr("P < 0", P=found)], original, [ast.Pass()], cx)
    if isinstance(node, ast.Compare):
        (original,) = cx.code("NAME = W in X", NAME=found, W=asked, X=of)
    cx.before(*unless(checks, original, lines, cx))
    negated = isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.NotIn)
    return cx.expr("not NAME" if negated else "NAME", NAME=found)


def _asked_with(node: ast.Compare | ast.Call, wanted: ast.expr) -> ast.expr:
    if isinstance(node, ast.Compare):
        return node
    return ast.copy_location(ast.Call(node.func, [wanted], []), node)


def place_of(name: str | ast.expr, of: ast.expr, wanted: ast.expr, cx: Context) -> list[ast.stmt]:
    """The place of the first; -1 where there is none."""
    text = """
        NAME = -1
        for I in range(len(X)):
            NAME = I if NAME < 0 and X[I] == W else NAME
    """
    return cx.code(text, NAME=name, I=cx.fresh("i"), X=of, W=wanted)


@fires_on(ast.Expr, value=ast.Call, calls=[".reverse"])
def list_turned(node: ast.AST, cx: Context) -> list[ast.stmt] | None:
    """The last item becomes the first.

        u = [n]
        for i in range(n):
            u.append(i)
        u.reverse()
    →
        u = [n]
        for i in range(n):
            u.append(i)
        for _i in range(len(u) // 2):
            _t = u[_i]
            u[_i] = u[len(u) - 1 - _i]
            u[len(u) - 1 - _i] = _t
    """
    match node:
        case ast.Expr(
            value=ast.Call(func=ast.Attribute(value=ast.Name() as of, attr="reverse"), args=[])
        ) if is_flat(of, cx) and cx.means("range", "len"):
            text = """
                for I in range(len(X) // 2):
                    T = X[I]
                    X[I] = X[len(X) - 1 - I]
                    X[len(X) - 1 - I] = T
            """
            return cx.code(text, I=cx.fresh("i"), X=of, T=cx.fresh("t"))
    return None
