"""A complex number while lowering: two floats."""
from __future__ import annotations

from loopir.record import record

from .infer import Num
from .types import COMPLEX

__all__ = ["Pair"]


@record(frozen=True, slots=True)
class Pair:
    """A complex number while lowering: its parts, of one type.

    Where ``im`` may be a Python int, which is 0, the number may be the real number ``re``.
    ``simple``: where it is Python's, it is 0 or 1, whatever its type. ``doubtful``: it is Python's
    complex or real number, and nothing tells which.
    """

    re: Num
    im: Num
    simple: bool = False
    doubtful: bool = False

    @property
    def strong(self) -> str | None:
        return COMPLEX[self.im.strong] if self.im.strong else None

    @property
    def weak(self) -> str | None:
        if self.im.weak == "i64":
            return self.re.weak
        return "c128" if self.im.weak else None

    @property
    def mixed(self) -> bool:
        """Whether it may be a real number."""
        return self.im.weak == "i64" or self.doubtful
