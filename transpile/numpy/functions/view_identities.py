"""Identities of views: flips, permutations and reshapes in canonical form, as subscripts."""
from __future__ import annotations

import ast
from collections.abc import Sequence

from ...frontend.ast_walk import same_tree
from ...frontend.int_exprs import integer_constant
from ...frontend.macros.macro_context import Context
from ...frontend.macros.macro_index import fires_on, named
from ...frontend.macros.replay_guards import bind_fresh
from ...types.value_types import PARTS
from ..call_arguments import BoundArguments, bind_arguments
from ..function_table import expansion_rule, signatures
from .array_identities import ArrayRule

__all__ = [
    "view_identity", "canonical_view", "flip_rule", "rot90_rule", "transpose_rule", "swapaxes_rule",
    "moveaxis_rule", "expand_dims_rule", "asarray_of_array_rule", "conjugate_of_real_rule",
    "contiguous_rule", "copy_rule", "reshape_rule", "outer_rule", "shape_query_rule",
    "is_complex_rule", "append_rule", "at_least_1d_rule", "at_least_2d_rule", "fliplr_rule",
    "flipud_rule", "matrix_transpose_rule",
]


def canonical_view(e: ast.expr, cx: Context) -> ast.expr | None:
    """`e` in other words; None where there are none better."""
    given = bind_arguments(e, cx, _SIGNATURES)
    if given is None:
        return None
    method = isinstance(e, ast.Call) and isinstance(e.func, ast.Attribute) and (
        cx.resolve(e.func) is None)
    name = f".{given.name}" if method and f".{given.name}" in _SIGNATURES else given.name
    new: ast.expr | None = expansion_rule("view", name)(given, cx)
    return None if new is None or same_tree(new, e) else new


def _named_axes(e: ast.expr | None, rank: int) -> list[int] | None:
    """The axes that `e` names; all where there is none."""
    if e is None:
        return list(range(rank))
    several = e.elts if isinstance(e, (ast.Tuple, ast.List)) else [e]
    found = [integer_constant(a, None) for a in several]
    known = [a % rank for a in found if a is not None and -rank <= a < rank]
    return known if len(known) == len(found) == len(set(known)) else None


def _subscripted(x: ast.expr, items: Sequence[str], cx: Context) -> ast.expr:
    """``x[:, ::-1]``, without the whole axes at the end."""
    used = list(items)
    while len(used) > 1 and used[-1] == ":":
        used.pop()
    return cx.expr(f"X[{', '.join(used)}]", X=x)


def _known_rank(x: ast.expr, cx: Context) -> int:
    return cx.fact(x).rank or 0


def flip_rule(given: BoundArguments, cx: Context) -> ast.expr | None:
    """``np.flip(m, axis)`` as subscripts with negative steps."""
    x = given["m"]
    axes = _named_axes(given.get("axis"), _known_rank(x, cx))
    if axes is None or not cx.fact(x).array:
        return None
    return _subscripted(x, ["::-1" if k in axes else ":" for k in range(_known_rank(x, cx))], cx)


def _flip_axis(axis: int) -> ArrayRule:
    def say(given: BoundArguments, cx: Context) -> ast.expr | None:
        return flip_rule(BoundArguments("flip", {**given.given, "axis": ast.Constant(axis)}), cx)

    return say


def rot90_rule(given: BoundArguments, cx: Context) -> ast.expr | None:
    """``np.rot90(m, k)`` → a transpose and flips of the two axes."""
    x, times = given["m"], integer_constant(given.get("k"), 1)
    rank = _known_rank(x, cx)
    axes = [0, 1] if given.get("axes") is None else _named_axes(given["axes"], rank)
    if times is None or axes is None or len(axes) != 2 or rank < 2:
        return None
    order = list(range(rank))
    order[axes[0]], order[axes[1]] = axes[1], axes[0]
    flips = [[], axes[1:], axes, axes[1:]][times % 4]
    items = ["::-1" if k in flips else ":" for k in range(rank)]
    if times % 2 == 0:
        return _subscripted(x, items, cx)
    if times % 4 == 1:
        return _permute_axes(_subscripted(x, items, cx), order, cx)
    turned = _permute_axes(x, order, cx)
    return None if turned is None else _subscripted(turned, items, cx)


def _permute_axes(x: ast.expr, order: Sequence[int], cx: Context) -> ast.expr | None:
    rank = _known_rank(x, cx)
    if sorted(order) != list(range(rank)):
        return None
    if rank == 1:
        return cx.expr("X[:]", X=x)
    if list(order) == list(range(rank))[::-1]:
        return cx.expr("X.T", X=x)
    return cx.expr(f"X.transpose({', '.join(map(str, order))})", X=x)


def transpose_rule(given: BoundArguments, cx: Context) -> ast.expr | None:
    """``np.transpose(a, axes)`` as a permutation of axes."""
    rank = _known_rank(given["a"], cx)
    axes = (
        list(range(rank))[::-1] if given.get("axes") is None else _named_axes(given["axes"], rank)
    )
    return None if axes is None else _permute_axes(given["a"], axes, cx)


def swapaxes_rule(given: BoundArguments, cx: Context) -> ast.expr | None:
    """``np.swapaxes(a, axis1, axis2)`` as a permutation of axes."""
    rank = _known_rank(given["a"], cx)
    p, q = (integer_constant(given.get(n), None) for n in ("axis1", "axis2"))
    if p is None or q is None or not (-rank <= p < rank and -rank <= q < rank):
        return None
    order = list(range(rank))
    order[p], order[q] = order[q], order[p]
    return _permute_axes(given["a"], order, cx)


def moveaxis_rule(given: BoundArguments, cx: Context) -> ast.expr | None:
    """``np.moveaxis(a, source, destination)`` as a permutation of axes."""
    rank = _known_rank(given["a"], cx)
    source, to = (_named_axes(given.get(n), rank) for n in ("source", "destination"))
    if (
        not source
        or not to
        or len(source) != len(to)
        or None in map(given.get, _MOVEAXIS_ARGUMENTS)
    ):
        return None
    order = [k for k in range(rank) if k not in source]
    for place, axis in sorted(zip(to, source, strict=True)):
        order.insert(place, axis)
    return _permute_axes(given["a"], order, cx)


_MOVEAXIS_ARGUMENTS = ("source", "destination")


def expand_dims_rule(given: BoundArguments, cx: Context) -> ast.expr | None:
    """``np.expand_dims(a, axis)`` → ``a[None]``, a new axis of length 1 for each one named."""
    several = given.get("axis")
    if not isinstance(several, (ast.Tuple, ast.List)):
        return None  # what is shaped
    rank = _known_rank(given["a"], cx) + len(several.elts)
    axes = _named_axes(several, rank)
    items = ["None" if k in (axes or ()) else ":" for k in range(rank)]
    return None if axes is None else _subscripted(given["a"], items, cx)


def _at_least(least: int) -> ArrayRule:
    def say(given: BoundArguments, cx: Context) -> ast.expr | None:
        x = given["a"]
        if _known_rank(x, cx) >= least:
            return x if isinstance(x, ast.Name) else None
        return cx.expr("X[None, :]", X=x) if _known_rank(x, cx) == 1 else None

    return say


def asarray_of_array_rule(given: BoundArguments, cx: Context) -> ast.expr | None:
    """Of what is an array of that dtype: the array itself."""
    x, to = given["a"], given.get("dtype")
    of, made = cx.fact(x).array, cx.fact(cx.expr("NP.asarray(X, T)", NP=cx.numpy, X=x, T=to)) if (
        to is not None) else cx.fact(x)
    same = of is not None and made.array is not None and made.array.dtype == of.dtype
    return x if same and isinstance(x, ast.Name) else None


def conjugate_of_real_rule(given: BoundArguments, cx: Context) -> ast.expr | None:
    """The method gives what is real as it is."""
    of = cx.fact(given["a"]).array
    return given["a"] if of is not None and of.dtype not in PARTS else None


def contiguous_rule(given: BoundArguments, cx: Context) -> ast.expr | None:
    """``np.ascontiguousarray(a)`` of a contiguous vector: the vector itself."""
    of = cx.fact(given["a"]).array
    dense = of is not None and (of.rank, of.unit) == (1, 0)
    return asarray_of_array_rule(given, cx) if dense else None


def copy_rule(given: BoundArguments, cx: Context) -> ast.expr | None:
    """``np.copy(a, order)`` for a constant order, as ``a.copy()`` or ``np.copy(a)``."""
    order = given.get("order")
    if not isinstance(order, ast.Constant) or not cx.fact(given["a"]).array:
        return None
    ways = {"C": "X.copy()", "K": "NP.copy(X)"}
    text = ways.get(order.value) if isinstance(order.value, str) else None
    return None if text is None else cx.expr(text, X=given["a"], NP=cx.numpy)


def reshape_rule(given: BoundArguments, cx: Context) -> ast.expr | None:
    """In C order, which is what there is without a word; all in a row, in that of F."""
    order, x, shape = given.get("order"), given["a"], given.get("shape")
    way = "C" if order is None else order.value if isinstance(order, ast.Constant) else ""
    if way not in ("C", "F") or not cx.fact(x).array or not isinstance(x, ast.Name):
        return None
    if given.name == "reshape" and way == "C":
        return cx.expr("X.reshape(S)", X=x, S=shape) if shape is not None else None
    if order is None or (given.name == "reshape" and integer_constant(shape, None) != -1):
        return None
    if way == "F" and _known_rank(x, cx) > 1:
        text = "X.T.copy()" if given.name == "flatten" else "X.T"
        x = bind_fresh(cx.expr(text, X=x), "turned", cx)
        return cx.expr("X.ravel()", X=x)
    return cx.expr(f"X.{given.name}()" if given.name != "reshape" else "X.reshape(-1)", X=x)


def outer_rule(given: BoundArguments, cx: Context) -> ast.expr | None:
    """``ufunc.outer(a, b)`` → the ufunc with new axes: each element of `a` with each of `b`."""
    a, b = given.get("a"), given.get("b")
    if a is None or b is None or not (_known_rank(a, cx) and _known_rank(b, cx)):
        return None
    left, right = ", None" * _known_rank(b, cx), "None, " * _known_rank(a, cx)
    parts = {"NP": cx.numpy, "A": a, "B": b}
    return cx.expr(f"NP.{given.name.partition('.')[0]}(A[...{left}], B[{right}...])", **parts)


def shape_query_rule(given: BoundArguments, cx: Context) -> ast.expr | None:
    """``np.shape(a)``, ``np.size(a)`` and ``np.ndim(a)`` as attributes of `a`."""
    x = given["a"]
    if given.name == "ndim" and cx.fact(x).rank == 0 and cx.fact(x).types and isinstance(
            x, (ast.Name, ast.Constant)):
        return ast.Constant(0)
    if cx.fact(x).array is None or given.get("axis") is not None:
        return None
    x = x if isinstance(x, ast.Name) else bind_fresh(x, "a", cx)
    text = {"ndim": str(_known_rank(x, cx)), "size": "X.size", "shape": "X.shape"}[given.name]
    return cx.expr(text, X=x)


def is_complex_rule(given: BoundArguments, cx: Context) -> ast.expr | None:
    """Whether its type is complex."""
    types = {t.dtype in PARTS for t in cx.fact(given["x"]).types}
    plain = isinstance(given["x"], (ast.Name, ast.Constant)) and len(types) == 1
    return ast.Constant(types == {given.name == "iscomplexobj"}) if plain else None


def append_rule(given: BoundArguments, cx: Context) -> ast.expr | None:
    """``np.append(v, x)`` of a vector and a number → a concatenation."""
    x, value = given["arr"], given.get("values")
    if (
        value is None
        or _known_rank(x, cx) != 1
        or cx.fact(value).rank != 0
        or not cx.fact(value).types
    ):
        return None
    text = "NP.concatenate((X, NP.full(1, V)))"
    return cx.expr(text, NP=cx.numpy, X=x, V=value) if cx.fact(x).array else None


at_least_1d_rule = _at_least(1)
at_least_2d_rule = _at_least(2)
fliplr_rule = _flip_axis(1)
flipud_rule = _flip_axis(0)


def matrix_transpose_rule(given: BoundArguments, cx: Context) -> ast.expr | None:
    """``np.matrix_transpose(a)`` → `a` with its last two axes exchanged."""
    axes = {"axis1": ast.Constant(-1), "axis2": ast.Constant(-2)}
    return swapaxes_rule(BoundArguments("swapaxes", {**given.given, **axes}), cx)


_SIGNATURES = signatures("view")


@fires_on(ast.Call, calls=named(_SIGNATURES))
def view_identity(node: ast.AST, cx: Context) -> ast.expr | None:
    """The same array in the plainest words.

        u = np.flip(X, 1)
        v = np.atleast_2d(x)
        w = np.asarray(x)
    →
        u = X[:, ::-1]
        v = x[None, :]
        w = x
    """
    return canonical_view(node, cx) if isinstance(node, ast.expr) else None
