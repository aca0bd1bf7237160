"""What macros ask, answered from actual arguments: for tests that need no inference."""
from __future__ import annotations

import ast
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from transpile.scope import Scope


class World:
    """An Env for one call ``fn(*args)``."""

    def __init__(self, fn: Callable[..., Any], args: tuple[Any, ...]) -> None:
        self.scope = Scope.of(fn)
        self.arguments = inspect.signature(fn).bind(*args).arguments

    def _value(self, e: ast.expr) -> object:
        if isinstance(e, ast.Name) and e.id in self.arguments:
            return self.arguments[e.id]
        return self.scope.resolve(e)

    def rank(self, expr: ast.expr) -> int | None:
        value = self._value(expr)
        if isinstance(value, np.ndarray):
            return value.ndim or None
        return 0 if isinstance(value, (bool, int, float, np.generic)) else None

    def resolve(self, expr: ast.expr) -> object | None:
        return self.scope.resolve(expr)

    def is_int(self, expr: ast.expr) -> bool:
        return type(self._value(expr)) is int
