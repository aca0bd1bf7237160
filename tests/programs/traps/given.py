"""Arguments of traps: short names for arrays with something at the edges in them."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["case", "floats", "ints", "of", "special"]

EDGES = (0.0, -0.0, np.inf, -np.inf, np.nan, 5e-324, 1.5, -2.5, 2.5, 1e308, -1.0, 0.5)


def case(*makes: Any) -> Callable[[], tuple[Any, ...]]:
    """Arguments made anew for each call: what is callable is called."""
    return lambda: tuple(m() if callable(m) else m for m in makes)


def of(*values: Any, dtype: Any = None) -> Callable[[], np.ndarray]:
    """An array of these."""
    return lambda: np.array(values, dtype)


def floats(n: int, dtype: Any = np.float64) -> Callable[[], np.ndarray]:
    """Small numbers of which sums and products are exact."""
    return lambda: (np.arange(n) * 7 % 11 - 4).astype(dtype) / dtype(2)


def ints(n: int, dtype: Any = np.int64) -> Callable[[], np.ndarray]:
    """Small numbers, negative ones where there are such."""
    return lambda: (np.arange(n) * 5 % 9 - (4 if np.dtype(dtype).kind == "i" else 0)).astype(dtype)


def special(dtype: Any = np.float64) -> Callable[[], np.ndarray]:
    """All kinds of floats."""

    def make() -> np.ndarray:
        with np.errstate(all="ignore"):
            return np.array(EDGES).astype(dtype)

    return make
