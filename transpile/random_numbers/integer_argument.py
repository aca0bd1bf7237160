"""Integer arguments of draws: Python's or NumPy's ints as a Python int, anything else raises."""
from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["integer_argument"]


def integer_argument(number: Any) -> int:
    """A Python int of one of Python's or NumPy's."""
    if not isinstance(number, (int, np.integer)):
        raise TypeError("no integer")
    return int(number)
