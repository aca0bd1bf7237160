"""Matrix products: what BLAS makes of complex infinities."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from transpile import fuse

SPECIAL = [0.0, 1.0, -1.0, np.inf, -np.inf, np.nan]


def dot(a, b):
    return np.dot(a, b)


def vdot(a, b):
    return np.vdot(a, b)


def product(a, b):
    return a @ b


def complex_numbers(rng: np.random.Generator, shape: tuple[int, ...], share: float) -> np.ndarray:
    """Random numbers, of which a `share` of the parts are special."""
    parts = rng.normal(size=(*shape, 2))
    chosen = rng.random(parts.shape) < share
    parts[chosen] = rng.choice(SPECIAL, size=parts.shape)[chosen]
    return parts.view(np.complex128)[..., 0]


@pytest.mark.parametrize(
    ("function", "ranks"), [(dot, (1, 1)), (vdot, (1, 1)), (product, (2, 1)), (product, (2, 2))]
)
def test_products_of_complex_infinities_are_those_of_blas(
    function: Any, ranks: tuple[int, int]
) -> None:
    rng, fused = np.random.default_rng(5), fuse(function, on_reject="raise")
    for n in range(60):
        shapes = ((3, n % 9)[-ranks[0] :], (n % 9, 2)[: ranks[1]])
        a, b = (complex_numbers(rng, shape, 0.1 * (n % 3)) for shape in shapes)
        with np.errstate(all="ignore"):
            wanted, got = (np.asarray(f(a, b)) for f in (function, fused))
        assert got.dtype == wanted.dtype
        parts = [(x.real, x.imag) for x in (got, wanted)]
        np.testing.assert_allclose(*parts, rtol=1e-9, atol=1e-9)
    assert fused.stats.compiled >= 20  # those without special numbers
    assert fused.stats.replays


def reflected(a, b):
    """Householder's reflections, with outer products of slices in an update."""
    for k in range(len(b)):
        a[k:] -= 2.0 * np.outer(b[k:], b[k:] @ a[k:])
        a[:, k:] += np.outer(b, b[k:]) * 0.5 - a[:, k:] / 4
    return a


def test_outer_products_in_updates_of_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRANSPILE_FALLBACK", "error")
    fused = fuse(reflected)
    for n in (1, 2, 5):
        mine, theirs = (np.random.default_rng(n).normal(size=(n, n)) for _ in range(2))
        b = np.random.default_rng(n + 9).normal(size=n)
        np.testing.assert_allclose(fused(mine, b), reflected(theirs, b), rtol=1e-12)


def rotated(a, b):
    for _ in range(3):
        a[1:] -= 2.0 * np.linalg.pinv(b)[1:]
    return a


def test_an_update_that_is_refused_is_refused_for_its_right_side() -> None:
    (rejection,) = fuse(rotated).report(np.ones((3, 3)), np.ones((3, 3))).rejections
    assert rejection.code == "LOWER_LIBRARY"
    assert "`np.linalg.pinv` is LAPACK's to compute" in rejection.message
