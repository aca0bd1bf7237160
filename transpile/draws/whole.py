"""Whole numbers that are given where something is drawn."""
from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["whole"]


def whole(number: Any) -> int:
    """A Python int of one of Python's or NumPy's."""
    if not isinstance(number, (int, np.integer)):
        raise TypeError("no integer")
    return int(number)
