"""Counted ``while`` loops → ``for`` over a range.

A ``while`` is counted if its test compares an int with a limit that no iteration changes, and the
last or the first statement of its body is the only one that changes the int, by a constant. Python
evaluates the limit before each iteration, a ``for`` evaluates it once: so the limit must be the
same each time, and its evaluation must have no effect.
"""
from __future__ import annotations

import ast
from collections.abc import Sequence

from ..ast_names import bound_names, names_used
from ..ast_walk import is_name, walk_nodes
from ..core_nodes import copy_location
from ..language.structure_exits import NotStructured, exits_of_block
from ..macros.macro_context import Context
from ..macros.macro_index import fires_on
from .for_loops import resized_names

__all__ = ["while_to_for"]

_RANGE_OF_TEST: dict[type[ast.cmpop], tuple[int, str]] = {
    ast.Lt: (1, "LIMIT"), ast.LtE: (1, "LIMIT + 1"), ast.Gt: (-1, "LIMIT"),
    ast.GtE: (-1, "LIMIT - 1"),
}
"""For each operator of ``counter op limit``: the sign that the step must have, and the stop of the
range.
"""
# for the operator of ``limit op counter``, that of ``counter op limit``
_MIRRORED = {ast.Lt: ast.Gt, ast.LtE: ast.GtE, ast.Gt: ast.Lt, ast.GtE: ast.LtE}


@fires_on(ast.While, test=(ast.Compare, ast.BoolOp))
def while_to_for(node: ast.AST, cx: Context) -> list[ast.stmt] | None:
    """A counted ``while`` becomes a ``for`` over a range. The counter is a Python int that only the
    last or the first statement of the body changes, by a constant; the limit is loop-invariant.

        j = 1
        while j < n:
            s = s + x[j]
            j += 2
        while j > 0:
            j = j - 1
            s = s - x[j]
    →
        j = 1
        for _i in range(j, n, 2):
            j = _i
            s = s + x[j]
            j = _i + 2
        for _i_1 in range(j, 0, -1):
            j = _i_1 - 1
            s = s - x[j]

    A search, whose test goes on after the comparison, gets a ``break``:

        while j < n and x[j] < v:
            j += 1
    →
        for _i in range(j, n):
            j = _i
            if not x[j] < v:
                break
            j = _i + 1

    The range gets a fresh index, from which each iteration sets the counter: so the counter has
    its last value after the loop. A loop over a range can be fused and vectorised, since its trip
    count is known. None, so that the ``while`` stays, where

    - the step leads away from the limit: the loop is endless;
    - a ``continue`` may skip a step at the end of the body (`_may_skip_step`);
    - the test goes on, and the body does more than count: lanes run such a ``while`` in lockstep;
    - the loop has an ``else``, or its body a ``del``, ``global`` or ``nonlocal``.
    """
    match node:
        case ast.While(test=ast.BoolOp(ast.And(), [test, *others]), body=[_] as body, orelse=[]):
            pass
        case ast.While(test=test, body=[_, _, *_] as body, orelse=[]):
            others = []
        case _:
            return None
    match test:
        case ast.Compare(left, [op], [right]) if type(op) in _RANGE_OF_TEST:
            counted = ((s, _counter_step(s)) for s in (body[-1], body[0]))
            found = ((s, *c) for s, c in counted if c and {c[0]} & names_used(test))
            step, name, by = next(found, (None, "", 0))
        case _:
            return None
    if step is None:
        return None
    is_first = step is body[0] and not others
    body = body[1:] if is_first else body[:-1]
    leave = _break_unless(others)
    counter, limit, kind = left, right, type(op)  # of `counter op limit`
    if not is_name(counter, name):  # `limit op counter`
        counter, limit, kind = right, left, _MIRRORED[type(op)]
    sign, end = _RANGE_OF_TEST[kind]
    changed = bound_names(*leave, *body)
    if not is_name(counter, name) or name in changed or by * sign <= 0:
        return None
    if _has_del_or_global(body) or (not is_first and _may_skip_step(body)):
        return None
    if not (cx.fact(counter).is_int and cx.is_builtin("range")):
        return None
    if not _is_invariant(limit, {name, *changed}, [*leave, *body], cx):
        return None
    steps = "" if by == 1 else f", {by}"
    sign_of, size = ("+", by) if by > 0 else ("-", -by)
    after = f"J = I {sign_of} {size}"
    lines = [after, "BODY"] if is_first else ["J = I", "LEAVE", "BODY", after]
    text = "\n    ".join([f"for I in range(J, {end}{steps}):", *lines])
    return cx.code(text, I=cx.fresh("i"), J=name, LIMIT=limit, BODY=body, LEAVE=leave)


def _break_unless(tests: Sequence[ast.expr]) -> list[ast.stmt]:
    """An ``if`` that leaves the loop unless all `tests` hold; nothing if there are none."""
    if not tests:
        return []
    held = tests[0] if len(tests) == 1 else ast.BoolOp(ast.And(), [*tests])
    test = ast.UnaryOp(ast.Not(), copy_location(held, tests[0]))
    leave = ast.If(copy_location(test, tests[0]), [copy_location(ast.Break(), tests[0])], [])
    return [copy_location(leave, tests[0])]


def _counter_step(s: ast.stmt) -> tuple[str, int] | None:
    """The name and the constant of ``name += constant`` or an equivalent; None for others."""
    match s:
        case ast.AugAssign(ast.Name(id=name), op, ast.Constant(int(by))):
            pass
        case ast.Assign(
            [ast.Name(id=name)], ast.BinOp(ast.Name(id=read), op, ast.Constant(int(by)))
        ) if name == read:
            pass
        case _:
            return None
    if isinstance(by, bool) or not isinstance(op, (ast.Add, ast.Sub)):
        return None
    return name, by if isinstance(op, ast.Add) else -by


def _has_del_or_global(body: Sequence[ast.stmt]) -> bool:
    """Whether `body` has a ``del``, ``global`` or ``nonlocal``, which may unbind the counter, or
    make it a name that other code can bind.
    """
    return any(isinstance(n, (ast.Delete, ast.Global, ast.Nonlocal)) for n in walk_nodes(*body))


def _may_skip_step(body: Sequence[ast.stmt]) -> bool:
    """Whether an iteration may end before its last statement, by ``continue``."""
    try:
        return "continue" in exits_of_block(body)
    except NotStructured:
        return True


def _is_invariant(
    limit: ast.expr, changed: set[str], body: Sequence[ast.stmt], cx: Context
) -> bool:
    """Whether `limit` is the same int before each iteration, and cannot raise, so that it may be
    evaluated once: arithmetic of constants, of names that are not ``changed``, and of lengths of
    arrays and lists that `body` does not resize.

        2 * n - 1, len(x), X.shape[0] // 2    →  True, if the loop binds none of n, x and X
        n // k, g(n)                          →  False: k may be 0; g may do anything
    """
    match limit:
        case ast.Constant(int()) | ast.Name():
            leaf = limit
        case ast.Call(args=[ast.Name() as x], keywords=[]) if cx.builtin(limit) == "len":
            return x.id not in changed and _keeps_length(x, body, cx)
        case ast.Subscript(ast.Attribute(ast.Name() as x, "shape"), ast.Constant(int())):
            return x.id not in changed and _keeps_shape(x, body, cx)
        case ast.Attribute(ast.Name() as x, "size"):
            return x.id not in changed and _keeps_shape(x, body, cx)
        case ast.BinOp(left, ast.Add() | ast.Sub() | ast.Mult(), right):
            return all(_is_invariant(e, changed, body, cx) for e in (left, right))
        case ast.BinOp(left, ast.FloorDiv(), ast.Constant(int(by))) if by:
            return _is_invariant(left, changed, body, cx)
        case _:
            return False
    fixed = not isinstance(leaf, ast.Name) or leaf.id not in changed
    return fixed and cx.fact(leaf).is_int


def _keeps_shape(x: ast.Name, body: Sequence[ast.stmt], cx: Context) -> bool:
    """Whether `x` is an array, and `body` does not resize it."""
    return cx.fact(x).array is not None and x.id not in resized_names([*body])


def _keeps_length(x: ast.Name, body: Sequence[ast.stmt], cx: Context) -> bool:
    """Whether the length of the array or list `x` is the same after `body`. A list may have other
    names: so `body` must resize no list at all, and use `x` only for its items and its length.
    """
    if _keeps_shape(x, body, cx):
        return True
    nodes = [*walk_nodes(*body)]
    subscripts = (n for n in nodes if isinstance(n, ast.Subscript))
    subscripted = (n.value for n in subscripts if not _is_slice_store(n))
    calls = (n for n in nodes if isinstance(n, ast.Call) and n.args)
    measured = (n.args[0] for n in calls if cx.builtin(n) == "len")
    allowed = {id(e) for uses in (subscripted, measured) for e in uses}
    occurrences = [n for n in nodes if isinstance(n, ast.Name) and n.id == x.id]
    unchanged = cx.fact(x).rank == 1 and not resized_names([*body])
    return unchanged and all(id(n) in allowed for n in occurrences)


def _is_slice_store(n: ast.Subscript) -> bool:
    """Whether `n` stores to or deletes a slice, which may resize a list."""
    return isinstance(n.slice, ast.Slice) and not isinstance(n.ctx, ast.Load)
