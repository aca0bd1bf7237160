"""Exceptions of building: no C compiler, or a compilation or loading that failed."""
from __future__ import annotations

__all__ = ["BuildError", "NoCompiler"]


class NoCompiler(Exception):
    """There is no C compiler on this machine, or the one that ``$CC`` names does not exist.

    ``help``: what the user can do about it.
    """

    def __init__(self, message: str, help: str) -> None:
        super().__init__(message)
        self.help = help


class BuildError(Exception):
    """The C compiler or the loader failed: the message has the first lines, ``output`` all of it.
    """

    def __init__(self, message: str, output: str = "") -> None:
        super().__init__(message)
        self.output = output
