"""Object descriptions: what a name is bound to, in words that identify it in other processes.

A stored kernel is used only if the names that it depends on are bound to what they were.
"""
from __future__ import annotations

import marshal
import os
import sys
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from loopir.process.digests import hexdigest
from loopir.process.signal_exceptions import failures

from ...frontend.defining_modules import is_native, is_numpys, module_of, package_of

__all__ = ["code_digest", "description"]

_OPS_MODULE = "transpile.ops"
"""The module of transpile whose functions are described by their names (`description`)."""

_TRUSTED_MODULES = ("builtins", "math", "numpy", "_bisect", "_heapq")
"""Modules whose objects are identified by their names."""


def description(value: object) -> tuple[Any, ...] | None:
    """A description that identifies `value` in another process, too; None if there is none.

    Described are: a number, str or None by its value; code by a digest; a tuple by its items; a
    module, or the namespace of one, by the module's name; a function or type by its name, if it is
    of `transpile.ops`, or native and of one of `_TRUSTED_MODULES`, or written in Python by NumPy;
    a method of a generator of random numbers by its class (`_description_of_draw`).
    The user's functions and objects are not: they may be other ones under the same name.
    """
    if type(value) in (int, float, bool, str, type(None)):
        return "constant", type(value).__name__, repr(value)
    if type(value) in (CodeType, dict, tuple):
        return _description_of_part(value)
    if type(value) is ModuleType:
        loaded_as = value.__name__
        return ("module", loaded_as) if sys.modules.get(loaded_as) is value else None
    if type(value) is MethodType:
        return _description_of_draw(value)
    if not is_native(value) and type(value) is not FunctionType:
        return None
    name, module = getattr(value, "__name__", None), module_of(value)
    is_found = getattr(sys.modules.get(module), str(name), None) is value
    if is_found and (module == _OPS_MODULE or _is_python_of_numpy(value)):
        return "function", module, name
    if name is None or not is_native(value):
        return None
    home = value if module else type(value)
    is_trusted = package_of(home) in _TRUSTED_MODULES
    return (type(value).__name__, module_of(home), name) if is_trusted else None


def _description_of_draw(method: MethodType) -> tuple[Any, ...] | None:
    """A description of a method such as ``random.randint``, which is bound to a generator that its
    module keeps; None for others. It tells the class of the generator: of which generator the state
    is read, other guards tell.
    """
    kind, name, function = type(method.__self__), method.__name__, method.__func__
    if vars(kind).get(name) is not function:
        return None
    module = sys.modules.get(kind.__module__)
    if type(function) is FunctionType:  # the user may have put one in the place of Python's
        is_known = kind.__module__ == "random" and function.__code__.co_filename == getattr(
            module, "__file__", None
        )
    else:
        is_known = package_of(kind) == np.__name__
    is_found = getattr(module, kind.__name__, None) is kind
    return ("method", kind.__module__, kind.__name__, name) if is_known and is_found else None


def _is_python_of_numpy(value: object) -> bool:
    """Whether `value` is a Python function in NumPy's own files, such as ``np.full``; not one that
    a user has put in its place, with the same name and module.
    """
    if type(value) is not FunctionType or not is_numpys(value):
        return False
    return value.__code__.co_filename.startswith(_NUMPY_FOLDER)


_NUMPY_FOLDER = os.path.join(os.path.dirname(np.__file__), "")


def code_digest(code: CodeType) -> str:
    """A digest of a code object and its constants, the same in each process. Raises ValueError if
    it has constants that cannot be marshalled.

    Later versions of the format than 2 tell which objects have other references, which depends on
    what else the process has done.
    """
    return hexdigest(marshal.dumps(code, 2))


def _description_of_part(value: Any) -> tuple[Any, ...] | None:
    """A description of the code, the globals or the defaults of an inlined function, as in
    `description`.
    """
    match value:
        case CodeType():
            try:
                return "code", code_digest(value)
            except failures(ValueError):  # it has constants that cannot be marshalled
                return None
        case {"__name__": str(name)}:
            module = sys.modules.get(name)
            is_module = module is not None and vars(module) is value
            return ("globals", name) if is_module else None
        case tuple():
            items = [*map(description, value)]
            return None if None in items else ("tuple", *items)
    return None
