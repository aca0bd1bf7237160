"""Shape operations that subscripts express: expand_dims, squeeze, ravel, diagonal."""
from __future__ import annotations

import ast
from collections.abc import Sequence

from ..frontend.ast_walk import is_none
from ..frontend.int_exprs import integer_constant
from ..frontend.macros.macro_context import Context, add_ints, subtract_ints
from ..frontend.macros.macro_index import fires_on, named
from ..frontend.macros.replay_guards import bind_fresh, guarded
from .array_nests import dtype_expr
from .array_views import View, broadcast_subscripts, is_unit_length, named_array_view, view_of
from .function_table import FUNCTIONS

__all__ = ["shape_operation", "diagonal_view", "broadcast_to_view"]

_VECTOR_FUNCTIONS = tuple(
    name for name, row in FUNCTIONS.items() if row.rank == "vector" and row.scan is not None
)
"""Scans that flatten their argument: cumprod, cumsum."""

_SHAPING = ("diag", "diagflat", "expand_dims", "flatten", "ravel", "reshape", "squeeze")


@fires_on(ast.Call, calls=named([*_SHAPING, *_VECTOR_FUNCTIONS]))
def shape_operation(node: ast.AST, cx: Context) -> ast.expr | None:
    """``expand_dims``, ``squeeze``, ``ravel``, ``diagonal`` → subscripts. An axis that is squeezed
    must have length 1, else NumPy raises.

        u = np.expand_dims(x, 0) * 2
    →
        _a = x[None, :]
        u = np.empty((1, _a.shape[1]), np.float64)
        for _i in range(_a.shape[1]):
            u[0, _i] = np.multiply(_a[0, _i], 2)
    """
    name, x, given = _shape_call(node, cx)
    if x is None or not isinstance(node, ast.Call):
        return None
    rank = cx.fact(x).rank or 0
    axis = integer_constant(given[0], None) if len(given) == 1 else None
    match name:
        case "expand_dims" if axis is not None and -rank - 1 <= axis <= rank:
            return cx.expr(f"X[{_axis_subscript(axis, rank + 1, 'None')}]", X=x)
        case "squeeze":
            name = cx.fresh("a")
            return cx.made(name, lambda: _squeeze(name, node, x, given, cx))
        case "flatten" if not given and isinstance(x, ast.Name):
            return cx.expr("NP.copy(X.ravel())" if rank > 1 else "NP.copy(X)", NP=cx.numpy, X=x)
        case "ravel" if not given and _is_dense(x, cx):
            return cx.expr("X[:]", X=x)
        case "reshape" if axis == -1 and rank == 1:
            return cx.expr("X[:]", X=x)
        case "diag" | "diagflat" if rank == 1 and all(cx.fact(k).is_int for k in given):
            return _diagonal_matrix(x, given[0] if given else ast.Constant(0), cx)
        case _ if name in _VECTOR_FUNCTIONS and not given and rank > 1:
            return cx.expr(f"NP.{name}(X.ravel())", NP=cx.numpy, X=x)
    return None


def _shape_call(node: ast.AST, cx: Context) -> tuple[str, ast.expr | None, Sequence[ast.expr]]:
    """The function or method of NumPy that `node` calls, its array, and what else it is given, an
    axis by name or not.
    """
    match node:
        case ast.Call(func=ast.Attribute(value=x, attr=name), args=args) if (
            cx.resolve(node.func) is None
        ):
            pass
        case ast.Call(func=func, args=[x, *args]):
            name = getattr(cx.resolve(func), "__name__", "")
            name = name if cx.is_numpy(func, name) else ""
        case _:
            return "", None, ()
    axes = [k.value for k in node.keywords if k.arg == "axis"]
    known = len(axes) == len(node.keywords) and cx.fact(x).array is not None
    given = [e for e in (*args, *axes) if not is_none(e)]
    return (name, x, given) if known else ("", None, ())


def _is_dense(x: ast.expr, cx: Context) -> bool:
    """Whether the elements of a vector are neighbours."""
    of = cx.fact(x).array
    return of is not None and (of.rank, of.unit) == (1, 0)


def _axis_subscript(axis: int, rank: int, there: str) -> str:
    """A subscript of `rank` axes, `there` at one of them."""
    return ", ".join(there if k == axis % rank else ":" for k in range(rank))


def _squeeze(
    name: str, node: ast.Call, x: ast.expr, given: Sequence[ast.expr], cx: Context
) -> list[ast.stmt] | None:
    """Without axes those of one element, as far as that is known; no other may have one.

    What has no axis left is NumPy's.
    """
    rank = cx.fact(x).rank or 0
    several = given[0].elts if given and isinstance(given[0], ast.Tuple) else given
    found = [k for e in several if (k := integer_constant(e, None)) is not None]
    axes = {k % rank for k in found if -rank <= k < rank}
    once = len(axes) == len(found) == len(several)
    if not once or len(given) > 1 or bool(given) != bool(axes) or (axes and len(axes) == rank):
        return None
    x = x if isinstance(x, ast.Name) else bind_fresh(x, "a", cx)
    if not given:
        axes = {k for k, n in enumerate(named_array_view(x, cx).shape) if is_unit_length(n)}
        if (rank > 1 and not axes) or len(axes) == rank:
            return None
    others = [k for k in range(rank) if k not in axes] if not given else []
    (original,) = cx.code("NAME = E", NAME=name, E=node)
    items = ", ".join("0" if k in axes else ":" for k in range(rank))
    left = f"X[{items}]" if axes else "X"  # itself, where there is nothing to take away
    checks = [f"X.shape[{k}] != 1" for k in sorted(axes)] + [f"X.shape[{k}] == 1" for k in others]
    tests = [cx.expr(text, X=x) for text in checks]
    return guarded(tests, original, cx.code(f"NAME = {left}", NAME=name, X=x), cx)


def _diagonal_matrix(x: ast.expr, k: ast.expr, cx: Context) -> ast.expr:
    """With `x` on its `k`-th diagonal above the first."""
    name, ty = cx.fresh("diag"), cx.fact(x).array
    assert ty is not None
    x = x if isinstance(x, ast.Name) else bind_fresh(x, "a", cx)
    text = """
        NAME = NP.zeros((SIDE, SIDE), T)
        for I in range(X.shape[0]):
            NAME[ROW, COLUMN] = X[I]
    """
    i, first = cx.fresh("i"), integer_constant(k, None) == 0
    k = k if isinstance(k, ast.Constant) else bind_fresh(k, "k", cx)
    own = ("X.shape[0]", "I", "I") if first else (
        "X.shape[0] + abs(K)", "I + max(-K, 0)", "I + max(K, 0)")
    side, row, column = (cx.expr(e, X=x, K=k, I=ast.Name(i, ast.Load())) for e in own)
    cx.before(*cx.code(text, NAME=name, NP=cx.numpy, X=x, T=dtype_expr(ty.dtype, cx), I=i,
                       SIDE=side, ROW=row, COLUMN=column))
    return cx.expr("NAME", NAME=name)


def diagonal_view(array: ast.expr, cx: Context, k: int = 0) -> View | None:
    """The `k`-th diagonal of a matrix, above the main one; below it for a negative `k`."""
    of = view_of(array, cx)
    if of is None or len(of.shape) != 2:
        return None
    down, right = ast.Constant(max(-k, 0)), ast.Constant(max(k, 0))
    rows, columns = subtract_ints(of.shape[0], down, cx), subtract_ints(of.shape[1], right, cx)
    text = "max(min(N, M), 0)" if k else "min(N, M)"
    length = cx.expr(text, N=rows, M=columns)
    return View(
        (length,),
        lambda at: of.at([add_ints(at[0], down, cx), add_ints(at[0], right, cx)]),
        of.checks,
    )


def broadcast_to_view(array: ast.expr, shape: Sequence[ast.expr], cx: Context) -> View | None:
    """`array` broadcast to `shape`: axes whose length is 1 in the source are stretched, all others
    must be equal.
    """
    of = view_of(array, cx)
    if of is None or len(shape) < len(of.shape) or not all(cx.fact(n).is_int for n in shape):
        return None
    own = zip(of.shape, shape[len(shape) - len(of.shape) :], strict=True)
    checks = [cx.expr("A != B", A=n, B=m) for n, m in own if not is_unit_length(n)]
    checks += [cx.expr("N < 0", N=n) for n in shape[: len(shape) - len(of.shape)]]
    lies = "C" if of.order == "C" else "?"
    return View(
        tuple(shape),
        lambda at: of.at(broadcast_subscripts(of.shape, at)),
        (*of.checks, *checks),
        lies,
    )
