"""Exceptions of building: no C compiler, or a compilation or loading that failed."""
from __future__ import annotations

import errno
import re
import sys
from collections.abc import Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from types import TracebackType

__all__ = [
    "BuildError", "NoCompiler", "failures", "is_from_signal_handler", "is_system_fault",
    "suppress_failures", "tells_of_fault", "wrong_target",
]


class NoCompiler(Exception):
    """There is no C compiler on this machine, or the one that ``$CC`` names does not exist.

    ``help``: what the user can do about it.
    """

    def __init__(self, message: str, help: str) -> None:
        super().__init__(message)
        self.help = help


class BuildError(Exception):
    """The C compiler or the loader failed. The message has the first lines of what the compiler
    said, ``output`` the first `c_compiler.OUTPUT_BYTES` of it (empty if it did not fail itself).
    ``help``: what the user can do about it, None if that is what the code's page says.

    ``is_fault``: it is about the state of the system (memory, disk, processes), and may be gone
    when it is tried again.
    """

    def __init__(
        self, message: str, output: str = "", *, is_fault: bool = False, help: str | None = None
    ) -> None:
        super().__init__(message)
        self.output = output
        self.help = help
        self.is_fault = is_fault


def wrong_target(name: str, runnable: Iterable[str]) -> BuildError:
    """The error of a call for the target `name`; this machine runs code for the targets `runnable`.
    """
    return BuildError(
        f"this machine does not run code for {name}",
        help=f"for calls on this machine choose a target that it runs: auto, {', '.join(runnable)}",
    )


_E = TypeVar("_E", bound=BaseException)

_PASSING = (errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN, errno.EINTR)
"""The errors that may be gone when the same is tried again."""

_TEXTS = (
    "(?m)No space left|memory exhausted|annot allocate memory|out of memory|Too many open files"
    "|: Error 24$|temporarily unavailable|Disk quota exceeded|File too large|File size limit"
    "|(Hangup|Interrupt|Killed|Terminated) signal terminated|terminated with signal (1|2|9|15)\\b"
    "|unable to execute command: (Hangup|Interrupt|Killed|Terminated)"
)
"""What compilers and loaders say of the state of the system, as a regular expression. A driver such
as ``cc`` also says which signal has ended a program that it had started: another process has sent
it, or the system, for lack of memory."""


def is_system_fault(error: OSError) -> bool:
    """Whether a system call has failed for lack of descriptors, memory or processes."""
    return error.errno in _PASSING


def is_from_signal_handler(error: BaseException) -> bool:
    """Whether a signal handler has raised `error`, such as the TimeoutError of an alarm: some frame
    of its traceback runs the code of a handler. Such an error may come between any two steps of the
    compiler, says nothing about them, and is meant for the caller. As a TimeoutError is an OSError,
    code that catches OSError uses `failures` or `suppress_failures`.
    """
    module = sys.modules.get("_signal")  # Python's own part of `signal`, which has no enums
    if module is None:
        return False
    current = map(module.getsignal, module.valid_signals())
    handlers = {*map(_code_of, current)} - {None}
    step = error.__traceback__
    while step is not None:
        if step.tb_frame.f_code in handlers:
            return True
        step = step.tb_next
    return False


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


def tells_of_fault(output: str) -> bool:
    """Whether a compiler or loader says that it lacked memory, disk space or descriptors, or that
    one of its programs was killed.
    """
    return re.search(_TEXTS, output) is not None
