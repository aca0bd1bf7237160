"""Strides of results with axes of length 1, in functions that were called with other shapes before:
a kernel for any length must not serve these in Fortran order, as NumPy puts such axes at their
place in C order.
"""
from __future__ import annotations

from collections.abc import Iterator
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


VIEWS = ("x", "x[::2, :1]", "x[:1, ::2]", "x[:1].T", "x.T[:, :1]", "x[::-1]", "x[1:]", "x[:, None]")
CALLS = (
    "{}.astype(np.float32)", "np.array({}, dtype=np.float32)", "{}.astype(np.float64)",
    "{}.copy()", "np.full_like({}, 2.0)", "{} + 1", "np.clip({}, 0.2, 0.8)", "{} > 0.5",
)


def arrays_with_unit_axes() -> Iterator[np.ndarray]:
    for shape in ((4, 5), (1, 5), (4, 1), (1, 1)):
        x = np.random.default_rng(0).random(shape)
        yield from (x, x.T.copy().T, np.repeat(x, 2, 1)[:, ::2], np.repeat(x, 2, 0)[::2])
        yield x.T.copy().repeat(2, 0)[::2].T


@pytest.mark.share(2)
@pytest.mark.parametrize("view", VIEWS)
def test_strides_of_conversions(view: str, tmp_path: Path) -> None:
    for call in CALLS:
        source = f"import numpy as np\ndef f(x): return {call.format(view)}\n"
        f = fuse(written(tmp_path, source).f, on_reject="silent")
        for x in arrays_with_unit_axes():
            got, expected = f(x), f.__wrapped__(x)
            assert got.strides == expected.strides, (call, view, x.shape, x.strides)
            assert np.array_equal(got, expected)


def test_views_without_gaps_are_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRANSPILE_FALLBACK", "error")

    @fuse
    def f(x, X):
        return x[:, None].astype(np.float32), x[None].astype(np.float32), \
            X[1:].astype(np.float32), X.astype(np.float32), (X[:, :1] * 2).astype(np.float32)

    for X in (np.ones((3, 4)), np.ones((3, 1))):
        assert len(f(np.ones(5), X)) == 5
