"""Replay guards: rewritten statements beside the original, which runs where a check fails."""
from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence

from ..ast_walk import tree_key
from ..core_nodes import ReplayIf, copy_location
from .macro_context import Context

__all__ = ["guarded", "unique_nodes", "bind_fresh"]


def guarded(
    checks: Sequence[ast.expr], original: ast.stmt, lines: list[ast.stmt], cx: Context
) -> list[ast.stmt]:
    """A guard around rewritten statements: the kernel runs `lines`; where one of `checks` holds at
    run time, the whole call is replayed as Python.

    `original` is the statement that `lines` replace. Returns the statements to put in its place;
    `lines` alone where there are no checks.
    """
    checks = unique_nodes(checks)
    if not checks:
        return lines
    test = checks[0] if len(checks) == 1 else ast.BoolOp(ast.Or(), list(checks))
    text = "if TEST:\n    PYTHON\nelse:\n    LINES"
    (made,) = cx.code(text, TEST=test, PYTHON=[original], LINES=lines)
    assert isinstance(made, ast.If)
    return [copy_location(ReplayIf(made.test, made.body, made.orelse), made)]


def unique_nodes(nodes: Iterable[ast.expr]) -> list[ast.expr]:
    """`nodes` without duplicates, which are those with the same text."""
    return list({tree_key(n): n for n in nodes}.values())


def bind_fresh(e: ast.expr, hint: str, cx: Context) -> ast.expr:
    """Bind the value of `e` to a fresh name before the current statement; returns the name."""
    name = cx.fresh(hint)
    (take,) = cx.code("NAME = E", NAME=name, E=e)
    cx.before(*cx.expanded(take))
    return cx.expr("NAME", NAME=name)
