"""Inputs of the command: the fused functions of a file, each under its call signatures.

The file is imported without its main part, or run as a script. Signatures come from calls that
happened, from ``--types``, from annotations, or are inferred.
"""
from __future__ import annotations

import ast
import contextlib
import dataclasses
import inspect
import sys
import traceback
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import CodeType, FunctionType, MethodType, ModuleType, NoneType
from typing import Any

from ..diagnostics import Refused
from ..frontend.source import read_source
from ..report.loop_report import Report
from ..runtime.fuse_decorator import AnyFused, Fused, fuse
from ..types.value_types import ArgType
from .argument_types import infer_signature, parse_type_spec

__all__ = ["UnreadableFile", "fused_functions", "import_file", "run_file", "Case", "cases_of"]


class UnreadableFile(Exception):
    """A file that cannot be read, parsed or imported; the message is one line that names it."""


def import_file(path: str) -> dict[str, Any]:
    """The namespace of the module in `path`, without running its ``if __name__ == "__main__"``
    part.

    Its output goes to stderr. Raises UnreadableFile.
    """
    code = _compiled(path)
    home, name = _import_location(path)
    with _temporary_module(path, home, name) as module, contextlib.redirect_stdout(sys.stderr):
        try:
            exec(code, vars(module))
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            raise UnreadableFile(f"{path}{_error_location(error, path)}") from error
    return vars(module)


def run_file(path: str, args: Sequence[str]) -> tuple[dict[str, Any], int]:
    """Run `path` as a script with `args`; returns its namespace and its exit status.

    An exception of the script is printed as Python would print it, with status 1. Raises
    UnreadableFile before anything has run.
    """
    code = _compiled(path)
    before, sys.argv = sys.argv, [path, *args]
    try:
        with _temporary_module(path, Path(path).resolve().parent, "__main__") as module:
            return vars(module), _run_script(code, vars(module))
    finally:
        sys.argv = before


def fused_functions(names: Mapping[str, Any], path: str, *, every: bool = False) -> list[AnyFused]:
    """The fused functions that `path` defines, in source order.

    With `every`, plain functions with loops are fused, too.
    """
    found: dict[CodeType, AnyFused] = {}
    for value in _namespace_values(names, names["__name__"]):
        if (
            isinstance(value, FunctionType)
            and every
            and _is_defined_in(value, path)
            and _has_loops(value)
        ):
            value = fuse(value)
        if isinstance(value, Fused) and _belongs_to_file(value.__wrapped__, path):
            found.setdefault(value.__wrapped__.__code__, value)
    return sorted(found.values(), key=lambda f: f.__wrapped__.__code__.co_firstlineno)


def _compiled(path: str) -> CodeType:
    """The code of the file. Raises UnreadableFile."""
    try:
        return compile(Path(path).read_bytes(), path, "exec", dont_inherit=True)
    except OSError as error:
        raise UnreadableFile(f"SOURCE_UNAVAILABLE {path}: {error.strerror}") from error
    except SyntaxError as error:
        line = f":{error.lineno}" if error.lineno else ""
        raise UnreadableFile(f"SOURCE_UNPARSABLE {path}{line}: {error.msg}") from error
    except ValueError as error:  # null bytes, before Python 3.12
        raise UnreadableFile(f"SOURCE_UNPARSABLE {path}: {error}") from error


def _import_location(path: str) -> tuple[Path, str]:
    """The folder that a file is imported from, and its (dotted) module name."""
    file = Path(path).resolve()
    folder, name = file.parent, file.stem
    while (folder / "__init__.py").exists():
        folder, name = folder.parent, f"{folder.name}.{name}"
    return folder, name.removesuffix(".__init__")


@contextlib.contextmanager
def _temporary_module(path: str, home: Path, name: str) -> Iterator[ModuleType]:
    """A module of this name in ``sys.modules``, with `home` first in ``sys.path``."""
    module = ModuleType(name)
    module.__file__ = path
    module.__package__ = name.rpartition(".")[0]
    shadowed = sys.modules.get(name)
    sys.modules[name] = module
    sys.path.insert(0, str(home))
    try:
        yield module
    finally:
        del sys.path[0]
        if shadowed is None:
            sys.modules.pop(name, None)
        else:
            sys.modules[name] = shadowed


def _run_script(code: CodeType, names: dict[str, Any]) -> int:
    """Run the code of a script; returns its exit status. Exceptions are shown as Python shows them.
    """
    try:
        exec(code, names)
    except SystemExit as leaving:
        if not isinstance(leaving.code, (int, NoneType)):
            print(leaving.code, file=sys.stderr)
        return leaving.code if isinstance(leaving.code, int) else int(leaving.code is not None)
    except BaseException as error:
        traceback_ = error.__traceback__.tb_next if error.__traceback__ else None
        traceback.print_exception(type(error), error, traceback_)
        return 130 if isinstance(error, KeyboardInterrupt) else 1
    return 0


def _error_location(error: BaseException, path: str) -> str:
    """``:12: ValueError: …``, with the last line of `path` in the traceback."""
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if frame.filename == path]
    position = f":{lines[-1]}" if lines else ""
    text = traceback.format_exception_only(type(error), error)[-1].strip().splitlines()[0]
    return f"{position}: cannot be imported: {text}"


def _namespace_values(names: Mapping[str, Any], module: str, inside: str = "") -> Iterator[Any]:
    """The values of a namespace, and those of the classes that it defines."""
    for value in list(names.values()):
        match value:
            case staticmethod() | classmethod() | MethodType():
                yield value.__func__
            case property():
                yield value.fget
            case type(__module__=home, __qualname__=name) if home == module:
                if name.startswith(inside):  # otherwise a reference to an outer class
                    yield from _namespace_values(vars(value), module, f"{name}.")
            case _:
                yield value


def _is_defined_in(function: FunctionType, path: str) -> bool:
    return Path(function.__code__.co_filename).resolve() == Path(path).resolve()


def _belongs_to_file(function: FunctionType, path: str) -> bool:
    """Whether `function` is defined in the file, or in no file (made by exec)."""
    return _is_defined_in(function, path) or not Path(function.__code__.co_filename).exists()


def _has_loops(function: FunctionType) -> bool:
    """Whether the function has a ``for`` loop or comprehension; False without source."""
    try:
        tree = read_source(function).tree
    except Refused:
        return False
    return any(isinstance(node, (ast.For, ast.comprehension)) for node in ast.walk(tree))


@dataclasses.dataclass(frozen=True, slots=True)
class Case:
    """One function under one call signature."""

    function: AnyFused
    types: tuple[ArgType, ...]
    assumed: str | None = None  # which types are guesses, in a sentence; None: none are

    @property
    def name(self) -> str:
        """The function's qualified name."""
        return self.function.__qualname__

    def report(self) -> Report:
        """The report on it."""
        report = self.function.report_for(self.types)
        return dataclasses.replace(report, assumed=self.assumed)

    def emit(self, stage: str) -> str:
        """The text of one stage. Raises FuseError where the function does not reach it."""
        return self.function.emit_for(stage, self.types)

    def text_after(self, stage: str) -> str:
        """The program after this stage of the pipeline. Raises FuseError and ValueError."""
        from ..runtime.inspection import text_after

        return text_after(stage, self.function.__wrapped__, self.types, self.function.options)


def cases_of(functions: Sequence[AnyFused], specs: Sequence[str], *, ran: bool) -> Iterator[Case]:
    """The cases of each function; ``ran``: the file has been run. Raises ValueError."""
    given_types = _given_types(functions, specs)
    for function in functions:
        if function in given_types:
            yield from (Case(function, types) for types in given_types[function])
        elif ran and function.signatures:
            yield from (Case(function, tuple(types)) for types in function.signatures)
        else:
            yield _inferred_case(function)


def _given_types(
    functions: Sequence[AnyFused], specs: Sequence[str]
) -> dict[AnyFused, list[tuple[ArgType, ...]]]:
    """The signatures of ``--types``, by function. Raises ValueError."""
    given: dict[AnyFused, list[tuple[ArgType, ...]]] = {}
    for spec in specs:
        name, types = parse_type_spec(spec)
        function = _function_named(name, functions)
        arity = len(inspect.signature(function).parameters)
        if arity != len(types):
            raise ValueError(f"--types: {name} takes {arity} arguments, {len(types)} given")
        given.setdefault(function, []).append(tuple(types))
    return given


def _function_named(name: str, functions: Sequence[AnyFused]) -> AnyFused:
    """The function of this name or qualified name. Raises ValueError."""
    matching = [f for f in functions if name in (f.__name__, f.__qualname__)]
    if len(matching) == 1:
        return matching[0]
    known = ", ".join(f.__qualname__ for f in matching or functions)
    raise ValueError(f"--types: {'more than one' if matching else 'no'} function {name} ({known})")


def _inferred_case(function: AnyFused) -> Case:
    """The case for types from annotations, defaults and uses."""
    try:
        tree = read_source(function.__wrapped__).tree
    except Refused:  # the report says why
        return Case(function, ())
    signature = infer_signature(function.__wrapped__, tree)
    return Case(function, tuple(signature.types.values()), signature.remark)
