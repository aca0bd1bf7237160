"""Type environment of one call signature: types of the arguments, and of what the free names mean.

It implements `types.type_env.Env` for the compiler; tests have environments of their own.
"""
from __future__ import annotations

import ast
from collections.abc import Mapping

import numpy as np

from loopir.lazy_dataclass import record

from ..frontend.name_resolution import NameScope, Scope
from ..types.typeof import global_type
from ..types.value_types import ArgType, Constant, GeneratorType, ListType, ObjectType
from .access_paths import access_path_type

__all__ = ["CallEnv"]


@record(slots=True)
class CallEnv:
    """The types of the parameters, and the scope of the function. The pipeline replaces ``scope``
    when inlining adds captured names.
    """

    types: Mapping[str, ArgType]
    scope: Scope

    def resolve(self, expr: ast.expr) -> object | None:
        """The object that a free name or dotted name refers to; None if unknown."""
        return self.scope.resolve(expr)

    def type(self, expr: ast.expr) -> ArgType | None:
        """The type of a parameter, of a member of one, or of a global that the compiler can read at
        each call: a number, array, list, random generator, constant or None. None for all others,
        such as functions and modules.
        """
        if isinstance(expr, ast.Name) and expr.id in self.types:
            return self.types[expr.id]
        is_name = isinstance(expr, ast.Name)
        if not is_name and any(isinstance(ty, ObjectType) for ty in self.types.values()):
            member = access_path_type(expr, self.types)
            if member is not None:
                return member
        value = self.scope.resolve(expr)
        is_data = isinstance(value, (int, float, complex, np.generic, np.ndarray))
        if value is None and isinstance(expr, ast.Name):  # bound to None, or not bound at all
            is_data = self.scope.find(expr.id)[0] in (NameScope.CLOSURE, NameScope.GLOBAL)
        ty = global_type(value)
        is_data = is_data or isinstance(ty, (ListType, GeneratorType))
        return ty if is_data or (isinstance(ty, Constant) and value is not None) else None
