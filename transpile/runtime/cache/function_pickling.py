"""Pickling of functions: by reference where they can be imported, else by source."""
from __future__ import annotations

import builtins
import copy
import importlib
import linecache
import sys
import textwrap
import zlib
from collections.abc import Callable, Collection, Iterator, Mapping
from types import BuiltinFunctionType, CellType, CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from loopir.process.signal_exceptions import suppress_failures

from ...diagnostics import Refused, Rejection
from ...frontend.bytecode_check import nested_codes
from ...frontend.names_read import global_names, values_read
from ...frontend.source import read_source

__all__ = [
    "function_from_state", "function_state", "function_token", "importable", "reads_data",
    "with_present_values",
]


def importable(function: FunctionType, bound: object) -> bool:
    """Whether importing the function's qualified name gives `bound`."""
    if function.__module__ == "__main__":
        return False
    value: object = sys.modules.get(function.__module__)
    for part in function.__qualname__.split("."):
        value = getattr(value, part, None)
    return value is bound


def function_state(function: FunctionType, bound: object) -> dict[str, Any]:
    """The state by which `function` is pickled if it cannot be imported, as one defined in a
    notebook or in another function: its source, and the values of the names that it reads.
    `function_from_state` builds it again; ``Fused.__reduce__`` calls both.

    Modules among the values are stored by name. ``bound``: the fused function itself. It is left
    out where a name is bound to it, or a recursive function would contain itself.
    Raises Refused where there is no source.
    """
    namespace = function.__globals__
    names = {n: namespace[n] for n in global_names(function.__code__) if n in namespace}
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    return {
        "text": read_source(function).text,
        "name": function.__name__,
        "qualname": function.__qualname__,
        "module": function.__module__,
        "defaults": function.__defaults__,
        "kwdefaults": function.__kwdefaults__,
        "globals": {n: _pack_value(v) for n, v in names.items() if v is not bound},
        "cells": {n: _pack_value(c.cell_contents) for n, c in cells.items()},
    }


def function_from_state(state: Mapping[str, Any]) -> FunctionType:
    """Rebuild the function, with its source in `linecache`."""
    text, cell_names = state["text"], tuple(state["cells"])
    names = {n: _unpack_value(v) for n, v in state["globals"].items()}
    names |= {"__name__": state["module"], "__builtins__": builtins}
    code = _compile_text(text, state["name"], cell_names)
    cells = {n: CellType(_unpack_value(v)) for n, v in state["cells"].items()}
    closure = tuple(cells[n] for n in code.co_freevars)
    function = FunctionType(code, names, state["name"], state["defaults"], closure)
    function.__kwdefaults__, function.__qualname__ = state["kwdefaults"], state["qualname"]
    return function


def function_token(
    function: FunctionType, bound: object, seen: Collection[object] = ()
) -> object:
    """What `function` does, as data: equal in all processes, for Dask's keys. ``bound`` as in
    `function_state`; ``seen``: the functions that read this one.
    """
    called = dict[str, object]()  # of those that can be imported, the state has the name alone
    for name, value in values_read(function).items():
        inner = getattr(value, "__wrapped__", value)
        if isinstance(inner, FunctionType) and inner not in (*seen, function) and reads_data(inner):
            called[name] = function_token(inner, value, (*seen, function))
    try:
        state: object = function_state(function, bound)
    except Refused:
        state = function.__module__, function.__qualname__, function.__code__.co_code
    return state, called


def reads_data(function: FunctionType, seen: Collection[object] = ()) -> bool:
    """Whether `function`, or one that it reads, reads anything from outside that is no function,
    class or module, and may have changed when it is called later.
    """
    for value in values_read(function).values():
        inner = getattr(value, "__wrapped__", value)
        if isinstance(inner, FunctionType):
            if inner not in seen and reads_data(inner, (*seen, function, inner)):
                return True
        elif isinstance(value, ModuleType):
            if next(_changing_members(function, value), None) is not None:
                return True
        elif not isinstance(value, (type, BuiltinFunctionType)) and not callable(value):
            return True
    return False


def _changing_members(function: FunctionType, module: ModuleType) -> Iterator[str]:
    """The members of a module of the user's that `function` may read, and that may change, or read
    what may change.
    """
    if module.__name__.partition(".")[0] in (*sys.stdlib_module_names, "numpy"):
        return
    for name in dict.fromkeys(global_names(function.__code__)):
        value = vars(module).get(name)
        inner = getattr(value, "__wrapped__", value)
        if isinstance(inner, FunctionType):
            if reads_data(inner, (function,)):
                yield name
        elif value is not None and not isinstance(value, ModuleType) and not callable(value):
            yield name


def with_present_values(function: FunctionType, remade: Callable[[Any, Any], Any]) -> FunctionType:
    """A copy of `function` that reads the values which names have at present, also when they are
    bound to others; so do the functions that it reads. ``remade(fused, copy)``: a fused function,
    with the copy of what it wraps. Raises Refused for values that are members of modules.
    """
    copies: dict[object, Any] = {}

    def copy_of(value: Any) -> Any:
        inner = value if isinstance(value, FunctionType) else getattr(value, "__wrapped__", None)
        if isinstance(inner, FunctionType) and (inner is value or hasattr(value, "options")):
            if not reads_data(inner):
                return value
            copied = copies.get(inner) or copied_function(inner)
            return copied if inner is value else remade(value, copied)
        is_container = isinstance(value, (np.ndarray, list, dict, set))
        return copy.copy(value) if is_container else value

    def copied_function(f: FunctionType) -> FunctionType:
        names = {"__name__": f.__module__, "__builtins__": builtins}
        cells = {n: CellType() for n in f.__code__.co_freevars}
        copied = FunctionType(f.__code__, names, f.__name__, f.__defaults__, (*cells.values(),))
        copied.__kwdefaults__, copied.__qualname__ = f.__kwdefaults__, f.__qualname__
        copies[f] = copied
        for name, value in values_read(f).items():
            if isinstance(value, ModuleType) and (
                member := next(_changing_members(f, value), None)
            ):
                message = f"`{name}.{member}` may change before the tasks run"
                help = f"pass it as an argument, or import it: `from {name} import {member}`"
                raise Refused(Rejection("LOWER_TYPE", message, help=help))
            if name in cells:
                cells[name].cell_contents = copy_of(value)
            else:
                names[name] = copy_of(value)
        return copied

    return copied_function(function)


def _pack_value(value: Any) -> tuple[str, Any]:
    """A value for the pickle; modules by name, functions that cannot be imported by source."""
    if isinstance(value, ModuleType):
        return "module", value.__name__
    if isinstance(value, FunctionType) and not importable(value, value):
        with suppress_failures(Refused):
            return "function", function_state(value, value)
    return "value", value


def _unpack_value(packed: tuple[str, Any]) -> Any:
    """The value that `_pack_value` packed."""
    kind, value = packed
    if kind == "function":
        return function_from_state(value)
    return importlib.import_module(value) if kind == "module" else value


def _compile_text(text: str, name: str, cells: tuple[str, ...]) -> CodeType:
    """The function's code, compiled from a text that is added to ``linecache``."""
    if cells:
        text = f"def around({', '.join(cells)}):\n{textwrap.indent(text, '    ')}"
    path = f"<fused {name} {zlib.crc32(text.encode()):08x}>"
    linecache.cache[path] = (len(text), None, text.splitlines(keepends=True), path)
    code = compile(text, path, "exec", dont_inherit=True)
    return next(c for c in nested_codes(code) if c.co_name == name)
