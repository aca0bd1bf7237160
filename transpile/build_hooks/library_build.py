"""Library build: the kernels of a library, and the files with them that its wheel has.

The source of the library has ``from transpile import fuse``. In the wheel, its modules import
`fuse` from a package beside them, which is one for all modules of a package (`build_package`).
"""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType

from loopir.lazy_dataclass import record
from targets.build.build_errors import BuildError, NoCompiler

from ..ahead.build_command import outcome_lines
from ..ahead.build_package import BuiltSignature, Signature, SourceModule, library_files
from ..ahead.kernel_library import library_name
from ..ahead.module_source import PackageError, imports_project
from ..ahead.platform_tag import platform_tag
from ..ahead.platforms import Platform
from ..cli.file_cases import LoadedFile, cases_of, fused_functions, modules_of, read_file
from ..cli.input_files import UnreadableFile, find_files
from ..cli.static import Modules, module_location
from .build_settings import BuildSettings

__all__ = ["BuiltPackage", "built_packages", "common_tag"]

RUNTIME = "_transpile"
"""The name of the package with the runtime, in the package that is built."""


@record(frozen=True, slots=True)
class BuiltPackage:
    """A package of a library, and the files that it has in a wheel and not in its source, or has
    otherwise there, by their paths in the package.
    """

    folder: Path
    files: dict[str, bytes]
    outcomes: tuple[BuiltSignature, ...]
    platform: Platform

    @property
    def tag(self) -> str:
        """The tag of the platform, in the name of a wheel."""
        library = self.files[f"{RUNTIME}/{library_name(self.platform.system)}"]
        return platform_tag(library, self.platform)

    @property
    def summary(self) -> str:
        """What was built, as text."""
        size = sum(map(len, self.files.values()))
        return "\n".join(outcome_lines(self.folder.name, self.outcomes, size, self.platform))


def built_packages(root: Path, settings: BuildSettings) -> list[BuiltPackage]:
    """The packages of the library whose pyproject.toml is in the folder `root`. Raises
    PackageError: for settings that are wrong, modules that cannot be read, or without a compiler;
    and for a function that stays Python, if that is checked.
    """
    read = Modules()
    files = _files(root, settings, read)
    names = {module_location(file.path)[1] for file in files}
    if unknown := settings.signatures.keys() - names:
        found = ", ".join(sorted(names)) or "none"
        raise PackageError(f"signatures: {min(unknown)} is no module that is built ({found})")
    folders: dict[Path, list[LoadedFile]] = {}
    for file in files:
        folders.setdefault(_package_folder(Path(file.path)), []).append(file)
    with modules_of(read) as modules:
        packages = [
            _built_package(folder, own, modules, settings) for folder, own in folders.items()
        ]
    lines = [package.summary for package in packages]
    if settings.check and any(o.reason for package in packages for o in package.outcomes):
        raise PackageError("\n".join(["functions stay Python in the wheel (check = true)", *lines]))
    return packages


def common_tag(packages: Sequence[BuiltPackage]) -> str:
    """The tag of the platforms that all of the packages, at least one, are for."""
    return max((package.tag for package in packages), key=_version)


def _version(platform: str) -> tuple[bool, list[int]]:
    """A key by which the tag for the fewest systems is the greatest."""
    numbers = [int(part) for part in platform.split("_") if part.isdecimal()]
    return not numbers, numbers


def _files(root: Path, settings: BuildSettings, read: Modules) -> list[LoadedFile]:
    """The modules that import transpile, read. Raises PackageError."""
    try:
        paths = find_files([str(root / module) for module in settings.modules])
        files = [
            read_file(path, read) for path in paths
            if path.endswith(".py") and imports_project(Path(path))
        ]
    except (UnreadableFile, SyntaxError, UnicodeDecodeError) as error:
        raise PackageError(str(error)) from None
    if not files:
        names = ", ".join(settings.modules)
        raise PackageError(f"no module imports transpile (modules: {names})")
    return files


def _package_folder(path: Path) -> Path:
    """The folder of the package, the outermost one, that a module is in. Raises PackageError."""
    home, name = module_location(str(path))
    top, separator, _ = name.partition(".")
    if not separator and path.name != "__init__.py":
        raise PackageError(f"{path} is in no package, which would have the kernels")
    return home / top


def _built_package(
    folder: Path, files: Sequence[LoadedFile], modules: Sequence[ModuleType],
    settings: BuildSettings,
) -> BuiltPackage:
    """The package in `folder`. ``files``: the modules of it with fused functions; ``modules``: all
    that were read. Raises PackageError.
    """
    try:
        sources = [*_source_modules(folder, files, modules, settings)]
        built, outcomes = library_files(sources, RUNTIME, settings.platform)
    except NoCompiler as error:
        raise PackageError(f"{error}; {error.help}") from error
    except BuildError as error:
        raise PackageError(str(error)) from error
    inner = [
        BuiltSignature(f"{Path(file.path).name}: {name}", "…", "another function makes it")
        for file in files for name, _ in file.inner
    ]
    return BuiltPackage(folder, built, (*outcomes, *inner), settings.platform)


def _source_modules(
    folder: Path, files: Sequence[LoadedFile], modules: Sequence[ModuleType],
    settings: BuildSettings,
) -> Iterator[SourceModule]:
    """The modules of the package, with the signatures of their functions. Raises PackageError."""
    loaded = {Path(file.path).resolve(): file for file in files}
    for module in modules:
        path = Path(module.__file__ or "").resolve()
        if not path.is_relative_to(folder):
            continue
        file = loaded.get(path)
        signatures = [*_signatures(file, module.__name__, settings)] if file else []
        name = path.relative_to(folder).as_posix()
        yield SourceModule(path, name, module.__name__, signatures, file is not None)


def _signatures(file: LoadedFile, module: str, settings: BuildSettings) -> Iterator[Signature]:
    """The signatures of the fused functions of a file. Raises PackageError."""
    given = settings.signatures.get(module, {})
    specs = [f"{function}({types})" for function, all_types in given.items() for types in all_types]
    try:
        for case in cases_of(fused_functions(file), specs, [file], ran=False):
            yield case.function.__wrapped__, case.types, case.function.options
    except ValueError as error:
        text = str(error).removeprefix("--types").lstrip(": ")
        raise PackageError(f"signatures of {module}: {text}") from None
