"""Folds whose order is NumPy's own, which a loop does not keep."""
from __future__ import annotations

import ast

from ..places import is_fold
from .refusal import refuse

__all__ = ["keep_order"]


def keep_order(tree: ast.FunctionDef) -> None:
    """Raises Refused for the first loop in `tree` (core Python) that stands for such a fold."""
    for n in ast.walk(tree):
        if isinstance(n, ast.For) and is_fold(n):
            refuse("LOWER_LIBRARY", "its order is NumPy's own, which reassociate=False keeps", n)
