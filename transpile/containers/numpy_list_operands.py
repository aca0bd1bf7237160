"""Lists of numbers and of tuples where NumPy takes them → arrays of their elements.

NumPy converts a list argument to an array first; these macros make that array by a loop, and pass
it in place of the list: `list_argument` for calls, `list_operand` for operators, `list_store` for
stores into an array, `tuple_list_to_array` for lists of tuples. The item types are those that
`list_elements` inferred. An empty list, whose array has dtype float64, replays the call unless the
items are floats; so does a list of ints and floats that has no float: its array has dtype int64.
(Lists that are arguments of the function itself are converted at each call: see
``lower/lists/list_arguments.py``.)
"""
from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

import numpy as np

from loopir.dtypes import dtype_name
from loopir.process.signal_exceptions import failures

from ..analysis.liveness import names_read
from ..analysis.type_inference.binding_facts import item_fact
from ..analysis.type_inference.type_lattice import int_or_float64
from ..analysis.type_inference.type_probe import Types
from ..frontend.ast_names import binding_pairs
from ..frontend.ast_walk import is_suspending, walk_nodes
from ..frontend.core_nodes import copy_location
from ..frontend.iterators.comprehensions import nested_loops, repeated_list, with_fresh_variables
from ..frontend.macros.bind_operands import bind_fresh
from ..frontend.macros.firing_conditions import (
    assigns_no_scalar,
    augments_no_scalar,
    has_tuple_lists,
    has_typed_tuple_lists,
    operates_on_array,
)
from ..frontend.macros.macro_context import Context
from ..frontend.macros.macro_index import UFUNC, fires_on, numpy_callees
from ..frontend.macros.replay_guards import guarded
from ..numpy.array_nests import allocate_array, replay_if_all_ints, store_noting_ints
from ..numpy.call_arguments import numpy_function_name
from ..numpy.function_table import ARRAY_OF_LIST, FUNCTIONS
from ..types.value_types import ELEMENTS, ScalarType

__all__ = [
    "array_dtype", "list_argument", "list_operand", "list_store", "widened_dtype",
    "tuple_list_comprehension", "tuple_list_to_array",
]

_LIST_FUNCTIONS = frozenset(name for name, row in FUNCTIONS.items() if row.lists)
"""Functions that are expanded for a named list in place of an array."""


@fires_on(ast.Call, calls=[UFUNC, *numpy_callees(_LIST_FUNCTIONS)])
def list_argument(node: ast.AST, cx: Context) -> ast.expr | None:
    """A list as an argument of a NumPy function → an array of its items. The call is replayed for
    an empty list, unless its items are floats: NumPy makes an array of floats of it.

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
    makes_array = name in ("array", "asarray")
    max_operands = 3 if name in _LIST_FUNCTIONS else 0
    if isinstance(function, np.ufunc):
        max_operands = function.nin
    position = next((k for k, e in enumerate(args[:max_operands]) if _is_number_list(e, cx)), None)
    if position is None or (makes_array and not _is_copied_list(args[position], cx)):
        return None
    dtype_arguments = [*args[1:2], *(k.value for k in keywords)]
    if makes_array and widened_dtype(_item_dtype(args[position], cx), dtype_arguments, cx) is None:
        return None
    if makes_array and not dtype_arguments:
        return _with_array(node, args[position], lambda array: array, cx)

    def with_array(array: ast.expr) -> ast.expr:
        return ast.Call(func, [array if k == position else a for k, a in enumerate(args)], keywords)

    return _with_array(node, args[position], with_array, cx)


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
    if _is_number_list(left, cx) and cx.fact(right).array:
        return _with_array(node, left, lambda array: _operation(op, array, right), cx)
    if _is_number_list(right, cx) and cx.fact(left).array:
        return _with_array(node, right, lambda array: _operation(op, left, array), cx)
    return None


def _operation(op: ast.operator | ast.cmpop, a: ast.expr, b: ast.expr) -> ast.expr:
    """The binary operation or comparison ``a op b``."""
    return ast.BinOp(a, op, b) if isinstance(op, ast.operator) else ast.Compare(a, [op], [b])


@fires_on(ast.Assign, targets=ast.Subscript, value=ast.Name, when=assigns_no_scalar)
@fires_on(ast.AugAssign, value=ast.Name, when=augments_no_scalar)
def list_store(node: ast.AST, cx: Context) -> list[ast.stmt] | None:
    """A list that is stored into an array → a store of an array of its items. The call is replayed
    for an empty list.

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
        case (
            ast.Assign(targets=[ast.Subscript() as target], value=ast.Name() as list_name)
            | ast.AugAssign(target=target, value=ast.Name() as list_name)
        ):
            dtype, target_type = _item_dtype(list_name, cx), cx.fact(target).array
        case _:
            return None
    if not dtype or target_type is None or not cx.is_builtin("len", "range"):
        return None
    if not np.can_cast(ELEMENTS[dtype].numpy, ELEMENTS[target_type.dtype].numpy):
        return None
    assert isinstance(node, ast.stmt)
    array, lines, ints = _array_of_items(list_name, cx)
    if isinstance(node, ast.AugAssign):
        stores: list[ast.stmt] = [copy_location(ast.AugAssign(node.target, node.op, array), node)]
    else:
        stores = cx.code("TARGET = E", TARGET=target, E=array)
    count = cx.expr("len(X)", X=list_name)
    lines += replay_if_all_ints(ints, count, node, stores, cx) if ints else stores
    return guarded([cx.expr("len(X) < 1", X=list_name)], node, lines, cx)


def _is_copied_list(e: ast.expr, cx: Context) -> bool:
    """Whether the call ``np.array(e)`` of a list is expanded: `e` is a name; and if the array is
    the result of the function, all bindings of the name are repeated displays, as ``[0] * n``.
    """
    if not isinstance(e, ast.Name) or not cx.result_uses():
        return isinstance(e, ast.Name)
    values = [
        value for n in walk_nodes(*cx.tree.body) for to, value in binding_pairs(n)
        if isinstance(to, ast.Name) and to.id == e.id
    ]
    list_values = (repeated_list(v, cx) or v for v in values)
    return bool(values) and all(
        isinstance(v, ast.BinOp) and isinstance(v.op, ast.Mult)
        and (isinstance(v.left, ast.List) or isinstance(v.right, ast.List)) for v in list_values
    )


def _is_number_list(e: ast.expr, cx: Context) -> bool:
    """Whether `e` is a list of numbers: a comprehension or name of which an array has a known dtype
    (`array_dtype`), or a display of scalars.
    """
    match e:
        case ast.ListComp():
            fact = item_fact(cx.facts, e)
            return not is_suspending(e) and fact.rank == 0 and bool(array_dtype(fact.types))
        case ast.List(elts=[_, *_] as elts):
            return all(cx.fact(x).rank == 0 and cx.fact(x).types for x in elts)
    return bool(_item_dtype(e, cx))


def widened_dtype(dtype: str, arguments: Sequence[ast.expr], cx: Context) -> str | None:
    """The dtype of ``np.array(list, *arguments)`` for a list of numbers of `dtype`: the one in
    `arguments`, or `dtype` if these are empty. None where it cannot represent every number of
    `dtype`, or there are other arguments.
    """
    if not arguments:
        return dtype
    requested = cx.resolve(arguments[0])
    if len(arguments) > 1 or not isinstance(requested, type):
        return None
    try:
        dtype_wanted = dtype_name(np.dtype(requested))
    except failures(TypeError):
        return None
    if not dtype_wanted or not np.can_cast(ELEMENTS[dtype].numpy, ELEMENTS[dtype_wanted].numpy):
        return None
    return dtype_wanted


def _item_dtype(e: ast.expr, cx: Context) -> str:
    """The dtype of an array of the items of the list of the name `e` (`array_dtype`); "" where it
    is no list of numbers, or the dtype is not known.
    """
    if not isinstance(e, ast.Name):
        return ""
    listed = cx.fact(e).list_type
    if listed is not None and (listed.is_packed or listed.is_mixed):
        return ""
    if listed is not None and len(listed.kinds) == 1 and isinstance(listed.item, ScalarType):
        return listed.item.dtype
    return array_dtype(cx.facts.number_lists.get(e.id, frozenset()))


def array_dtype(types: Types) -> str:
    """The dtype of an array of items of these `types`: their own, or float64 of ints and floats,
    if there is a float among them; "" for others.
    """
    dtypes = {t.dtype for t in types}
    return "f64" if int_or_float64(types) else dtypes.pop() if len(dtypes) == 1 else ""


def _with_array(
    node: ast.expr, e: ast.expr, with_array: Callable[[ast.expr], ast.expr], cx: Context
) -> ast.expr | None:
    """The replacement of `node`: `with_array` of an array of the items of the list `e`. The
    statements that fill it run before the current one; `node` is replayed where `e` is empty and
    its items are not floats.
    """
    if not cx.is_builtin("len", "range"):
        return None
    types = item_fact(cx.facts, e).types if isinstance(e, ast.ListComp) else frozenset()
    if isinstance(e, ast.List) or {t.dtype for t in types} == {"f64"}:
        return copy_location(with_array(cx.expr("NP.array(E)", NP=cx.numpy, E=e)), node)
    if isinstance(e, ast.ListComp):
        e = bind_fresh(e, "list", cx)
        assert isinstance(e, ast.Name)
        cx.facts.number_lists[e.id] = types
    array, lines, ints = _array_of_items(e, cx)
    value = copy_location(with_array(array), node)
    if _item_dtype(e, cx) == "f64" and ints is None:
        cx.before(*lines)
        return value
    result, count = cx.fresh("t"), cx.expr("len(X)", X=e)
    binding = cx.code("OUT = E", OUT=result, E=value)
    (original,) = cx.code("OUT = E", OUT=result, E=node)

    def bind() -> list[ast.stmt]:
        if ints is not None:
            return [*lines, *replay_if_all_ints(ints, count, original, binding, cx)]
        return guarded([cx.expr("N < 1", N=count)], original, [*lines, *binding], cx)

    return cx.bound_name(result, bind)


def _array_of_items(
    e: ast.expr, cx: Context
) -> tuple[ast.expr, list[ast.stmt], str | None]:
    """A fresh name; statements that bind it to an array of the items of the list `e`; and, of a
    list of ints and floats, the name that tells behind them whether all items are ints.
    """
    array = ast.Name(cx.fresh("a"), ast.Load())
    lines = [allocate_array(array.id, [cx.expr("len(X)", X=e)], _item_dtype(e, cx), cx)]
    index = cx.fresh("i")
    if not isinstance(e, ast.Name) or not int_or_float64(cx.facts.number_lists.get(e.id, ())):
        text = "for I in range(len(X)): ARRAY[I] = X[I]"
        return array, [*lines, *cx.code(text, I=index, X=e, ARRAY=array)], None
    ints = cx.fresh("ints")
    item = cx.expr("X[I]", X=e, I=index)
    body = store_noting_ints(cx.expr("ARRAY[I]", ARRAY=array, I=index), item, ints, cx)
    text = "INTS = True\nfor I in range(len(X)): BODY"
    return array, [*lines, *cx.code(text, INTS=ints, I=index, X=e, BODY=body)], ints


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
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.ListComp() as comprehension) if (
            name in cx.facts.tuple_lists
            and name not in names_read([comprehension])
            and not is_suspending(comprehension)
        ):
            renamed = with_fresh_variables(comprehension, cx)
            append = cx.code("LIST.append(E)", LIST=name, E=renamed.elt)
            return [*cx.code("LIST = []", LIST=name), *nested_loops(renamed.generators, append, cx)]
    return None


@fires_on(ast.Call, calls=ARRAY_OF_LIST, when=has_typed_tuple_lists)
def tuple_list_to_array(node: ast.AST, cx: Context) -> ast.expr | None:
    """``np.array(list_of_tuples)`` → an array with one row for each tuple. The call is replayed
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
        case ast.Call(
            func=func, args=[ast.Name(id=name) as list_name, *rest], keywords=keywords
        ) if (
            name in cx.facts.tuple_types and numpy_function_name(func, cx) in ("array", "asarray")
        ):
            dtype_arguments = [*rest, *(k.value for k in keywords)]
        case _:
            return None
    dtype = widened_dtype(cx.facts.tuple_types[name], dtype_arguments, cx)
    if dtype is None or not cx.is_builtin("len", "range"):
        return None
    result, width = cx.fresh("a"), cx.facts.tuple_lists[name]
    count = cx.expr("len(X)", X=list_name)
    lines = [allocate_array(result, [count, ast.Constant(width)], dtype, cx)]
    i = ast.Name(cx.fresh("i"), ast.Load())
    row = [line for k in range(width) for line in cx.code(
        "OUT[I, K] = X[I][K]", OUT=result, I=i, K=ast.Constant(k), X=list_name)]
    lines += cx.code("for I in range(len(X)): ROW", I=i, X=list_name, ROW=row)
    (original,) = cx.code("OUT = E", OUT=result, E=node)
    is_empty = cx.expr("len(X) < 1", X=list_name)
    return cx.bound_name(result, lambda: guarded([is_empty], original, lines, cx))
