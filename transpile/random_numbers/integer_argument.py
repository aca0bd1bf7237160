"""Integer arguments of draws: Python's or NumPy's ints as a Python int, anything else raises."""
from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["integer_argument"]


def integer_argument(number: Any) -> int:
    """`number`, a Python or NumPy int, as a Python int. Raises TypeError for anything else."""
    if not isinstance(number, (int, np.integer)):
        raise TypeError("no integer")
    return int(number)
