"""Typing environment: types of parameters, and what free names mean."""
from __future__ import annotations

import ast
from typing import Protocol

from .value_types import ArgType

__all__ = ["Env"]


class Env(Protocol):
    """Answers, for one call signature, about a function's parameters and free names."""

    def type(self, expr: ast.expr) -> ArgType | None:
        """The type of a parameter or of a free name; None where it is not known."""

    def resolve(self, expr: ast.expr) -> object | None:
        """What a name or a chain of attributes stands for now; None if local or unknown."""
