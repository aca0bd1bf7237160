"""Folds that NumPy, or Python, computes in an order of its own, which a loop does not keep."""
from __future__ import annotations

import ast

from ..places import is_fold
from .refusal import refuse

__all__ = ["keep_order"]


def keep_order(tree: ast.FunctionDef) -> None:
    """Raises Refused for the first loop in `tree` (core Python) that stands for such a fold."""
    for n in ast.walk(tree):
        if isinstance(n, ast.For) and is_fold(n):
            refuse("LOWER_LIBRARY", "its order is not a loop's, and reassociate=False keeps it", n)
