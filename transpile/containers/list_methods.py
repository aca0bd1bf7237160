"""List methods: ``insert pop remove index count reverse sort`` and ``in`` → loops.

The macros: `list_method` expands a method call that is a statement, by the rule of its row in
`method_table`; `list_search`, `list_pop` and `list_sort` expand calls whose value is used. Except
for ``pop`` they apply to lists of numbers (`is_number_list`). Where Python would raise (no such
item or index), or compares by identity (NaN), a guard replays the call.
"""
from __future__ import annotations

import ast
from collections.abc import Sequence

from ..frontend.ast_names import bound_names, mentions_none_of, names_used
from ..frontend.ast_walk import integer_constant
from ..frontend.core_nodes import copy_location
from ..frontend.macros.bind_operands import bind_unless_repeatable
from ..frontend.macros.list_kind import has_loops, is_list, is_number_list
from ..frontend.macros.macro_context import Context
from ..frontend.macros.macro_index import fires_on
from ..frontend.macros.replay_guards import guarded
from ..types.value_types import ScalarType
from .list_construction import list_from_iterable
from .method_table import LIST_METHODS, statement_rule

__all__ = [
    "list_search", "list_method", "index_of_first", "insert_rule", "list_pop", "list_sort",
    "remove_rule", "reverse_rule",
]

_NEVER_NAN = frozenset({"i64", "bool", "i32", "i16", "i8"})
"""Dtypes without NaN."""


def _array(e: ast.expr, cx: Context) -> ast.expr | None:
    """The name of an array, where `e` is that name or ``list(name)`` of a vector; else None."""
    match e:
        case ast.Call(args=[ast.Name() as argument], keywords=[]) if (
            cx.builtin(e) == "list" and cx.fact(argument).rank == 1
        ):
            e = argument
    return e if cx.fact(e).array and isinstance(e, ast.Name) else None


@fires_on(ast.Compare, ops=(ast.In, ast.NotIn))
@fires_on(ast.Call, calls=[".count", ".index"])
def list_search(node: ast.AST, cx: Context) -> ast.expr | None:
    """``x in v``, ``v.index(x)``, ``v.count(x)`` → loops that compare items. The call is replayed
    where `x` is a NaN, which Python finds by identity.

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

    ``in`` of an array, also as ``list(x)``, becomes ``np.any``. Of an item that ``index`` does not
    find, Python raises: that call is replayed, too (`_search_result`).
    """
    text: str | None
    match node:
        case ast.Compare(
            left=item, ops=[ast.In() | ast.NotIn() as op], comparators=[container]
        ) if (array := _array(container, cx)) is not None:
            any_equal = "bool(NP.any(X == W))" if isinstance(op, ast.In) else "not NP.any(X == W)"
            is_scalar = cx.fact(item).rank == 0 and cx.fact(item).types
            if not is_scalar or not cx.is_builtin("bool", "list"):
                return None
            return cx.expr(any_equal, NP=cx.numpy, X=array, W=item)
        case ast.Compare(left=item, ops=[ast.In() | ast.NotIn()], comparators=[container]):
            name, text = "found", "any(V == W for V in X)"
        case ast.Call(func=ast.Attribute(value=container, attr="count"), args=[item], keywords=[]):
            name, text = "count", "sum(1 for V in X if V == W)"
        case ast.Call(func=ast.Attribute(value=container, attr="index"), args=[item], keywords=[]):
            name, text = "place", None  # no builtin finds it: see `index_of_first`
        case _:
            return None
    has_builtins = cx.is_builtin("any", "sum", "range", "len", "bool")
    compilable = is_number_list(container, cx) and has_builtins
    if not compilable or cx.fact(item).rank != 0:
        return None
    return _search_result(node, container, item, name, text, cx)


def _search_result(
    node: ast.Compare | ast.Call, container: ast.expr, item: ast.expr, hint: str,
    text: str | None, cx: Context,
) -> ast.expr:
    """The expression for the search `node` of `item` in `container`; the loop runs before the
    statement. `text` is the result as an expression of builtins (of X, the item W and a loop
    variable V), which is expanded in turn; None for ``index``, whose loop is `index_of_first`.
    """
    operand = bind_unless_repeatable(item, "e", cx)
    result = cx.fresh(hint)
    if text is None:
        lines = index_of_first(result, container, operand, cx)
    else:
        equation = f"NAME = {text}"
        lines = cx.code(equation, NAME=result, V=cx.fresh("v"), X=container, W=operand)
    types = cx.fact(item).types
    no_nan = bool(types) and all(
        isinstance(t, ScalarType) and t.dtype in _NEVER_NAN for t in types)
    checks = [] if no_nan else [cx.expr("W != W", W=operand)]
    (original,) = cx.code("NAME = E", NAME=result, E=_with_argument(node, operand))
    if text is None:
        lines += guarded([cx.expr("P < 0", P=result)], original, [ast.Pass()], cx)
    if isinstance(node, ast.Compare):
        (original,) = cx.code("NAME = W in X", NAME=result, W=operand, X=container)
    cx.before(*guarded(checks, original, lines, cx))
    negated = isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.NotIn)
    return cx.expr("not NAME" if negated else "NAME", NAME=result)


def _with_argument(node: ast.Compare | ast.Call, argument: ast.expr) -> ast.expr:
    """The call `node` with another argument; a comparison itself."""
    if isinstance(node, ast.Compare):
        return node
    return copy_location(ast.Call(node.func, [argument], []), node)


def index_of_first(
    name: str | ast.expr, sequence: ast.expr, item: ast.expr, cx: Context
) -> list[ast.stmt]:
    """Statements that bind `name` to the index of the first item equal to `item`, or to -1."""
    text = """
        NAME = -1
        for I in range(len(X)):
            NAME = I if NAME < 0 and X[I] == W else NAME
    """
    return cx.code(text, NAME=name, I=cx.fresh("i"), X=sequence, W=item)


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
            value=ast.Call(func=ast.Attribute(value=ast.Name() as list_name, attr=name), args=args,
                           keywords=[])
        ) if (
            name in LIST_METHODS and (rule := LIST_METHODS[name].statement)
            and is_number_list(list_name, cx) and cx.is_builtin("len", "range", "min", "max")
        ):
            expand = statement_rule("list_methods", rule)
            lines: list[ast.stmt] | None = expand(list_name, args, node, cx)
            return lines
    return None


def reverse_rule(
    list_name: ast.Name, args: Sequence[ast.expr], _: ast.Expr, cx: Context
) -> list[ast.stmt] | None:
    """``list.reverse()``: the last item becomes the first."""
    text = """
        for I in range(len(X) // 2):
            T = X[I]
            X[I] = X[len(X) - 1 - I]
            X[len(X) - 1 - I] = T
    """
    return None if args else cx.code(text, I=cx.fresh("i"), X=list_name, T=cx.fresh("t"))


def insert_rule(
    list_name: ast.Name, args: Sequence[ast.expr], _: ast.Expr, cx: Context
) -> list[ast.stmt] | None:
    """``list.insert(index, item)``: an index beyond an end is that end."""
    match args:
        case [index, item] if cx.fact(index).is_int and not cx.fact(item).rank:
            return _insert_at(list_name, index, item, cx)
    return None


def remove_rule(
    list_name: ast.Name, args: Sequence[ast.expr], node: ast.Expr, cx: Context
) -> list[ast.stmt] | None:
    """``list.remove(item)``: the first equal item; where there is none, Python raises."""
    match args:
        case [item] if cx.fact(item).rank == 0:
            return _remove_first(node, list_name, item, cx)
    return None


@fires_on(ast.Expr, value=ast.Call, calls=[".pop"])
@fires_on(ast.Delete, targets=ast.Subscript)
@fires_on(ast.Assign, value=ast.Call, calls=[".pop"])
@fires_on(ast.Call, calls=[".pop"])
def list_pop(node: ast.AST, cx: Context) -> list[ast.stmt] | ast.expr | None:
    """``v.pop()`` and ``v.pop(i)`` → the item, then a shorter list. Where there is no such item,
    the call is replayed.

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
    if not cx.is_builtin("len", "range", "min", "max"):
        return None
    match node:
        case ast.Expr(value=value):
            if popped := _popped_item(value, cx):
                return _pop_at(node, *popped, None, cx)
        case ast.Delete(targets=[ast.Subscript(value=ast.Name() as list_name, slice=index)]) if (
            _is_list_item(list_name, index, cx)
        ):
            return _pop_at(node, list_name, index, None, cx)
        case ast.Assign(targets=[target], value=value):
            popped = _popped_item(value, cx)
            names = bound_names(target)
            if popped and _binds_only_names(target) and mentions_none_of(value, names):
                list_name, index = popped
                return _pop_at(node, list_name, index, target, cx)
        case ast.expr():
            return _popped_in_expression(node, cx)
    return None


def _popped_in_expression(node: ast.expr, cx: Context) -> ast.expr | None:
    """The fresh name for a ``pop`` inside a larger expression, which a statement before the current
    one binds; None where `node` is no such call.
    """
    popped = _popped_item(node, cx)
    match node:
        case _ if popped:
            pass
        case ast.Call(
            func=ast.Attribute(value=ast.Name() as list_name, attr="pop"), args=[], keywords=[]
        ) if is_list(list_name, cx) and has_loops(cx) and not _stands_alone(node, cx.within):
            pass
        case _:
            return None
    name = ast.Name(cx.fresh("e"), ast.Load())
    (line,) = cx.code("E = P", E=name, P=node)
    return cx.bound_name(name.id, lambda: _pop_at(line, *popped, name, cx) if popped else [line])


def _stands_alone(value: ast.expr, s: ast.AST) -> bool:
    """Whether `value` is the whole value of the statement `s`, an assignment or expression."""
    match s:
        case ast.Expr(value=value_node):
            return value_node is value
        case ast.Assign(targets=[target], value=value_node):
            return value_node is value and _binds_only_names(target)
    return False


def _binds_only_names(target: ast.expr) -> bool:
    """Whether `target` is a name or a tuple of names, so that to bind it reads nothing."""
    return isinstance(target, (ast.Name, ast.Tuple)) and bound_names(target) == names_used(target)


def _popped_item(e: ast.expr, cx: Context) -> tuple[ast.Name, ast.expr] | None:
    """The list and the index of ``v.pop(i)`` with an int; None for other expressions."""
    match e:
        case ast.Call(
            func=ast.Attribute(value=ast.Name() as list_name, attr="pop"), args=[index], keywords=[]
        ) if _is_list_item(list_name, index, cx):
            return list_name, index
    return None


def _is_list_item(list_name: ast.Name, index: ast.expr, cx: Context) -> bool:
    """Whether `list_name` is a list and `index` surely an int, in a function that has loops."""
    return is_list(list_name, cx) and has_loops(cx) and cx.fact(index).is_int


def _insert_at(list_name: ast.Name, index: ast.expr, item: ast.expr, cx: Context) -> list[ast.stmt]:
    """Statements for ``list.insert(index, item)``: append, then shift the items after the index."""
    at_front = integer_constant(index) == 0
    position = index if at_front else cx.expr("P", P=cx.fresh("p"))
    names = {"E": cx.fresh("e"), "I": cx.fresh("i")}
    text = _INSERT_AT_FRONT if at_front else _INSERT
    return cx.code(text, ITEM=item, X=list_name, P=position, AT=index, **names)


_INSERT_AT_FRONT = """
    E = ITEM
    X.append(E)
    for I in range(len(X) - 1, P, -1):
        X[I] = X[I - 1]
    X[P] = E
"""
_INSERT = """
    P = AT
    E = ITEM
    P = min(max(P + len(X) if P < 0 else P, 0), len(X))
    X.append(E)
    for I in range(len(X) - 1, P, -1):
        X[I] = X[I - 1]
    X[P] = E
"""


def _pop_at(
    original: ast.stmt, list_name: ast.Name, index: ast.expr, target: ast.expr | None, cx: Context
) -> list[ast.stmt]:
    """Statements that bind `target` (None: nothing) to the item at `index` and remove it, shifting
    the items behind it. `original` is replayed for an index out of range.
    """
    constant, lines = integer_constant(index), []
    if constant is None:
        position = cx.expr("P", P=cx.fresh("p"))
        text = "P = AT\nP = P + len(X) if P < 0 else P"
        cx.before(*cx.code(text, P=position, AT=index, X=list_name))
        checks = [cx.expr("P < 0", P=position), cx.expr("P >= len(X)", P=position, X=list_name)]
    else:
        from_end = cx.expr("len(X) - K", X=list_name, K=ast.Constant(-constant))
        position = index if constant >= 0 else from_end
        least = ast.Constant(constant if constant >= 0 else -constant - 1)
        checks = [cx.expr("len(X) <= K", X=list_name, K=least)]
    if target is not None:
        lines = cx.code("TARGET = X[P]", TARGET=target, X=list_name, P=position)
    if constant == -1:
        lines += cx.code("X.pop()", X=list_name)
    else:
        lines += _remove_at(list_name, position, cx)
    return [*cx.take_before(), *guarded(checks, original, lines, cx)]


def _remove_at(list_name: ast.Name, position: ast.expr, cx: Context) -> list[ast.stmt]:
    """Statements that remove the item at `position`, which is in range."""
    text = "for I in range(P, len(X) - 1): X[I] = X[I + 1]\nX.pop()"
    return cx.code(text, I=cx.fresh("i"), X=list_name, P=position)


def _remove_first(
    original: ast.Expr, list_name: ast.Name, item: ast.expr, cx: Context
) -> list[ast.stmt]:
    """Statements for ``list.remove(item)``: a search, and the removal. `original` is replayed for a
    missing item, and for a NaN, which Python finds by identity.
    """
    operand = bind_unless_repeatable(item, "e", cx)
    position = cx.expr("P", P=cx.fresh("place"))
    search = index_of_first(position, list_name, operand, cx)
    checks = [cx.expr("W != W", W=operand), cx.expr("P < 0", P=position)]
    lines = _remove_at(list_name, position, cx)
    return [*cx.take_before(), *search, *guarded(checks, original, lines, cx)]


_RUN = 16
"""The length of the runs that insertion sort makes, before they are merged."""

_MERGE_SORT = """
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
_ASCENDING = _MERGE_SORT.format("E < X[J - 1]", "F < E")
_DESCENDING = _MERGE_SORT.format("X[J - 1] < E", "E < F")
_SORT_HOLES = ("N", "I", "E", "J", "LOW", "Y", "W", "B", "MID", "END", "K", "F", "RIGHT")
"""The holes of the templates that stand for fresh names."""


@fires_on(ast.Expr, value=ast.Call, calls=[".sort"])
@fires_on(ast.Assign, targets=ast.Name, value=ast.Call, calls=[sorted])
@fires_on(ast.Call, calls=[sorted])
def list_sort(node: ast.AST, cx: Context) -> list[ast.stmt] | ast.expr | None:
    """``v.sort()`` and ``sorted(v)`` → insertion sort of runs of sixteen, then merges: stable, as
    Python's sort is. The call is replayed where there is a NaN, among which the order depends on
    the algorithm.

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

    (A bottom-up merge sort. The merge loads an item of both runs before it knows which is next; the
    clamped subscripts keep these loads within the list, so that no check fails.)
    """
    return _sort_statements(node, cx)


def _sort_statements(node: ast.AST, cx: Context) -> list[ast.stmt] | ast.expr | None:
    """What `list_sort` returns: the statements for a ``sort`` or ``x = sorted(…)``, or the fresh
    name of a sorted list; None where a ``key``, or the iterable, is not understood.
    """
    match node:
        case ast.Expr(
            value=ast.Call(
                func=ast.Attribute(value=ast.Name() as list_name, attr="sort"),
                args=[],
                keywords=sort_keywords,
            )
        ) if is_number_list(list_name, cx) and _is_descending(sort_keywords) is not None:
            return _sort_in_place(list_name.id, node, _is_descending(sort_keywords) is True, cx)
        case ast.Assign(targets=[ast.Name(id=name)], value=value) if (
            name in cx.facts.local_names
            and mentions_none_of(value, [name])
            and _sorted_iterable(value, cx)
        ):
            return cx.with_before(lambda: _sorted_list(name, value, cx))
        case ast.expr() if _sorted_iterable(node, cx):
            name = cx.fresh("sorted")
            return cx.bound_name(name, lambda: _sorted_list(name, node, cx))
    return None


def _sorted_iterable(e: ast.expr, cx: Context) -> tuple[ast.expr, bool] | None:
    """For ``sorted(iterable)``: the iterable, and whether the order is descending. None for other
    expressions, and in a function without loops.
    """
    match e:
        case ast.Call(args=[iterable], keywords=sort_keywords) if cx.builtin(e) == "sorted":
            descending = _is_descending(sort_keywords)
            return None if descending is None or not has_loops(cx) else (iterable, descending)
    return None


def _is_descending(keywords: list[ast.keyword]) -> bool | None:
    """Whether the keywords of a sort ask for descending order; None for a ``key``, and a
    ``reverse`` that is no constant.
    """
    match keywords:
        case []:
            return False
        case [ast.keyword(arg="reverse", value=ast.Constant(value=bool(descending)))]:
            return descending
    return None


def _sorted_list(name: str, value: ast.expr, cx: Context) -> list[ast.stmt] | None:
    """Statements for ``name = sorted(…)``: a new list, sorted in place; None where the iterable is
    not understood.
    """
    iterable, descending = _sorted_iterable(value, cx) or (value, False)
    lines = list_from_iterable(name, iterable, cx)
    (sort_call,) = cx.code("NAME.sort(reverse=True)" if descending else "NAME.sort()", NAME=name)
    return None if lines is None else [*lines, *_sort_in_place(name, sort_call, descending, cx)]


def _sort_in_place(name: str, original: ast.stmt, descending: bool, cx: Context) -> list[ast.stmt]:
    """Statements that sort the list `name`; `original` is replayed where it has a NaN."""
    names = {hole: cx.fresh(hole.lower()) for hole in _SORT_HOLES}
    template = _DESCENDING if descending else _ASCENDING
    lines = cx.code(template, X=name, RUN=ast.Constant(_RUN), **names)
    nan = cx.fresh("nan")
    text = "NAN = False\nfor V in X: NAN = NAN or V != V"
    nan_test = cx.code(text, NAN=nan, V=cx.fresh("v"), X=name)
    return [*nan_test, *guarded([ast.Name(nan, ast.Load())], original, lines, cx)]
