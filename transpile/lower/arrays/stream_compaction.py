"""Recognise stream compaction: a loop appends what passes a test, then the array is cut to size."""
from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import NamedTuple

from ...analysis.liveness import names_assigned, names_read

__all__ = ["Compaction", "match_append", "match_compaction"]


class Compaction(NamedTuple):
    """``array`` of ``made``, filled by ``nest`` which counts in ``counter``, and cut to that."""

    array: str
    counter: str
    made: ast.Call
    nest: ast.For


def match_compaction(block: Sequence[ast.stmt]) -> Compaction | None:
    """What `block` begins with, where each iteration appends one element at most, and nothing else
    reads or writes the array or the count meanwhile; it has room for one each.

        a = np.empty(n, np.float64)
        k = 0
        for i in range(n):
            if test:
                a[k] = e
                k = k + 1
        a.resize(k, refcheck=False)
    """
    match block[:4]:
        case [
            ast.Assign(targets=[ast.Name(id=array)], value=ast.Call(args=[room, _]) as made),
            ast.Assign(targets=[ast.Name(id=count)], value=ast.Constant(value=0)),
            ast.For() as nest,
            ast.Expr(
                value=ast.Call(
                    func=ast.Attribute(value=ast.Name(id=cut), attr="resize"),
                    args=[ast.Name(id=length)],
                )
            ),
        ] if (cut, length) == (array, count):
            pass
        case _:
            return None
    found = Compaction(array, count, made, nest)
    return found if _appends_once_each(found, room) else None


def _appends_once_each(found: Compaction, room: ast.expr) -> bool:
    """Whether the nest has as many iterations as there is `room`, and appends once in each."""
    lengths: list[ast.expr] = []
    inner: ast.stmt = found.nest
    variables: set[str] = set()
    while isinstance(inner, ast.For):
        match inner:
            case ast.For(
                target=ast.Name(id=name), iter=ast.Call(func=ast.Name(id="range"), args=[length]),
                body=[body], orelse=[],
            ):
                lengths.append(length)
                variables.add(name)
                inner = body
            case _:
                return False
    product = lengths[0]
    for length in lengths[1:]:
        product = ast.BinOp(product, ast.Mult(), length)
    match inner:
        case ast.If(test=test, body=[store, step], orelse=[]):
            value = match_append([store, step], {found.array: found.counter})
        case _:
            return False
    own = {found.array, found.counter}
    same = ast.dump(product) == ast.dump(room) and names_read(lengths).isdisjoint(variables | own)
    return same and value is not None and names_read([test, value]).isdisjoint(own) and (
        names_assigned([found.nest]) == variables | {found.counter}
    )


def match_append(pair: Sequence[ast.stmt], counts: dict[str, str]) -> ast.expr | None:
    """What ``a[k] = e; k = k + 1`` appends to one of the arrays that have such `counts`."""
    match pair:
        case [
            ast.Assign(
                targets=[ast.Subscript(value=ast.Name(id=array), slice=ast.Name(id=count))],
                value=value,
            ),
            ast.Assign(
                targets=[ast.Name(id=counted)],
                value=ast.BinOp(
                    left=ast.Name(id=before), op=ast.Add(), right=ast.Constant(value=1)
                ),
            ),
        ] if counts.get(array) == count == counted == before:
            return value
    return None
