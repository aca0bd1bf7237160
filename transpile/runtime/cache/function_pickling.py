"""Pickling of functions: by reference where they can be imported, else by source."""
from __future__ import annotations

import builtins
import importlib
import linecache
import sys
import textwrap
import zlib
from collections.abc import Iterator, Mapping
from types import CellType, CodeType, FunctionType, ModuleType
from typing import Any

from ...frontend.bytecode_check import nested_codes
from ...frontend.source import read_source

__all__ = ["importable", "function_state", "function_from_state"]


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
    names = {n: namespace[n] for n in _global_names(function.__code__) if n in namespace}
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


def _global_names(code: CodeType) -> Iterator[str]:
    """The global names that a function and its inner functions may look up."""
    for part in (code, *nested_codes(code)):
        yield from part.co_names


def _pack_value(value: Any) -> tuple[str, Any]:
    """A value for the pickle; modules by name."""
    return ("module", value.__name__) if isinstance(value, ModuleType) else ("value", value)


def _unpack_value(packed: tuple[str, Any]) -> Any:
    """The value that `_pack_value` packed."""
    kind, value = packed
    return importlib.import_module(value) if kind == "module" else value


def _compile_text(text: str, name: str, cells: tuple[str, ...]) -> CodeType:
    """The function's code, compiled from a text that is added to ``linecache``."""
    if cells:
        text = f"def around({', '.join(cells)}):\n{textwrap.indent(text, '    ')}"
    path = f"<fused {name} {zlib.crc32(text.encode()):08x}>"
    linecache.cache[path] = (len(text), None, text.splitlines(keepends=True), path)
    code = compile(text, path, "exec", dont_inherit=True)
    return next(c for c in nested_codes(code) if c.co_name == name)
