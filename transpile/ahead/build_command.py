"""The command ``transpile FILE --build``: writes a package for a file, and says what is in it."""
from __future__ import annotations

import ast
from collections.abc import Sequence
from pathlib import Path
from types import FunctionType

from targets.build.build_errors import BuildError, NoCompiler

from ..options import Options
from ..types.value_types import ArgType
from .build_package import BuiltSignature, package_files, write_package
from .fat_library import library_targets
from .kernel_library import library_name
from .module_source import PackageError
from .platform_tag import platform_tag
from .platforms import Platform
from .wheel_file import Distribution, wheel_file

__all__ = ["PackageError", "build", "outcome_lines"]


def build(
    path: Path, signatures: Sequence[tuple[FunctionType, tuple[ArgType, ...], Options]],
    plain: Sequence[str], folder: Path, platform: Platform, wheel: str | None = None,
) -> bool:
    """Write the package of the file at `path` for `platform` to `folder`, and print what became of
    each of the `signatures`: functions, types and options. Returns whether all were built.

    ``plain``: names of functions that have no ``@fuse`` in the file. ``wheel``: write a wheel of
    this name and version, ``NAME==VERSION``; those of the file if empty. Raises PackageError where
    there is no package, and OSError.
    """
    distribution = None if wheel is None else _distribution(path, wheel)
    try:
        package, outcomes = package_files(path, signatures, plain, platform)
    except NoCompiler as error:
        raise PackageError(f"{error}; {error.help}") from error
    except BuildError as error:
        raise PackageError(str(error)) from error
    name = next(iter(package)).partition("/")[0]
    size = sum(map(len, package.values()))
    if distribution is not None:
        library = f"/{library_name(platform.system)}"
        kernels = next(data for file, data in package.items() if file.endswith(library))
        files = {file: data for file, data in package.items() if "/src/" not in file}
        name, archive = wheel_file(files, distribution, platform_tag(kernels, platform))
        package, size = {name: archive}, len(archive)
    write_package(package, folder)
    print("\n".join(outcome_lines(str(folder / name), outcomes, size, platform)))
    return all(outcome.reason is None for outcome in outcomes)


def outcome_lines(
    name: str, outcomes: Sequence[BuiltSignature], size: int, platform: Platform
) -> list[str]:
    """What was built under this `name`, in `size` bytes, and what was not."""
    built = [outcome for outcome in outcomes if outcome.reason is None]
    targets = ", ".join(target.name for target in library_targets(platform.machine))
    if platform.triple:
        targets += f" of {platform.name}"
    counts = f"{len(built)} of {len(outcomes)} signatures"
    lines = [f"{name}: {counts}, for {targets}; {size / 1024:.0f} KB"]
    for outcome in outcomes:
        why = f": Python, as {outcome.reason}" if outcome.reason else ""
        lines.append(f"  {outcome.function}({outcome.types}){why}")
    return lines


def _distribution(path: Path, wheel: str) -> Distribution:
    """The name and version of a wheel: those of ``NAME==VERSION``, or of the file. Raises
    PackageError.
    """
    tree = ast.parse(path.read_bytes())
    name, separator, version = wheel.partition("==")
    if not separator:
        version = _version_in(tree)
    if not version:
        known = name or f"{path.stem}-fused"
        raise PackageError(f"it has no __version__; --wheel {known}==1.0 gives one")
    summary = (ast.get_docstring(tree) or "").strip().partition("\n")[0]
    distribution = Distribution(name or f"{path.stem}_fused".replace("_", "-"), version, summary)
    if fault := distribution.fault():
        raise PackageError(f"--wheel: {fault}")
    return distribution


def _version_in(tree: ast.Module) -> str:
    """The constant that a module binds to ``__version__``; empty if there is none."""
    for node in tree.body:
        match node:
            case ast.Assign(
                targets=[ast.Name(id="__version__")], value=ast.Constant(value=str(version))
            ):
                return version
    return ""
