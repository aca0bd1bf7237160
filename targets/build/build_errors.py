"""Exceptions of building: no C compiler, or a compilation or loading that failed."""
from __future__ import annotations

import errno
import re
from collections.abc import Iterable

__all__ = ["BuildError", "NoCompiler", "is_system_fault", "tells_of_fault", "wrong_target"]


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


def tells_of_fault(output: str) -> bool:
    """Whether a compiler or loader says that it lacked memory, disk space or descriptors, or that
    one of its programs was killed.
    """
    return re.search(_TEXTS, output) is not None
