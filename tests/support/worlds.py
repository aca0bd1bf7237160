"""Types and names that macros ask about, taken from actual arguments instead of inference."""
from __future__ import annotations

import ast
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from transpile.analysis.access_paths import access_path_type
from transpile.frontend.name_resolution import Scope
from transpile.types.typeof import type_of
from transpile.types.value_types import ArgType, Constant, ObjectType


class World:
    """An Env for one call ``fn(*args)``."""

    def __init__(self, fn: Callable[..., Any], args: tuple[Any, ...]) -> None:
        self.scope = Scope.of(fn)
        self.arguments = inspect.signature(fn).bind(*args).arguments

    def _value(self, e: ast.expr) -> object:
        if isinstance(e, ast.Name) and e.id in self.arguments:
            return self.arguments[e.id]
        return self.scope.resolve(e)

    def type(self, expr: ast.expr) -> ArgType | None:
        value = self._value(expr)
        known = isinstance(value, (bool, int, float, np.generic, np.ndarray))
        held = access_path_type(expr, {name: type_of(v) for name, v in self.arguments.items()})
        if held is not None:
            return held
        ty = type_of(value)
        if isinstance(ty, ObjectType):
            return ty if isinstance(expr, ast.Name) and expr.id in self.arguments else None
        given = value is not None or (isinstance(expr, ast.Name) and expr.id in self.arguments)
        return ty if known or (isinstance(ty, Constant) and given) else None

    def resolve(self, expr: ast.expr) -> object | None:
        return self.scope.resolve(expr)
