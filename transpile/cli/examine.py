"""A file's fused functions: imported without its main part, or run as a script."""
from __future__ import annotations

import ast
import contextlib
import sys
import traceback
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import CodeType, FunctionType, MethodType, ModuleType, NoneType
from typing import Any

from ..dispatch.fused import Fused, fuse
from ..rejections import Refused
from ..source import read

__all__ = ["Unreadable", "functions", "import_file", "run_file"]


class Unreadable(Exception):
    """A file that cannot be read, parsed or imported; the message is one line that names it."""


def import_file(path: str) -> dict[str, Any]:
    """The names of the module in `path`, its ``if __name__ == "__main__"`` part not run.

    What it prints goes to stderr. Raises Unreadable.
    """
    code = _compiled(path)
    home, name = _place(path)
    with _module(path, home, name) as module, contextlib.redirect_stdout(sys.stderr):
        try:
            exec(code, vars(module))
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            raise Unreadable(f"{path}{_blame(error, path)}") from error
    return vars(module)


def run_file(path: str, args: Sequence[str]) -> tuple[dict[str, Any], int]:
    """Runs `path` as a script with `args`; its names, and its exit status.

    An exception of the script is printed as Python would, and its status is 1. Raises Unreadable
    before anything has run.
    """
    code = _compiled(path)
    before, sys.argv = sys.argv, [path, *args]
    try:
        with _module(path, Path(path).resolve().parent, "__main__") as module:
            return vars(module), _run(code, vars(module))
    finally:
        sys.argv = before


def functions(names: Mapping[str, Any], path: str, *, every: bool = False) -> list[Fused]:
    """The fused functions that `path` defines, in the order of the file.

    With `every`, plain functions that have loops are fused too.
    """
    found: dict[CodeType, Fused] = {}
    for value in _values(names, names["__name__"]):
        if isinstance(value, FunctionType) and every and _is_of(value, path) and _has_loops(value):
            value = fuse(value)
        if isinstance(value, Fused) and _belongs(value.__wrapped__, path):
            found.setdefault(value.__wrapped__.__code__, value)
    return sorted(found.values(), key=lambda f: f.__wrapped__.__code__.co_firstlineno)


def _compiled(path: str) -> CodeType:
    try:
        return compile(Path(path).read_bytes(), path, "exec", dont_inherit=True)
    except OSError as error:
        raise Unreadable(f"SOURCE_UNAVAILABLE {path}: {error.strerror}") from error
    except SyntaxError as error:
        line = f":{error.lineno}" if error.lineno else ""
        raise Unreadable(f"SOURCE_UNPARSABLE {path}{line}: {error.msg}") from error
    except ValueError as error:  # null bytes, before Python 3.12
        raise Unreadable(f"SOURCE_UNPARSABLE {path}: {error}") from error


def _place(path: str) -> tuple[Path, str]:
    """The folder that a file is imported from, and its name there, dotted in a package."""
    file = Path(path).resolve()
    home, name = file.parent, file.stem
    while (home / "__init__.py").exists():
        home, name = home.parent, f"{home.name}.{name}"
    return home, name.removesuffix(".__init__")


@contextlib.contextmanager
def _module(path: str, home: Path, name: str) -> Iterator[ModuleType]:
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


def _run(code: CodeType, names: dict[str, Any]) -> int:
    try:
        exec(code, names)
    except SystemExit as leaving:
        if not isinstance(leaving.code, (int, NoneType)):
            print(leaving.code, file=sys.stderr)
        return leaving.code if isinstance(leaving.code, int) else int(leaving.code is not None)
    except BaseException as error:
        own = error.__traceback__.tb_next if error.__traceback__ else None
        traceback.print_exception(type(error), error, own)
        return 130 if isinstance(error, KeyboardInterrupt) else 1
    return 0


def _blame(error: BaseException, path: str) -> str:
    """``:12: ValueError: …``, the last line of `path` that the error passed through."""
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if frame.filename == path]
    where = f":{lines[-1]}" if lines else ""
    said = traceback.format_exception_only(type(error), error)[-1].strip().splitlines()[0]
    return f"{where}: cannot be imported: {said}"


def _values(names: Mapping[str, Any], module: str, inside: str = "") -> Iterator[Any]:
    """The values of a namespace, and those of the classes that it defines."""
    for value in list(names.values()):
        match value:
            case staticmethod() | classmethod() | MethodType():
                yield value.__func__
            case property():
                yield value.fget
            case type(__module__=home, __qualname__=name) if home == module:
                if name.startswith(inside):  # else it holds what it stands in
                    yield from _values(vars(value), module, f"{name}.")
            case _:
                yield value


def _is_of(function: FunctionType, path: str) -> bool:
    return Path(function.__code__.co_filename).resolve() == Path(path).resolve()


def _belongs(function: FunctionType, path: str) -> bool:
    """Whether `function` stands in the file, or in none at all, made by the file's own exec."""
    return _is_of(function, path) or not Path(function.__code__.co_filename).exists()


def _has_loops(function: FunctionType) -> bool:
    try:
        tree = read(function).tree
    except Refused:
        return False
    return any(isinstance(node, (ast.For, ast.comprehension)) for node in ast.walk(tree))
