"""``reassociate=False``: sums, products and means to the last bit, whoever computes them."""
from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from agree import outcome
from written import written

from targets.isa.target_registry import runnable_targets
from transpile import fuse

FOLDS = """
    np.sum(x)
    x.sum()
    np.add.reduce(x)
    np.mean(x)
    np.var(x)
    x.std(ddof=1)
    np.prod(x)
    np.nansum(x)
    np.nanmean(x)
    np.nanstd(x)
    np.average(x, weights=y)
    np.dot(x, y)
    x @ y
    np.inner(x, y)
    np.vdot(x, y)
    np.einsum('i,i->', x, y)
    np.linalg.norm(x)
    np.linalg.norm(x, 1)
    np.convolve(x, y[:9], 'same')
    np.correlate(x, y[:9])
    np.trapezoid(x)
    np.sum(x * y - x)
    x - np.mean(x)
    np.sum(A)
    A.sum(axis=0)
    A.mean(axis=1, keepdims=True)
    A - A.mean(axis=0)
    A.std(axis=1)
    A @ x[:40]
    x[:25] @ A
    np.dot(A, A.T)
    np.trace(A)
    np.einsum('ij,ij->i', A, A)
    np.sum(A[:, 3])
    np.cumsum(x)
    np.cov(x, y)
    sum(v for v in x)
    sum(x)
    sum([v * w for v, w in zip(x, y)])
    sum(float(v) for v in x)
    sum(x[1:] - x[:-1])
    [row.sum() for row in A]
    [np.dot(A[i], A[j]) for i in range(3) for j in range(3)]
"""


@pytest.mark.share(2)
@pytest.mark.parametrize("fold", [line.strip() for line in FOLDS.strip().splitlines()])
def test_to_the_last_bit(fold: str, tmp_path: Path) -> None:
    plain = written(tmp_path, f"import numpy as np\ndef f(x, y, A):\n    return {fold}\n").f
    fused = fuse(plain, on_reject="silent", reassociate=False)
    rng = np.random.default_rng(7)
    for dtype in (np.float64, np.float32, np.complex128):
        x, y, A = (rng.standard_normal(n) * 1e3 for n in (1000, 1000, (25, 40)))
        args = x.astype(dtype), y.astype(dtype), A.astype(dtype)
        wanted, got = outcome(plain, args), outcome(fused, args)
        assert repr(got.error) == repr(wanted.error)
        assert type(got.value) is type(wanted.value)
        same = np.array(got.value), np.array(wanted.value)
        assert same[0].tobytes() == same[1].tobytes(), dtype


def counted(x: Any, y: Any) -> Any:
    return np.sum(x), np.dot(x, y), x.max() + np.cumsum(y)[-1], sum(v for v in x)


def test_what_is_exact_is_compiled() -> None:
    x, y = np.arange(40), np.arange(40) * 3
    for options in ({}, {"reassociate": False}):
        fused = fuse(counted, on_reject="silent", **options)
        assert fused(x, y) == counted(x, y)
        assert fused.stats.compiled == 1


def carried(x: Any) -> Any:
    total = 0.0
    for v in x:
        total += v
    return total, np.maximum.accumulate(x), np.max(x), np.any(x > 0.5)


def test_what_keeps_its_order_is_compiled() -> None:
    x = np.random.default_rng(3).random(100)
    fused = fuse(carried, on_reject="raise", reassociate=False)
    for got, wanted in zip(fused(x), carried(x), strict=True):
        assert np.array(got).tobytes() == np.array(wanted).tobytes()


def test_where_the_order_is_free_all_is_compiled() -> None:
    x = np.linspace(0.0, 1.0, 100)
    fused = fuse(counted, on_reject="raise")
    np.testing.assert_allclose(fused(x, x), counted(x, x), rtol=1e-14)


# -- folds of at most 32 terms keep Python's order, with reassociation, too


def total(x: Any) -> Any:
    s = 0.0
    for v in x:
        s += v
    return s


def several(x: Any) -> Any:
    s, p, n, top = x[0] * 0.1, 1.5, 0, x[0]
    for i in range(1, len(x)):
        s += x[i] * x[i - 1]
        p *= x[i] + 0.3
        n += i
        top = max(top, x[i])
    return s / (n + 1), p, n, top


def running(x: Any) -> Any:
    out = np.empty_like(x)
    s = x.dtype.type(0.25)
    for i in range(len(x)):
        s = s + x[i] if x[i] < 0.9 else s - x[i]
        out[i] = s
    return s, out


def known(x: Any) -> Any:
    s = 0.0
    for i in range(0, 20, 2):
        s += x[i % len(x)]
    return s


def in_turns(x: Any) -> Any:
    """After a loop that is no fold, and in a branch."""
    y = np.sqrt(x)
    s = 0.0
    if len(x) > 2:
        for i in range(2, len(x)):
            s -= y[i]
    return s


def test_a_mask_keeps_the_order() -> None:
    def selected(x: Any, mask: Any) -> float:
        s = 0.0
        for i in range(len(x)):
            if mask[i]:
                s += x[i]
        return s

    fused, rng = fuse(selected, on_reject="raise"), np.random.default_rng(3)
    for n in range(33):
        x, mask = rng.random(n), rng.random(n) < 0.7
        assert fused(x, mask) == selected(x, mask)
    assert fused.stats.compiled == 33


@pytest.mark.share(6, each="target")
@pytest.mark.parametrize("dtype", [np.float64, np.float32, list])
@pytest.mark.parametrize("function", [total, several, running, known, in_turns])
@pytest.mark.parametrize("target", [t.name for t in runnable_targets()])
def test_short_folds_have_pythons_bits(function: Any, dtype: Any, target: str) -> None:
    if dtype is list and function in (running, in_turns):
        pytest.skip("takes arrays")
    fused = fuse(function, target=target, on_reject="raise")
    rng = np.random.default_rng(5)
    lengths = range(1, 33)
    for n in lengths:
        x = rng.random(n).astype(np.float64 if dtype is list else dtype)
        given: Any = x.tolist() if dtype is list else x
        assert str(outcome(fused, (given,))) == str(outcome(function, (given,))), n
    assert fused.stats.compiled == len(lengths)


def test_a_doctest_prints_pythons_digits() -> None:
    def harmonic_mean(xs: Any) -> float:
        s = 0.0
        for x in xs:
            s += 1 / x
        return len(xs) / s

    fused = fuse(harmonic_mean, on_reject="raise")
    assert repr(fused([2.5, 4.5, 10.0, 12.25])) == repr(harmonic_mean([2.5, 4.5, 10.0, 12.25]))
    assert fused.stats.compiled == 1
