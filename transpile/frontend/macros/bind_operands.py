"""Operand binding: a value that new code uses several times is computed once, into a fresh name.

The binding is a statement before the current one (`Context.before`), with all macros applied::

    t = i in (1, n - 1)   →   _t = n - 1
                              t = True if i == 1 or i == _t else False

The functions differ in what they leave as it is, since it costs nothing to evaluate again.
"""
from __future__ import annotations

import ast

from ...analysis.type_inference.tuple_types import is_repeatable
from .macro_context import Context

__all__ = ["bind_fresh", "bind_operand", "bind_unless_repeatable"]


def bind_fresh(e: ast.expr, hint: str, cx: Context) -> ast.expr:
    """A fresh name, made of `hint`, that is bound to the value of `e` before the current statement.
    Macros call it for an operand that their new code evaluates more than once, or later.

        x[k + 1] += f    # bind_fresh(<k + 1>, "i", cx)    →    _i = k + 1, and the expression _i

    The binding is expanded at once, so that the facts about the new name are known afterwards.
    """
    name = cx.fresh(hint)
    (binding,) = cx.code("NAME = E", NAME=name, E=e)
    cx.before(*cx.expanded(binding))
    return cx.expr("NAME", NAME=name)


def bind_operand(e: ast.expr, cx: Context, hint: str = "a") -> ast.expr:
    """`e` if it is a name, else `bind_fresh` of it: for an operand that is subscripted."""
    return e if isinstance(e, ast.Name) else bind_fresh(e, hint, cx)


def bind_unless_repeatable(e: ast.expr, hint: str, cx: Context) -> ast.expr:
    """`e` if evaluating it again gives the same value at no cost (`is_repeatable`), such as a name
    or a length, else `bind_fresh` of it.
    """
    return e if is_repeatable(e) else bind_fresh(e, hint, cx)
