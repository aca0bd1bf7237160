"""Probe of NumPy's complex products and squares: whether they have fused multiply-adds."""
from __future__ import annotations

from functools import cache

import numpy as np

__all__ = ["numpy_fuses_complex_products", "numpy_squares_by_products"]


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


_ROUNDED = np.array([1 + 2**-30 + 1j])
"""A complex number whose square has another real part if a fused multiply-add computes it."""
