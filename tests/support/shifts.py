"""A function that reads a global of its module, for tests that inline it into another module."""
from __future__ import annotations

from typing import Any

__all__ = ["SHIFT", "shifted"]

SHIFT: Any = 10.0


def shifted(v: Any) -> Any:
    """`v` and ``SHIFT``."""
    return v + SHIFT
