"""List methods: ``insert pop remove index count reverse sort`` and ``in`` → loops."""
from __future__ import annotations

import ast
from collections.abc import Sequence

from ..analysis.tuple_types import is_repeatable
from ..frontend.ast_names import bound_names, mentions_none, names_used
from ..frontend.core_nodes import copy_location
from ..frontend.int_exprs import integer_constant
from ..frontend.macros.list_kind import has_loops, is_list, is_number_list
from ..frontend.macros.macro_context import Context
from ..frontend.macros.macro_index import fires_on
from ..frontend.macros.replay_guards import bind_fresh, guarded
from ..types.value_types import ScalarType
from .list_construction import list_from_iterable
from .method_table import LIST_METHODS, statement_rule

__all__ = [
    "list_search", "list_method", "index_of_first", "insert_rule", "list_pop", "list_sort",
    "remove_rule", "reverse_rule",
]

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
def list_search(node: ast.AST, cx: Context) -> ast.expr | None:
    """``x in v``, ``v.index(x)``, ``v.count(x)`` → loops that compare items. Python answers where
    `x` is a NaN, which it finds by identity.

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
    known = is_number_list(of, cx) and cx.means("any", "sum", "range", "len", "bool")
    if not known or cx.fact(wanted).rank != 0:
        return None
    return _looked_for(node, of, wanted, name, text, cx)


def _looked_for(
    node: ast.Compare | ast.Call, of: ast.expr, wanted: ast.expr, name: str, text: str,
    cx: Context,
) -> ast.expr:
    asked = wanted if is_repeatable(wanted) else bind_fresh(wanted, "e", cx)
    found = cx.fresh(name)
    lines = index_of_first(found, of, asked, cx) if not text else cx.code(
        f"NAME = {text}", NAME=found, V=cx.fresh("v"), X=of, W=asked
    )
    types = cx.fact(wanted).types
    whole = bool(types) and all(isinstance(t, ScalarType) and t.dtype in _WHOLE for t in types)
    checks = [] if whole else [cx.expr("W != W", W=asked)]
    (original,) = cx.code("NAME = E", NAME=found, E=_asked_with(node, asked))
    if not text:
        lines += guarded([cx.expr("P < 0", P=found)], original, [ast.Pass()], cx)
    if isinstance(node, ast.Compare):
        (original,) = cx.code("NAME = W in X", NAME=found, W=asked, X=of)
    cx.before(*guarded(checks, original, lines, cx))
    negated = isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.NotIn)
    return cx.expr("not NAME" if negated else "NAME", NAME=found)


def _asked_with(node: ast.Compare | ast.Call, wanted: ast.expr) -> ast.expr:
    if isinstance(node, ast.Compare):
        return node
    return copy_location(ast.Call(node.func, [wanted], []), node)


def index_of_first(
    name: str | ast.expr, of: ast.expr, wanted: ast.expr, cx: Context
) -> list[ast.stmt]:
    """A name for the index of the first item equal to `wanted`; -1 where there is none."""
    text = """
        NAME = -1
        for I in range(len(X)):
            NAME = I if NAME < 0 and X[I] == W else NAME
    """
    return cx.code(text, NAME=name, I=cx.fresh("i"), X=of, W=wanted)


@fires_on(
    ast.Expr, value=ast.Call, calls=[f".{n}" for n, row in LIST_METHODS.items() if row.statement]
)
def list_method(node: ast.AST, cx: Context) -> list[ast.stmt] | None:
    """A method of a list of numbers, called for its effect, by the rule of its row.

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
            value=ast.Call(func=ast.Attribute(value=ast.Name() as of, attr=name), args=args,
                           keywords=[])
        ) if (
            name in LIST_METHODS and (rule := LIST_METHODS[name].statement)
            and is_number_list(of, cx) and cx.means("len", "range", "min", "max")
        ):
            lines: list[ast.stmt] | None = statement_rule("list_methods", rule)(of, args, node, cx)
            return lines
    return None


def reverse_rule(
    of: ast.Name, args: Sequence[ast.expr], _: ast.Expr, cx: Context
) -> list[ast.stmt] | None:
    """``list.reverse()``: the last item becomes the first."""
    text = """
        for I in range(len(X) // 2):
            T = X[I]
            X[I] = X[len(X) - 1 - I]
            X[len(X) - 1 - I] = T
    """
    return None if args else cx.code(text, I=cx.fresh("i"), X=of, T=cx.fresh("t"))


def insert_rule(
    of: ast.Name, args: Sequence[ast.expr], _: ast.Expr, cx: Context
) -> list[ast.stmt] | None:
    """``list.insert(at, item)``: a place beyond an end is that end."""
    match args:
        case [at, item] if cx.fact(at).is_int and not cx.fact(item).rank:
            return _put_in(of, at, item, cx)
    return None


def remove_rule(
    of: ast.Name, args: Sequence[ast.expr], node: ast.Expr, cx: Context
) -> list[ast.stmt] | None:
    """``list.remove(item)``: the first equal item; where there is none, Python raises."""
    match args:
        case [item] if cx.fact(item).rank == 0:
            return _removed(node, of, item, cx)
    return None


@fires_on(ast.Expr, value=ast.Call, calls=[".pop"])
@fires_on(ast.Delete, targets=ast.Subscript)
@fires_on(ast.Assign, value=ast.Call, calls=[".pop"])
@fires_on(ast.Call, calls=[".pop"])
def list_pop(node: ast.AST, cx: Context) -> list[ast.stmt] | ast.expr | None:
    """``v.pop()`` and ``v.pop(i)`` → the item, then a shorter list. Where there is no such item,
    Python answers (and raises).

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
        case ast.Expr(value=value):
            if popped := _popped(value, cx):
                return _pop_at(node, *popped, None, cx)
        case ast.Delete(targets=[ast.Subscript(value=ast.Name() as of, slice=at)]) if (
            _is_open(of, at, cx)
        ):
            return _pop_at(node, of, at, None, cx)
        case ast.Assign(targets=[target], value=value):
            popped = _popped(value, cx)
            if popped and _is_plain(target) and mentions_none(value, bound_names(target)):
                of, at = popped
                return _pop_at(node, of, at, target, cx)
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
        ) if is_list(of, cx) and has_loops(cx) and not _stands_alone(node, cx.within):
            pass
        case _:
            return None
    name = ast.Name(cx.fresh("e"), ast.Load())
    (line,) = cx.code("E = P", E=name, P=node)
    return cx.made(name.id, lambda: _pop_at(line, *popped, name, cx) if popped else [line])


def _stands_alone(value: ast.expr, s: ast.AST) -> bool:
    match s:
        case ast.Expr(value=of):
            return of is value
        case ast.Assign(targets=[target], value=of):
            return of is value and _is_plain(target)
    return False


def _is_plain(target: ast.expr) -> bool:
    """Whether nothing is read when it is bound."""
    return isinstance(target, (ast.Name, ast.Tuple)) and bound_names(target) == names_used(target)


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
    return is_list(of, cx) and has_loops(cx) and cx.fact(at).is_int


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


def _pop_at(
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
    lines += cx.code("X.pop()", X=of) if k == -1 else _remove_at(of, place, cx)
    return [*cx.take_before(), *guarded(checks, original, lines, cx)]


def _remove_at(of: ast.Name, place: ast.expr, cx: Context) -> list[ast.stmt]:
    text = "for I in range(P, len(X) - 1): X[I] = X[I + 1]\nX.pop()"
    return cx.code(text, I=cx.fresh("i"), X=of, P=place)


def _removed(original: ast.Expr, of: ast.Name, item: ast.expr, cx: Context) -> list[ast.stmt]:
    """The first that is equal. What is no number is equal to nothing, unless it is the same."""
    wanted = item if is_repeatable(item) else bind_fresh(item, "e", cx)
    place = cx.expr("P", P=cx.fresh("place"))
    found = index_of_first(place, of, wanted, cx)
    checks = [cx.expr("W != W", W=wanted), cx.expr("P < 0", P=place)]
    lines = _remove_at(of, place, cx)
    return [*cx.take_before(), *found, *guarded(checks, original, lines, cx)]


_RUN = 16  # up to so many, inserting is faster than merging

_SORTED = """
    N = len(X)
    for I in range(N):
        E = X[I]
        J = I
        LOW = I - I % RUN
        while J > LOW and {}:
            X[J] = X[J - 1]
            J = J - 1
        X[J] = E
    Y = []
    for E in X:
        Y.append(E)
    W = RUN
    while W < N:
        for B in range((N + 2 * W - 1) // (2 * W)):
            I = 2 * W * B
            MID = min(I + W, N)
            END = min(I + 2 * W, N)
            J = MID
            for K in range(2 * W * B, END):
                E = X[min(max(I, 0), N - 1)]
                F = X[min(max(J, 0), N - 1)]
                RIGHT = J < END and (I >= MID or {})
                Y[K] = F if RIGHT else E
                J = J + 1 if RIGHT else J
                I = I if RIGHT else I + 1
        for K in range(N):
            X[K] = Y[K]
        W = 2 * W
"""
_RISING = _SORTED.format("E < X[J - 1]", "F < E")
_FALLING = _SORTED.format("X[J - 1] < E", "E < F")
_NAMES = ("N", "I", "E", "J", "LOW", "Y", "W", "B", "MID", "END", "K", "F", "RIGHT")


@fires_on(ast.Expr, value=ast.Call, calls=[".sort"])
@fires_on(ast.Assign, targets=ast.Name, value=ast.Call, calls=[sorted])
@fires_on(ast.Call, calls=[sorted])
def list_sort(node: ast.AST, cx: Context) -> list[ast.stmt] | ast.expr | None:
    """``v.sort()`` and ``sorted(v)`` → insertion sort of runs of sixteen, then merges: stable, as
    Python's sort is. Python answers where there is a NaN, among which the order depends on the
    algorithm.

        u = [n]
        for i in range(n):
            u.append(i)
        u.sort()
    →
        u = [n]
        for i in range(n):
            u.append(i)
        _nan = False
        for _i_1 in range(len(u)):
            _v = u[_i_1]
            _nan = _nan or _v != _v
        if _nan:
            "Python's to answer"
            u.sort()
        else:
            _n = len(u)
            for _i in range(_n):
                _e = u[_i]
                _j = _i
                _low = _i - _i % 16
                while _j > _low and _e < u[_j - 1]:
                    u[_j] = u[_j - 1]
                    _j = _j - 1
                u[_j] = _e
            _y = []
            for _i_2 in range(len(u)):
                _e = u[_i_2]
                _y.append(_e)
            _w = 16
            while _w < _n:
                for _b in range((_n + 2 * _w - 1) // (2 * _w)):
                    _i = 2 * _w * _b
                    _mid = min(_i + _w, _n)
                    _end = min(_i + 2 * _w, _n)
                    _j = _mid
                    for _k in range(2 * _w * _b, _end):
                        _e = u[min(max(_i, 0), _n - 1)]
                        _f = u[min(max(_j, 0), _n - 1)]
                        _right = _j < _end and (_i >= _mid or _f < _e)
                        _y[_k] = _f if _right else _e
                        _j = _j + 1 if _right else _j
                        _i = _i if _right else _i + 1
                for _k in range(_n):
                    u[_k] = _y[_k]
                _w = 2 * _w
    """
    return _expanded(node, cx)


def _expanded(node: ast.AST, cx: Context) -> list[ast.stmt] | ast.expr | None:
    match node:
        case ast.Expr(
            value=ast.Call(
                func=ast.Attribute(value=ast.Name() as list_, attr="sort"), args=[], keywords=given
            )
        ) if is_number_list(list_, cx) and _falling(given) is not None:
            return _in_place(list_.id, node, _falling(given) is True, cx)
        case ast.Assign(targets=[ast.Name(id=name)], value=value) if (
            name in cx.facts.own and mentions_none(value, [name]) and _sorted(value, cx)
        ):
            return cx.whole(lambda: _made(name, value, cx))
        case ast.expr() if _sorted(node, cx):
            name = cx.fresh("sorted")
            return cx.made(name, lambda: _made(name, node, cx))
    return None


def _sorted(e: ast.expr, cx: Context) -> tuple[ast.expr, bool] | None:
    """What is sorted, if `e` does that and there are loops; whether the largest comes first."""
    match e:
        case ast.Call(args=[of], keywords=given) if cx.builtin(e) == "sorted":
            falling = _falling(given)
            return None if falling is None or not has_loops(cx) else (of, falling)
    return None


def _falling(given: list[ast.keyword]) -> bool | None:
    """Whether the largest comes first; None where it is not known, or a key is given."""
    match given:
        case []:
            return False
        case [ast.keyword(arg="reverse", value=ast.Constant(value=bool(falling)))]:
            return falling
    return None


def _made(name: str, value: ast.expr, cx: Context) -> list[ast.stmt] | None:
    of, falling = _sorted(value, cx) or (value, False)
    lines = list_from_iterable(name, of, cx)
    (sort,) = cx.code("NAME.sort(reverse=True)" if falling else "NAME.sort()", NAME=name)
    return None if lines is None else [*lines, *_in_place(name, sort, falling, cx)]


def _in_place(name: str, original: ast.stmt, falling: bool, cx: Context) -> list[ast.stmt]:
    names = {hole: cx.fresh(hole.lower()) for hole in _NAMES}
    lines = cx.code(_FALLING if falling else _RISING, X=name, RUN=ast.Constant(_RUN), **names)
    nan = cx.fresh("nan")
    text = "NAN = False\nfor V in X: NAN = NAN or V != V"
    before = cx.code(text, NAN=nan, V=cx.fresh("v"), X=name)
    return [*before, *guarded([ast.Name(nan, ast.Load())], original, lines, cx)]
