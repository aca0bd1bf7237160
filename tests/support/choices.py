"""Random choices read from a string of bytes (the tape): all options are about equally likely, and
a byte of zero selects the first.
"""
from __future__ import annotations

from typing import TypeVar

__all__ = ["Choices"]

T = TypeVar("T")


class Choices:
    """Hypothesis draws the tape as a whole.

    So it tries new programs all the time, and not variations of one; and shrinks towards zeros.
    """

    def __init__(self, tape: bytes) -> None:
        self._rest = iter(tape)

    def upto(self, n: int) -> int:
        """From 0 to below `n`, which is at most 65536; 0 behind the end of the tape."""
        byte = next(self._rest, 0)
        return (byte if n <= 256 else byte << 8 | next(self._rest, 0)) % n

    def one_of(self, *options: T) -> T:
        return options[self.upto(len(options))]

    def chance(self, n: int) -> bool:
        """True once in `n`."""
        return self.upto(n) == n - 1
