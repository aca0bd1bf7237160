"""Defining modules: whether a function, class or file is Python's, NumPy's, ours, or the user's.

`module_of` and the functions after it answer this for an object, and run no code of the user's;
`is_installed` answers it for a file.
"""
from __future__ import annotations

import builtins
import math
import os
import sys
import types
from functools import lru_cache

import numpy as np

from targets.file_kinds import real_path

__all__ = [
    "OUR_PACKAGES", "is_builtin", "is_defined_in", "is_installed", "is_native",
    "is_numpy_function", "is_numpy_random", "is_numpys", "is_of_math", "is_python_class",
    "is_stand_in", "is_standard", "is_statement_class", "module_of", "package_of",
]

OUR_PACKAGES = ("transpile", "loopir", "targets")
"""The packages of this project: installed or not, they are none of the user's."""

_STAND_INS = ("transpile.frontend.inline.library_functions", "transpile.random_numbers")

_HEAP_TYPE_FLAG = 1 << 9
"""``Py_TPFLAGS_HEAPTYPE``: set for classes that a ``class`` statement makes."""


def module_of(value: object) -> str:
    """The name of the module in which the function or class `value` is defined; of an object of a
    Python class, the module of its class. The empty string where none is known, as of a method that
    is bound to a builtin object.

        np.linalg.norm     →   "numpy.linalg"        int, len     →   "builtins"
        [].append, 5       →   ""                    Model()      →   the module of Model
    """
    kind = type(value)  # `isinstance` reads `__class__`, which may run code of the user's
    if issubclass(kind, type):
        module = type.__getattribute__(value, "__module__")
    elif is_python_class(kind):
        module = kind.__module__
    else:
        module = getattr(value, "__module__", None)
    return module if isinstance(module, str) else ""


def package_of(value: object) -> str:
    """The first part of `module_of(value)`: "numpy" of ``np.linalg.norm``."""
    return module_of(value).partition(".")[0]


def is_numpys(value: object) -> bool:
    """Whether NumPy defines the function or class `value`, or the Python class of this object."""
    return package_of(value) == np.__name__


def is_numpy_function(function: object) -> bool:
    """Whether `function` is a function or ufunc that NumPy itself defines."""
    return isinstance(function, np.ufunc) or is_numpys(function)


def is_defined_in(value: object, package: str) -> bool:
    """Whether the module that defines `value` (`module_of`) is `package`, or a module in it."""
    return f"{module_of(value)}.".startswith(f"{package}.")


def is_numpy_random(value: object) -> bool:
    """Whether `numpy.random` defines the function or class `value`: it draws random numbers."""
    return is_defined_in(value, "numpy.random")


def is_builtin(value: object) -> bool:
    """Whether `value` is a function or class of the module ``builtins``."""
    return module_of(value) == builtins.__name__


def is_of_math(value: object) -> bool:
    """Whether `value` is a function of the module ``math``."""
    return module_of(value) == math.__name__


def is_stand_in(function: object) -> bool:
    """Whether `function` is one of ours that is inlined in place of a native one: it draws random
    numbers, or is a library function, or a helper of these. Nobody rebinds their globals, so that
    they need no guards.
    """
    return any(is_defined_in(function, module) for module in _STAND_INS)


def is_standard(value: object) -> bool:
    """Whether a module of the standard library defines `value`."""
    return package_of(value) in sys.stdlib_module_names


def is_native(value: object) -> bool:
    """Whether `value` is a builtin function, a ufunc, a class, or an object of a NumPy class: the
    inliner leaves calls of these to macros and lowering.
    """
    is_compiled = isinstance(value, (types.BuiltinFunctionType, np.ufunc, type))
    return is_compiled or is_numpys(type(value))


def is_python_class(value: object) -> bool:
    """Whether `value` is a class that a ``class`` statement made, with the metaclass ``type``."""
    return type(value) is type and is_statement_class(value)


def is_statement_class(value: type) -> bool:
    """Whether a ``class`` statement, or a call of its metaclass, made the class `value`."""
    return bool(value.__flags__ & _HEAP_TYPE_FLAG)


def is_installed(path: str | os.PathLike[str]) -> bool:
    """Whether a file belongs to the standard library or to an installed package."""
    return real_path(os.fspath(path)).startswith(_folders(tuple(sys.path)))


@lru_cache(maxsize=4)
def _folders(search_path: tuple[str, ...]) -> tuple[str, ...]:
    """Where the standard library and installed packages are; each path ends with a separator."""
    import sysconfig

    kinds = ("stdlib", "platstdlib", "purelib", "platlib")
    paths = [sysconfig.get_path(kind) for kind in kinds]
    paths += [p for p in search_path if "-packages" in p]
    return tuple({os.path.join(real_path(p), "") for p in paths})
