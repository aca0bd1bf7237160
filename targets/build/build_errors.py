"""Exceptions of building: no C compiler, or a compilation or loading that failed."""
from __future__ import annotations

import errno

__all__ = ["BuildError", "NoCompiler", "is_system_fault", "tells_of_fault"]


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

    ``is_fault``: it is about the state of the system (memory, disk, processes), and may be gone
    when it is tried again.
    """

    def __init__(self, message: str, output: str = "", *, is_fault: bool = False) -> None:
        super().__init__(message)
        self.output = output
        self.is_fault = is_fault


_PASSING = (errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN, errno.EINTR)

_TEXTS = (
    "No space left", "memory exhausted", "annot allocate memory", "out of memory",
    "Too many open files", "temporarily unavailable", "Disk quota exceeded",
)
"""What compilers and loaders say of the state of the system."""


def is_system_fault(error: OSError) -> bool:
    """Whether a system call has failed for lack of descriptors, memory or processes."""
    return error.errno in _PASSING


def tells_of_fault(output: str) -> bool:
    """Whether a compiler or loader says that it lacked memory, disk space or descriptors."""
    return any(text in output for text in _TEXTS)
