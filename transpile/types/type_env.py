"""Typing environment: the interface through which the front end asks for types and free names.

`analysis.call_env.CallEnv` implements it for one call signature.
"""
from __future__ import annotations

import ast
from typing import Protocol

from .value_types import ArgType

__all__ = ["Env"]


class Env(Protocol):
    """The types of a function's parameters and globals in one call signature, and its scope."""

    def type(self, expr: ast.expr) -> ArgType | None:
        """The type of a parameter or of a free name; None where it is not known."""

    def resolve(self, expr: ast.expr) -> object | None:
        """The object that a name or an attribute chain refers to now; None if local or unknown."""
