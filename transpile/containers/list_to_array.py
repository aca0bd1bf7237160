"""Lists of numbers and of tuples where NumPy takes them → arrays of their elements."""
from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

import numpy as np

from loopir.dtypes import dtype_name

from ..analysis.liveness import names_read
from ..frontend.ast_names import binding_pairs
from ..frontend.ast_walk import walk_nodes
from ..frontend.core_nodes import copy_location
from ..frontend.language.comprehensions import (
    is_suspending,
    nested_loops,
    repeated_list,
    with_fresh_variables,
)
from ..frontend.macros.firing_conditions import (
    assigns_no_scalar,
    augments_no_scalar,
    has_tuple_lists,
    has_tuple_types,
    operates_on_array,
)
from ..frontend.macros.macro_context import Context
from ..frontend.macros.macro_index import UFUNC, fires_on, named
from ..frontend.macros.replay_guards import bind_fresh, guarded
from ..numpy.array_nests import allocate_array
from ..numpy.call_arguments import numpy_function_name
from ..numpy.function_table import FUNCTIONS
from ..types.value_types import ELEMENTS, ScalarType

__all__ = [
    "list_argument", "list_operand", "list_store", "widened_dtype", "tuple_list_comprehension",
    "tuple_list_to_array",
]

_TAKING = frozenset(name for name, row in FUNCTIONS.items() if row.lists)


@fires_on(ast.Call, calls=[UFUNC, *named(_TAKING)])
def list_argument(node: ast.AST, cx: Context) -> ast.expr | None:
    """A list as an argument of a NumPy function → an array of its items. Not for an empty list of
    ints, which NumPy makes an array of floats.

        u = [v * 2 for v in x]
        s = np.mean(u)
        w = [i * 2 for i in range(n)]
        y = np.array(w)
    →
        _list = []
        for _i in range(len(x)):
            _v = x[_i]
            _list.append(_v * 2)
        u = _list
        _a = np.empty(len(u), np.float64)
        for _i_1 in range(len(u)):
            _a[_i_1] = u[_i_1]
        if len(u) < 1:
            "Python's to answer"
            _mean = np.mean(_a)
        else:
            _mean = np.float64(0)
            for _i_2 in range(len(u)):
                _mean = np.add(_mean, _a[_i_2])
            _mean = np.divide(_mean, len(u))
        s = _mean
        _list_1 = []
        for _i_3 in range(n):
            _list_1.append(_i_3 * 2)
        w = _list_1
        if len(w) < 1:
            "Python's to answer"
            _t = np.array(w)
        else:
            _a_1 = np.empty(len(w), np.int64)
            for _i_4 in range(len(w)):
                _a_1[_i_4] = w[_i_4]
            _t = _a_1
        y = _t
    """
    match node:
        case ast.Call(func=func, args=[_, *_] as args, keywords=keywords):
            function = cx.resolve(func)
        case _:
            return None
    name = numpy_function_name(func, cx)
    made = name in ("array", "asarray")
    most = function.nin if isinstance(function, np.ufunc) else 3 if name in _TAKING else 0
    at = next((k for k, e in enumerate(args[:most]) if _is_taken(e, cx)), None)
    if at is None or (made and not _stays(args[at], cx)):
        return None
    given = [*args[1:2], *(k.value for k in keywords)]
    if made and widened_dtype(_dtype(args[at], cx), given, cx) is None:
        return None
    if made and not given:
        return _replaced(node, args[at], lambda array: array, cx)

    def new(array: ast.expr) -> ast.expr:
        return ast.Call(func, [array if k == at else a for k, a in enumerate(args)], keywords)

    return _replaced(node, args[at], new, cx)


@fires_on(ast.BinOp, ast.Compare, when=operates_on_array)
def list_operand(node: ast.AST, cx: Context) -> ast.expr | None:
    """A list as an operand beside an array → an array of its items.

        u = [s, t]
        y = x - u
    →
        u = [s, t]
        _a = np.empty(len(u), np.float64)
        for _i in range(len(u)):
            _a[_i] = u[_i]
        if x.shape[0] != len(u):
            "Python's to answer"
            y = x - _a
        else:
            y = np.empty(x.shape[0], np.float64)
            for _i_1 in range(x.shape[0]):
                y[_i_1] = np.subtract(x[_i_1], _a[_i_1])
    """
    match node:
        case ast.BinOp(left=left, op=op, right=right) | ast.Compare(
            left=left, ops=[op], comparators=[right]
        ):
            pass
        case _:
            return None
    if _is_taken(left, cx) and cx.fact(right).array:
        return _replaced(node, left, lambda array: _operation(op, array, right), cx)
    if _is_taken(right, cx) and cx.fact(left).array:
        return _replaced(node, right, lambda array: _operation(op, left, array), cx)
    return None


def _operation(op: ast.operator | ast.cmpop, a: ast.expr, b: ast.expr) -> ast.expr:
    return ast.BinOp(a, op, b) if isinstance(op, ast.operator) else ast.Compare(a, [op], [b])


@fires_on(ast.Assign, targets=ast.Subscript, value=ast.Name, when=assigns_no_scalar)
@fires_on(ast.AugAssign, value=ast.Name, when=augments_no_scalar)
def list_store(node: ast.AST, cx: Context) -> list[ast.stmt] | None:
    """A list that is stored into an array → stores of its items. For an empty list NumPy decides.

        u = [s, t]
        y[:2] += u
    →
        u = [s, t]
        if len(u) < 1:
            "Python's to answer"
            y[:2] += u
        else:
            _a = np.empty(len(u), np.float64)
            for _i in range(len(u)):
                _a[_i] = u[_i]
            if max(min(y.shape[0], 2), 0) != len(u):
                "Python's to answer"
                y[:2] += _a
            else:
                for _i_1 in range(max(min(y.shape[0], 2), 0)):
                    y[_i_1] = np.add(y[_i_1], _a[_i_1])
    """
    match node:
        case ast.Assign(targets=[ast.Subscript() as target], value=ast.Name() as e) | ast.AugAssign(
            target=target, value=ast.Name() as e
        ):
            dtype, to = _dtype(e, cx), cx.fact(target).array
        case _:
            return None
    if not dtype or to is None or not cx.means("len", "range"):
        return None
    if not np.can_cast(ELEMENTS[dtype].numpy, ELEMENTS[to.dtype].numpy):
        return None
    array, lines = _filled(e, cx)
    if isinstance(node, ast.AugAssign):
        lines.append(copy_location(ast.AugAssign(node.target, node.op, array), node))
    else:
        lines += cx.code("TARGET = E", TARGET=target, E=array)
    assert isinstance(node, ast.stmt)
    return guarded([cx.expr("len(X) < 1", X=e)], node, lines, cx)


def _stays(e: ast.expr, cx: Context) -> bool:
    """Whether `e` is a list that has a name, and does not become the array that is returned; those
    of a value so many times never do.
    """
    if not isinstance(e, ast.Name) or not cx.returned():
        return isinstance(e, ast.Name)
    made = [
        value for n in walk_nodes(*cx.tree.body) for to, value in binding_pairs(n)
        if isinstance(to, ast.Name) and to.id == e.id
    ]
    lists = (repeated_list(v, cx) or v for v in made)
    return bool(made) and all(
        isinstance(v, ast.BinOp) and isinstance(v.op, ast.Mult)
        and (isinstance(v.left, ast.List) or isinstance(v.right, ast.List)) for v in lists
    )


def _is_taken(e: ast.expr, cx: Context) -> bool:
    """Whether `e` is a list of numbers of one type, or shows one."""
    match e:
        case ast.ListComp():
            fact = cx.facts.each(e)
            return (
                not is_suspending(e) and fact.rank == 0 and len({t.dtype for t in fact.types}) == 1
            )
        case ast.List(elts=[_, *_] as elts):
            return all(cx.fact(x).rank == 0 and cx.fact(x).types for x in elts)
    return bool(_dtype(e, cx))


def widened_dtype(dtype: str, given: Sequence[ast.expr], cx: Context) -> str | None:
    """The dtype argument that is `given`, or `dtype` without one; None where it cannot hold every
    number of `dtype`.
    """
    if not given:
        return dtype
    named = cx.resolve(given[0])
    if len(given) > 1 or not isinstance(named, type):
        return None
    try:
        to = dtype_name(np.dtype(named))
    except TypeError:
        return None
    return to if to and np.can_cast(ELEMENTS[dtype].numpy, ELEMENTS[to].numpy) else None


def _dtype(e: ast.expr, cx: Context) -> str:
    """Of the numbers in the list `e`; "" where it is none, or of several types."""
    if not isinstance(e, ast.Name):
        return ""
    listed = cx.fact(e).listed
    if listed is not None and len(listed.kinds) == 1 and isinstance(listed.item, ScalarType):
        return listed.item.dtype
    return next((t.dtype for t in cx.facts.number_lists.get(e.id, ())), "")


def _replaced(
    node: ast.expr, e: ast.expr, new: Callable[[ast.expr], ast.expr], cx: Context
) -> ast.expr | None:
    """What is ``new`` of an array of what is in the list `e`; where nothing is, and the array would
    be of another type than it is here, `node`.
    """
    if not cx.means("len", "range"):
        return None
    types = cx.facts.each(e).types if isinstance(e, ast.ListComp) else frozenset()
    if isinstance(e, ast.List) or {t.dtype for t in types} == {"f64"}:
        return copy_location(new(cx.expr("NP.array(E)", NP=cx.numpy, E=e)), node)
    if isinstance(e, ast.ListComp):
        e = bind_fresh(e, "list", cx)
        assert isinstance(e, ast.Name)
        cx.facts.number_lists[e.id] = types
    array, lines = _filled(e, cx)
    value = copy_location(new(array), node)
    if _dtype(e, cx) == "f64":
        cx.before(*lines)
        return value
    out = cx.fresh("t")
    lines += cx.code("OUT = E", OUT=out, E=value)
    (original,) = cx.code("OUT = E", OUT=out, E=node)
    return cx.made(out, lambda: guarded([cx.expr("len(X) < 1", X=e)], original, lines, cx))


def _filled(e: ast.expr, cx: Context) -> tuple[ast.expr, list[ast.stmt]]:
    """An array, and statements that leave in it what is in the list `e`."""
    array = ast.Name(cx.fresh("a"), ast.Load())
    lines = [allocate_array(array.id, [cx.expr("len(X)", X=e)], _dtype(e, cx), cx)]
    text = "for I in range(len(X)): ARRAY[I] = X[I]"
    return array, [*lines, *cx.code(text, I=cx.fresh("i"), X=e, ARRAY=array)]


@fires_on(ast.Assign, targets=ast.Name, value=ast.ListComp, when=has_tuple_lists)
def tuple_list_comprehension(node: ast.AST, cx: Context) -> list[ast.stmt] | None:
    """``x = [(a, b) for …]`` → a loop that appends to the list under its own name.

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
            name in cx.facts.tuple_lists
            and name not in names_read([made])
            and not is_suspending(made)
        ):
            own = with_fresh_variables(made, cx)
            append = cx.code("LIST.append(E)", LIST=name, E=own.elt)
            return [*cx.code("LIST = []", LIST=name), *nested_loops(own.generators, append, cx)]
    return None


@fires_on(ast.Call, calls=[np.array, np.asarray], when=has_tuple_types)
def tuple_list_to_array(node: ast.AST, cx: Context) -> ast.expr | None:
    """``np.array(list_of_tuples)`` → an array with one row for each tuple. NumPy itself is called
    for an empty list, which gives one axis only.

        w = [(v, i) for i, v in enumerate(x) if v > s]
        X = np.array(w)
    →
        w = []
        for _i in range(len(x)):
            _v = x[_i]
            if _v > s:
                w.append((_v, _i))
        if len(w) < 1:
            "Python's to answer"
            _a = np.array(w)
        else:
            _a = np.empty((len(w), 2), np.float64)
            for _i_1 in range(len(w)):
                _a[_i_1, 0] = w[_i_1][0]
                _a[_i_1, 1] = w[_i_1][1]
        X = _a
    """
    match node:
        case ast.Call(func=func, args=[ast.Name(id=name) as of, *more], keywords=keywords) if (
            name in cx.facts.tuple_types and numpy_function_name(func, cx) in ("array", "asarray")
        ):
            given = [*more, *(k.value for k in keywords)]
        case _:
            return None
    dtype = widened_dtype(cx.facts.tuple_types[name], given, cx)
    if dtype is None or not cx.means("len", "range"):
        return None
    out, width = cx.fresh("a"), cx.facts.tuple_lists[name]
    lines = [allocate_array(out, [cx.expr("len(X)", X=of), ast.Constant(width)], dtype, cx)]
    i = ast.Name(cx.fresh("i"), ast.Load())
    row = [line for k in range(width) for line in cx.code(
        "OUT[I, K] = X[I][K]", OUT=out, I=i, K=ast.Constant(k), X=of)]
    lines += cx.code("for I in range(len(X)): ROW", I=i, X=of, ROW=row)
    (original,) = cx.code("OUT = E", OUT=out, E=node)
    return cx.made(out, lambda: guarded([cx.expr("len(X) < 1", X=of)], original, lines, cx))
