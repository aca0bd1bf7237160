"""Loop nests over the index space of an array, and the allocation of their results.

The statements are core Python, built from a shape and a function that makes the body::

    loop_nest([n, m], lambda at: <u[at] = …>, cx)   →   for _i in range(n):
                                                            for _i_1 in range(m):
                                                                u[_i, _i_1] = …

NumPy gives ``np.array([0, 0.5])`` the dtype float64 and ``np.array([0, 1])`` the dtype int64. So
macros that fill an array with items that may be ints or floats, by the data, take float64; they
note whether all items were ints, and have the call replayed then (`store_noting_ints`)::

    y[i] = e    →    _item = e
                     y[i] = _item
                     _ints = _ints and _core.is_int(_item)
"""
from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

from ..analysis.alias_analysis import NEW_ARRAY
from ..analysis.type_inference.type_lattice import UNIT_LENGTH
from ..frontend.ast_walk import integer_constant, is_none, subscript_items, tree_key
from ..frontend.core_nodes import CORE_NAME
from ..frontend.macros.macro_context import Context
from ..frontend.macros.replay_guards import guarded
from ..types.value_types import ELEMENTS
from .array_views import element_at, is_unit_length
from .call_arguments import numpy_function_name

__all__ = [
    "NestBody", "allocate_array", "dtype_expr", "fresh_indices", "has_known_layout", "loop_nest",
    "may_sort_unit_axes", "product_of", "replay_if_all_ints", "row_major_index", "store_element",
    "store_noting_ints", "unit_length_tests",
]

NestBody = Callable[[Sequence[ast.expr]], "list[ast.stmt]"]
"""From the subscripts of an element to the statements that compute it."""


def loop_nest(
    shape: Sequence[ast.expr], body: NestBody, cx: Context, fortran_order: bool = False
) -> list[ast.stmt]:
    """Loops that run `body` at all subscripts of an array of `shape`: the last subscript varies
    fastest; with `fortran_order`, the first. The module's docstring has an example.

    `body` gets one subscript for each axis: the name of a loop, or the constant 0 for an axis whose
    length is the constant 1, which needs no loop.
    """
    names = fresh_indices(shape, cx)
    lines = body([n or ast.Constant(0) for n in names])
    axes = list(zip(shape, names, strict=True))
    for length, name in axes if fortran_order else axes[::-1]:
        if name is not None:
            lines = cx.code("for I in range(N): BODY", I=name, N=length, BODY=lines)
    return lines


def row_major_index(at: Sequence[ast.expr], shape: Sequence[ast.expr], cx: Context) -> ast.expr:
    """The position of the element at subscripts `at` among all elements in C order."""
    place: ast.expr | None = None
    for i, n in zip(at, shape, strict=True):
        if not is_unit_length(n):
            place = i if place is None else cx.expr("P * N + I", P=place, N=n, I=i)
    return place or ast.Constant(0)


def fresh_indices(shape: Sequence[ast.expr], cx: Context) -> list[ast.expr | None]:
    """A fresh loop variable for each axis; None for an axis whose length is the constant 1."""
    return [None if is_unit_length(n) else ast.Name(cx.fresh("i"), ast.Load()) for n in shape]


def allocate_array(
    name: str, shape: Sequence[ast.expr], dtype: str, cx: Context, *, fortran_order: bool = False
) -> ast.stmt:
    """The statement ``name = np.empty(shape, dtype)``; the dtype is named as in Loop IR ("f64")."""
    lengths = ast.Tuple(list(shape), ast.Load()) if len(shape) > 1 else shape[0]
    text = "NAME = NP.empty(SHAPE, T, order='F')" if fortran_order else "NAME = NP.empty(SHAPE, T)"
    (line,) = cx.code(text, NAME=name, NP=cx.numpy, SHAPE=lengths, T=dtype_expr(dtype, cx))
    return line


def store_element(
    name: str, at: Sequence[ast.expr], e: ast.expr, cx: Context
) -> list[ast.stmt]:
    """The statement ``name[at] = e``."""
    place = element_at(ast.Name(name, ast.Load()), at, cx)
    return cx.code("PLACE = E", PLACE=place, E=e)


def dtype_expr(name: str, cx: Context) -> ast.expr:
    """The expression of a dtype that Loop IR calls `name`: ``np.float64`` for "f64"."""
    attribute = "bool_" if name == "bool" else ELEMENTS[name].numpy.name
    return cx.expr(f"NP.{attribute}", NP=cx.numpy)


def may_sort_unit_axes(value: ast.expr, cx: Context) -> bool:
    """Whether NumPy may sort the axes of the new array `value` by the strides of another one, also
    those of length 1, whose strides are not known: it is a conversion or copy of a view, which may
    have gaps. (Elementwise operations leave axes of length 1 at their places, and so does a
    conversion of an array without gaps.)

        x[::2, :1].astype(np.float32)     x in Fortran order, with strides (8, 32): (4, 8)
                                          x in C order, with strides (40, 8):       (4, 4)
    """
    match value:
        case ast.Call(func=ast.Attribute(value=array, attr="astype")):
            pass
        case ast.Call(func=func, args=[array, *_]) if (
            numpy_function_name(func, cx) in ("array", "asarray", "astype", "copy")
        ):
            pass
        case _:
            return False
    return cx.fact(array).owner != NEW_ARRAY and not has_known_layout(array, cx)


def has_known_layout(e: ast.expr, cx: Context) -> bool:
    """Whether `e` is no view, or one with no other gaps than its array: an array with a name (an
    argument of a memory order that is known), an elementwise operation,
    rows of an array in C order (``X[1:]``), or a vector without gaps that gets new axes
    (``x[:, None]``).
    """
    fact = cx.fact(e)
    match e:
        case ast.BinOp() | ast.UnaryOp() | ast.Compare():
            return True
        case ast.Name(id=name):
            is_whole = fact.owner is not None and fact.owner.name == name
            is_sorted = UNIT_LENGTH not in (fact.shape or ())
            return is_whole and (fact.order == "C" or (fact.order == "F" and is_sorted))
        case ast.Subscript(value=base, slice=ast.Slice(step=None)):
            return cx.fact(base).order == "C" and has_known_layout(base, cx)
        case ast.Subscript(value=base) if cx.fact(base).rank == 1:
            ty, items = cx.fact(base).array, subscript_items(e)
            is_new = (is_none(i) or ast.unparse(i) == ":" for i in items)
            return ty is not None and ty.unit == 0 and all(is_new)
    return False


def product_of(lengths: Sequence[ast.expr], cx: Context) -> ast.expr:
    """The product of `lengths`; ``x.size`` where they are all the lengths of ``x``, of rank 3 or
    more; 1 where there are none.
    """
    match lengths:
        case [ast.Subscript(value=ast.Attribute(value=ast.Name() as x, attr="shape")), _, _, *_]:
            full = [cx.expr("X.shape[K]", X=x, K=ast.Constant(k)) for k in range(len(lengths))]
            if cx.fact(x).rank == len(full) and [*map(tree_key, full)] == [*map(tree_key, lengths)]:
                return cx.expr("X.size", X=x)
    product, *others = lengths or [ast.Constant(1)]
    for n in others:
        product = cx.expr("A * B", A=product, B=n)
    return product


def unit_length_tests(shape: Sequence[ast.expr], cx: Context) -> list[ast.expr]:
    """For each axis, the condition that it has length 1, except for constant lengths. Where one
    holds, a result in Fortran order is replayed: NumPy sorts the other axes by their strides, and
    puts this one at its place in C order. (A kernel for any length serves calls with length 1.)
    """
    return [cx.expr("N == 1", N=n) for n in shape if integer_constant(n, None) is None]


def store_noting_ints(
    target: ast.expr, e: ast.expr, ints: str | None, cx: Context
) -> list[ast.stmt]:
    """Statements that store the item `e` in `target`. ``ints``: the name that remains true as long
    as all items are ints; None: the types of the items are known.
    """
    if ints is None:
        return cx.code("TO = E", TO=target, E=e)
    text = "ITEM = E\nTO = ITEM\nINTS = INTS and CORE.is_int(ITEM)"
    core = ast.Name(CORE_NAME, ast.Load())
    return cx.code(text, TO=target, E=e, ITEM=cx.fresh("item"), INTS=ints, CORE=core)


def replay_if_all_ints(
    ints: str, count: ast.expr, original: ast.stmt, lines: list[ast.stmt], cx: Context
) -> list[ast.stmt]:
    """`lines`, for the case that one of the `count` items that were stored is a float, or there are
    none; `original`, by a replay, if all are ints (``ints``).
    """
    test = cx.expr("INTS and N > 0", INTS=ast.Name(ints, ast.Load()), N=count)
    return guarded([test], original, lines or [ast.Pass()], cx)
