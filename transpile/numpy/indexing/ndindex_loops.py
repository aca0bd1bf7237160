"""Loops over all subscripts of an array (``np.ndindex``, ``X.flat``); ``np.unravel_index``.

`ndindex_loop` is the macro for ``for`` statements: one loop becomes a nest over the axes, and a
``break`` of it becomes a flag that ends all loops of the nest. `unravel_index` is the macro for the
call.
"""
from __future__ import annotations

import ast
from collections.abc import Sequence

import numpy as np

from ...analysis.type_inference.tuple_types import items_of_tuple
from ...frontend.ast_names import bound_names, names_used, rename_names
from ...frontend.ast_walk import NodeTransformer, breaks_of_loop, integer_constant, walk_nodes
from ...frontend.iterators.iterables import clamped_length
from ...frontend.macros.bind_operands import bind_fresh
from ...frontend.macros.macro_context import Context
from ...frontend.macros.macro_index import fires_on, numpy_callees
from ...frontend.macros.replay_guards import guarded
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
    if not isinstance(node, ast.For) or node.orelse or not cx.is_builtin("range"):
        return None
    return cx.with_before(lambda: _subscript_nest(node, cx))


def _subscript_nest(node: ast.For, cx: Context) -> list[ast.stmt] | None:
    """The nest for the loop `node`. None where it iterates over something else, has other breaks
    than one ``if …: break`` of its own block, or uses the tuple of subscripts as a whole after it.
    """
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
    exits = _exit_of(node.body)
    if not shape or exits is None or not all(cx.fact(n).is_int for n in shape):
        return None
    if array is not None and not (isinstance(array, ast.Name) and array.id not in changed):
        array = bind_fresh(array, "a", cx)
        shape = _array_lengths(array, cx)
    shape = [n if _is_invariant_length(n, changed) else bind_fresh(n, "n", cx) for n in shape]
    variables = [cx.fresh("i") for _ in shape]
    at = [cx.expr(name) for name in variables]
    body = _bind_subscripts(target, at, node.body, cx) if target is not None else node.body
    if body is None:
        return None
    if array is not None and value is not None:
        body = [*cx.code("V = E", V=value, E=element_at(array, at, cx)), *body]
    negative_lengths = [cx.expr("N < 0", N=n) for n in shape if clamped_length(n, cx) is not n]
    return guarded(negative_lengths, node, _loops_with_exit(variables, shape, body, exits, cx), cx)


def _array_lengths(x: ast.expr, cx: Context) -> list[ast.expr]:
    """The expressions ``x.shape[0]``, ``x.shape[1]``, … of an array."""
    rank = cx.fact(x).rank or 0
    return [cx.expr("X.shape[K]", X=x, K=ast.Constant(k)) for k in range(rank)]


def _ndindex_lengths(args: Sequence[ast.expr], cx: Context) -> list[ast.expr]:
    """The lengths that the arguments of ``np.ndindex`` give: ints, one tuple of them, or the shape
    of an array; empty where they are not understood.
    """
    match args:
        case [ast.Tuple(elts=elts)]:
            return _ndindex_lengths(elts, cx)
        case [ast.Attribute(value=x, attr="shape") | ast.Starred(
            value=ast.Attribute(value=x, attr="shape"))] if cx.fact(x).array:
            return _array_lengths(x, cx)
    return [] if any(isinstance(a, ast.Starred) for a in args) else [*args]


def _is_invariant_length(length: ast.expr, changed: set[str]) -> bool:
    """Whether the expression of a length is cheap, and reads no name in `changed`, so that it needs
    no name of its own.
    """
    is_atom = not any(isinstance(n, (ast.Call, ast.BinOp)) for n in walk_nodes(length))
    return is_atom and changed.isdisjoint(names_used(length))


def _bind_subscripts(
    target: ast.expr, at: Sequence[ast.expr], body: Sequence[ast.stmt], cx: Context
) -> list[ast.stmt] | None:
    """`body` with the subscripts `at` for the loop target: a tuple of names is assigned; a single
    name is replaced by the tuple. None where the target has another length, or the single name is
    used elsewhere.
    """
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


class _ReplaceItems(NodeTransformer):
    """``(i, j)[0]`` → ``i``"""

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        self.generic_visit(node)
        k = integer_constant(node.slice, None)
        match node.value:
            case ast.Tuple(elts=elts) if k is not None and -len(elts) <= k < len(elts):
                return elts[k]
        return node


def _exit_of(body: Sequence[ast.stmt]) -> list[ast.If] | None:
    """The statement ``if …: break`` of `body`, in a list, or an empty list if there is no break.
    None where there are several breaks, or one in another place.
    """
    exits = [s for s in body if isinstance(s, ast.If) and not s.orelse
             and len(s.body) == 1 and isinstance(s.body[0], ast.Break)]
    return exits if len([*breaks_of_loop(body)]) == len(exits) < 2 else None


def _loops_with_exit(
    variables: Sequence[str], shape: Sequence[ast.expr], body: list[ast.stmt],
    exits: Sequence[ast.If], cx: Context,
) -> list[ast.stmt]:
    """Loops over `shape` around `body`. A break, which `exits` holds, sets a flag; after each inner
    loop the flag is tested, so that all loops end.
    """
    setup, leave = list[ast.stmt](), list[ast.stmt]()
    for exit_if in exits if len(variables) > 1 else ():
        flag, position = cx.fresh("left"), [s is exit_if for s in body].index(True)
        setup, leave = cx.code("FLAG = False", FLAG=flag), cx.code("if FLAG: break", FLAG=flag)
        test = cx.code("FLAG = TEST", FLAG=flag, TEST=exit_if.test)
        body = [*body[:position], *test, *leave, *body[position + 1 :]]
    lines = body
    for name, length in reversed([*zip(variables, shape, strict=True)]):
        inner = lines if lines is body else [*lines, *leave]
        lines = cx.code("for I in range(N): BODY", I=name, N=length, BODY=inner)
    return [*setup, *lines]


@fires_on(ast.Call, calls=numpy_callees(["unravel_index"]))
def unravel_index(node: ast.AST, cx: Context) -> ast.expr | None:
    """``np.unravel_index(k, shape)`` → quotients and remainders. The call is replayed for an index
    that is negative or beyond the end.

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
    flat_index, lengths = bound["indices"], items_of_tuple(cx.facts, bound["shape"])
    kinds = {ELEMENTS[t.dtype].kind for t in cx.fact(flat_index).types if t.dtype != "u64"}
    if not lengths or cx.fact(flat_index).rank != 0 or not all(cx.fact(n).is_int for n in lengths):
        return None
    if kinds not in ({"i"}, {"u"}) or not cx.is_builtin("int"):
        return None
    if not cx.fact(flat_index).is_int:
        flat_index = cx.expr("int(I)", I=flat_index)
    if not isinstance(flat_index, ast.Name):
        flat_index = bind_fresh(flat_index, "at", cx)
    lengths = [n if _is_plain_length(n) else bind_fresh(n, "n", cx) for n in lengths]
    names = [ast.Name(cx.fresh("at"), ast.Load()) for _ in lengths]
    total = product_of(lengths, cx)
    lines: list[ast.stmt] = []
    quotient: ast.expr = flat_index
    for k, (name, n) in reversed([*enumerate(zip(names, lengths, strict=True))]):
        text = "NAME = NP.int64(I % N)" if k else "NAME = NP.int64(I)"
        lines += cx.code(text, NAME=name, NP=cx.numpy, I=quotient, N=n)
        quotient = cx.expr("I // N", I=quotient, N=n)
    result = ast.Tuple([*names], ast.Load())
    (original,) = cx.code("PLACES = E", PLACES=result, E=node)
    checks = [cx.expr("I < 0", I=flat_index), cx.expr("I >= N", I=flat_index, N=total)]
    cx.before(*guarded(checks, original, lines, cx))
    return result


def _is_plain_length(n: ast.expr) -> bool:
    """Whether `n` is cheap to evaluate several times."""
    return isinstance(n, (ast.Name, ast.Constant, ast.Subscript))
