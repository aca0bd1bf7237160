"""What a library computes, and does well: it stays a call of NumPy."""
from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["METHODS", "library"]

_MODULES = {"numpy.linalg": "LAPACK", "numpy.fft": "pocketfft"}
_SORTS: tuple[Any, ...] = (
    np.argpartition, np.argsort, np.lexsort, np.partition, np.searchsorted, np.sort, np.unique,
)
METHODS = ("argpartition", "argsort", "partition", "searchsorted", "sort")
"""Methods of arrays that sort, or ask what is sorted."""


def library(function: object) -> str | None:
    """Who computes `function`; None where it is no library's."""
    if any(function is f for f in _SORTS):
        return "NumPy"
    return _MODULES.get(getattr(function, "__module__", None) or "")
