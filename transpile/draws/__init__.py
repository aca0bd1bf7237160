"""Numbers drawn in loops, as Python draws them: the generators whose methods are compiled.

Of each family a module has the methods as plain Python over the generator's state, which calls of
them become. What they draw, and the state they leave, is what the generator's own methods would;
the draws of other methods stay Python's.
"""
from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Mapping
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any, NamedTuple

from ..types import ArgType, GeneratorType
from . import legacy, pcg, python
from .state import KEPT, contracts, family, keep, kinds, locked, parts
from .ziggurat import TABLES, table

__all__ = [
    "KEPT", "METHODS", "Draw", "builtins", "draw_of", "is_ours", "keep", "kinds", "locked",
    "parts", "table",
]

METHODS: Mapping[str, Mapping[str, Any]] = {
    family: {name: getattr(module, name) for name in module.__all__}
    for family, module in (("python", python), ("legacy", legacy), ("pcg", pcg))
}
"""Of each family, the functions that its methods run."""


_ADDING = {"lognormal", "normal", "randn", "standard_normal", "uniform"}
"""Methods that add products."""


class Draw(NamedTuple):
    """What a call of a ``method`` runs: a function of this ``family`` that is ``given`` parts of
    the state of what ``generator`` is, and tables. ``owner`` tells that from other generators.
    ``asked``: Python that has to stand for ``value``.
    """

    runs: Any
    family: str
    method: str
    generator: str
    owner: object
    given: tuple[str, ...]
    asked: str | None = None
    value: object = None


def is_ours(function: FunctionType) -> bool:
    """Whether `function` is of these modules, whose names keep their meanings."""
    return str(function.__module__).startswith(__name__)


def draw_of(
    func: ast.expr, type_of: Callable[[ast.expr], ArgType | None],
    resolve: Callable[[ast.expr], object | None],
) -> Draw | None:
    """What a call of `func` draws; None where it draws nothing, or is unknown."""
    value = resolve(func)
    if isinstance(value, (BuiltinFunctionType, MethodType)):  # to ask others may run code
        owner, text = value.__self__, ast.unparse(func)
        name = family(owner)
        if name is not None:
            return _draw(name, value.__name__, f"{text}.__self__", id(owner), text, value)
    if isinstance(func, ast.Attribute):
        ty = type_of(func.value)
        if isinstance(ty, GeneratorType):
            text = ast.unparse(func.value)
            return _draw(ty.family, func.attr, text, text)
    return None


def _draw(
    name: str, method: str, generator: str, owner: object, asked: str | None = None,
    value: object = None,
) -> Draw | None:
    runs = METHODS[name].get(method)
    if runs is None or (method in _ADDING and contracts(name)):
        return None
    first = runs.__code__.co_varnames[: runs.__code__.co_argcount]
    given = tuple(p for p in first if p in kinds(name) or p in TABLES)
    return Draw(runs, name, method, generator, owner, given, asked, value)
