"""Replay guards: a rewrite that holds under conditions, with the original code for other calls.

    y = a[k]
→
    if k < 0:              # a ReplayIf: where this holds, the whole call runs as Python
        y = a[k]
    else:
        y = a[k]           # the rewritten statements, which are compiled
"""
from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence

from ..ast_walk import tree_key
from ..core_nodes import ReplayIf, copy_location
from .macro_context import Context

__all__ = ["guarded", "unique_nodes"]


def guarded(
    checks: Sequence[ast.expr], original: ast.stmt, lines: list[ast.stmt], cx: Context
) -> list[ast.stmt]:
    """The replacement of the statement `original` by `lines`, which are right only where none of
    `checks` is true; the module's docstring has an example.

    The result is one `ReplayIf`, or `lines` alone if there are no checks. Lowering makes of it a
    guard or check of the kernel. Where the test is true, the call starts anew as Python. So the
    `original` in the first branch is never compiled: it is there because core Python can be run,
    and then must give Python's answer, too.
    """
    checks = unique_nodes(checks)
    if not checks:
        return lines
    test = checks[0] if len(checks) == 1 else ast.BoolOp(ast.Or(), list(checks))
    text = "if TEST:\n    PYTHON\nelse:\n    LINES"
    (guard,) = cx.code(text, TEST=test, PYTHON=[original], LINES=lines)
    assert isinstance(guard, ast.If)
    return [copy_location(ReplayIf(guard.test, guard.body, guard.orelse), guard)]


def unique_nodes(nodes: Iterable[ast.expr]) -> list[ast.expr]:
    """`nodes` without those that are structurally equal to an earlier one."""
    return list({tree_key(n): n for n in nodes}.values())
