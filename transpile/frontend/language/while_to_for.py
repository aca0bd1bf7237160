"""Counted ``while`` loops → ``for`` over a range."""
from __future__ import annotations

import ast
from collections.abc import Sequence

from ..ast_names import bound_names
from ..ast_walk import walk_nodes
from ..macros.macro_context import Context
from ..macros.macro_index import fires_on
from .for_loops import resized_names
from .structure_exits import NotStructured, exits_of_block

__all__ = ["while_to_for"]

_GOES_ON: dict[type[ast.cmpop], tuple[int, str]] = {
    ast.Lt: (1, "LIMIT"), ast.LtE: (1, "LIMIT + 1"), ast.Gt: (-1, "LIMIT"),
    ast.GtE: (-1, "LIMIT - 1"),
}
"""The sign of the steps of a count that goes on as long as this holds, and where it ends."""
_MIRRORED = {ast.Lt: ast.Gt, ast.LtE: ast.GtE, ast.Gt: ast.Lt, ast.GtE: ast.LtE}


@fires_on(ast.While, test=ast.Compare)
def while_to_for(node: ast.AST, cx: Context) -> list[ast.stmt] | None:
    """A Python int that the last line of the body steps, up to a limit that stays.

        j = 1
        while j < n:
            s = s + x[j]
            j += 2
        while j > 0:
            s = s - x[j - 1]
            j = j - 1
    →
        j = 1
        for _i in range(j, n, 2):
            j = _i
            s = s + x[j]
            j = _i + 2
        for _i_1 in range(j, 0, -1):
            j = _i_1
            s = s - x[j - 1]
            j = _i_1 - 1
    """
    match node:
        case ast.While(
            test=ast.Compare(left=left, ops=[op], comparators=[right]), body=[*body, last],
            orelse=[],
        ) if body and type(op) in _GOES_ON:
            stepped = _stepped(last)
        case _:
            return None
    if stepped is None:
        return None
    name, by = stepped
    counts, limit, kind = left, right, type(op)
    if not _is(counts, name):
        counts, limit, kind = right, left, _MIRRORED[type(op)]
    sign, end = _GOES_ON[kind]
    changed = bound_names(*body)
    if not _is(counts, name) or name in changed or by * sign <= 0 or _is_odd(body):
        return None
    if not (cx.fact(counts).is_int and cx.means("range")):
        return None
    if not _stays(limit, {name, *changed}, body, cx):
        return None
    steps = "" if by == 1 else f", {by}"
    sign_of, size = ("+", by) if by > 0 else ("-", -by)
    text = f"""
        for I in range(J, {end}{steps}):
            J = I
            BODY
            J = I {sign_of} {size}
    """
    return cx.code(text, I=cx.fresh("i"), J=name, LIMIT=limit, BODY=body)


def _is(e: ast.expr, name: str) -> bool:
    return isinstance(e, ast.Name) and e.id == name


def _stepped(last: ast.stmt) -> tuple[str, int] | None:
    """The name that `last` steps, and by how much."""
    match last:
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


def _is_odd(body: Sequence[ast.stmt]) -> bool:
    """Whether an iteration may end ahead of the step, or it cannot be seen what names stand for."""
    odd = (ast.Delete, ast.Global, ast.Nonlocal)
    try:
        return "continue" in exits_of_block(body) or any(
            isinstance(n, odd) for n in walk_nodes(*body)
        )
    except NotStructured:
        return True


def _stays(
    limit: ast.expr, changed: set[str], body: Sequence[ast.stmt], cx: Context
) -> bool:
    """Whether `limit` is the same int in every iteration, and nobody sees how often it is asked."""
    match limit:
        case ast.Constant(int()) | ast.Name():
            plain = limit
        case ast.Call(args=[ast.Name() as plain], keywords=[]) if cx.builtin(limit) == "len":
            return plain.id not in changed and _keeps_length(plain, body, cx)
        case ast.Subscript(ast.Attribute(ast.Name() as plain, "shape"), ast.Constant(int())):
            return plain.id not in changed and _keeps_shape(plain, body, cx)
        case ast.Attribute(ast.Name() as plain, "size"):
            return plain.id not in changed and _keeps_shape(plain, body, cx)
        case ast.BinOp(left, ast.Add() | ast.Sub() | ast.Mult(), right):
            return all(_stays(x, changed, body, cx) for x in (left, right))
        case ast.BinOp(left, ast.FloorDiv(), ast.Constant(int(by))) if by:
            return _stays(left, changed, body, cx)
        case _:
            return False
    known = not isinstance(plain, ast.Name) or plain.id not in changed
    return known and cx.fact(plain).is_int


def _keeps_shape(of: ast.Name, body: Sequence[ast.stmt], cx: Context) -> bool:
    return cx.fact(of).array is not None and of.id not in resized_names([*body])


def _keeps_length(of: ast.Name, body: Sequence[ast.stmt], cx: Context) -> bool:
    """A list may have other names, and be handed on: nothing is resized, and it gives elements."""
    if _keeps_shape(of, body, cx):
        return True
    inside = [*walk_nodes(*body)]
    given = (n.value for n in inside if isinstance(n, ast.Subscript) and not _is_cut(n))
    calls = (n for n in inside if isinstance(n, ast.Call) and n.args)
    asked = (n.args[0] for n in calls if cx.builtin(n) == "len")
    fine = {id(e) for es in (given, asked) for e in es}
    used = [n for n in inside if isinstance(n, ast.Name) and n.id == of.id]
    plain = cx.fact(of).rank == 1 and not resized_names([*body])
    return plain and all(id(n) in fine for n in used)


def _is_cut(n: ast.Subscript) -> bool:
    return isinstance(n.slice, ast.Slice) and not isinstance(n.ctx, ast.Load)
