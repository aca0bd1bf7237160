"""The last case of every match over nodes."""
from __future__ import annotations

from typing import NoReturn

__all__ = ["unhandled"]


def unhandled(n: NoReturn) -> NoReturn:
    """Never reached: the type checker names each match that a new node needs a case in."""
    raise AssertionError(f"unhandled: {n!r}")
