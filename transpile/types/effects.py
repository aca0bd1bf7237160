"""Effect analysis: what a statement does besides computing values.

The effects follow from the callee of each call and the kind of each node, conservatively: a callee
that is not known to be pure has the effect UNKNOWN. The rows of `numpy.function_table` and
`containers.method_table` say which functions of NumPy and which methods of containers are pure.
Whether a function may be called at compile time, `type_probe.may_be_probed` decides.
"""
from __future__ import annotations

import ast
import io
import itertools
import logging
import random
import types
from collections.abc import Callable, Iterator, Mapping
from enum import Enum

import numpy as np

from .. import core_functions
from ..containers.method_table import is_mutating
from ..frontend.ast_walk import walk_nodes
from ..frontend.defining_modules import (
    is_builtin,
    is_numpy_random,
    is_of_math,
    is_python_class,
    module_of,
    package_of,
)
from ..frontend.name_resolution import Scope
from ..numpy.function_table import function_row, method_row
from .value_types import ArgType, ArrayType, Opaque

__all__ = ["PURE", "Effect", "effectful_calls", "effects", "is_pure", "stores_to_out"]


class Effect(Enum):
    """One kind of effect. A statement with none is pure."""

    RNG = "draws random numbers"
    IO = "reads or writes outside the program"
    RAISES = "raises by itself"
    MUTATES = "changes an object in place"
    UNKNOWN = "may do anything"


PURE: frozenset[Effect] = frozenset()
"""The effects of a pure statement: none."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# builtins without effects, and with input or output; packages with input or output; packages that
# draw random numbers
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
    """The effects of `stmt` and all it contains, for arguments of these types (`arguments`, by
    name). `region_facts` asks it: a statement with input or output stays outside of compiled
    regions.

        y = np.sqrt(x) + 1        →    {}
        x[0] = 1                  →    {MUTATES}
        print(rng.random())       →    {IO, RNG}         (rng a Generator that is an argument)
        g(x)                      →    {UNKNOWN}, for a function g of which nothing is known

    By the callee of each call (`effectful_calls`), and by the kind of each other node. RAISES is
    for ``raise`` and ``assert`` only: guards take care of arithmetic and subscripts that raise. A
    warning is no effect.
    """
    of_calls = {effect for effect, _ in effectful_calls(stmt, scope, arguments or {})}
    return frozenset(of_calls | {e for node in walk_nodes(stmt) for e in _effects_of_node(node)})


def effectful_calls(
    node: ast.AST, scope: Scope, arguments: Mapping[str, ArgType]
) -> Iterator[tuple[Effect, ast.Call]]:
    """Each call in `node` that has an effect, or may have one, with that effect."""
    for call in walk_nodes(node):
        if isinstance(call, ast.Call):
            effect = _effect_of_call(call.func, scope, arguments)
            if effect is not None:
                yield effect, call


def is_pure(e: ast.expr, resolve: Callable[[ast.expr], object | None]) -> bool:
    """Whether `e`, evaluated again, surely gives the same value and changes nothing. All of this
    must hold (`resolve` gives the global object that an expression is, or None):

    - it has no ``:=``, ``await``, ``yield`` or generator expression;
    - it calls only functions and methods that are known to be pure, and iterators of itertools;
    - no call has an argument ``out``.
    """
    def is_pure_call(call: ast.Call) -> bool:
        func, function = call.func, resolve(call.func)
        if stores_to_out(call, resolve):
            return False
        if function is not None:
            is_iterator = package_of(function) == itertools.__name__
            return is_iterator or _effect_of_function(function) is None
        return isinstance(func, ast.Attribute) and _effect_by_name(func.attr) is None

    others = (ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom, ast.GeneratorExp)
    nodes = [*walk_nodes(e)]
    calls = (n for n in nodes if isinstance(n, ast.Call))
    return all(map(is_pure_call, calls)) and not any(isinstance(n, others) for n in nodes)


def stores_to_out(call: ast.Call, resolve: Callable[[ast.expr], object | None]) -> bool:
    """Whether `call` has an argument ``out``, an array to which NumPy stores the result: by
    keyword, or, of a ufunc, behind its operands.
    """
    ufunc = resolve(call.func)
    has_keyword = any(k.arg == "out" for k in call.keywords)
    return has_keyword or (isinstance(ufunc, np.ufunc) and len(call.args) > ufunc.nin)


def _effects_of_node(node: ast.AST) -> Iterator[Effect]:
    """The effects of `node` itself, unless it is a call."""
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


def _effect_of_call(
    func: ast.expr, scope: Scope, arguments: Mapping[str, ArgType]
) -> Effect | None:
    """The effect of a call of `func`: a function that is known, a method of an argument, or another
    method; None for a pure one.
    """
    function = scope.resolve(func)
    if function is not None:
        return _effect_of_function(function)
    match func:
        case ast.Attribute(value=ast.Name(id=name), attr=method) if name in arguments:
            return _effect_of_argument_method(arguments[name], method)
        case ast.Attribute(value=owner, attr=method):
            return _effect_of_method(scope.resolve(owner), method)
    return Effect.UNKNOWN


def _effect_of_function(function: object) -> Effect | None:
    """The effect of calling `function`; None for a pure one."""
    if isinstance(function, types.ModuleType) or is_python_class(type(function)):
        return Effect.UNKNOWN  # also an object of a user's class
    owner = getattr(function, "__self__", None)
    if owner is not None and not isinstance(owner, types.ModuleType):
        function = type(owner)
    if is_numpy_random(function) or package_of(function) in _RNG_MODULES:
        return Effect.RNG
    is_io_builtin = is_builtin(function) and _name_of(function) in _IO_BUILTINS
    if package_of(function) in _IO_MODULES or is_io_builtin:
        return Effect.IO
    return None if _is_pure_function(function) else Effect.UNKNOWN


def _name_of(function: object) -> str:
    """The name with which `function` was defined, whatever name it is bound to."""
    return str(getattr(function, "__name__", ""))


def _is_pure_function(function: object) -> bool:
    """Whether `function` is known to be pure."""
    if isinstance(function, np.ufunc) or is_of_math(function):
        return True
    if isinstance(function, type) and issubclass(function, np.generic):
        return True
    if is_builtin(function):
        return _name_of(function) in _PURE_BUILTINS
    if module_of(function) == core_functions.__name__:
        return True
    row = function_row(function)
    return row is not None and row.pure


def _effect_of_argument_method(argument: ArgType, method: str) -> Effect | None:
    """The effect of calling `method` of an argument of that type; None for a pure one."""
    if isinstance(argument, Opaque):
        return Effect.RNG if argument.is_generator else Effect.UNKNOWN
    known = _is_pure_method(method) or (isinstance(argument, ArrayType) and is_mutating(method))
    return _effect_by_name(method) if known else Effect.UNKNOWN


def _effect_of_method(owner: object, method: str) -> Effect | None:
    """The effect of calling `method` of the global object `owner`, or of a local value (None)."""
    if is_numpy_random(type(owner)) or module_of(type(owner)) in _RNG_MODULES:
        return Effect.RNG
    if isinstance(owner, (io.IOBase, logging.Logger)):
        return Effect.IO
    return _effect_by_name(method)


def _effect_by_name(method: str) -> Effect | None:
    """The effect of a method of that name of an array or a container; None for a pure one."""
    if is_mutating(method):
        return Effect.MUTATES
    return None if _is_pure_method(method) else Effect.UNKNOWN


def _is_pure_method(name: str) -> bool:
    row = method_row(name)
    return row is not None and row.pure
