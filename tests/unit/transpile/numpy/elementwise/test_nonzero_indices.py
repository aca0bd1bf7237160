"""``np.nonzero`` and its kin wherever they stand: compiled, and with NumPy's strides."""
from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from agree import assert_same, outcome
from written import written

from transpile import fuse

COMPILED = [
    "return np.nonzero(X > 3)",
    "return np.where(X > 3)",
    "return (X > 3).nonzero()",
    "return np.nonzero(X)[1], np.nonzero(X)[-1]",
    "return np.flatnonzero(X > 3), np.flatnonzero(X.T)",
    "return len(np.argwhere(X > 3)), np.argwhere(X > 3).sum(axis=0)",
    "s = 0\nfor i, j in np.argwhere(X > 3):\n    s += i * j\nreturn s",
    "for i, j in zip(*np.nonzero(X > 3)):\n    X[i, j] = 1\nreturn X",
    "t = np.nonzero(X > -1)\nreturn X[t], t[0]",
    "return X[np.nonzero(X > 3)], X[np.where(X[:, 0] > 1)]",
    "X[np.where(X > 3)] += 1\nreturn X",
    "X[(X > 3).nonzero()] = 0\nreturn X",
    "X[np.where(X > 3)] = X[np.where(X > 3)] * 2\nreturn X",
    "x[np.where(x > 2)] += 1\nreturn x",
    "x[np.flatnonzero(x > 2)] *= 2\nreturn x",
    "return x[np.where(x[1:] > 2)]",
]


def arrays(shape: tuple[int, int], order: Any) -> tuple[np.ndarray, np.ndarray]:
    matrix = np.arange(float(shape[0] * shape[1])).reshape(shape) % 7
    return matrix.copy(order=order), np.arange(9.0) % 5


@pytest.mark.parametrize("body", COMPILED)
def test_compiled_wherever_it_stands(
    body: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRANSPILE_FALLBACK", "error")
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    f = written(tmp_path, f"import numpy as np\ndef f(X, x):\n{lines}").f
    compiled = fuse(f)
    for shape in ((3, 4), (5, 1), (1, 4)):
        for order in ("C", "F"):
            wanted = outcome(f, arrays(shape, order))
            assert_same(outcome(compiled, arrays(shape, order)), wanted, f"{body} {shape} {order}")
    assert compiled.stats.compiled


def test_a_mask_of_another_shape_is_numpys() -> None:
    def smaller(X, x):
        X[np.where(X[:2] > 1)] = 9.0
        return X

    fused = fuse(smaller)
    wanted = outcome(smaller, arrays((3, 4), "C"))
    assert_same(outcome(fused, arrays((3, 4), "C")), wanted, "smaller")


def test_what_is_told_of_a_returned_argwhere() -> None:
    def places(X):
        return np.argwhere(X > 1)

    rejection, *_ = fuse(places).report(np.ones((3, 4))).rejections
    assert rejection.message == (
        "`np.argwhere(X > 1)` has columns of a length that is not known before"
    )
    assert "np.nonzero(X > 1)" in (rejection.help or "")
