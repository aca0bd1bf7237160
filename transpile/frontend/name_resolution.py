"""Name resolution: what the free names of a function mean, read anew at each query."""
from __future__ import annotations

import ast
import builtins
import types
from collections import namedtuple
from collections.abc import Callable, Mapping
from dataclasses import field
from enum import Enum
from typing import Any

import numpy as np

from loopir.lazy_dataclass import record

from .. import ops
from .core_nodes import NUMPY_NAME, OPS_NAME

__all__ = ["Origin", "Scope", "is_python_class", "is_native"]

_ITEM = type(vars(namedtuple("_Pair", "item"))["item"])
_HEAP = 1 << 9
"""A flag of classes that are not made in C."""


class Origin(Enum):
    """Where a name is bound."""

    LOCAL = "local"
    CLOSURE = "closure"
    GLOBAL = "global"
    BUILTIN = "builtin"
    UNBOUND = "unbound"


@record(frozen=True, slots=True)
class Scope:
    """The names around a function body.

    ``local`` are the names that the function binds itself. ``cells`` are the cells of its closure.
    ``others`` are names that stand for what inlined functions read.
    """

    local: frozenset[str] = frozenset()
    cells: Mapping[str, types.CellType] = field(default_factory=dict)
    globals: Mapping[str, Any] = field(default_factory=dict)
    others: Mapping[str, object] = field(default_factory=dict)

    @classmethod
    def of(cls, fn: Callable[..., Any]) -> Scope:
        """The scope of a Python function."""
        fn = getattr(fn, "__func__", fn)
        assert isinstance(fn, types.FunctionType), fn
        code = fn.__code__
        cells = dict(zip(code.co_freevars, fn.__closure__ or (), strict=True))
        return cls(frozenset(code.co_varnames + code.co_cellvars), cells, fn.__globals__)

    def find(self, name: str) -> tuple[Origin, object]:
        """Where `name` is bound now, and its value; UNBOUND and None where it has no value."""
        if name in self.others:
            return Origin.GLOBAL, self.others[name]
        if name in self.local:
            return Origin.LOCAL, None
        if name in self.cells:
            try:
                return Origin.CLOSURE, self.cells[name].cell_contents
            except ValueError:  # a cell not filled yet
                return Origin.UNBOUND, None
        if name in self.globals:
            return Origin.GLOBAL, self.globals[name]
        known = {NUMPY_NAME: np, OPS_NAME: ops, **_builtins(self.globals)}
        return (Origin.BUILTIN, known[name]) if name in known else (Origin.UNBOUND, None)

    def resolve(self, expr: ast.expr) -> object | None:
        """The object that a name, or a chain of attributes of modules, classes and named tuples,
        refers to now. None for a local or unbound name, and for attributes of other objects, since
        reading them may run code.
        """
        match expr:
            case ast.Name(id=name):
                return self.find(name)[1]
            case ast.Attribute(value=value, attr=attr):
                owner = self.resolve(value)
                return getattr(owner, attr, None) if _is_stored(owner, attr) else None
        return None


def is_native(value: object) -> bool:
    """Whether `value` is a builtin, a type or NumPy's own, and no Python function in its place."""
    known = isinstance(value, (types.BuiltinFunctionType, np.ufunc, type))
    return known or type(value).__module__.startswith("numpy")


def _is_stored(owner: object, attr: str) -> bool:
    """Whether an attribute of a module, a class or a named tuple is read without running code."""
    kind = type(owner)
    if isinstance(owner, types.ModuleType):
        plain = kind.__getattribute__ is types.ModuleType.__getattribute__
        return plain and (attr in vars(owner) or owner is np)  # some of NumPy is imported late
    if isinstance(owner, type):
        found = next((vars(c)[attr] for c in owner.__mro__ if attr in vars(c)), None)
        return found is not None and not (
            is_python_class(type(found)) and hasattr(found, "__get__")
        )
    plain = isinstance(owner, tuple) and kind.__getattribute__ is tuple.__getattribute__
    return plain and type(vars(kind).get(attr)) is _ITEM


def is_python_class(value: object) -> bool:
    """Whether `value` is a class written in Python that has no metaclass of its own."""
    return type(value) is type and bool(value.__flags__ & _HEAP)


def _builtins(globals_: Mapping[str, Any]) -> Mapping[str, Any]:
    found = globals_.get("__builtins__", builtins)
    return found if isinstance(found, dict) else vars(found)
