"""Type environment of one call: types of the arguments, and of what the free names mean."""
from __future__ import annotations

import ast
from collections.abc import Mapping

import numpy as np

from loopir.lazy_dataclass import record

from ..frontend.name_resolution import Origin, Scope
from ..types.typeof import global_type
from ..types.value_types import ArgType, Constant, GeneratorType, ListType, ObjectType
from .object_arguments import access_path_type

__all__ = ["CallEnv"]


@record(slots=True)
class CallEnv:
    """The environment of one call signature: answers what macros ask about arguments and free
    names.
    """

    types: Mapping[str, ArgType]
    scope: Scope

    def resolve(self, expr: ast.expr) -> object | None:
        return self.scope.resolve(expr)

    def type(self, expr: ast.expr) -> ArgType | None:
        if isinstance(expr, ast.Name) and expr.id in self.types:
            return self.types[expr.id]
        if any(isinstance(ty, ObjectType) for ty in self.types.values()):
            held = access_path_type(expr, self.types)
            if held is not None:
                return held
        value = self.scope.resolve(expr)
        known = isinstance(value, (int, float, complex, np.generic, np.ndarray))
        if value is None and isinstance(expr, ast.Name):
            known = self.scope.find(expr.id)[0] in (Origin.CLOSURE, Origin.GLOBAL)
        ty = global_type(value)
        known = known or isinstance(ty, (ListType, GeneratorType))
        return ty if known or (isinstance(ty, Constant) and value is not None) else None
