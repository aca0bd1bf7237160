"""Packages built ahead of time: the files of one, for the fused functions of Python files.

Of one file, a package::

    model_fused/__init__.py     the source of the file, with the runtime's `fuse`
    model_fused/__init__.pyi    the signatures, for type checkers
    model_fused/_runtime/       the modules of `runtime_files`, calls.json, kernels.so
    model_fused/src/            the C text of kernels.so, and what builds it (`build_files`)

Of modules of a library, those modules with the runtime's `fuse`, and one runtime for all of them.
Nothing in it depends on this project, on a compiler, or on the version of Python.
"""
from __future__ import annotations

import json
import os
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import FunctionType
from typing import Any, TypeAlias

from loopir.lazy_dataclass import record
from loopir.process.digests import hexdigest
from targets.c.headers import read_header
from targets.isa.target import Target

from .. import __version__
from ..options import Options
from ..runtime.cache.recipe_format import NotStorable, row_of
from ..types.value_types import ArgType, WrappedFunction
from .build_files import build_files
from .built_calls import OwnCode
from .built_functions import CALLS, FORMAT, place_of
from .fat_library import Unit, built_library, kernel_file, library_targets, library_units
from .kernel_library import library_name, result_module
from .kernel_units import KernelUnit, NotBuilt, kernel_unit
from .module_source import PackageError, module_source
from .platforms import Platform, own_platform
from .runtime_files import runtime_files
from .type_stub import type_stub

__all__ = [
    "BuiltSignature", "PackageError", "Signature", "SourceModule", "library_files",
    "package_files", "write_package",
]

_RUNTIME = "_runtime"

Signature: TypeAlias = tuple[FunctionType, tuple[ArgType, ...], Options]
"""A function, the types of its arguments, and its options."""


@record(frozen=True, slots=True)
class SourceModule:
    """A module of a package that is built; ``file``: its path in the package."""

    path: Path
    file: str
    name: str
    """Its name while the package is built."""
    signatures: Sequence[Signature] = ()
    is_rewritten: bool = True
    """Whether it imports `fuse`; others are only read by functions that are built."""


@record(frozen=True, slots=True)
class BuiltSignature:
    """What became of a function under one signature; ``reason``: why it stays Python."""

    function: str
    types: str
    reason: str | None = None


def package_files(
    path: Path, signatures: Sequence[Signature], decorated: Sequence[str] = (),
    platform: Platform | None = None,
) -> tuple[dict[str, bytes], list[BuiltSignature]]:
    """The files of the package for the Python file at `path`, by their paths in it, and what became
    of each of the `signatures`.

    ``decorated``: the names of functions that have no ``@fuse`` in the file, and get it;
    ``platform``: where it is to run, None for this one. Raises PackageError, BuildError and
    NoCompiler.
    """
    platform = platform or own_platform()
    package = _module_name(path)
    source = module_source(path, f".{_RUNTIME}", decorated, alone=True)
    names = {path.stem, "__main__", *_homes(signatures)}
    modules = [SourceModule(path, "__init__.py", name, signatures) for name in sorted(names)]
    built, outcomes = _built_units(modules[:1], platform)
    sources = {"__init__.py": source}
    library, files = _runtime_files(built, modules, sources, _RUNTIME, platform)
    files |= {
        "__init__.py": source,
        "__init__.pyi": type_stub(path.read_bytes(), built).encode(),
    }
    files |= {f"src/{name}": text.encode() for name, text in build_files(library, platform).items()}
    files |= {f"src/{unit.name}.c": unit.text.encode() for unit in library}
    headers = {header for unit in library for header in unit.headers}
    files |= {f"src/{header}": read_header(header).encode() for header in sorted(headers)}
    return {f"{package}/{name}": data for name, data in files.items()}, outcomes


def library_files(
    modules: Sequence[SourceModule], runtime: str, platform: Platform | None = None
) -> tuple[dict[str, bytes], list[BuiltSignature]]:
    """The files of a library's package that its source has not, or has otherwise: the `modules`
    that import `fuse`, and a package with the runtime, whose name in that package is `runtime`.
    And what became of each signature. ``platform``: as for `package_files`. Raises PackageError,
    BuildError and NoCompiler.
    """
    platform = platform or own_platform()
    sources: dict[str, bytes] = {}
    for module in modules:
        home = "." * (module.file.count("/") + 1) + runtime
        try:
            sources[module.file] = (
                module_source(module.path, home) if module.is_rewritten
                else module.path.read_bytes()
            )
        except PackageError as error:
            raise PackageError(f"{module.path}: {error}") from None
    built, outcomes = _built_units(modules, platform)
    _, files = _runtime_files(built, modules, sources, runtime, platform)
    files |= {module.file: sources[module.file] for module in modules if module.is_rewritten}
    return files, outcomes


def _built_units(
    modules: Sequence[SourceModule], platform: Platform
) -> tuple[list[KernelUnit], list[BuiltSignature]]:
    """The kernels of all signatures that have one, and what became of each."""
    units: list[KernelUnit] = []
    outcomes: list[BuiltSignature] = []
    own, targets = _own_code(modules), library_targets(platform.machine)
    for module in modules:
        for function, types, options in module.signatures:
            text = ", ".join(map(str, types))
            try:
                unit = kernel_unit(function, types, options, targets, own)
                _call_rows(unit)  # raises NotBuilt
                units.append(unit)
                outcomes.append(BuiltSignature(function.__qualname__, text))
            except NotBuilt as reason:
                outcomes.append(BuiltSignature(function.__qualname__, text, str(reason)))
    return units, outcomes


def _own_code(modules: Sequence[SourceModule]) -> OwnCode:
    """What is the package's own, while it is built."""
    files = {os.path.realpath(module.path): module.file for module in modules}
    return OwnCode(lambda path: files.get(os.path.realpath(path)), WrappedFunction)


def _runtime_files(
    built: Sequence[KernelUnit], modules: Sequence[SourceModule], sources: Mapping[str, bytes],
    runtime: str, platform: Platform,
) -> tuple[list[Unit], dict[str, bytes]]:
    """The units of the shared object, and the files of the runtime, by their paths in the package.

    ``sources``: the text in the package of each file of `modules`.
    """
    own, targets = _own_code(modules), library_targets(platform.machine)
    kernels, functions = _numbered(built, targets, own.file_of)
    library = library_units(kernels)
    calls = {
        "format": FORMAT,
        "transpile": __version__,
        "targets": [target.name for target in targets],
        "sources": {file: hexdigest(text) for file, text in sources.items()},
        "modules": {module.name: module.file for module in modules},
        "result_module": result_module(),
        "functions": functions,
    }
    files = {
        "__init__.py": _RUNTIME_INIT.encode(),
        CALLS: json.dumps(calls, separators=(",", ":")).encode(),
        library_name(platform.system): built_library(library, platform),
    }
    files |= {name: text.encode() for name, text in runtime_files().items()}
    return library, {f"{runtime}/{name}": data for name, data in files.items()}


_RUNTIME_INIT = '"""The runtime of this package: the modules of transpile that call kernels."""\n'


def _homes(signatures: Sequence[Signature]) -> set[str]:
    """The names of the module of these functions, when the file was read."""
    return {function.__globals__["__name__"] for function, _, _ in signatures}


def _module_name(path: Path) -> str:
    """The name of the package for a file. Raises PackageError."""
    if path.suffix != ".py" or not path.stem.isidentifier():
        raise PackageError(f"{path.name} is not the name of a module, as model.py is")
    return f"{path.stem}_fused"


_Functions: TypeAlias = dict[str, dict[str, list[dict[str, Any]]]]
"""What was built for each function: by file, and by `place_of`."""


def _numbered(
    units: Sequence[KernelUnit], targets: Sequence[Target], file_of: Callable[[str], str | None]
) -> tuple[list[Unit], _Functions]:
    """The units of all kernels, and the entries of all functions.

    ``file_of``: see `OwnCode`.
    """
    kernels: list[Unit] = []
    functions: _Functions = defaultdict(dict)
    for number, unit in enumerate(units):
        names = {target: f"k{number}_{target}" for target in unit.texts}
        rows = _call_rows(unit)
        calls = [*{json.dumps(row): row for row in rows.values()}.values()]
        file = file_of(unit.function.__code__.co_filename) or ""
        functions[file].setdefault(place_of(unit.function), []).append({
            "types": ", ".join(map(str, unit.types)),
            "numpy": dict(sorted(unit.probes.items())),
            "kernels": {t: [names[t], calls.index(rows[t])] for t in unit.texts},
            "calls": calls,
        })
        kernels += (
            kernel_file(
                names[target.name], unit.texts[target.name], target, contract=unit.options.fma
            )
            for target in targets
        )
    return kernels, dict(functions)


def _call_rows(unit: KernelUnit) -> dict[str, Any]:
    """The call for each target as JSON. Raises NotBuilt."""
    try:
        return {target: row_of(call) for target, call in unit.calls.items()}
    except NotStorable as reason:
        raise NotBuilt(f"{reason}") from None


def write_package(files: Mapping[str, bytes], folder: Path) -> None:
    """Write the files of a package below `folder`, each in place of an earlier one, which processes
    may have mapped. Raises OSError.
    """
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        new = path.with_name(f"{path.name}.{os.getpid()}")
        new.write_bytes(data)
        new.replace(path)
