"""Exceptions and warnings of ``fuse``, when they are issued, and their one-line messages."""
from __future__ import annotations

import functools
import os
import sys
import warnings
from _thread import get_ident
from collections.abc import Iterable, Sequence
from types import FrameType, FunctionType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .diagnostics import Rejection
    from .types.value_types import ArgType

__all__ = [
    "NO_COMPILER", "EmitError", "FuseError", "FuseWarning", "call_signature_text", "did_you_mean",
    "calling_frames", "drop_tracebacks", "fallback_is_error", "fallback_message",
    "selects_by_time", "should_warn", "source_location", "warn",
]

NO_COMPILER = "BUILD_NO_COMPILER"


class FuseWarning(UserWarning):
    """A function runs as plain Python; the message names the code and the place."""


class FuseError(RuntimeError):
    """A function that must be compiled cannot be, or its compiled code disagreed with Python.
    ``code``: the reason, a key of ``transpile.codes.CODES``.
    """

    def __init__(self, message: str, code: str) -> None:
        super().__init__(message, code)
        self.code = code

    def __str__(self) -> str:
        return str(self.args[0])


class EmitError(FuseError):
    """A function that compiles cannot be printed in the requested form."""


def fallback_message(
    function: FunctionType, types: Sequence[ArgType], code: str, rejection: Rejection | None,
    *, part: bool = False, region: bool = False, runs: bool = True,
) -> str:
    """The message of a FuseWarning or FuseError, one line: the code, the place, the call, and the
    reason. ``runs``: Python runs the call, as it does not where a FuseError is raised. ``part``:
    some regions of the function are compiled; ``region``: the function is a region of the one of
    its name.
    """
    at = source_location(function, rejection.line if rejection else None)
    call = call_signature_text(function, types)
    if region:
        call, part = f"a part of `{function.__qualname__}`", False
    why = f": {rejection.message}" if rejection else ""
    hint = ""
    if rejection and code.startswith(("BUILD_", "SOURCE_")):  # the first line of the help says most
        hint = (rejection.help or rejection.note or "").partition("\n")[0]
    if rejection is None:  # a call of a signature that is compiled
        from .diagnostics import CODES

        why, hint = f": {CODES[code].title}", CODES[code].help
    how = "is compiled in part" if part else "runs as Python" if runs else "is not compiled"
    return f"{code} at {at}: {call} {how}{why}" + f" ({hint})" * bool(hint)


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """The end of a message on an unknown `word`: the one of `known` most like it, or all."""
    import difflib

    names = dict.fromkeys(known)
    close = difflib.get_close_matches(word, names, n=1)
    return f"; did you mean {close[0]!r}?" if close else f" (known: {', '.join(names)})"


def source_location(function: FunctionType, line: int | None = None) -> str:
    """``file.py:12``: the line `line`, or the function's first one."""
    code = function.__code__
    return f"{os.path.basename(code.co_filename)}:{line or code.co_firstlineno}"


def call_signature_text(function: FunctionType, types: Sequence[ArgType]) -> str:
    """``name(f64[:], int)``; of a str that is part of the signature only the type."""
    from .types.value_types import Constant

    names = (
        "str" if isinstance(t, Constant) and isinstance(t.value, str) else str(t) for t in types
    )
    return f"{function.__qualname__}({', '.join(names)})"


calling_frames: dict[int, FrameType] = {}
"""For each thread that does the compiler's work for another one, by its identifier: the frame of
the other thread that waits for it.
"""


def warn(message: str) -> None:
    """Issues a FuseWarning at the innermost line of the stack that is outside of this package."""
    here = os.path.dirname(__file__), "<transpile "
    caller = calling_frames.get(get_ident())
    frame, level = caller or sys._getframe(), 1
    while frame.f_back and frame.f_code.co_filename.startswith(here):
        frame, level = frame.f_back, level + 1
    if caller is None:
        warnings.warn(message, FuseWarning, stacklevel=level)
        return
    names, file = frame.f_globals, frame.f_code.co_filename
    registry = names.setdefault("__warningregistry__", {})
    module = names.get("__name__", file)
    warnings.warn_explicit(message, FuseWarning, file, frame.f_lineno, module, registry)


_warned: set[str] = set()
"""The codes that are warned of once in a process, and were."""


def should_warn(code: str) -> bool:
    """Whether to warn of a reason: of a missing compiler only once in a process, else always."""
    if code != NO_COMPILER:
        return True
    is_first = code not in _warned
    _warned.add(code)
    return is_first


def fallback_is_error() -> bool:
    """Whether ``TRANSPILE_FALLBACK`` forbids running as Python. Raises ValueError for an unknown
    word.
    """
    word = os.environ.get("TRANSPILE_FALLBACK")
    return bool(word) and _fallback_forbidden(word)


def selects_by_time() -> bool:
    """Whether Python serves calls that it is measured to run faster: not if ``TRANSPILE_SELECT``
    forbids it. Raises ValueError for an unknown word.
    """
    return _selects_by_time(os.environ.get("TRANSPILE_SELECT", ""))


@functools.cache
def _selects_by_time(word: str) -> bool:
    """What ``TRANSPILE_SELECT=word`` means; cached, as each dispatched call asks."""
    from .knobs import read

    return read({"TRANSPILE_SELECT": word}).selects_by_time


@functools.cache
def _fallback_forbidden(word: str) -> bool:
    """What ``TRANSPILE_FALLBACK=word`` means; cached, as each dispatched call asks."""
    from .knobs import read

    return read({"TRANSPILE_FALLBACK": word}).fallback_is_error


def drop_tracebacks(error: Exception) -> Exception:
    """`error`, and its causes, without tracebacks: their frames would keep all local values alive.
    """
    cause: BaseException | None = error
    while cause is not None:
        cause.__traceback__ = None
        cause = cause.__cause__ or cause.__context__
    return error
