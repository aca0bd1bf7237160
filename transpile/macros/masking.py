"""Masks: ``x[m]``, ``X[m, j]``, on both sides, and the places where they hold."""
from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..types import ELEMENTS
from .arrays import stored
from .context import Context
from .elementwise import is_elementwise
from .firing import fires_on
from .integers import integer_constant
from .nests import allocated, indices, nest, product, unless
from .views import element, held, unlike, view

__all__ = ["array_chosen", "array_cut", "array_masked", "holding", "masked", "set_at", "true_of"]


class _Masked(NamedTuple):
    """``array[mask]``, where the mask has the array's first axes."""

    array: ast.expr
    mask: ast.expr


@fires_on(ast.Assign, targets=ast.Name, value=ast.Subscript)
@fires_on(ast.Assign, targets=ast.Name, value=ast.Call, calls=[np.flatnonzero])
def array_chosen(node: ast.AST, cx: Context) -> list[ast.stmt] | None:
    """The elements under a mask, in an array that is cut to their number.

        u = x[x > s]
    →
        _a = np.empty(x.shape[0], np.float64)
        _n = 0
        for _i in range(x.shape[0]):
            if np.greater(x[_i], s):
                _a[_n] = x[_i]
                _n = _n + 1
        _a.resize(_n, refcheck=False)
        u = _a
    """
    match node:
        case ast.Assign(targets=[ast.Name(id=name)], value=value) if (
            (of := masked(value, cx)) or (of := _places(value, cx))
        ):
            return cx.whole(lambda: _chosen(node, name, of, cx))
    return None


@fires_on(ast.Subscript, ctx=(ast.Load, ast.Del))
@fires_on(ast.Call, calls=[np.flatnonzero])
def array_cut(node: ast.AST, cx: Context) -> ast.expr | None:
    """Such an array has a name.

        s = len(x[x > s])
    →
        _a_1 = np.empty(x.shape[0], np.float64)
        _n = 0
        for _i in range(x.shape[0]):
            if np.greater(x[_i], s):
                _a_1[_n] = x[_i]
                _n = _n + 1
        _a_1.resize(_n, refcheck=False)
        _a = _a_1
        s = len(_a)
    """
    if not isinstance(node, ast.expr) or isinstance(getattr(node, "ctx", None), ast.Store):
        return None
    if masked(node, cx) is None and _places(node, cx) is None:
        return None
    name = cx.fresh("a")
    (take,) = cx.code("NAME = E", NAME=name, E=node)
    new = array_chosen(take, cx)
    return None if new is None else cx.made(name, lambda: new)


@fires_on(ast.Assign, targets=ast.Subscript)
@fires_on(ast.AugAssign, target=ast.Subscript)
def array_masked(node: ast.AST, cx: Context) -> list[ast.stmt] | None:
    """Stores where the mask holds, of what has one value for all, or is under the same mask.

        x[x > s] = y[x > s] * 2
        x[y < 0] += 1
    →
        if x.shape[0] != y.shape[0]:
            "Python's to answer"
            x[x > s] = y[x > s] * 2
        else:
            for _i in range(x.shape[0]):
                if np.greater(x[_i], s):
                    x[_i] = np.multiply(y[_i], 2)
        if x.shape[0] != y.shape[0]:
            "Python's to answer"
            x[y < 0] += 1
        else:
            for _i_1 in range(x.shape[0]):
                if np.less(y[_i_1], 0):
                    x[_i_1] = np.add(x[_i_1], 1)
    """
    if (put := set_at(node)) is None:
        return None
    s, target, op, value = put
    of = masked(target, cx)
    if of is None:
        return None
    under = None if _stretches(value, target.slice, cx) else _under(value, target.slice, cx)
    rank, axes = cx.fact(of.array).rank or 0, cx.fact(of.mask).rank or 0
    if under is None and op is None and 0 < (cx.fact(value).rank or 0) <= rank - axes:
        under = value  # the same for each place
    elif under is None or (rank > axes and cx.fact(under).rank):
        return None
    if not _converts(under, of, cx):
        return None

    def make() -> list[ast.stmt] | None:
        mask = of.mask
        if rank > axes:
            mask = mask if isinstance(mask, ast.Name) else held(mask, "m", cx)
            more = ", ".join([":"] * axes + ["None"] * (rank - axes))
            mask = cx.expr(f"M[{more}]", M=mask)
        return stored(s, of.array, under, cx, op=op, where=mask, exact=axes)

    return cx.whole(make)


def _converts(value: ast.expr, of: _Masked, cx: Context) -> bool:
    """Whether the conversion of one value cannot fail: NumPy's would, be there no place for it."""
    fact, to = cx.fact(value), cx.fact(of.array).array
    if to is None or fact.rank or ELEMENTS[to.dtype].kind == "f":
        return to is not None
    known, given = integer_constant(value, None), ELEMENTS[to.dtype]
    if known is not None:
        return given.kind == "b" or given.low <= known <= given.high
    return bool(fact.types) and all(
        np.can_cast(ELEMENTS[t.dtype].numpy, given.numpy) for t in fact.types
    )


def set_at(
    node: ast.AST,
) -> tuple[ast.stmt, ast.Subscript, ast.operator | None, ast.expr] | None:
    """The statement ``x[i] = v`` or ``x[i] += v``: what it sets, by which operator, from what."""
    match node:
        case ast.Assign(targets=[ast.Subscript() as target], value=value):
            return node, target, None, value
        case ast.AugAssign(target=ast.Subscript() as target, op=op, value=value):
            return node, target, op, value
    return None


def masked(e: ast.expr, cx: Context) -> _Masked | None:
    """`e` by its mask; ints before it, and ints and slices behind it, are taken first."""
    if not isinstance(e, ast.Subscript) or cx.fact(e.value).array is None:
        return None
    items = e.slice.elts if isinstance(e.slice, ast.Tuple) else [e.slice]
    masks = [k for k, i in enumerate(items) if _is_mask(i, cx)]
    if len(masks) != 1:
        return None
    (k,) = masks
    before, after = items[:k], items[k + 1 :]
    if not all(cx.fact(i).is_int for i in before) or not all(
        isinstance(i, ast.Slice) or cx.fact(i).is_int for i in after
    ):
        return None
    if not before and not after:
        return _Masked(e.value, items[k])
    own: list[ast.expr] = [ast.Slice() for _ in range(cx.fact(items[k]).rank or 0)]
    base = cx.expr("X[I]", X=e.value, I=ast.Tuple([*before, *own, *after], ast.Load()))
    return _Masked(base, items[k]) if cx.fact(base).array else None


def _is_mask(e: ast.expr, cx: Context) -> bool:
    of = None if isinstance(e, ast.Slice) else cx.fact(e).array
    return of is not None and of.dtype == "bool"


def _places(e: ast.expr, cx: Context) -> _Masked | None:
    """Of ``np.flatnonzero(m)``, ``np.nonzero(m)[0]`` or ``np.where(m)[0]``; by no array."""
    match e:
        case ast.Subscript(value=call, slice=ast.Constant(value=0)):
            x = holding(call, cx)
        case ast.Call(func=func, args=[x], keywords=[]) if cx.resolve(func) is np.flatnonzero:
            pass
        case _:
            return None
    of = cx.fact(x).array if x is not None else None
    if x is None or of is None or of.rank != 1:
        return None
    return _Masked(ast.Constant(None), true_of(x, cx))


def holding(e: ast.expr, cx: Context) -> ast.expr | None:
    """Of a call that gives the places where an array is true, that array."""
    match e:
        case ast.Call(func=func, args=[x], keywords=[]) if (
            cx.resolve(func) is np.nonzero or cx.resolve(func) is np.where
        ):
            return x
        case ast.Call(func=ast.Attribute(value=x, attr="nonzero"), args=[], keywords=[]):
            return x
    return None


def true_of(x: ast.expr, cx: Context) -> ast.expr:
    """Where the elements of an array are true."""
    of = cx.fact(x).array
    same = of is not None and of.dtype == "bool"
    return x if same else cx.expr("NP.not_equal(X, 0)", NP=cx.numpy, X=x)


def _chosen(s: ast.stmt, name: str, of: _Masked, cx: Context) -> list[ast.stmt] | None:
    given = not isinstance(of.array, ast.Constant)
    array = of.array
    if given and is_elementwise(array, cx):
        array = held(array, "a", cx)
    mask, read = view(of.mask, cx), view(array, cx) if given else None
    ty = cx.fact(array).array
    if mask is None or (given and (read is None or ty is None)):
        return None
    shape = read.shape if read is not None else mask.shape
    if len(shape) > len(mask.shape) + 1 and cx.fact(array).order != "C":
        return None  # what NumPy makes of it lies in an order of its own
    rest = shape[len(mask.shape) :]
    checks = unlike(shape, mask.shape, cx)
    checks += [*mask.checks, *(read.checks if read is not None else ())]
    into, count = cx.fresh("a"), cx.fresh("n")
    room = [product(mask.shape, cx), *rest]
    lines = [allocated(into, room, ty.dtype if ty else "i64", cx)]
    lines += cx.code("K = 0", K=count)

    def body(at: Sequence[ast.expr]) -> list[ast.stmt]:
        inner = indices(rest, cx)
        behind = [i or ast.Constant(0) for i in inner]
        e = read.at([*at, *behind]) if read is not None else at[0]
        place = element(ast.Name(into, ast.Load()), [ast.Name(count, ast.Load()), *behind], cx)
        keep = cx.code("PLACE = E", PLACE=place, E=e)
        for n, i in reversed([*zip(rest, inner, strict=True)]):
            keep = cx.code("for I in range(N): BODY", I=i, N=n, BODY=keep) if i else keep
        text = "if C:\n    KEEP\n    K = K + 1"
        return cx.code(text, C=mask.at(at), KEEP=keep, K=count)

    lines += nest(mask.shape, body, cx)
    if read is None:  # NumPy's are views
        lines += cx.code("NAME = A[:K]", NAME=name, A=into, K=count)
        return unless(checks, s, lines, cx)
    cut = ast.Tuple([ast.Name(count, ast.Load()), *rest], ast.Load())
    lines += cx.code(
        "A.resize(N, refcheck=False)\nNAME = A", A=into, NAME=name, N=cut if rest else cut.elts[0]
    )
    return unless(checks, s, lines, cx)


def _under(value: ast.expr, mask: ast.expr, cx: Context) -> ast.expr | None:
    """What `value`, made of scalars and of arrays under `mask`, is without it."""
    if cx.fact(value).rank == 0:
        return value
    operands: list[ast.expr]
    match value:
        case ast.Subscript(value=array, slice=index) if ast.dump(index) == ast.dump(mask):
            plain = masked(value, cx) is not None and not isinstance(index, ast.Tuple)
            return array if plain else None
        case ast.BinOp(left=left, right=right):
            operands = [left, right]
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            operands = [operand]
        case ast.Call(func=func, args=args, keywords=[]) if isinstance(cx.resolve(func), np.ufunc):
            operands = args
        case _:
            return None
    found = [(e, _under(e, mask, cx)) for e in operands]
    known = {id(e): new for e, new in found if new is not None}
    return _with(value, known) if len(known) == len({*map(id, operands)}) else None


def _stretches(value: ast.expr, mask: ast.expr, cx: Context) -> bool:
    """Whether one of several arrays under `mask` might stretch another, had they none."""
    subscripts = (n for n in ast.walk(value) if isinstance(n, ast.Subscript))
    arrays = [n.value for n in subscripts if ast.dump(n.slice) == ast.dump(mask)]
    shapes = (cx.fact(a).shape or ("",) * (cx.fact(a).rank or 0) for a in arrays)
    ones = {tuple(n == "1" for n in shape) for shape in shapes}
    several = len({*map(ast.dump, arrays)}) > 1
    return several and (len(ones) > 1 or not all(isinstance(a, ast.Name) for a in arrays))


def _with(e: ast.expr, known: dict[int, ast.expr]) -> ast.expr:
    """`e` with other operands."""
    match e:
        case ast.BinOp(left=left, op=op, right=right):
            new: ast.expr = ast.BinOp(known[id(left)], op, known[id(right)])
        case ast.UnaryOp(op=sign, operand=operand):
            new = ast.UnaryOp(sign, known[id(operand)])
        case ast.Call(func=func, args=args):
            new = ast.Call(func, [known[id(a)] for a in args], [])
        case _:
            raise AssertionError(ast.dump(e))
    return ast.copy_location(new, e)
