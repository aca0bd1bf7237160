"""View identities: ``np.flip``, ``transpose``, ``reshape`` … as subscripts and attributes.

`view_identity` is the macro that applies the rules of column ``view`` of `function_table`, those
of this module and of `array_identities`: from the arguments of a call to an expression of the same
value, such as ``np.flip(X, 1)`` → ``X[:, ::-1]``; None where the rule refuses them. The rules for
array expressions (`VIEW_RULES`, in `basic_indexing`) call `canonical_view`, too, so that a
flip inside a larger expression needs no statement. Some rules of the column give no view, such as
`shape_query_rule`: what all have in common is that an expression is enough.
"""
from __future__ import annotations

import ast
from collections.abc import Sequence

from ...frontend.ast_walk import integer_constant, same_tree
from ...frontend.macros.bind_operands import bind_fresh, bind_operand
from ...frontend.macros.macro_context import Context
from ...frontend.macros.macro_index import fires_on, numpy_callees
from ...types.value_types import PARTS
from ..call_arguments import BoundArguments, bind_arguments
from ..function_table import expansion_rule, signatures
from ..shape_ops import with_new_axes
from .array_identities import ArrayRule

__all__ = [
    "view_identity", "canonical_view", "flip_rule", "rot90_rule", "transpose_rule", "swapaxes_rule",
    "moveaxis_rule", "expand_dims_rule", "asarray_of_array_rule", "conjugate_of_real_rule",
    "contiguous_rule", "copy_rule", "reshape_rule", "outer_rule", "shape_query_rule",
    "is_complex_rule", "at_least_1d_rule", "at_least_2d_rule", "fliplr_rule",
    "flipud_rule", "matrix_transpose_rule",
]


def canonical_view(e: ast.expr, cx: Context) -> ast.expr | None:
    """The expression that replaces the call `e`, by the rule of its row; None where it is no call
    of such a function, or the rule refuses or changes nothing.
    """
    bound = bind_arguments(e, cx, _SIGNATURES)
    if bound is None:
        return None
    method = isinstance(e, ast.Call) and isinstance(e.func, ast.Attribute) and (
        cx.resolve(e.func) is None)
    name = f".{bound.name}" if method and f".{bound.name}" in _SIGNATURES else bound.name
    outer, cx.at = cx.at, e  # which may be an operand of what is replaced
    try:
        replacement: ast.expr | None = expansion_rule("view", name)(bound, cx)
    finally:
        cx.at = outer
    return None if replacement is None or same_tree(replacement, e) else replacement


def _named_axes(e: ast.expr | None, rank: int) -> list[int] | None:
    """The axes, from 0, that the argument `e` names: an int or a tuple of ints. All axes where it
    is missing; None where an axis is no constant, is out of range or occurs twice.
    """
    if e is None:
        return list(range(rank))
    items = e.elts if isinstance(e, (ast.Tuple, ast.List)) else [e]
    constants = [integer_constant(a, None) for a in items]
    axes = [a % rank for a in constants if a is not None and -rank <= a < rank]
    return axes if len(axes) == len(constants) == len(set(axes)) else None


def _subscripted(x: ast.expr, items: Sequence[str], cx: Context) -> ast.expr:
    """The subscript of `x` with the texts `items`, without trailing whole axes: ``x[:, ::-1]``."""
    trimmed = list(items)
    while len(trimmed) > 1 and trimmed[-1] == ":":
        trimmed.pop()
    return cx.expr(f"X[{', '.join(trimmed)}]", X=x)


def _known_rank(x: ast.expr, cx: Context) -> int:
    """The rank of `x`; 0 for a scalar, and where it is not known."""
    return cx.fact(x).rank or 0


def flip_rule(bound: BoundArguments, cx: Context) -> ast.expr | None:
    """``np.flip(m, axis)`` as subscripts with negative steps."""
    x = bound["m"]
    axes = _named_axes(bound.get("axis"), _known_rank(x, cx))
    if axes is None or not cx.fact(x).array:
        return None
    return _subscripted(x, ["::-1" if k in axes else ":" for k in range(_known_rank(x, cx))], cx)


def _flip_axis(axis: int) -> ArrayRule:
    """The rule of ``np.fliplr`` and ``np.flipud``, which flip one axis."""
    def rule(bound: BoundArguments, cx: Context) -> ast.expr | None:
        arguments = {**bound.arguments, "axis": ast.Constant(axis)}
        return flip_rule(BoundArguments("flip", arguments), cx)

    return rule


fliplr_rule = _flip_axis(1)
flipud_rule = _flip_axis(0)


def rot90_rule(bound: BoundArguments, cx: Context) -> ast.expr | None:
    """``np.rot90(m, k)`` → a transpose and flips of the two axes. None for ``axes=None``."""
    x, turns = bound["m"], integer_constant(bound.get("k"), 1)
    rank = _known_rank(x, cx)
    axes = _named_axes(bound["axes"], rank) if "axes" in bound.arguments else [0, 1]
    if turns is None or axes is None or len(axes) != 2 or rank < 2:
        return None
    order = list(range(rank))
    order[axes[0]], order[axes[1]] = axes[1], axes[0]
    flips = [[], axes[1:], axes, axes[1:]][turns % 4]
    items = ["::-1" if k in flips else ":" for k in range(rank)]
    if turns % 2 == 0:
        return _subscripted(x, items, cx)
    if turns % 4 == 1:
        return _permute_axes(_subscripted(x, items, cx), order, cx)
    transposed = _permute_axes(x, order, cx)
    return None if transposed is None else _subscripted(transposed, items, cx)


def _permute_axes(x: ast.expr, order: Sequence[int], cx: Context) -> ast.expr | None:
    """`x` with its axes in another order, as ``x.T`` or ``x.transpose(…)``; None where `order` is
    no permutation of them, and where `x` is not surely an array: a list has no such view.
    """
    rank = _known_rank(x, cx)
    if sorted(order) != list(range(rank)) or not cx.fact(x).array:
        return None
    if rank == 1:
        return cx.expr("X[:]", X=x)
    if list(order) == list(range(rank))[::-1]:
        return cx.expr("X.T", X=x)
    return cx.expr(f"X.transpose({', '.join(map(str, order))})", X=x)


def transpose_rule(bound: BoundArguments, cx: Context) -> ast.expr | None:
    """``np.transpose(a, axes)`` as a permutation of axes."""
    rank = _known_rank(bound["a"], cx)
    axes = (
        list(range(rank))[::-1] if bound.get("axes") is None else _named_axes(bound["axes"], rank)
    )
    return None if axes is None else _permute_axes(bound["a"], axes, cx)


def swapaxes_rule(bound: BoundArguments, cx: Context) -> ast.expr | None:
    """``np.swapaxes(a, axis1, axis2)`` as a permutation of axes."""
    rank = _known_rank(bound["a"], cx)
    first, second = (integer_constant(bound.get(n), None) for n in ("axis1", "axis2"))
    valid = all(k is not None and -rank <= k < rank for k in (first, second))
    if first is None or second is None or not valid:
        return None
    order = list(range(rank))
    order[first], order[second] = order[second], order[first]
    return _permute_axes(bound["a"], order, cx)


def moveaxis_rule(bound: BoundArguments, cx: Context) -> ast.expr | None:
    """``np.moveaxis(a, source, destination)`` as a permutation of axes."""
    rank = _known_rank(bound["a"], cx)
    source, destination = (_named_axes(bound.get(n), rank) for n in ("source", "destination"))
    if not source or not destination or len(source) != len(destination):
        return None
    if bound.get("source") is None or bound.get("destination") is None:
        return None
    order = [k for k in range(rank) if k not in source]
    for position, axis in sorted(zip(destination, source, strict=True)):
        order.insert(position, axis)
    return _permute_axes(bound["a"], order, cx)


def expand_dims_rule(bound: BoundArguments, cx: Context) -> ast.expr | None:
    """``np.expand_dims(a, (i, j))`` → `with_new_axes`. A single axis is expanded by
    `shape_operation`.
    """
    argument = bound.get("axis")
    if not isinstance(argument, (ast.Tuple, ast.List)):
        return None
    rank = _known_rank(bound["a"], cx) + len(argument.elts)
    axes = _named_axes(argument, rank)
    return None if axes is None else with_new_axes(bound["a"], axes, cx)


def _at_least(minimum: int) -> ArrayRule:
    """The rule of ``np.atleast_1d`` and ``np.atleast_2d``: the name itself, or a vector as a row.
    """
    def rule(bound: BoundArguments, cx: Context) -> ast.expr | None:
        x = bound["a"]
        if _known_rank(x, cx) >= minimum:
            return x if isinstance(x, ast.Name) else None
        return cx.expr("X[None, :]", X=x) if _known_rank(x, cx) == 1 else None

    return rule


def asarray_of_array_rule(bound: BoundArguments, cx: Context) -> ast.expr | None:
    """``np.asarray(x, T)`` of a name of an array that has that dtype → the name."""
    x, dtype = bound["a"], bound.get("dtype")
    ty, converted = cx.fact(x).array, cx.fact(x)
    if dtype is not None:
        converted = cx.fact(cx.expr("NP.asarray(X, T)", NP=cx.numpy, X=x, T=dtype))
    unchanged = ty is not None and converted.array is not None and converted.array.dtype == ty.dtype
    return x if unchanged and isinstance(x, ast.Name) else None


def conjugate_of_real_rule(bound: BoundArguments, cx: Context) -> ast.expr | None:
    """``x.conj()`` of a real array → ``x``: the method makes no copy."""
    ty = cx.fact(bound["a"]).array
    return bound["a"] if ty is not None and ty.dtype not in PARTS else None


def contiguous_rule(bound: BoundArguments, cx: Context) -> ast.expr | None:
    """``np.ascontiguousarray(a)`` of a contiguous vector: the vector itself."""
    ty = cx.fact(bound["a"]).array
    contiguous = ty is not None and (ty.rank, ty.unit) == (1, 0)
    return asarray_of_array_rule(bound, cx) if contiguous else None


def copy_rule(bound: BoundArguments, cx: Context) -> ast.expr | None:
    """``np.copy(a, order)`` for a constant order, as ``a.copy()`` or ``np.copy(a)``."""
    order = bound.get("order")
    if not isinstance(order, ast.Constant) or not cx.fact(bound["a"]).array:
        return None
    texts = {"C": "X.copy()", "K": "NP.copy(X)"}
    text = texts.get(order.value) if isinstance(order.value, str) else None
    return None if text is None else cx.expr(text, X=bound["a"], NP=cx.numpy)


def reshape_rule(bound: BoundArguments, cx: Context) -> ast.expr | None:
    """``np.reshape``, ``ravel`` and ``flatten`` of a name with ``order`` "C" or "F" → the method
    without it: ``np.reshape(X, s)`` → ``X.reshape(s)``, ``np.ravel(X, "F")`` → ``X.T.ravel()``.
    None for a reshape in F order to several axes.
    """
    order, x, shape = bound.get("order"), bound["a"], bound.get("shape")
    order_name = "C" if order is None else order.value if isinstance(order, ast.Constant) else ""
    if order_name not in ("C", "F") or not cx.fact(x).array or not isinstance(x, ast.Name):
        return None
    if bound.name == "reshape" and order_name == "C":
        return cx.expr("X.reshape(S)", X=x, S=shape) if shape is not None else None
    if order is None or (bound.name == "reshape" and integer_constant(shape, None) != -1):
        return None
    if order_name == "F" and _known_rank(x, cx) > 1:
        text = "X.T.copy()" if bound.name == "flatten" else "X.T"
        x = bind_fresh(cx.expr(text, X=x), "turned", cx)
        return cx.expr("X.ravel()", X=x)
    return cx.expr(f"X.{bound.name}()" if bound.name != "reshape" else "X.reshape(-1)", X=x)


def outer_rule(bound: BoundArguments, cx: Context) -> ast.expr | None:
    """``ufunc.outer(a, b)`` → the ufunc with new axes: each element of `a` with each of `b`."""
    a, b = bound.get("a"), bound.get("b")
    if a is None or b is None or not (_known_rank(a, cx) and _known_rank(b, cx)):
        return None
    left, right = ", None" * _known_rank(b, cx), "None, " * _known_rank(a, cx)
    parts = {"NP": cx.numpy, "A": a, "B": b}
    return cx.expr(f"NP.{bound.name.partition('.')[0]}(A[...{left}], B[{right}...])", **parts)


def shape_query_rule(bound: BoundArguments, cx: Context) -> ast.expr | None:
    """``np.shape(a)``, ``np.size(a)`` and ``np.ndim(a)`` as attributes of `a`."""
    x = bound["a"]
    if bound.name == "ndim" and cx.fact(x).rank == 0 and cx.fact(x).types and isinstance(
            x, (ast.Name, ast.Constant)):
        return ast.Constant(0)
    if cx.fact(x).array is None or bound.get("axis") is not None:
        return None
    x = bind_operand(x, cx)
    text = {"ndim": str(_known_rank(x, cx)), "size": "X.size", "shape": "X.shape"}[bound.name]
    return cx.expr(text, X=x)


def is_complex_rule(bound: BoundArguments, cx: Context) -> ast.expr | None:
    """``np.iscomplexobj(x)`` and ``np.isrealobj(x)`` of a name or constant → True or False, by its
    type; None where that is not known.
    """
    types = {t.dtype in PARTS for t in cx.fact(bound["x"]).types}
    is_atom = isinstance(bound["x"], (ast.Name, ast.Constant)) and len(types) == 1
    return ast.Constant(types == {bound.name == "iscomplexobj"}) if is_atom else None


at_least_1d_rule = _at_least(1)
at_least_2d_rule = _at_least(2)


def matrix_transpose_rule(bound: BoundArguments, cx: Context) -> ast.expr | None:
    """``np.matrix_transpose(a)`` → `a` with its last two axes exchanged."""
    axes = {"axis1": ast.Constant(-1), "axis2": ast.Constant(-2)}
    return swapaxes_rule(BoundArguments("swapaxes", {**bound.arguments, **axes}), cx)


_SIGNATURES = signatures("view")


@fires_on(ast.Call, calls=numpy_callees(_SIGNATURES))
def view_identity(node: ast.AST, cx: Context) -> ast.expr | None:
    """A call of a function or method whose row has ``view`` → the expression that its rule makes,
    such as a subscript.

        u = np.flip(X, 1)
        v = np.atleast_2d(x)
        w = np.asarray(x)
    →
        u = X[:, ::-1]
        v = x[None, :]
        w = x
    """
    return canonical_view(node, cx) if isinstance(node, ast.expr) else None
