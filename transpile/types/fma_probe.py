"""Probe of NumPy's complex products: whether they are contracted to fused multiply-adds."""
from __future__ import annotations

from functools import cache

import numpy as np

__all__ = ["numpy_fuses_complex_products"]


@cache
def numpy_fuses_complex_products() -> bool:
    """Whether NumPy computes ``a.re * b.re - a.im * b.im`` with a fused multiply-add: two
    roundings, not three.
    """
    z = np.array([1 + 2**-30 + 1j])
    exact = 2**-29 + 2**-60
    return bool((z * z).real[0] == exact)
