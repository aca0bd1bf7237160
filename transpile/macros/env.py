"""What a macro may ask: types of parameters, and what free names mean."""
from __future__ import annotations

import ast
from typing import Protocol

__all__ = ["Env"]


class Env(Protocol):
    """Answers, for one call signature, about a function's parameters and free names."""

    def rank(self, expr: ast.expr) -> int | None:
        """The rank of an array; 0 for a scalar (not for a 0-d array); None where not known."""

    def resolve(self, expr: ast.expr) -> object | None:
        """What a name or a chain of attributes stands for now; None if local or unknown."""

    def is_int(self, expr: ast.expr) -> bool:
        """Whether the value is a Python int, whatever the path taken."""
