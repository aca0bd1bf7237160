"""Effect analysis: what a statement does besides computing values."""
from __future__ import annotations

import ast
import builtins
import io
import logging
import math
import random
import types
from collections.abc import Iterator, Mapping
from enum import Enum

import numpy as np

from ..containers.method_table import is_mutating
from ..frontend.name_resolution import Scope, is_python_class
from ..numpy.function_table import function_row, method_row
from .value_types import ArgType, ArrayType, Opaque

__all__ = ["PURE", "Effect", "effectful_calls", "effects"]


class Effect(Enum):
    """One kind of effect. A statement with none is pure."""

    RNG = "draws random numbers"
    IO = "reads or writes outside the program"
    RAISES = "raises by itself"
    MUTATES = "changes an object in place"
    UNKNOWN = "may do anything"


PURE: frozenset[Effect] = frozenset()


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_PURE_BUILTINS = _words("""
    abs all any bool complex dict divmod enumerate float frozenset hash id int isinstance len list
    map max min pow range reversed round set slice sorted str sum tuple type zip
    ArithmeticError IndexError OverflowError RuntimeError TypeError ValueError ZeroDivisionError
""")
_IO_BUILTINS = _words("breakpoint input open print")
_IO_MODULES = _words("_io io logging os subprocess time warnings")
_RNG_MODULES = frozenset({random.__name__, "secrets", "uuid"})


def effects(
    stmt: ast.stmt, scope: Scope, arguments: Mapping[str, ArgType] | None = None
) -> frozenset[Effect]:
    """The effects of `stmt` and all it contains, for arguments of these types.

    RAISES is for ``raise`` and ``assert``. That arithmetic or a subscript may raise is what guards
    are for, and is not counted; nor are warnings.
    """
    called = {effect for effect, _ in effectful_calls(stmt, scope, arguments or {})}
    return frozenset(called | {e for node in ast.walk(stmt) for e in _without_call(node)})


def effectful_calls(
    node: ast.AST, scope: Scope, arguments: Mapping[str, ArgType]
) -> Iterator[tuple[Effect, ast.Call]]:
    """The calls in `node` that have an effect, or may have one."""
    for call in ast.walk(node):
        if isinstance(call, ast.Call):
            effect = _of_call(call.func, scope, arguments)
            if effect is not None:
                yield effect, call


def _without_call(node: ast.AST) -> Iterator[Effect]:
    match node:
        case ast.Raise() | ast.Assert():
            yield Effect.RAISES
        case (ast.Subscript() | ast.Attribute()) if not isinstance(node.ctx, ast.Load):
            yield Effect.MUTATES
        case ast.AugAssign() | ast.Global() | ast.Nonlocal():
            yield Effect.MUTATES
        case ast.Await() | ast.Yield() | ast.YieldFrom() | ast.Import() | ast.ImportFrom():
            yield Effect.UNKNOWN
        case ast.With() | ast.AsyncWith() | ast.AsyncFor():
            yield Effect.UNKNOWN


def _of_call(
    func: ast.expr, scope: Scope, arguments: Mapping[str, ArgType]
) -> Effect | None:
    function = scope.resolve(func)
    if function is not None:
        return _of_function(function)
    match func:
        case ast.Attribute(value=ast.Name(id=name), attr=method) if name in arguments:
            return _of_argument(arguments[name], method)
        case ast.Attribute(value=owner, attr=method):
            return _of_method(scope.resolve(owner), method)
    return Effect.UNKNOWN


def _of_function(function: object) -> Effect | None:
    module, name = _home(function)
    package = module.split(".")[0]
    if module.startswith("numpy.random") or package in _RNG_MODULES:
        return Effect.RNG
    if package in _IO_MODULES or (module == builtins.__name__ and name in _IO_BUILTINS):
        return Effect.IO
    return None if _is_pure(function, module, name) else Effect.UNKNOWN


def _is_pure(function: object, module: str, name: str) -> bool:
    if isinstance(function, np.ufunc) or module == math.__name__:
        return True
    if isinstance(function, type) and issubclass(function, np.generic):
        return True
    if module == builtins.__name__:
        return name in _PURE_BUILTINS
    row = function_row(function)
    return row is not None and row.pure


def _of_argument(argument: ArgType, method: str) -> Effect | None:
    if isinstance(argument, Opaque):
        drawn = argument.name.startswith(("numpy.random.", "random."))
        return Effect.RNG if drawn else Effect.UNKNOWN
    known = _is_pure_method(method) or (isinstance(argument, ArrayType) and is_mutating(method))
    return _by_name(method) if known else Effect.UNKNOWN


def _of_method(owner: object, method: str) -> Effect | None:
    """A method of an object that is known (a global), or of a local one (None)."""
    home = type(owner).__module__
    if home.startswith("numpy.random") or home in _RNG_MODULES:
        return Effect.RNG
    if isinstance(owner, (io.IOBase, logging.Logger)):
        return Effect.IO
    return _by_name(method)


def _by_name(method: str) -> Effect | None:
    if is_mutating(method):
        return Effect.MUTATES
    return None if _is_pure_method(method) else Effect.UNKNOWN


def _is_pure_method(name: str) -> bool:
    row = method_row(name)
    return row is not None and row.pure


def _home(function: object) -> tuple[str, str]:
    """The module and name of a function; for a method, of the type of what it is bound to."""
    if is_python_class(type(function)) or isinstance(function, types.ModuleType):
        return "", ""  # to ask it may run code
    owner = getattr(function, "__self__", None)
    if owner is not None and not isinstance(owner, types.ModuleType):
        function = type(owner)
    module = getattr(function, "__module__", None)
    return str(module or ""), str(getattr(function, "__name__", ""))
