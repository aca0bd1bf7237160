"""Probes of NumPy's arithmetic, which differs between versions: fused multiply-adds, powers."""
from __future__ import annotations

from functools import cache

import numpy as np

__all__ = [
    "numpy_fuses_complex_products", "numpy_replaces_float_powers", "numpy_squares_by_products",
]


@cache
def numpy_fuses_complex_products() -> bool:
    """Whether NumPy computes ``a.re * b.re - a.im * b.im`` with a fused multiply-add: two
    roundings, not three.
    """
    return bool((_ROUNDED * _ROUNDED).real[0] == 2**-29 + 2**-60)


@cache
def numpy_squares_by_products() -> bool:
    """Whether ``np.square(z)`` of a complex array has the bits of ``z * z``."""
    return bool((np.square(_ROUNDED) == _ROUNDED * _ROUNDED).all())


@cache
def numpy_replaces_float_powers() -> bool:
    """Whether ``x ** 2.0`` of an array is ``np.square(x)``, and ``x ** -1.0`` a reciprocal, as
    before NumPy 2.3. From then on only powers by ints are. It is found by the warning of an
    overflow, which names the ufunc.
    """
    log = _Log()
    with np.errstate(over="log", call=log):
        np.array([1e308]) ** 2.0
    return "square" in log.text


class _Log:
    """Receives the warnings of ``np.errstate(…="log")``."""

    text = ""

    def write(self, text: str) -> None:
        """Note a warning."""
        self.text += text


_ROUNDED = np.array([1 + 2**-30 + 1j])
"""A complex number whose square has another real part if a fused multiply-add computes it."""
