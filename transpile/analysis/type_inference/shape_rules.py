"""Shape inference: the rank and the lengths of what NumPy's functions and methods return.

The rules are the ``rank`` column of the function table (`numpy.function_table`): "shape" (the
argument is the shape), "like" (as the first argument), "elementwise" (broadcast), "fold" (a scalar)
and others. Lengths are symbolic: host expressions over names that are never rebound, such as
``x.shape[0]``, or None for an unknown one. Two axes with equal expressions have the same length, so
that loops over them can be joined. `expression_facts` combines this with the types.
"""
from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from loopir.dtypes import dtype_name

from ...frontend.ast_names import binding_pairs
from ...frontend.ast_walk import subscript_items, walk_nodes
from ...frontend.defining_modules import is_of_math
from ...frontend.name_resolution import is_one_of
from ...host_nodes import (
    HostAttribute,
    HostConst,
    HostExpr,
    HostItem,
    HostName,
    NoHostExpression,
    from_ast,
)
from ...numpy.function_table import function_row, method_row
from ...types.value_types import ELEMENTS, ArrayType, is_weak
from ..alias_analysis import Owner
from .type_facts import Facts
from .type_lattice import UNIT_LENGTH, Fact, Shape

__all__ = [
    "find_length_names", "gives_shape", "is_grid", "is_squeeze", "joins_items",
    "known_lengths", "new_array_type", "rank_of_call", "rank_of_method", "reshaping",
    "shape_of_call", "shape_of_lengths", "shape_of_product", "with_elementwise_shape",
]

_BUILTIN_FOLDS = (sum, any, all)
_SCALAR = (int, float, bool)


def reshaping(
    call: ast.Call, function: object | None
) -> tuple[ast.expr, Sequence[ast.expr]] | None:
    """For a reshape (``x.reshape(n, m)``, ``np.ravel(x)``): the array, and its new lengths, an
    empty list for ``ravel``. None for other calls. `function` is None for a method call.
    """
    match call:
        case ast.Call(func=ast.Attribute(value=array, attr=name), args=args) if function is None:
            pass
        case ast.Call(args=[array, *args]) if is_one_of(function, (np.reshape, np.ravel)):
            name = getattr(function, "__name__", "")
        case _:
            return None
    if call.keywords or (function is not None and len(args) > 1):
        return None
    match name, args:
        case "ravel", []:
            return array, []
        case "reshape", [ast.Tuple(elts=[_, *_] as elts) | ast.List(elts=[_, *_] as elts)]:
            return array, elts
        case "reshape", [_, *_]:
            return array, args
    return None


def is_squeeze(call: ast.Call, function: object | None) -> bool:
    """Whether `call` removes axes of length 1 from an array. `function` is None for a method call.
    """
    method = isinstance(call.func, ast.Attribute) and call.func.attr == "squeeze"
    return function is np.squeeze or (function is None and method)


def rank_of_call(function: object, call: ast.Call, ranks: Sequence[int | None]) -> int | None:
    """The rank of the result of `function`, called by `call` with arguments of these `ranks`; None
    where it is not known. `expression_facts` asks where the types of the arguments are not known,
    so that the function cannot be probed.

        np.zeros((n, m))        "shape"         2: the length of the display
        np.zeros_like(x)        "like"          the rank of x; None if the call gives a shape
        np.cumsum(x)            "vector"        1, if x is a vector and there are no keywords
        np.sum(x)               "fold"          0, if x is a vector and there are no keywords

    The rule in the middle is the column ``rank`` of the function's row (`numpy.function_row.Row`
    explains all). Functions of `math` and number types give scalars for scalars; all others are
    elementwise or unknown (`_elementwise_rank`).
    """
    match _rank_rule(function):
        case "shape":
            return _shape_rank(call, ranks)
        case "like" if gives_shape(function, call):
            return None
        case "like" | "convert":
            return ranks[0] if ranks else None
        case "one":
            return 1
        case "vector" if ranks[:1] == [1] and not call.keywords:
            return 1
        case "fold" if ranks == [1] and not call.keywords:
            return 0
    if is_one_of(function, _SCALAR) or is_of_math(function):
        return 0 if all(r == 0 for r in ranks) else None
    return _elementwise_rank(function, call, ranks)


def is_grid(value: object) -> bool:
    """Whether `value` is ``np.mgrid`` or ``np.ogrid``, of which subscripts by slices make grids of
    numbers.
    """
    return value is np.mgrid or value is np.ogrid


def joins_items(value: object) -> bool:
    """Whether `value` is ``np.r_`` or ``np.c_``, of which a subscript joins its items."""
    return value is np.r_ or value is np.c_


def new_array_type(
    e: ast.Subscript, maker: object, of: Callable[[ast.expr], Fact]
) -> ArrayType | None:
    """The type of ``maker[…]``, if it is surely an array: `maker` is one of ``np.mgrid``,
    ``np.ogrid``, ``np.r_`` and ``np.c_``; None for other subscripts.
    """
    if joins_items(maker):
        return _joined_type(e, maker is np.c_, of)
    return _grid_type(e, maker, lambda b: of(b).is_int)


def _joined_type(
    e: ast.Subscript, as_columns: bool, of: Callable[[ast.expr], Fact]
) -> ArrayType | None:
    """The type of ``np.r_[…]``, or with `as_columns` of ``np.c_[…]``: a vector of numbers, vectors
    and ranges, or a matrix in C order of matrices, and of vectors as columns.

    The dtype is that of NumPy's promotion, in which Python's numbers are weak: ``np.r_[0, x]`` has
    the dtype of x.
    """
    items = subscript_items(e)
    joined = [_joined_item(item, as_columns, of) for item in items]
    samples, ranks = [i[0] for i in joined if i], {i[1] for i in joined if i}
    if len(samples) < len(items):
        return None
    if as_columns and (len(items) < 2 or not ranks <= {1, 2}):
        return None
    if not as_columns and (len(ranks) != 1 or 0 in ranks):
        return None
    rank = 2 if as_columns else max(ranks)
    dtype = dtype_name(np.result_type(*samples))
    return None if dtype is None else ArrayType(dtype, rank, rank - 1)


def _joined_item(
    item: ast.expr, as_columns: bool, of: Callable[[ast.expr], Fact]
) -> tuple[Any, int] | None:
    """A sample of the dtype of `item` of ``np.r_[…]`` or ``np.c_[…]``, and its rank: of a number 1,
    but 0 with `as_columns`. None for an item that is neither numbers nor a range of ints.
    """
    if isinstance(item, ast.Slice):
        bounds = [b for b in (item.lower, item.upper, item.step) if b is not None]
        if item.upper is None or not all(of(b).is_int for b in bounds):
            return None
        return np.empty(0, np.int64), 1
    types = [*of(item).types]
    if len(types) != 1 or ELEMENTS[types[0].dtype].kind not in "biuf":
        return None
    (ty,) = types
    scalar = ELEMENTS[ty.dtype].numpy.type(0)
    if not isinstance(ty, ArrayType):
        return scalar.item() if is_weak(ty) else scalar, 0 if as_columns else 1
    if ty.rank > 1 and ty.unit != ty.rank - 1:
        return None
    return np.empty(0, scalar.dtype), ty.rank


def _grid_type(
    e: ast.Subscript, grid: object, is_int: Callable[[ast.expr], bool]
) -> ArrayType | None:
    """The type of ``grid[…]``, if it is one array: `grid` is ``np.mgrid``, or ``np.ogrid`` with one
    slice, and the slices have int bounds or numbers of points. None for other subscripts.
    """
    is_tuple = isinstance(e.slice, ast.Tuple)
    if not is_grid(grid) or (grid is np.ogrid and is_tuple):
        return None
    items = subscript_items(e)
    slices = [s for s in items if isinstance(s, ast.Slice)]
    bounds = [b for s in slices for b in (s.lower, s.upper) if b is not None]
    steps = [s.step.value for s in slices if isinstance(s.step, ast.Constant)]
    is_float = any(isinstance(step, complex) for step in steps)
    if len(slices) < len(items) or not (is_float or all(map(is_int, bounds))):
        return None
    rank = len(slices) + is_tuple
    return ArrayType("f64" if is_float else "i64", rank, rank - 1)


def gives_shape(function: object, call: ast.Call) -> bool:
    """Whether `call` of a function such as ``np.zeros_like`` gives the shape of the new array."""
    position = 5 if function is np.full_like else 4
    return len(call.args) > position or any(k.arg == "shape" for k in call.keywords)


def _rank_rule(function: object) -> str:
    """The rank rule of `function` in the function table; "" if it has none."""
    if is_one_of(function, _BUILTIN_FOLDS):
        return "fold"
    row = function_row(function)
    return row.rank if row is not None else ""


def _elementwise_rank(
    function: object, call: ast.Call, ranks: Sequence[int | None]
) -> int | None:
    """The rank of an elementwise operation: the highest of the operands' ``ranks``; 0 for ``min``
    and ``max`` of scalars; that of the argument for a scalar type. None for other functions.
    """
    known = [r for r in ranks if r is not None]
    if not known or len(known) < len(ranks) or call.keywords:
        return None
    if is_one_of(function, (min, max)):
        return 0 if len(known) > 1 and not any(known) else None
    if isinstance(function, np.ufunc) or (
        _rank_rule(function) == "elementwise" or is_one_of(function, (abs, round))
    ):
        return max(known)
    scalar_type = isinstance(function, type) and issubclass(function, np.generic)
    return known[0] if scalar_type and len(known) == 1 else None


def _shape_rank(call: ast.Call, ranks: Sequence[int | None]) -> int | None:
    """The rank of an array whose shape is the first argument: a display, or one length."""
    match call.args[:1]:
        case [ast.Tuple(elts=elts)] | [ast.List(elts=elts)]:
            return len(elts)
        case [_] if ranks[0] == 0:
            return 1
    return None


def rank_of_method(name: str, call: ast.Call, rank: int | None) -> int | None:
    """The rank of ``array.name(…)`` for an array of `rank`; None where it is not known."""
    if not rank:
        return None
    row = method_row(name)
    if row is None:
        return None
    if row.rank in ("like", "elementwise"):
        return rank
    return 0 if row.rank == "fold" and not (call.args or call.keywords) else None


def find_length_names(facts: Facts, tree: ast.FunctionDef) -> None:
    """Fills `Facts.lengths` with the names that are lengths of arrays: by ``n = len(x)``,
    ``n = x.shape[0]`` and ``n, m = x.shape``, of names that are never rebound.
    """
    for target, value in (b for n in walk_nodes(*tree.body) for b in binding_pairs(n)):
        match target, value:
            case ast.Name(id=name), ast.Call(func, [ast.Name() as of]) if (
                facts.resolve(func) is len
            ):
                _add_length(facts, name, of, 0)
            case ast.Name(id=name), ast.Subscript(
                ast.Attribute(ast.Name() as of, "shape"), ast.Constant(int(k))
            ):
                _add_length(facts, name, of, k)
            case ast.Tuple(elts=elts), ast.Attribute(ast.Name() as of, "shape"):
                for k, e in enumerate(elts):
                    _add_length(facts, getattr(e, "id", ""), of, k)


def _add_length(facts: Facts, name: str, array: ast.Name, axis: int) -> None:
    """Notes that `name` is the length of an axis, if both names keep their values."""
    rank = facts.of(array).rank or 0
    fixed = {name, array.id}.isdisjoint({*facts.rebound, ""})
    if facts.of(array).array and fixed and -rank <= axis < rank:
        facts.lengths[HostName(name)] = _length_of(array.id, axis % rank)


def with_elementwise_shape(facts: Facts, fact: Fact, operands: Sequence[ast.expr]) -> Fact:
    """`fact` with the shape of an elementwise operation on `operands`."""
    if fact.rank and fact.array:
        return fact._replace(shape=_broadcast_shape(facts, operands))
    return fact


def shape_of_call(facts: Facts, target: object, e: ast.Call) -> Shape | None:
    """The lengths of the axes of what the call `e` of `target` (None: a method) returns; None
    where they are not known. They are host expressions, which can be compared.

        np.zeros((n, 3))     →   (n, 3)
        np.add(x, y)         →   (x.shape[0],), if x and y have one shape in the facts
        x.copy()             →   (x.shape[0],)

    The rule is that of the rank (`rank_of_call`): "shape" takes the lengths that are given,
    "like" and "convert" those of the first argument, "elementwise" the broadcast ones.
    """
    rule = _rank_rule(target)
    match e.args:
        case [ast.Tuple(elts=lengths), *_] if rule == "shape":
            return shape_of_lengths(facts, lengths)
        case [n, *_] if rule == "shape" and facts.of(n).is_int:
            return shape_of_lengths(facts, [n])
        case [like, *_] if rule == "like":
            return None if gives_shape(target, e) else known_lengths(facts, like)
        case [ast.List() | ast.Tuple() as display, *_] if rule == "convert":
            return _display_shape(facts, display)
        case [converted, *_] if rule == "convert":
            return known_lengths(facts, converted)
        case [left, right] if target in (np.dot, np.matmul) and not e.keywords:
            return shape_of_product(facts, left, right)
        case args if rule == "elementwise" or _is_elementwise_ufunc(target, e):
            return _broadcast_shape(facts, args)
        case _:
            method = e.func if target is None and isinstance(e.func, ast.Attribute) else None
            row = method_row(method.attr) if method else None
            keeps_shape = row is not None and row.rank == "like"
            return known_lengths(facts, method.value) if method and keeps_shape else None


def shape_of_lengths(facts: Facts, lengths: Sequence[ast.expr]) -> Shape | None:
    """The shape with these lengths; None if one of them may change."""
    if not all(map(facts.is_invariant, lengths)):
        return None
    try:
        expressions = map(from_ast, lengths)
        return tuple(facts.lengths.get(length, length) for length in expressions)
    except NoHostExpression:
        return None


def shape_of_product(facts: Facts, left: ast.expr, right: ast.expr) -> Shape | None:
    """The shape of the product of two vectors or matrices."""
    a, b = known_lengths(facts, left), known_lengths(facts, right)
    if not a or not b or len(a) > 2 or len(b) > 2:
        return None
    return (*a[:-1], *b[:-2], *b[-1:] * (len(b) - 1)) or None


def _is_elementwise_ufunc(target: object, e: ast.Call) -> bool:
    """Whether `e` calls a ufunc on its operands alone (and a ``dtype``)."""
    ufunc = isinstance(target, np.ufunc) and target.nin == len(e.args) and not target.signature
    return ufunc and all(k.arg == "dtype" for k in e.keywords)


def _display_shape(facts: Facts, e: ast.List | ast.Tuple) -> Shape | None:
    """The shape of the array made of a display of scalars, or of displays that have the same
    shape; None for others.
    """
    if any(isinstance(x, ast.Starred) for x in e.elts) or not e.elts:
        return None
    if all(facts.of(x).rank == 0 for x in e.elts):
        return (HostConst(len(e.elts)),)
    rows = {_display_shape(facts, x) for x in e.elts if isinstance(x, (ast.List, ast.Tuple))}
    (row,) = rows if len(rows) == 1 else (None,)
    displays = all(isinstance(x, (ast.List, ast.Tuple)) for x in e.elts)
    return (HostConst(len(e.elts)), *row) if row and displays else None


def _broadcast_shape(facts: Facts, operands: Sequence[ast.expr]) -> Shape | None:
    """The shape that `operands` are broadcast to; None where one of the arrays has an unknown
    shape, or two lengths of an axis differ and neither is 1.
    """
    arrays = [e for e in operands if facts.of(e).rank != 0]
    shapes = [shape for e in arrays if (shape := known_lengths(facts, e))]
    if not shapes or len(shapes) < len(arrays):
        return None
    rank = max(map(len, shapes))
    one = {UNIT_LENGTH}
    axes = [{s[k] for s in shapes if k >= -len(s)} - one or one for k in range(-rank, 0)]
    if any(len(axis) > 1 for axis in axes):
        return None
    return tuple(length for axis in axes for length in axis)


def known_lengths(facts: Facts, e: ast.expr) -> Shape | None:
    """The lengths of the array `e`. An unknown length is the expression ``e.shape[k]``, if `e` is
    the name of an array that is no view of another one, and keeps its value. None if a length
    remains unknown.
    """
    fact = facts.of(e)
    if not fact.rank or fact.array is None:
        return None
    shape = fact.shape or (None,) * fact.rank
    if isinstance(e, ast.Name) and fact.owner == Owner(e.id) and facts.is_invariant(e):
        return tuple(n or _length_of(e.id, k) for k, n in enumerate(shape))
    return shape if all(shape) else None


def _length_of(array: str, axis: int) -> HostExpr:
    """``array.shape[axis]``"""
    return HostItem(HostAttribute(HostName(array), "shape"), HostConst(axis))
