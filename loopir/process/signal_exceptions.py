"""Exceptions of signal handlers: told from those that the compiler expects of its own steps.

A handler of the user's, such as one for an alarm, may raise any exception between any two steps of
the compiler. It says nothing about them, and is meant for the caller. So no ``except`` clause of
the compiler names an exception of Python or of a library itself: it uses `failures`, or
`suppress_failures` in place of `contextlib.suppress`. (`tests/project/test_file_conventions.py`)
"""
from __future__ import annotations

import sys
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType, TracebackType

__all__ = ["failures", "is_from_signal_handler", "signal_exception", "suppress_failures"]

_E = TypeVar("_E", bound=BaseException)


def is_from_signal_handler(error: BaseException) -> bool:
    """Whether a signal handler has raised `error`, such as the TimeoutError of an alarm, or what
    `error` was raised instead of (`signal_exception`).
    """
    return signal_exception(error) is not None


def signal_exception(error: BaseException) -> BaseException | None:
    """The exception that a signal handler has raised, if `error` is one, or was raised instead of
    one; else None.

    Some frame of its traceback runs the code of a handler. A library may catch it and raise
    another, as `dataclasses.fields` raises TypeError for an AttributeError: then it is the context
    of that one, and was caught in a frame that is in the traceback of that one, or in C code that
    such a frame has called. (Another context is what the caller was handling before.)
    """
    module = sys.modules.get("_signal")  # Python's own part of `signal`, which has no enums
    if module is None:
        return None
    current = {id(h): h for h in map(module.getsignal, range(1, module.NSIG))}
    handlers = {*map(_code_of, current.values())} - {None}
    found: BaseException | None = error
    while found is not None:
        frames = [*_frames(found)]
        if any(frame.f_code in handlers for frame in frames):
            return found
        found = found.__context__
        catching = next(_frames(found), None) if found is not None else None
        if catching is None or not {catching, catching.f_back}.intersection(frames):
            return None
    return None


def _frames(error: BaseException) -> Iterator[FrameType]:
    """The frames of a traceback, the outermost first."""
    step = error.__traceback__
    while step is not None:
        yield step.tb_frame
        step = step.tb_next


def _code_of(handler: object) -> object:
    """The code of a signal handler: a function, a method, `functools.partial` of one, or an object
    with ``__call__``; None of ``SIG_DFL`` and the like.
    """
    handler = getattr(handler, "func", handler)
    method = getattr(type(handler), "__call__", None)  # noqa: B004 (not whether it is there)
    return getattr(handler, "__code__", None) or getattr(method, "__code__", None)


def failures(*kinds: type[_E]) -> tuple[type[_E], ...]:
    """The exceptions that an ``except`` clause catches: those of these `kinds`, unless a signal
    handler has raised the one that is being handled::

        try:
            data = read(file)
        except failures(OSError) as error:
            return None

    Python evaluates the expression of a clause while the exception is handled. If a signal handler
    has raised it (`is_from_signal_handler`), the result is empty, and the clause catches nothing.
    """
    error = sys.exc_info()[1]
    return () if error is not None and is_from_signal_handler(error) else kinds


class suppress_failures(suppress):
    """As `contextlib.suppress`, except for what a signal handler raises (`failures`)."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:
        if error is not None and is_from_signal_handler(error):
            return False
        return super().__exit__(kind, error, trace)
