"""Name resolution: the objects to which the free names of a function are bound at present.

Nothing is cached: `Scope.resolve` looks a name up each time. It also follows attributes, but only
where reading them runs no user code. A name may be rebound before the next call of the function, so
code that depends on what was found must guard it (`lower.binding_guards`).
"""
from __future__ import annotations

import ast
import builtins
import types
from collections import namedtuple
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from enum import Enum
from typing import Any

import numpy as np

from loopir.lazy_dataclass import record
from loopir.process.signal_exceptions import failures

from .. import core_functions
from .core_nodes import CORE_NAME, NUMPY_NAME
from .defining_modules import is_python_class

__all__ = ["NameScope", "Scope", "as_callee", "is_one_of"]

_FIELD_GETTER = type(vars(namedtuple("_Pair", "item"))["item"])
"""The descriptor of a field of a named tuple."""

_OUR_NAMES: Mapping[str, object] = {NUMPY_NAME: np, CORE_NAME: core_functions}
"""What the names mean that macros write for NumPy and for `core_functions`."""


class NameScope(Enum):
    """Where a name is bound."""

    LOCAL = "local"
    CLOSURE = "closure"
    GLOBAL = "global"
    BUILTIN = "builtin"
    UNBOUND = "unbound"


@record(frozen=True, slots=True)
class Scope:
    """The names that a function body can see."""

    local: frozenset[str] = frozenset()
    """Names that the function binds itself."""
    cells: Mapping[str, types.CellType] = field(default_factory=dict)
    """The cells of its closure, by name."""
    globals: Mapping[str, Any] = field(default_factory=dict)
    """The namespace of its module."""
    others: Mapping[str, object] = field(default_factory=dict)
    """Captured names of inlined functions, with their values now; these come first."""

    @classmethod
    def of(cls, fn: Callable[..., Any]) -> Scope:
        """The scope of a Python function."""
        fn = getattr(fn, "__func__", fn)
        assert isinstance(fn, types.FunctionType), fn
        code = fn.__code__
        cells = dict(zip(code.co_freevars, fn.__closure__ or (), strict=True))
        return cls(frozenset(code.co_varnames + code.co_cellvars), cells, fn.__globals__)

    def find(self, name: str) -> tuple[NameScope, object]:
        """Where `name` is bound now, and its value: None for a local; UNBOUND and None if it has no
        value.
        """
        if name in self.others:
            return NameScope.GLOBAL, self.others[name]
        if name in self.local:
            return NameScope.LOCAL, None
        if name in self.cells:
            try:
                return NameScope.CLOSURE, self.cells[name].cell_contents
            except failures(ValueError):  # a cell not filled yet
                return NameScope.UNBOUND, None
        if name in self.globals:
            return NameScope.GLOBAL, self.globals[name]
        for namespace in _builtins(self.globals), _OUR_NAMES:
            if name in namespace:
                return NameScope.BUILTIN, namespace[name]
        return NameScope.UNBOUND, None

    def resolve(self, expr: ast.expr) -> object | None:
        """The object that `expr` means now: a free name, or attributes of one. None where that is
        not known: the name is local or unbound, or reading an attribute may run code of the user's.

            np.add         →   the ufunc            x.shape, for a local x        →   None
            math.pi        →   3.14159…             obj.size, for a global object →   None

        Of modules, classes and named tuples, attributes are followed if reading them is a plain
        lookup (`_is_stored`). All stages ask here what a name means;
        `transpile.lower.binding_guards` then guards the names that the compiled code depends on,
        since they may be rebound before a later call.
        """
        match expr:
            case ast.Name(id=name):
                return self.find(name)[1]
            case ast.Attribute(value=value, attr=attr):
                owner = self.resolve(value)
                return getattr(owner, attr, None) if _is_stored(owner, attr) else None
        return None


def as_callee(value: object) -> object | None:
    """`value` where it is called; None for an object that cannot be looked up among functions,
    since its class compares by values (a list, an array) or by code of the user's.
    """
    kind = type(value)
    if kind.__hash__ is None or isinstance(kind.__eq__, types.FunctionType):
        return None
    return value


def _is_stored(owner: object, attr: str) -> bool:
    """Whether reading ``owner.attr`` is a plain lookup, which runs no user code:

    - of a module: the name is in its namespace, so that no ``__getattr__`` of the module runs
      (NumPy's may: it imports a submodule when it is first read);
    - of a class: the name is in the namespace of it or of a base, and is no descriptor that a
      Python class defines, whose ``__get__`` would run;
    - of a named tuple: the name is a field.
    """
    kind = type(owner)
    if isinstance(owner, types.ModuleType):
        plain = kind.__getattribute__ is types.ModuleType.__getattribute__
        # NumPy imports some of its modules on first access
        return plain and (attr in vars(owner) or owner is np)
    if isinstance(owner, type):
        value = next((vars(c)[attr] for c in owner.__mro__ if attr in vars(c)), None)
        is_user_descriptor = is_python_class(type(value)) and hasattr(value, "__get__")
        return value is not None and not is_user_descriptor
    plain = isinstance(owner, tuple) and kind.__getattribute__ is tuple.__getattribute__
    return plain and type(vars(kind).get(attr)) is _FIELD_GETTER


def is_one_of(function: object, group: Sequence[object]) -> bool:
    """Whether `function` is, by identity, one of `group` (an argument may define ``==`` of its
    own).
    """
    return any(function is f for f in group)


def _builtins(globals_: Mapping[str, Any]) -> Mapping[str, Any]:
    """The builtins of a module: a namespace may have others than Python's own."""
    module = globals_.get("__builtins__", builtins)
    return module if isinstance(module, dict) else vars(module)
