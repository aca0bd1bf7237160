"""Loops over all subscripts of an array (``np.ndindex``, ``X.flat``); ``np.unravel_index``."""
from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

import numpy as np

from ...frontend.ast_names import bound_names, names_used, rename_names
from ...frontend.ast_walk import walk_nodes
from ...frontend.int_exprs import integer_constant
from ...frontend.language.iterables import clamped_length
from ...frontend.macros.macro_context import Context
from ...frontend.macros.macro_index import fires_on, named
from ...frontend.macros.replay_guards import bind_fresh, guarded
from ...types.value_types import ELEMENTS
from ..array_nests import product_of
from ..array_views import element_at
from ..call_arguments import bind_arguments

__all__ = ["ndindex_loop", "unravel_index"]


@fires_on(ast.For, iter=ast.Attribute)
@fires_on(ast.For, iter=ast.Call, calls=[np.ndenumerate, np.ndindex])
def ndindex_loop(node: ast.AST, cx: Context) -> list[ast.stmt] | None:
    """Loops over ``np.ndindex(shape)``, ``np.ndenumerate(X)`` and ``X.flat`` → nested loops in C
    order, whatever the memory layout is.

        for i, j in np.ndindex(X.shape):
            s = s + X[i, j] * i
        for at, v in np.ndenumerate(X):
            s = s + v * at[0]
        for v in X.flat:
            s = s + v
    →
        for _i in range(X.shape[0]):
            for _i_1 in range(X.shape[1]):
                i = _i
                j = _i_1
                s = s + X[i, j] * i
        for _i_2 in range(X.shape[0]):
            for _i_3 in range(X.shape[1]):
                v = X[_i_2, _i_3]
                s = s + v * _i_2
        for _i_4 in range(X.shape[0]):
            for _i_5 in range(X.shape[1]):
                v = X[_i_4, _i_5]
                s = s + v
    """
    if not isinstance(node, ast.For) or node.orelse or not cx.means("range"):
        return None
    return cx.whole(lambda: _walked_array(node, cx))


def _walked_array(node: ast.For, cx: Context) -> list[ast.stmt] | None:
    changed = bound_names(node.target, *node.body)
    array: ast.expr | None
    target: ast.expr | None
    value: ast.expr | None
    match node.iter:
        case ast.Attribute(value=x, attr="flat") if cx.fact(x).array:
            array, shape, target, value = x, _array_lengths(x, cx), None, node.target
        case ast.Call(func=func, args=[x], keywords=[]) if (
            cx.resolve(func) is np.ndenumerate and cx.fact(x).array
            and isinstance(node.target, ast.Tuple) and len(node.target.elts) == 2
        ):
            array, shape = x, _array_lengths(x, cx)
            target, value = node.target.elts
        case ast.Call(func=func, args=args, keywords=[]) if cx.resolve(func) is np.ndindex:
            array, shape, target, value = None, _ndindex_lengths(args, cx), node.target, None
        case _:
            return None
    left = _exit_of(node.body)
    if not shape or left is None or not all(cx.fact(n).is_int for n in shape):
        return None
    if array is not None and not (isinstance(array, ast.Name) and array.id not in changed):
        array = bind_fresh(array, "a", cx)
        shape = _array_lengths(array, cx)
    shape = [n if _is_invariant_length(n, changed) else bind_fresh(n, "n", cx) for n in shape]
    names = [cx.fresh("i") for _ in shape]
    at = [cx.expr(name) for name in names]
    body = _bind_subscripts(target, at, node.body, cx) if target is not None else node.body
    if body is None:
        return None
    if array is not None and value is not None:
        body = [*cx.code("V = E", V=value, E=element_at(array, at, cx)), *body]
    negative = [cx.expr("N < 0", N=n) for n in shape if clamped_length(n, cx) is not n]
    return guarded(negative, node, _place_nest(names, shape, body, left, cx), cx)


def _array_lengths(x: ast.expr, cx: Context) -> list[ast.expr]:
    """The lengths of an array's axes."""
    rank = cx.fact(x).rank or 0
    return [cx.expr("X.shape[K]", X=x, K=ast.Constant(k)) for k in range(rank)]


def _ndindex_lengths(args: Sequence[ast.expr], cx: Context) -> list[ast.expr]:
    """Of the arguments of ndindex: ints, one tuple of them, or the shape of an array."""
    match args:
        case [ast.Tuple(elts=elts)]:
            return _ndindex_lengths(elts, cx)
        case [ast.Attribute(value=x, attr="shape") | ast.Starred(
            value=ast.Attribute(value=x, attr="shape"))] if cx.fact(x).array:
            return _array_lengths(x, cx)
    return [] if any(isinstance(a, ast.Starred) for a in args) else [*args]


def _is_invariant_length(length: ast.expr, changed: set[str]) -> bool:
    """Whether a length is the same whenever it is asked for."""
    plain = not any(isinstance(n, (ast.Call, ast.BinOp)) for n in walk_nodes(length))
    return plain and changed.isdisjoint(names_used(length))


def _bind_subscripts(
    target: ast.expr, at: Sequence[ast.expr], body: Sequence[ast.stmt], cx: Context
) -> list[ast.stmt] | None:
    """`body`, after `target` has taken the subscripts `at`, or with them in its place."""
    if isinstance(target, (ast.Tuple, ast.List)):
        if len(target.elts) != len(at) or not all(isinstance(t, ast.Name) for t in target.elts):
            return None
        pairs = zip(target.elts, at, strict=True)
        return [*(s for t, i in pairs for s in cx.code("T = I", T=t, I=i)), *body]
    if not isinstance(target, ast.Name) or not cx.is_only_in(target.id, body):
        return None
    return [
        _ReplaceItems().visit(rename_names(s, {target.id: ast.Tuple([*at], ast.Load())}))
        for s in body
    ]


class _ReplaceItems(ast.NodeTransformer):
    """``(i, j)[0]`` → ``i``"""

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        self.generic_visit(node)
        k = integer_constant(node.slice, None)
        match node.value:
            case ast.Tuple(elts=elts) if k is not None and -len(elts) <= k < len(elts):
                return elts[k]
        return node


def _exit_of(body: Sequence[ast.stmt]) -> list[ast.If] | None:
    """The statement of `body` that leaves the loop, if any; None where there are others."""
    found = [s for s in body if isinstance(s, ast.If) and not s.orelse
             and len(s.body) == 1 and isinstance(s.body[0], ast.Break)]
    return found if len([b for s in body for b in _own_breaks(s)]) == len(found) < 2 else None


def _own_breaks(s: ast.stmt) -> Iterator[ast.Break]:
    """Those that leave a loop around `s`."""
    if isinstance(s, ast.Break):
        yield s
    elif not isinstance(s, (ast.For, ast.While, ast.FunctionDef, ast.ClassDef)):
        yield from (b for c in ast.iter_child_nodes(s) if isinstance(c, ast.stmt)
                    for b in _own_breaks(c))


def _place_nest(
    names: Sequence[str], shape: Sequence[ast.expr], body: list[ast.stmt], left: Sequence[ast.If],
    cx: Context,
) -> list[ast.stmt]:
    """`body` at each place; what leaves the innermost loop leaves them all."""
    start, out = list[ast.stmt](), list[ast.stmt]()
    for last in left if len(names) > 1 else ():
        flag, k = cx.fresh("left"), [s is last for s in body].index(True)
        start, out = cx.code("FLAG = False", FLAG=flag), cx.code("if FLAG: break", FLAG=flag)
        test = cx.code("FLAG = TEST", FLAG=flag, TEST=last.test)
        body = [*body[:k], *test, *out, *body[k + 1 :]]
    lines = body
    for name, length in reversed([*zip(names, shape, strict=True)]):
        inner = lines if lines is body else [*lines, *out]
        lines = cx.code("for I in range(N): BODY", I=name, N=length, BODY=inner)
    return [*start, *lines]


@fires_on(ast.Call, calls=named(["unravel_index"]))
def unravel_index(node: ast.AST, cx: Context) -> ast.expr | None:
    """``np.unravel_index(k, shape)`` → quotients and remainders; NumPy itself is called for an
    index beyond the end.

        i, j = np.unravel_index(n, X.shape)
    →
        if n < 0 or n >= X.shape[0] * X.shape[1]:
            "Python's to answer"
            _at, _at_1 = np.unravel_index(n, X.shape)
        else:
            _at_1 = np.int64(n % X.shape[1])
            _at = np.int64(n // X.shape[1])
        i = _at
        j = _at_1
    """
    bound = bind_arguments(node, cx, {"unravel_index": "indices shape"})
    if bound is None or "shape" not in bound.arguments or not isinstance(node, ast.Call):
        return None
    at, lengths = bound["indices"], cx.facts.items(bound["shape"])
    kinds = {ELEMENTS[t.dtype].kind for t in cx.fact(at).types if t.dtype != "u64"}
    if not lengths or cx.fact(at).rank != 0 or not all(cx.fact(n).is_int for n in lengths):
        return None
    if kinds not in ({"i"}, {"u"}) or not cx.means("int"):
        return None
    if not cx.fact(at).is_int:
        at = cx.expr("int(I)", I=at)
    at = at if isinstance(at, ast.Name) else bind_fresh(at, "at", cx)
    lengths = [n if _is_plain_length(n) else bind_fresh(n, "n", cx) for n in lengths]
    names = [ast.Name(cx.fresh("at"), ast.Load()) for _ in lengths]
    total = product_of(lengths, cx)
    lines: list[ast.stmt] = []
    left: ast.expr = at
    for k, (name, n) in reversed([*enumerate(zip(names, lengths, strict=True))]):
        text = "NAME = NP.int64(I % N)" if k else "NAME = NP.int64(I)"
        lines += cx.code(text, NAME=name, NP=cx.numpy, I=left, N=n)
        left = cx.expr("I // N", I=left, N=n)
    places = ast.Tuple([*names], ast.Load())
    (original,) = cx.code("PLACES = E", PLACES=places, E=node)
    checks = [cx.expr("I < 0", I=at), cx.expr("I >= N", I=at, N=total)]
    cx.before(*guarded(checks, original, lines, cx))
    return places


def _is_plain_length(n: ast.expr) -> bool:
    return isinstance(n, (ast.Name, ast.Constant, ast.Subscript))
