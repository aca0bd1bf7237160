"""Contracts kept on disk: a later process calls a kernel without compiling anything again.

A recipe is found by the function's code, the call signature and whatever else shaped the kernel. It
holds the contract and the names of the shared objects. What the function's names stood for is kept
as a description, and must still be described so; `Variant.applies` goes on from there.
"""
from __future__ import annotations

import functools
import logging
import marshal
import os
import pickle
import sys
from collections.abc import Mapping
from dataclasses import replace
from importlib import import_module
from types import FunctionType
from typing import TYPE_CHECKING, Any

import numpy as np

from targets.cache import OBJECT, RECIPE, content, kept, publish
from targets.digest import hexdigest
from targets.errors import BuildError
from targets.load import load

from ..options import Options
from ..plan import Ref
from ..products import fuses_products
from ..scope import made_in_c
from ..types import ArgType
from .contract import Contract, alone, paired, strided, weak
from .standin import Values
from .variant import Variant

if TYPE_CHECKING:
    from targets.load import Entry

__all__ = ["find", "keep"]

_log = logging.getLogger(__name__)

_PACKAGES = ("transpile", "loopir", "targets")

_OPS = "transpile.ops"

_HOMES = ("builtins", "math", "numpy")
"""Modules whose objects a description can be trusted to tell apart."""


def keep(
    function: FunctionType, types: Mapping[str, ArgType], options: Options, target: str,
    contract: Contract, entry: Entry,
) -> None:
    """Writes the recipe of a loaded kernel, if what it rests on can be described."""
    marks = tuple((ref.expr, _mark(ref.value)) for ref in contract.refs)
    if entry.trampoline is None or any(mark is None for _, mark in marks):
        return
    names = map(os.path.basename, (entry.path, entry.trampoline))
    said = replace(contract, refs=()), marks, *names
    try:
        publish(pickle.dumps(said), _key(function, types, options, target), RECIPE)
    except (BuildError, pickle.PicklingError, AttributeError, TypeError, ValueError) as error:
        _log.info("no recipe for %s: %s", function.__qualname__, error)


def find(
    function: FunctionType, types: Mapping[str, ArgType], options: Options, target: str,
    values: Values,
) -> Variant | None:
    """The variant that an earlier process has compiled; None where there is none that applies to a
    call with these arguments.
    """
    try:
        path = kept(_key(function, types, options, target), RECIPE)
    except ValueError:  # its code holds objects
        return None
    if path is None:
        return None
    try:
        bare, marks, *names = pickle.loads(content(path))
    except Exception as error:  # of another time: pickle may raise anything
        _log.info("%s cannot be read: %s", path, error)
        return None
    refs = [_still(function, expr, mark) for expr, mark in marks]
    objects = [kept(name.removesuffix(OBJECT)) for name in names]
    if None in refs or None in objects:
        return None
    contract: Contract = replace(bare, refs=tuple(refs))
    kernel, trampoline = objects
    assert kernel is not None
    try:
        entry = load(
            kernel, contract, weak=weak(contract), strided=strided(contract),
            paired=paired(contract), alone=alone(contract), known=trampoline,
        )
    except BuildError:
        return None
    variant = Variant(function, contract, entry.fast, entry=entry)
    return variant if variant.applies(values) else None


def _key(
    function: FunctionType, types: Mapping[str, ArgType], options: Options, target: str
) -> str:
    shaping = replace(options, on_reject="warn", verify=0.0)
    flags = os.environ.get("TRANSPILE_CFLAGS", ""), os.environ.get("CC", "")
    numpy = np.__version__, fuses_products()
    parts = [sorted(types.items()), shaping, target, flags, sys.version, numpy, _ours()]
    code = marshal.dumps(function.__code__)
    return hexdigest(repr([*map(str, parts)]).encode() + code)


@functools.cache
def _ours() -> tuple[tuple[str, int, int], ...]:
    """This compiler's own files: a recipe of another version is not found."""
    found = []
    for package in _PACKAGES:
        for folder, _, files in os.walk(import_module(package).__path__[0]):
            for name in files:
                if name.endswith((".py", ".h", ".c")):
                    stat = os.stat(os.path.join(folder, name))
                    found.append((name, stat.st_size, stat.st_mtime_ns))
    return tuple(sorted(found))


# -- what the function's names stand for

def _mark(value: object) -> tuple[Any, ...] | None:
    """A description that tells `value` from any other; None where there is none."""
    if type(value) in (int, float, bool):
        return "number", type(value).__name__, repr(value)
    if not made_in_c(value) and type(value) is not FunctionType:
        return None
    name, home = getattr(value, "__name__", None), getattr(value, "__module__", None)
    if home == _OPS and getattr(sys.modules.get(_OPS), str(name), None) is value:
        return "function", home, name
    if name is None or not made_in_c(value):
        return None
    home = home or type(value).__module__
    return (type(value).__name__, home, name) if home.split(".")[0] in _HOMES else None


def _still(function: FunctionType, expr: str, mark: tuple[Any, ...]) -> Ref | None:
    """What `expr` stands for now, if it is still described so."""
    root, *attributes = expr.split(".")
    try:
        value = _lookup(function, root)
        for name in attributes:
            value = getattr(value, name)
    except (LookupError, AttributeError, ValueError):
        return None
    return Ref(expr, value) if _mark(value) == mark else None


def _lookup(function: FunctionType, name: str) -> Any:
    if name in function.__code__.co_freevars:
        cell = (function.__closure__ or ())[function.__code__.co_freevars.index(name)]
        return cell.cell_contents
    if name in function.__globals__:
        return function.__globals__[name]
    builtins = function.__globals__.get("__builtins__")
    return builtins[name] if isinstance(builtins, dict) else getattr(builtins, name)
