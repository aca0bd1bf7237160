"""Items that are put into lists, or taken out of them → loops that move those behind."""
from __future__ import annotations

import ast

from .context import Context
from .finding import place_of
from .firing import fires_on
from .integers import integer_constant
from .listlike import is_flat, is_list, loops_in
from .names import bound, free_of, used
from .nests import unless
from .tupled import is_steady
from .views import held

__all__ = ["list_shifted"]


@fires_on(ast.Expr, value=ast.Call, calls=[".insert", ".pop", ".remove"])
@fires_on(ast.Delete, targets=ast.Subscript)
@fires_on(ast.Assign, value=ast.Call, calls=[".pop"])
@fires_on(ast.Call, calls=[".pop"])
def list_shifted(node: ast.AST, cx: Context) -> list[ast.stmt] | ast.expr | None:
    """Where there is no such item, or place, Python raises.

        u = [n]
        for i in range(n):
            u.insert(0, i)
        i = u.pop(j)
        del u[-1]
    →
        u = [n]
        for i in range(n):
            _e = i
            u.append(_e)
            for _i in range(len(u) - 1, 0, -1):
                u[_i] = u[_i - 1]
            u[0] = _e
        _p = j
        _p = _p + len(u) if _p < 0 else _p
        if _p < 0 or _p >= len(u):
            "Python's to answer"
            i = u.pop(j)
        else:
            i = u[_p]
            for _i_1 in range(_p, len(u) - 1):
                u[_i_1] = u[_i_1 + 1]
            u.pop()
        if len(u) <= 0:
            "Python's to answer"
            del u[-1]
        else:
            u.pop()
    """
    if not cx.means("len", "range", "min", "max"):
        return None
    match node:
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name() as of, attr=method),
                                     args=args, keywords=[])):
            match method, args:
                case "insert", [at, item] if is_flat(of, cx) and cx.fact(at).is_int:
                    return None if cx.fact(item).rank else _put_in(of, at, item, cx)
                case "remove", [item] if is_flat(of, cx) and cx.fact(item).rank == 0:
                    return _removed(node, of, item, cx)
                case "pop", [at] if _is_open(of, at, cx):
                    return _taken_out(node, of, at, None, cx)
        case ast.Delete(targets=[ast.Subscript(value=ast.Name() as of, slice=at)]) if (
            _is_open(of, at, cx)
        ):
            return _taken_out(node, of, at, None, cx)
        case ast.Assign(targets=[target], value=value):
            popped = _popped(value, cx)
            if popped and _is_plain(target) and free_of(value, bound(target)):
                of, at = popped
                return _taken_out(node, of, at, target, cx)
        case ast.expr():
            return _first(node, cx)
    return None


def _first(node: ast.expr, cx: Context) -> ast.expr | None:
    """What is popped within a larger statement has a name before."""
    popped = _popped(node, cx)
    match node:
        case _ if popped:
            pass
        case ast.Call(
            func=ast.Attribute(value=ast.Name() as of, attr="pop"), args=[], keywords=[]
        ) if is_list(of, cx) and loops_in(cx) and not _stands_alone(node, cx.within):
            pass
        case _:
            return None
    name = ast.Name(cx.fresh("e"), ast.Load())
    (line,) = cx.code("E = P", E=name, P=node)
    return cx.made(name.id, lambda: _taken_out(line, *popped, name, cx) if popped else [line])


def _stands_alone(value: ast.expr, s: ast.AST) -> bool:
    match s:
        case ast.Expr(value=of):
            return of is value
        case ast.Assign(targets=[target], value=of):
            return of is value and _is_plain(target)
    return False


def _is_plain(target: ast.expr) -> bool:
    """Whether nothing is read when it is bound."""
    return isinstance(target, (ast.Name, ast.Tuple)) and bound(target) == used(target)


def _popped(e: ast.expr, cx: Context) -> tuple[ast.Name, ast.expr] | None:
    """The list, and the place in it, of which `e` pops the item."""
    match e:
        case ast.Call(
            func=ast.Attribute(value=ast.Name() as of, attr="pop"), args=[at], keywords=[]
        ) if _is_open(of, at, cx):
            return of, at
    return None


def _is_open(of: ast.Name, at: ast.expr, cx: Context) -> bool:
    """Whether it is a list, from which the item of a number is taken."""
    return is_list(of, cx) and loops_in(cx) and cx.fact(at).is_int


def _put_in(of: ast.Name, at: ast.expr, item: ast.expr, cx: Context) -> list[ast.stmt]:
    """What is beyond the ends comes to these."""
    first = integer_constant(at) == 0
    place = at if first else cx.expr("P", P=cx.fresh("p"))
    text = """
        P = AT
        E = ITEM
        P = min(max(P + len(X) if P < 0 else P, 0), len(X))
        X.append(E)
        for I in range(len(X) - 1, P, -1):
            X[I] = X[I - 1]
        X[P] = E
    """
    lines = cx.code(text, E=cx.fresh("e"), ITEM=item, X=of, I=cx.fresh("i"), P=place, AT=at)
    return [lines[1], *lines[3:]] if first else lines


def _taken_out(
    original: ast.stmt, of: ast.Name, at: ast.expr, target: ast.expr | None, cx: Context
) -> list[ast.stmt]:
    """Those behind it move up."""
    k, lines = integer_constant(at), []
    if k is None:
        place = cx.expr("P", P=cx.fresh("p"))
        text = "P = AT\nP = P + len(X) if P < 0 else P"
        cx.before(*cx.code(text, P=place, AT=at, X=of))
        checks = [cx.expr("P < 0", P=place), cx.expr("P >= len(X)", P=place, X=of)]
    else:
        place = at if k >= 0 else cx.expr("len(X) - K", X=of, K=ast.Constant(-k))
        checks = [cx.expr("len(X) <= K", X=of, K=ast.Constant(k if k >= 0 else -k - 1))]
    if target is not None:
        lines = cx.code("TARGET = X[P]", TARGET=target, X=of, P=place)
    lines += cx.code("X.pop()", X=of) if k == -1 else _without(of, place, cx)
    return [*cx.take_before(), *unless(checks, original, lines, cx)]


def _without(of: ast.Name, place: ast.expr, cx: Context) -> list[ast.stmt]:
    text = "for I in range(P, len(X) - 1): X[I] = X[I + 1]\nX.pop()"
    return cx.code(text, I=cx.fresh("i"), X=of, P=place)


def _removed(original: ast.Expr, of: ast.Name, item: ast.expr, cx: Context) -> list[ast.stmt]:
    """The first that is equal. What is no number is equal to nothing, unless it is the same."""
    wanted = item if is_steady(item) else held(item, "e", cx)
    place = cx.expr("P", P=cx.fresh("place"))
    found = place_of(place, of, wanted, cx)
    checks = [cx.expr("W != W", W=wanted), cx.expr("P < 0", P=place)]
    lines = _without(of, place, cx)
    return [*cx.take_before(), *found, *unless(checks, original, lines, cx)]
