"""Vandermonde matrices: powers of complex zeros and infinities."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from transpile import fuse


def powers(z: Any) -> Any:
    return np.vander(z, 3)


@pytest.mark.parametrize("dtype", ["c16", "c8", "f8"])
def test_powers_have_the_zeros_and_nans_of_numpy(dtype: str) -> None:
    compiled = fuse(powers, target="scalar", on_reject="raise")
    z = np.array([1 + 2j, complex(-0.0, -0.0), 3 - 1j, complex(np.inf, 1), complex(-np.inf, -0.0)])
    z = z.astype(dtype) if dtype[0] == "c" else z.real.copy()
    with np.errstate(all="ignore"):
        got, wanted = compiled(z), powers(z)
    assert got.dtype == wanted.dtype
    assert repr(got.tolist()) == repr(wanted.tolist())
    assert compiled.stats.compiled == 1
