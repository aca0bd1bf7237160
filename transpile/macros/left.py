"""What macros leave to Python, beside what is compiled."""
from __future__ import annotations

import ast

__all__ = ["PYTHON", "left_to_python"]

PYTHON = "Python's to answer"
"""Stands first in a branch that macros leave as it was, beside one that is compiled."""


def left_to_python(s: ast.If) -> bool:
    """Whether the branch that `s` takes stays as it was."""
    match s.body:
        case [ast.Expr(value=ast.Constant(value=said)), *_]:
            return said == PYTHON
    return False
