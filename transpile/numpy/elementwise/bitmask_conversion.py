"""Bitmasks: ``ops.to_bitmask`` packs bools into the bits of a uint64, ``ops.from_bitmask`` unpacks.

One macro, `bitmask_conversion`, with three expansions: a display of bools becomes an expression,
an array of bools and a bitmask become loops over the bits.
"""
from __future__ import annotations

import ast

from ... import ops
from ...frontend.macros.bind_operands import bind_fresh
from ...frontend.macros.macro_context import Context
from ...frontend.macros.macro_index import fires_on
from ...frontend.macros.replay_guards import guarded
from ...types.value_types import ScalarType
from ..array_views import view_of

__all__ = ["bitmask_conversion"]

_BOOLS = {ScalarType("bool"), ScalarType("bool", weak=True)}


@fires_on(ast.Call, calls=[ops.from_bitmask, ops.to_bitmask])
def bitmask_conversion(node: ast.AST, cx: Context) -> ast.expr | None:
    """A bitmask of an array of bools, and back → a loop over the bits, of which there may be at
    most 64; a bitmask of a display → an expression of its items.

        m = ops.to_bitmask(x > s)
        u = ops.from_bitmask(m, n)
        m = ops.to_bitmask([s > 1.0, t > 1.0])
    →
        if x.shape[0] > 64:
            "Python's to answer"
            _mask = ops.to_bitmask(x > s)
        else:
            _mask = np.uint64(0)
            for _i in range(x.shape[0]):
                _lane = np.left_shift(np.uint64(np.greater(x[_i], s)), np.uint64(_i))
                _mask = np.bitwise_or(_mask, _lane)
        m = _mask
        if not 0 <= n <= 64:
            "Python's to answer"
            _lanes = ops.from_bitmask(m, n)
        else:
            _lanes = np.empty(n, np.bool_)
            for _i_1 in range(n):
                _lanes[_i_1] = np.not_equal(np.bitwise_and(np.right_shift(m, _i_1), 1), 0)
        u = _lanes
        m = np.uint64(0) | np.uint64(s > 1.0) | np.uint64(t > 1.0) << np.uint64(1)
    """
    match node:
        case ast.Call(func=func, args=[ast.List() | ast.Tuple() as display], keywords=[]) if (
            cx.resolve(func) is ops.to_bitmask
        ):
            return _pack_display(display.elts, cx)
        case ast.Call(func=func, args=[x], keywords=[]) if cx.resolve(func) is ops.to_bitmask:
            name = cx.fresh("mask")
            return cx.bound_name(name, lambda: _pack_loop(node, x, name, cx))
        case ast.Call(func=func, args=[mask, n], keywords=[]) if (
            cx.resolve(func) is ops.from_bitmask
        ):
            name = cx.fresh("lanes")
            return cx.bound_name(name, lambda: _unpack_loop(node, mask, n, name, cx))
    return None


def _pack_display(lanes: list[ast.expr], cx: Context) -> ast.expr | None:
    """The expression ``np.uint64(0) | np.uint64(a) | np.uint64(b) << np.uint64(1) …``; None where
    there are more than 64 items or one is not surely a bool.
    """
    if len(lanes) > ops.LANES or not all(set(cx.fact(e).types or [None]) <= _BOOLS for e in lanes):
        return None
    mask = cx.expr("NP.uint64(0)", NP=cx.numpy)
    for k, lane in enumerate(lanes):
        text = "M | NP.uint64(E) << NP.uint64(K)" if k else "M | NP.uint64(E)"
        mask = cx.expr(text, M=mask, NP=cx.numpy, E=lane, K=ast.Constant(k))
    return mask


def _pack_loop(node: ast.expr, x: ast.expr, name: str, cx: Context) -> list[ast.stmt] | None:
    """Statements that bind `name` to the bitmask of the vector of bools `x`; `node` is the call
    that is replayed for more than 64 elements. None where `x` is no such vector.
    """
    ty = cx.fact(x).array
    vector = view_of(x, cx) if ty and ty.rank == 1 and ty.dtype == "bool" else None
    if vector is None:
        return None
    (original,) = cx.code("NAME = E", NAME=name, E=node)
    text = """
        NAME = NP.uint64(0)
        for I in range(N):
            LANE = NP.left_shift(NP.uint64(E), NP.uint64(I))
            NAME = NP.bitwise_or(NAME, LANE)
    """
    n, i = vector.shape[0], cx.fresh("i")
    lane, e = cx.fresh("lane"), vector.at([ast.Name(i, ast.Load())])
    lines = cx.code(text, NAME=name, NP=cx.numpy, I=i, N=n, LANE=lane, E=e)
    too_many = cx.expr("N > K", N=n, K=ast.Constant(ops.LANES))
    return guarded([*vector.checks, too_many], original, lines, cx)


def _unpack_loop(
    node: ast.expr, mask: ast.expr, n: ast.expr, name: str, cx: Context
) -> list[ast.stmt] | None:
    """Statements that bind `name` to a new vector of the `n` lowest bits of `mask`; `node` is the
    call that is replayed for an `n` outside of 0 to 64. None where one of both is not surely an
    int.
    """
    if not cx.fact(mask).is_integer or not cx.fact(n).is_int:
        return None
    (original,) = cx.code("NAME = E", NAME=name, E=node)
    mask, n = (
        e if isinstance(e, (ast.Name, ast.Constant)) else bind_fresh(e, hint, cx)
        for e, hint in ((mask, "mask"), (n, "n"))
    )
    text = """
        NAME = NP.empty(N, NP.bool_)
        for I in range(N):
            NAME[I] = NP.not_equal(NP.bitwise_and(NP.right_shift(MASK, I), 1), 0)
    """
    lines = cx.code(text, NAME=name, NP=cx.numpy, N=n, I=cx.fresh("i"), MASK=mask)
    outside = cx.expr("not 0 <= N <= K", N=n, K=ast.Constant(ops.LANES))
    return guarded([outside], original, lines, cx)
