"""Strides of results with axes of length 1, in functions that were called with other shapes before:
a kernel for any length must not serve these in Fortran order, as NumPy puts such axes at their
place in C order.
"""
from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from written import written

from transpile import fuse

EXPRESSIONS = [
    "X.T + 1", "-X.T > 1", "np.exp(X.T) * X.T", "np.where(X.T > 1, X.T, 0)", "lut[k.T]", "k.T + 0",
    "np.copy(X.T)", "X.T.astype(np.int64)", "np.roll(X.T, 1, 0)", "np.maximum(X.T, 0)",
    "X.T.cumsum(axis=0)", "np.maximum.accumulate(X.T, axis=1)", "X.T.sum(axis=1, keepdims=True)",
    "np.mean(X.T, axis=0, keepdims=True)", "X[:, :1].T + 1", "X + X", "lut[k]",
]

SHAPES = [(3, 4), (1, 2), (2, 1), (1, 1), (3, 1), (1, 3), (3, 4)]


@pytest.mark.parametrize("part", range(3))
def test_strides_are_numpys(part: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRANSPILE_SELECT", "compiled")
    for number, e in enumerate(EXPRESSIONS[part::3]):
        folder = tmp_path / str(number)
        folder.mkdir()
        text = f"import numpy as np\ndef f(X, k, lut):\n    return {e}\n"
        f = written(folder, text).f
        compiled = fuse(f, on_reject="silent")
        for order in ("C", "F"):
            for shape in SHAPES:
                x = np.arange(float(shape[0] * shape[1])).reshape(shape).copy(order=order)
                arguments = x, x.astype(np.int64), np.arange(12.0)
                found, wanted = compiled(*arguments), f(*arguments)
                assert found.strides == wanted.strides, (e, order, shape)
                np.testing.assert_allclose(found, wanted, rtol=1e-14)
        assert compiled.stats.compiled, e
