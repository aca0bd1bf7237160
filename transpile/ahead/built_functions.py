"""Built functions: what `fuse` makes of a function in a package that was built ahead of time.

The package has the source of its functions, one shared object with their kernels for each
instruction set, and `CALLS`, a file of what each kernel expects (`built_calls`). At the first call
of a function, its kernels for this machine are connected to builtins in C, one for each signature.
A call that none of them fits is compiled just in time if transpile is installed; else Python runs.
"""
from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Mapping
from functools import cache, partial, update_wrapper
from types import FunctionType, MethodType
from typing import Any, TypeVar, overload

from targets.abi.vectorcall import Vectorcall, attach_call

__all__ = ["BuiltFunction", "FuseError", "FuseWarning", "fuse", "place_of", "target_name"]

CALLS = "calls.json"
"""The file beside this one that has the calls."""

FORMAT = 2
"""The version of `CALLS`."""

_Callable = TypeVar("_Callable", bound=Callable[..., Any])


class FuseError(Exception):
    """Never raised here: for handlers that name it."""


class FuseWarning(UserWarning):
    """Compiled kernels are not used, and why."""


@overload
def fuse(function: _Callable, /, **options: object) -> _Callable: ...
@overload
def fuse(function: None = None, /, **options: object) -> Callable[[_Callable], _Callable]: ...
def fuse(function: Callable[..., Any] | None = None, /, **options: object) -> Any:
    """As a decorator: `function`, run by its kernels, which were compiled with the options of the
    build; `options` are those for other calls.
    """
    if function is None:
        return partial(fuse, **options)
    if isinstance(function, staticmethod | classmethod):  # of a file without decorators
        return type(function)(fuse(function.__func__, **options))
    return BuiltFunction(function, options) if isinstance(function, FunctionType) else function


def place_of(function: FunctionType) -> str:
    """What tells a function from the others of its file: its name and line, the key of `CALLS`."""
    return f"{function.__qualname__}:{function.__code__.co_firstlineno}"


class BuiltFunction(Vectorcall):
    """A function with kernels; ``__wrapped__`` is the original."""

    __wrapped__: Any  # the function

    def __new__(cls, function: FunctionType, options: Mapping[str, object]) -> BuiltFunction:
        """Each object has its own class, whose ``__call__`` is what a call runs: a frame less."""
        own = type(cls.__name__, (cls,), {"__module__": cls.__module__, "__doc__": cls.__doc__})
        made: BuiltFunction = super().__new__(own)
        return made

    def __init__(self, function: FunctionType, options: Mapping[str, object]) -> None:
        update_wrapper(self, function)
        self._code, self._place = function.__code__, place_of(function)  # as they are now
        self._options = options

    @property
    def _path(self) -> str:
        """The path of the source."""
        return self._code.co_filename

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The first call, which connects the kernels."""
        function = self.__wrapped__
        try:
            self._connect(self._compile_rest if _has_transpile() else function)
        except (MemoryError, RecursionError):  # perhaps not at the next call
            return function(*args, **kwargs)
        return self(*args, **kwargs)

    def _connect(self, rest: Callable[..., Any]) -> None:
        """From now on, calls are served by the kernels, and those that fit none by `rest`; all of
        them if the function has got other code than it had when it was defined.
        """
        call, function = rest, self.__wrapped__
        if function.__code__ is self._code:
            call = _connected(function, self._place, self._path, rest)
        attach_call(self, call)

    def _compile_rest(self, *args: Any, **kwargs: Any) -> Any:
        """The first call that fits no kernel: later ones are compiled just in time."""
        rest = _fused_by_transpile(self.__wrapped__, self._options)
        self._connect(rest)
        return rest(*args, **kwargs)

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        return self if instance is None else MethodType(self, instance)

    def __repr__(self) -> str:
        return f"<built {self.__wrapped__!r}>"

    def __reduce__(self) -> str:
        return str(self.__wrapped__.__qualname__)

    def __copy__(self) -> BuiltFunction:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> BuiltFunction:
        return self

    @property
    def signatures(self) -> tuple[str, ...]:
        """The types of the arguments for which there are kernels, as reports print them."""
        return tuple(entry["types"] for entry in _entries(self._path, self._place))

    def report(self, *args: object, **kwargs: object) -> str:
        """Which calls kernels serve, as text."""
        name = self.__wrapped__.__qualname__
        reason = "TRANSPILE_SELECT is python" if _selects_python() else _unusable(self._path)
        if reason or not self.signatures:
            return f"{name}: Python ({reason or 'no kernel was built'})"
        lines = [f"{name}({types})" for types in self.signatures]
        return "\n".join([f"{name}: built ahead of time, for {target_name()}", *lines])


@cache
def _built() -> Mapping[str, Any]:
    """The contents of `CALLS`. Raises OSError and ValueError."""
    import json  # here, as a package should be imported in no time

    path = os.path.join(os.path.dirname(__file__), CALLS)
    with open(path, encoding="utf-8") as file:
        built: dict[str, Any] = json.load(file)
    if built.get("format") != FORMAT:
        raise ValueError(f"{CALLS} is of another version")
    return built


def _entries(path: str, place: str) -> list[dict[str, Any]]:
    """What was built for the function at `place`, its name and line, in the file at `path`: an
    entry for each signature.
    """
    try:
        found: list[dict[str, Any]] = _built()["functions"].get(_file_of(path), {}).get(place, [])
    except (OSError, ValueError):
        return []
    return found


_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
"""The folder of the package."""


def _file_of(path: str) -> str:
    """The path in the package of the source file at `path`."""
    try:
        return os.path.relpath(path, _PACKAGE).replace(os.sep, "/")
    except ValueError:  # on another drive
        return path


def _unedited_file(path: str) -> str | None:
    """As `_file_of`; None if it is no file of the package, or its kernels cannot be used."""
    return None if _unusable(path) else _file_of(path)


@cache
def _has_transpile() -> bool:
    """Whether there is a compiler for calls that fit no kernel."""
    from importlib.util import find_spec

    try:
        return find_spec("transpile") is not None
    except (ImportError, ValueError):
        return False


def _fused_by_transpile(
    function: FunctionType, options: Mapping[str, object]
) -> Callable[..., Any]:
    """The function, compiled just in time; the function itself if that cannot be. Refusals are for
    its author, who has seen them when the package was built.
    """
    from importlib import import_module

    try:
        transpile: Any = import_module("transpile")
        decorate = transpile.fuse(**{"on_reject": "silent", **options})
        compiled: Callable[..., Any] = decorate(function)
    except Exception:  # another module of this name, or one without its dependencies
        return function
    return compiled


_warned: set[str] = set()
"""The reasons of which a warning was issued: one a process."""


def _connected(
    function: FunctionType, place: str, path: str, rest: Callable[..., Any]
) -> Callable[..., Any]:
    """What serves calls of `function`: a builtin for the first of its signatures, which passes
    calls that do not fit to that of the next one, and the last one to `rest`.
    """
    if _selects_python():
        return function
    reason = _unusable(path)
    if reason:
        if reason not in _warned:
            _warned.add(reason)
            warnings.warn(f"{reason}; Python runs", FuseWarning, stacklevel=4)
        return rest
    from .built_calls import OwnCode
    from .kernel_library import connect

    serving, own = rest, OwnCode(_unedited_file, BuiltFunction)
    for entry in reversed(_entries(path, place)):
        serving = connect(entry, function, serving, own) or serving
    return serving


def _selects_python() -> bool:
    """Whether the user has chosen that Python serves all calls."""
    return os.environ.get("TRANSPILE_SELECT") == "python"


@cache
def _unusable(path: str) -> str | None:
    """Why the kernels for the source at `path` cannot be used, in a sentence; None if they can."""
    return _why_edited(path) or _why_no_library()


@cache
def _why_edited(path: str) -> str | None:
    """As `_unusable`, for the text of the source alone."""
    from loopir.process.digests import hexdigest

    try:
        built = _built()
        with open(path, "rb") as file:
            source = file.read()
    except OSError as error:
        return f"{error.filename} cannot be read: {error.strerror}"
    except ValueError as error:
        return f"the package is damaged: {error}"
    if hexdigest(source) != built["sources"].get(_file_of(path)):
        return f"{path} was edited after it was compiled"
    return None


@cache
def _why_no_library() -> str | None:
    """Why the kernels cannot be used in this process; None if they can."""
    has_gil = getattr(sys, "_is_gil_enabled", lambda: True)()
    if sys.implementation.name != "cpython" or not has_gil:
        return "its kernels need CPython with the global interpreter lock"
    try:
        from targets.abi.object_layout import is_main_interpreter

        from . import kernel_library

        if not is_main_interpreter():
            return "its kernels are called in the main interpreter of a process alone"
        modules = {name: file for name, file in _built()["modules"].items() if _is_unedited(file)}
        return kernel_library.why_unusable(modules, _built()["result_module"])
    except ImportError as error:
        return f"the package is damaged: {error}"


def _is_unedited(file: str) -> bool:
    """Whether a source file of the package has the text for which kernels were built."""
    return _why_edited(os.path.join(_PACKAGE, *file.split("/"))) is None


def target_name() -> str:
    """The target whose kernels this machine runs."""
    from .kernel_library import target_of

    return target_of(tuple(_built()["targets"]))

