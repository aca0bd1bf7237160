"""Shape operations that subscripts express: expand_dims, squeeze, ravel, diagonal.

`shape_operation` is a macro on calls of these functions and methods: ``np.squeeze(X, 1)`` →
``X[:, 0]``, and where ``X.shape[1] != 1`` the call is replayed as Python. `diagonal_view` and
`broadcast_to_view` make views, for the view rule `basic_indexing.indexed_view`.
"""
from __future__ import annotations

import ast
from collections.abc import Sequence

from ..analysis.type_inference.type_lattice import UNKNOWN_ORDER
from ..frontend.ast_walk import display_leaves, integer_constant, is_none, walk_nodes
from ..frontend.macros.bind_operands import bind_fresh, bind_operand
from ..frontend.macros.macro_context import Context, add_ints, subtract_ints
from ..frontend.macros.macro_index import fires_on, numpy_callees
from ..frontend.macros.replay_guards import guarded
from .array_nests import dtype_expr
from .array_views import View, broadcast_subscripts, is_unit_length, named_array_view, view_of
from .function_table import FUNCTIONS, METHODS, is_array_method

__all__ = ["shape_operation", "diagonal_view", "broadcast_to_view", "with_new_axes"]

_FLATTENING_SCANS = tuple(
    name for name, row in FUNCTIONS.items() if row.without_axis == "flatten"
)
"""Scans that flatten their argument where no axis is given: cumprod, cumsum."""

_SHAPE_CALLEES = tuple(
    name for table in (FUNCTIONS, METHODS) for name, row in table.items() if row.subscript
)
"""The functions and methods that have a case in `shape_operation`."""


@fires_on(ast.Call, calls=numpy_callees([*_SHAPE_CALLEES, *_FLATTENING_SCANS]))
def shape_operation(node: ast.AST, cx: Context) -> ast.expr | None:
    """``expand_dims``, ``squeeze``, ``flatten``, ``ravel``, ``reshape(-1)``, ``diag`` → subscripts;
    a scan of a matrix without an axis → a scan of ``ravel``. An axis that is squeezed is checked to
    have length 1, else NumPy raises.

        u = np.expand_dims(x, 0) * 2
    →
        _a = x[None, :]
        u = np.empty((1, _a.shape[1]), np.float64)
        for _i in range(_a.shape[1]):
            u[0, _i] = np.multiply(_a[0, _i], 2)
    """
    name, x, arguments = _shape_call(node, cx)
    if x is None or not isinstance(node, ast.Call):
        return None
    rank = cx.fact(x).rank or 0
    axis = integer_constant(arguments[0], None) if len(arguments) == 1 else None
    match name:
        case "expand_dims" if axis is not None and -rank - 1 <= axis <= rank:
            return with_new_axes(x, [axis % (rank + 1)], cx)
        case "squeeze":
            name = cx.fresh("a")
            return cx.bound_name(name, lambda: _squeeze(name, node, x, arguments, cx))
        case "flatten" if not arguments and isinstance(x, ast.Name):
            return cx.expr("NP.copy(X.ravel())" if rank > 1 else "NP.copy(X)", NP=cx.numpy, X=x)
        case "ravel" if not arguments and _is_contiguous_vector(x, cx):
            return cx.expr("X[:]", X=x)
        case "reshape" if axis == -1 and rank == 1:
            return cx.expr("X[:]", X=x)
        case "diag" | "diagflat" if rank == 1 and all(cx.fact(k).is_int for k in arguments):
            return _diagonal_matrix(x, arguments[0] if arguments else ast.Constant(0), cx)
        case _ if name in _FLATTENING_SCANS and not arguments and rank > 1:
            return cx.expr(f"NP.{name}(X.ravel())", NP=cx.numpy, X=x)
    return None


def _shape_call(node: ast.AST, cx: Context) -> tuple[str, ast.expr | None, Sequence[ast.expr]]:
    """For a call of a NumPy function or array method: its name, the array, and the further
    arguments, with an ``axis=`` last and without any None.

    ``("", None, ())`` for another node, for a first argument that is not surely an array, and for
    a call with keywords other than ``axis``, or with that where the function has none.
    """
    match node:
        case ast.Call(func=ast.Attribute(value=x, attr=name), args=args) if (
            is_array_method(name) and cx.resolve(node.func) is None
        ):
            pass
        case ast.Call(func=func, args=[x, *args]):
            name = getattr(cx.resolve(func), "__name__", "")
            name = name if cx.is_numpy(func, name) else ""
        case _:
            return "", None, ()
    axes = [k.value for k in node.keywords if k.arg == "axis"]
    understood = len(axes) == len(node.keywords) and cx.fact(x).array is not None
    if axes and name not in ("expand_dims", "squeeze", *_FLATTENING_SCANS):
        return "", None, ()  # NumPy raises
    arguments = [e for e in (*args, *axes) if not is_none(e)]
    return (name, x, arguments) if understood else ("", None, ())


def _is_contiguous_vector(x: ast.expr, cx: Context) -> bool:
    """Whether `x` is a vector with unit stride."""
    ty = cx.fact(x).array
    return ty is not None and (ty.rank, ty.unit) == (1, 0)


def with_new_axes(x: ast.expr, axes: Sequence[int], cx: Context) -> ast.expr:
    """``np.expand_dims(x, axes)`` → ``x[None, :]``, a subscript with None at each of `axes`. If the
    call is a result of the compiled function (`_becomes_result`), a reshape: NumPy reshapes, which
    gives new axes other strides than None does, and a caller can see them.
    """
    rank = (cx.fact(x).rank or 0) + len(axes)
    old = iter(range(rank - len(axes)))
    if not _becomes_result(cx):
        return cx.expr(f"X[{', '.join('None' if k in axes else ':' for k in range(rank))}]", X=x)
    lengths = ", ".join("1" if k in axes else f"X.shape[{next(old)}]" for k in range(rank))
    root = x
    while isinstance(root, (ast.Attribute, ast.Subscript)):
        root = root.value
    view = x if isinstance(root, ast.Name) else bind_operand(x, cx)
    return cx.expr(f"X.reshape({lengths})", X=view)


def _becomes_result(cx: Context) -> bool:
    """Whether the node being replaced is a result of the function, or is bound to the name of one.
    """
    match cx.within:
        case ast.Assign(targets=[ast.Name(id=name)], value=value) if value is cx.at:
            returns = (n.value for n in walk_nodes(*cx.tree.body) if isinstance(n, ast.Return))
            leaves = [e for value in returns if value is not None for e in display_leaves(value)]
            return any(isinstance(e, ast.Name) and e.id == name for e in leaves)
    return cx.result_uses() > 0


def _squeeze(
    name: str, node: ast.Call, x: ast.expr, arguments: Sequence[ast.expr], cx: Context
) -> list[ast.stmt] | None:
    """Statements that bind `name` to `x` without the axes in `arguments`, each checked to have
    length 1. Without an argument: without the axes whose length is the constant 1, and all other
    axes are checked to have other lengths.

    None where an axis is not a constant or occurs twice, or where no axis would be left.
    """
    rank = cx.fact(x).rank or 0
    first = arguments[0] if arguments else None
    items = first.elts if isinstance(first, ast.Tuple) else arguments
    constants = [k for e in items if (k := integer_constant(e, None)) is not None]
    axes = {k % rank for k in constants if -rank <= k < rank}
    valid = len(axes) == len(constants) == len(items) and len(arguments) <= 1
    if not valid or bool(arguments) != bool(axes) or (axes and len(axes) == rank):
        return None
    x = bind_operand(x, cx)
    if not arguments:
        axes = {k for k, n in enumerate(named_array_view(x, cx).shape) if is_unit_length(n)}
        if (rank > 1 and not axes) or len(axes) == rank:
            return None
    kept_axes = [k for k in range(rank) if k not in axes] if not arguments else []
    (original,) = cx.code("NAME = E", NAME=name, E=node)
    subscript = ", ".join("0" if k in axes else ":" for k in range(rank))
    squeezed = f"X[{subscript}]" if axes else "X"
    checks = [f"X.shape[{k}] != 1" for k in sorted(axes)]
    checks += [f"X.shape[{k}] == 1" for k in kept_axes]
    tests = [cx.expr(text, X=x) for text in checks]
    return guarded(tests, original, cx.code(f"NAME = {squeezed}", NAME=name, X=x), cx)


def _diagonal_matrix(x: ast.expr, k: ast.expr, cx: Context) -> ast.expr:
    """A fresh name, bound before the statement to the matrix of zeros with the vector `x` on its
    `k`-th diagonal; 0 is the main one, and positive ones lie above it.
    """
    name, ty = cx.fresh("diag"), cx.fact(x).array
    assert ty is not None
    x = bind_operand(x, cx)
    text = """
        NAME = NP.zeros((SIDE, SIDE), T)
        for I in range(X.shape[0]):
            NAME[ROW, COLUMN] = X[I]
    """
    i, is_main = cx.fresh("i"), integer_constant(k, None) == 0
    k = k if isinstance(k, ast.Constant) else bind_fresh(k, "k", cx)
    texts = ("X.shape[0]", "I", "I") if is_main else (
        "X.shape[0] + abs(K)", "I + max(-K, 0)", "I + max(K, 0)")
    side, row, column = (cx.expr(e, X=x, K=k, I=ast.Name(i, ast.Load())) for e in texts)
    cx.before(*cx.code(text, NAME=name, NP=cx.numpy, X=x, T=dtype_expr(ty.dtype, cx), I=i,
                       SIDE=side, ROW=row, COLUMN=column))
    return cx.expr("NAME", NAME=name)


def diagonal_view(array: ast.expr, cx: Context, k: int = 0) -> View | None:
    """The view of the `k`-th diagonal of a matrix: above the main one for a positive `k`, below it
    for a negative one. None where `array` has no view or another rank.
    """
    matrix = view_of(array, cx)
    if matrix is None or len(matrix.shape) != 2:
        return None
    down, right = ast.Constant(max(-k, 0)), ast.Constant(max(k, 0))
    rows = subtract_ints(matrix.shape[0], down, cx)
    columns = subtract_ints(matrix.shape[1], right, cx)
    text = "max(min(N, M), 0)" if k else "min(N, M)"
    length = cx.expr(text, N=rows, M=columns)
    return View(
        (length,),
        lambda at: matrix.at([add_ints(at[0], down, cx), add_ints(at[0], right, cx)]),
        matrix.checks,
    )


def broadcast_to_view(array: ast.expr, shape: Sequence[ast.expr], cx: Context) -> View | None:
    """The view of ``np.broadcast_to(array, shape)``: axes whose length is the constant 1 are
    stretched, and the lengths of all others are checked to be equal to those of `shape`.

    None where `array` has no view, `shape` is shorter than that of `array`, or a length is not
    surely a Python int.
    """
    view = view_of(array, cx)
    if view is None or len(shape) < len(view.shape) or not all(cx.fact(n).is_int for n in shape):
        return None
    new_axes = len(shape) - len(view.shape)
    pairs = zip(view.shape, shape[new_axes:], strict=True)
    checks = [cx.expr("A != B", A=n, B=m) for n, m in pairs if not is_unit_length(n)]
    checks += [cx.expr("N < 0", N=n) for n in shape[:new_axes]]
    return View(
        tuple(shape),
        lambda at: view.at(broadcast_subscripts(view.shape, at)),
        (*view.checks, *checks),
        "C" if view.order == "C" else UNKNOWN_ORDER,
    )
