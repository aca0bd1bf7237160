"""Stored refusals: a rejection as data, with what the decision depended on besides the function.

A later process need not try again to compile the function as a whole; it only outlines its regions.
The refusal holds as long as the objects are the same that global names mean, in the function and in
those that it calls (`identity_of_value`): numbers, strs and tuples are compared by value, arrays,
lists and dicts by their types, the user's functions by their code, any other object by its class,
module and name. The user's modules that these objects come from, and those that they use in turn,
are compared by the size and time of their files. If something has changed, the function is compiled
again.
"""
from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from dis import opmap
from functools import partial
from itertools import islice
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from loopir.nodes import Span
from loopir.process.signal_exceptions import failures

from ...diagnostics import HelperLine, Label, Rejection
from ...frontend.bytecode_check import nested_codes
from ...frontend.defining_modules import OUR_PACKAGES, is_installed
from ...frontend.names_read import global_names
from ...types.value_types import WrappedFunction
from .object_descriptions import code_digest

__all__ = ["identity_of_value", "names_of_called", "refusal_row", "rejection_of_row"]

_FUNCTIONS = (FunctionType, BuiltinFunctionType, type(np.sum), np.ufunc)
"""Classes of functions whose attributes run no code of the user's."""

_CONTAINERS = (tuple, list, set, frozenset, dict)
"""Classes of containers whose items are read without running code of the user's."""

_MOST_MODULES = 200
"""The most modules whose files are looked at; a function that uses more is not stored."""

_MOST_ITEMS, _MOST_LEVELS = 64, 4
"""Of a tuple, list, set or dict the first ``_MOST_ITEMS`` items are compared; of containers in
containers ``_MOST_LEVELS`` levels.
"""

_MOST_FUNCTIONS = 200
"""The most functions that are looked at: the function, and those that it calls."""


def refusal_row(function: FunctionType, rejection: Rejection) -> tuple[Any, ...] | None:
    """`rejection` as data, with what it depends on; None if that cannot be described."""
    dependencies = _dependencies(function)
    if dependencies is None:
        return None
    labels = tuple((_span_row(label.span), label.text) for label in rejection.labels)
    span = rejection.span and _span_row(rejection.span)
    text = rejection.code, rejection.message, rejection.note, rejection.help
    at = rejection.helper
    helper = None if at is None else (at.name, at.path, at.line)
    return text, span, labels, helper, dependencies


def rejection_of_row(function: FunctionType, row: tuple[Any, ...]) -> Rejection | None:
    """The rejection in `row`; None if something has changed since, or it is of another form."""
    try:
        (code, message, note, help), span, labels, helper, dependencies = row
        if dependencies != _dependencies(function):
            return None
        found = tuple(Label(_span_of_row(place), text) for place, text in labels)
        return Rejection(
            code, message, span and _span_of_row(span), found, note, help,
            helper=helper and HelperLine(*helper),
        )
    except failures(TypeError, ValueError):
        return None


def _span_row(span: Span) -> tuple[int, int, int, int, bool]:
    """The fields of `span`."""
    return span.line, span.col, span.end_line, span.end_col, span.internal


def _span_of_row(row: tuple[int, int, int, int, bool]) -> Span:
    """The span of these fields."""
    *place, internal = row
    return Span(*place, internal=internal)


def _dependencies(function: FunctionType) -> tuple[Any, ...] | None:
    """What the refusal of `function` depends on, as data that is equal if nothing has changed: the
    code of the function and of the user's functions that it calls, their names and defaults (as in
    `names_of_called`), and the size and time of the files that all this is defined in.

    None where that cannot be described: as for `names_of_called`; a module without a file, too many
    modules, or constants that cannot be marshalled.
    """
    found = names_of_called(function)
    if found is None:
        return None
    modules: set[str] = set()
    identities: list[tuple[Any, ...]] = []
    for f, values in found:
        try:
            code = code_digest(f.__code__)
        except failures(ValueError):
            return None
        identities.append(
            (code, tuple((name, identity_of_value(value)) for name, value in values.items()))
        )
        modules |= {m for value in values.values() if (m := _module_of(value)) is not None}
    files = _file_stamps(modules)
    return None if files is None else (tuple(identities), files)


def _defaults(function: FunctionType) -> dict[str, object]:
    """The defaults of the parameters of a function, by what a name cannot be."""
    positional = function.__defaults__ or ()
    named = function.__kwdefaults__ or {}
    return {
        **{f"default -{k}": value for k, value in enumerate(reversed(positional), 1)},
        **{f"default {name}": value for name, value in named.items()},
    }


def names_of_called(
    function: FunctionType,
) -> list[tuple[FunctionType, dict[str, object]]] | None:
    """`function` and the user's functions that it calls, directly or not, each with what its names
    are bound to (`_named_values`), and its defaults. What the compiler refuses depends on that.

    None where it may depend on more: an empty closure cell, too many functions, a bound method,
    whose class may be patched, or an ``import`` statement, whose effect depends on which modules
    are loaded.
    """
    found = []
    functions = [function]
    for f in functions:  # the list grows by the functions that each one calls
        if len(functions) > _MOST_FUNCTIONS:
            return None
        codes = f.__code__, *nested_codes(f.__code__)
        if any(map(_imports, codes)):
            return None
        try:
            values = _named_values(f) | _defaults(f)
        except failures(ValueError):
            return None
        if any(map(_is_bound_method, values.values())):
            return None
        found.append((f, values))
        functions += [*_called_functions(values.values(), functions)]
    return found


def _named_values(function: FunctionType) -> dict[str, object]:
    """The objects that the global and closure names of `function` are bound to, by name; with those
    of attributes of modules that it may read (``np.sum``), which may have been replaced. Raises
    ValueError where a cell is empty.
    """
    names = sorted({*global_names(function.__code__)})
    values = {name: function.__globals__[name] for name in names if name in function.__globals__}
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    values |= {name: cell.cell_contents for name, cell in cells}
    seen: set[int] = set()
    waiting = [*values.items()]
    while waiting:
        path, module = waiting.pop(0)
        if isinstance(module, ModuleType) and id(module) not in seen:
            seen.add(id(module))
            namespace = _namespace_of(module)
            found = {f"{path}.{name}": namespace[name] for name in names if name in namespace}
            values |= found
            waiting += found.items()
    return values


def _called_functions(
    values: Iterable[object], known: list[FunctionType]
) -> Iterator[FunctionType]:
    """The functions of the user among `values`, also fused ones, that are not `known` yet."""
    for value in values:
        f = value.__wrapped__ if isinstance(value, WrappedFunction) else value
        if isinstance(f, FunctionType) and not any(f is k for k in known):
            module = sys.modules.get(f.__module__)
            if not _is_installed(f.__module__, _path_of(module)):
                yield f


def _is_bound_method(value: object) -> bool:
    """Whether `value` is a method of an object, such as ``random.uniform``."""
    if isinstance(value, BuiltinFunctionType):
        return not isinstance(value.__self__, (ModuleType, type(None)))
    return isinstance(value, MethodType)


def _path_of(module: ModuleType | None) -> str | None:
    """The file of `module`."""
    path = None if module is None else _namespace_of(module).get("__file__")
    return path if isinstance(path, str) else None


def _namespace_of(module: ModuleType) -> dict[str, Any]:
    """The names of a module, without running code of its class."""
    found: dict[str, Any] = object.__getattribute__(module, "__dict__")
    return found


def _name_of(value: object) -> str:
    """The name of a module, class or function, without running the user's code; else ""."""
    if isinstance(value, ModuleType):
        name = _namespace_of(value).get("__name__")
    elif issubclass(type(value), type):
        name = type.__getattribute__(value, "__name__")
    else:
        name = value.__name__ if isinstance(value, _FUNCTIONS) else ""
    return name if isinstance(name, str) else ""


def _imports(code: CodeType) -> bool:
    """Whether `code` has an ``import`` statement."""
    return opmap["IMPORT_NAME"] in code.co_code[::2]  # an instruction is a pair of bytes


def identity_of_value(
    value: object, *, by_type: bool = False, levels: int = _MOST_LEVELS
) -> tuple[Any, ...]:
    """What of `value` a decision of the compiler may depend on, besides the file in which it is
    defined: its class, and

    - of a number or str the value, unless ``by_type``, as kernels read the items of lists;
    - of an array dtype, rank and layout;
    - of a tuple its items; of a list or set the different types of its items; of a dict its keys,
      and the types of its values. Not of the containers inside ``levels`` other ones, as a list may
      contain itself;
    - of anything else the module and the name.
    """
    kind = type(value).__qualname__
    match value:
        case bool() | int() | float() | complex() | str() | None:
            return (kind,) if by_type else (kind, repr(value))
        case np.ndarray():
            return kind, str(value.dtype), str(value.ndim), str(value.flags.c_contiguous)
        case tuple() | list() | set() | frozenset() | dict() if type(value) in _CONTAINERS:
            if not levels:
                return (kind,)
            typed = partial(identity_of_value, by_type=True, levels=levels - 1)
            if isinstance(value, dict):
                pairs = islice(value.items(), _MOST_ITEMS)
                of_key = partial(identity_of_value, levels=levels - 1)
                return kind, *((of_key(key), typed(item)) for key, item in pairs)
            items = islice(value, _MOST_ITEMS)
            if isinstance(value, tuple):
                of_item = typed if by_type else partial(identity_of_value, levels=levels - 1)
                return kind, *map(of_item, items)
            return kind, *sorted({*map(typed, items)}, key=repr)
        case _:
            return kind, _module_of(value) or "", _name_of(value)


def _module_of(value: object) -> str | None:
    """The name of the module that `value` is, or is defined in; None if it has none."""
    if isinstance(value, ModuleType):
        return _name_of(value)
    if isinstance(value, _FUNCTIONS):
        name = getattr(value, "__module__", None)  # ufuncs have none before NumPy 2.2
    else:
        kind: Any = type(value)
        if issubclass(kind, type):  # in Python 3.10 `list[int]` claims to be a type
            kind = value
        name = type.__getattribute__(kind, "__module__")
    return name if isinstance(name, str) else None


def _file_stamps(modules: set[str]) -> tuple[tuple[str, int, int], ...] | None:
    """Name, size and time of the file of each of `modules`, and of those that they use, without
    the standard library and installed packages; None if one has no file, or there are too many.
    """
    waiting, seen = sorted(modules), set(modules)
    found: list[tuple[str, int, int]] = []
    while waiting:
        name = waiting.pop()
        module = sys.modules.get(name)
        path = _path_of(module)
        if module is None or _is_installed(name, path):
            continue
        try:
            stat = os.stat(path or "")
        except failures(OSError):
            return None
        found.append((name, stat.st_size, stat.st_mtime_ns))
        values = [*_namespace_of(module).values()]
        used = {m for v in values if (m := _module_of(v)) is not None} - seen
        seen |= used
        waiting += sorted(used)
        if len(found) > _MOST_MODULES:
            return None
    return tuple(sorted(found))


def _is_installed(name: str | None, path: str | None) -> bool:
    """Whether a module belongs to Python, to an installed package or to the compiler: their files
    are not edited, or are in the key of each entry. ``name``: None for a function whose globals
    have no ``__name__``, as `exec` gives them.
    """
    root = (name or "").partition(".")[0]
    if root in OUR_PACKAGES:
        return True
    if path is None:
        return root in sys.stdlib_module_names and root != "__main__"  # a part of the interpreter
    return is_installed(path)
