"""``for`` over arrays, ``enumerate``, ``zip`` and ``reversed`` → ``for`` over a range.

`iterables.stream_of` describes the iterable by index; the loop binds its target to element i at the
start of each iteration. If the user's target is the index itself, as in ``for i, v in
enumerate(x)``, it stays the loop variable, so that later passes see the user's subscripts.
"""
from __future__ import annotations

import ast

from ...containers.method_table import RESIZING
from ..ast_names import bound_names, mentions_none_of
from ..ast_walk import walk_nodes
from ..macros.list_kind import is_list
from ..macros.macro_context import Context
from ..macros.macro_index import fires_on
from ..macros.replay_guards import guarded
from .indexed_streams import Stream, may_change_elements
from .iterables import arange_as_range, is_iterator, paired_targets, stream_of

__all__ = ["for_loop", "loop_over_changing_list", "resized_names"]


@fires_on(ast.For)
def for_loop(node: ast.AST, cx: Context) -> list[ast.stmt] | None:
    """Loops over iterables become index loops. A loop variable that the body assigns gets an index
    of its own.

        for v in x:
            s = s + v
        for i, (u, v) in enumerate(zip(x, y)):
            out[i] = u * v
        for v in reversed(x):
            s = s * 0.5 + v
        for i in range(n):
            i = i + 1
            s = s + i
        for v in np.arange(n):
            s = s + v
    →
        for _i in range(len(x)):
            v = x[_i]
            s = s + v
        for i in range(min(len(x), len(y))):
            u = x[i]
            v = y[i]
            out[i] = u * v
        for _i_1 in range(len(x) - 1, -1, -1):
            v = x[_i_1]
            s = s * 0.5 + v
        for _i_2 in range(n):
            i = _i_2
            i = i + 1
            s = s + i
        for _i_3 in range(n):
            v = np.int64(_i_3)
            s = s + v

    `iterables.stream_of` knows the iterables, their lengths and elements, and what Python would
    raise. None for a loop over a list that its body resizes, so that its length is not that at the
    start (`loop_over_changing_list` takes it), and for ``reversed`` of an iterator, of which Python
    raises TypeError.
    """
    if not isinstance(node, ast.For):
        return None
    changed = bound_names(*node.body)
    if cx.builtin(node.iter) == "range":
        return _over_range(node, cx, changed)
    if (arange := arange_as_range(node.iter, cx)) is not None:
        (numpy, numbers), index = arange, cx.fresh("i")
        bind = cx.code("TARGET = NP.int64(I)", TARGET=node.target, NP=numpy, I=index)
        return [_loop(node, index, numbers, bind, cx)]
    if not mentions_none_of(node.iter, resized_names(node.body)):
        return None  # the length is not that at the start
    backward = isinstance(node.iter, ast.Call) and cx.builtin(node.iter) == "reversed"
    # a reversed loop counts down, so that lowering sees a range with step -1
    iterable = _only_argument(node.iter) if backward else node.iter
    if iterable is None or (backward and is_iterator(iterable, cx)):
        return None
    s = stream_of(iterable, cx, changed | bound_names(node.target))
    if s is None or (s.reads_ahead and may_change_elements(node, cx)):
        return None
    return _over_stream(node, s, backward, cx)


@fires_on(ast.For, iter=(ast.Name, ast.Subscript))
def loop_over_changing_list(node: ast.AST, cx: Context) -> list[ast.stmt] | None:
    """A loop over a list that its body resizes tests the length before each iteration; a loop over
    a slice of it reads a copy.

        w = [n]
        for top in w:
            if top > 1:
                w.append(top // 2)
    →
        w = [n]
        _i = 0
        while _i < len(w):
            top = w[_i]
            _i = _i + 1
            if top > 1:
                w.append(top // 2)
    """
    match node:
        case ast.For(target=target, iter=ast.Name(id=name) as of, body=body) if (
            name in resized_names(body) - bound_names(*body)
            and is_list(of, cx) and cx.is_builtin("len")
        ):
            text = """
                I = 0
                while I < len(OF):
                    TARGET = OF[I]
                    I += 1
                    BODY
            """
            lines = cx.code(text, I=cx.fresh("i"), OF=of, TARGET=target, BODY=body)
            assert isinstance(lines[-1], ast.While)
            lines[-1].orelse = node.orelse
            return lines
        case ast.For(iter=ast.Subscript(ast.Name(id=name), ast.Slice()) as of, body=body) if (
            name in resized_names(body) and is_list(of, cx) and cx.is_builtin("list")
        ):
            own = cx.fresh(name)
            node.iter = cx.expr("OWN", OWN=own)
            return [*cx.code("OWN = list(OF)", OWN=own, OF=of), node]
    return None


def _over_range(node: ast.For, cx: Context, changed: set[str]) -> list[ast.stmt] | None:
    """The loop `node` over a range with a fresh index, if its body binds the target (`changed`) or
    the target is no name; else None, as the loop is core Python already.
    """
    if isinstance(node.target, ast.Name) and node.target.id not in changed:
        return None
    index = cx.fresh("i")
    bind = cx.code("TARGET = I", TARGET=node.target, I=index)
    return [_loop(node, index, node.iter, bind, cx)]


def _over_stream(node: ast.For, s: Stream, backward: bool, cx: Context) -> list[ast.stmt] | None:
    """The loop `node` as an index loop over the stream `s`, or ``backward`` over it, with the
    stream's checks; None if the target does not fit its elements.
    """
    placeholder = ast.Name("_", ast.Load())  # for the index, whose name depends on the targets
    pairs = paired_targets(node.target, s.at(placeholder))
    if pairs is None:
        return None
    index = _index_target(node, pairs, placeholder) or cx.fresh("i")
    element = s.at(ast.Name(index, ast.Load()))
    bindings = [
        line
        for target, part in paired_targets(node.target, element) or ()
        if not _is_same_name(target, part)
        for line in cx.code("TARGET = E", TARGET=target, E=part)
    ]
    header = cx.expr("range(N - 1, -1, -1)" if backward else "range(N)", N=s.length)
    return [*s.setup, *guarded(s.checks, node, [_loop(node, index, header, bindings, cx)], cx)]


def _loop(
    node: ast.For, index: str, header: ast.expr, bindings: list[ast.stmt], cx: Context
) -> ast.stmt:
    """``for index in header`` with `bindings` and the body of `node`, and its ``else``."""
    (loop,) = cx.code("for I in R: BODY", I=index, R=header, BODY=[*bindings, *node.body])
    assert isinstance(loop, ast.For)
    loop.orelse = node.orelse
    return loop


def _index_target(
    node: ast.For, pairs: list[tuple[ast.expr, ast.expr]], placeholder: ast.expr
) -> str | None:
    """The target of the loop `node` that is bound to the index itself, as ``i`` in ``for i, v in
    enumerate(x)``; None if there is none, or if the loop binds that name in another way, too.
    ``pairs``: the targets with their elements, in which `placeholder` stands for the index.
    """
    targets = [n.id for t, _ in pairs for n in walk_nodes(t) if isinstance(n, ast.Name)]
    for target, element in pairs:
        if element is placeholder and isinstance(target, ast.Name):
            bound_once = targets.count(target.id) == 1 and target.id not in bound_names(*node.body)
            return target.id if bound_once else None
    return None


def _is_same_name(target: ast.expr, element: ast.expr) -> bool:
    """Whether ``target = element`` would bind a name to itself."""
    match target, element:
        case ast.Name(id=a), ast.Name(id=b):
            return a == b
    return False


def _only_argument(call: ast.expr) -> ast.expr | None:
    """The argument of a call with one positional argument; None for others."""
    match call:
        case ast.Call(args=[a], keywords=[]):
            return a
    return None


def resized_names(body: list[ast.stmt]) -> set[str]:
    """The names of lists whose length a method called in `body` may change."""
    return {
        call.func.value.id
        for s in body
        for call in walk_nodes(s)
        if isinstance(call, ast.Call)
        and isinstance(call.func, ast.Attribute)
        and call.func.attr in RESIZING
        and isinstance(call.func.value, ast.Name)
    }
