"""Minima and maxima where NumPy takes -0.0 for less than 0.0, as on AArch64."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from targets.isa.target_registry import TARGETS
from transpile import fuse
from transpile.ahead.built_calls import OwnCode
from transpile.ahead.kernel_units import kernel_unit
from transpile.options import Options
from transpile.types import numpy_probes
from transpile.types.typeof import type_of
from transpile.types.value_types import WrappedFunction


def extremum(greatest: bool, a: Any, b: Any) -> Any:
    """NumPy's maximum or minimum, but of two zeros the one that is greater or less by its sign."""
    better = np.maximum(a, b) if greatest else np.minimum(a, b)
    return np.where(a == b, np.where(np.signbit(a) == greatest, b, a), better)


def running(greatest: bool, x: np.ndarray) -> np.ndarray:
    found = x.copy()
    for i in range(1, len(x)):
        found[i] = extremum(greatest, found[i - 1], x[i])
    return found


def elementwise(x, y):
    return np.maximum(x, y), np.minimum(x, y)


def without_nan(x, y):
    return np.fmax(x, y), np.fmin(x, y)


def between_arrays(x, y):
    return np.clip(x, y, 2.0), np.clip(x, -1.0, y)


def with_constants(x, y):
    return np.maximum(0.0, x), np.minimum(x, 0.0), np.minimum(-0.0, x), np.maximum(x, -0.0)


def accumulated(x, y):
    return np.maximum.accumulate(x), np.minimum.accumulate(x)


def reduced(x, y):
    return np.max(x), y.min()


def folded(x, y):
    m = x[0]
    k = y[0]
    for i in range(1, len(x)):
        m = np.maximum(m, x[i])
        k = np.minimum(y[i], k)
    return m, k


def stored(x, y):
    out = np.empty_like(x)
    m = x[0]
    for i in range(len(x)):
        m = np.maximum(m, x[i])
        out[i] = m
    return out


def by_constants(x: np.ndarray, y: np.ndarray) -> tuple[Any, ...]:
    zero = np.zeros_like(x)
    return (
        extremum(True, zero, x), extremum(False, x, zero), extremum(False, -zero, x),
        extremum(True, x, -zero),
    )


EXPECTED: dict[Callable[..., Any], Callable[..., Any]] = {
    elementwise: lambda x, y: (extremum(True, x, y), extremum(False, x, y)),
    without_nan: lambda x, y: (
        np.where(np.isnan(x), y, np.where(np.isnan(y), x, extremum(True, x, y))),
        np.where(np.isnan(x), y, np.where(np.isnan(y), x, extremum(False, x, y))),
    ),
    between_arrays: lambda x, y: (  # a bound that is equal takes the place of the number
        np.where(np.isnan(x), x, np.where(x > y, x, y)),
        np.where(np.isnan(x), x, np.where(x < y, np.where(x > -1, x, y.dtype.type(-1)), y)),
    ),
    with_constants: by_constants,
    accumulated: lambda x, y: (running(True, x), running(False, x)),
    reduced: lambda x, y: (running(True, x)[-1], running(False, y)[-1]),
    folded: lambda x, y: (running(True, x)[-1], running(False, y)[-1]),
    stored: lambda x, y: running(True, x),
}
SIZES = (1, 2, 7, 8, 17, 65, 321, 1000)


def bits(result: Any) -> list[tuple[str, bytes]]:
    """The dtypes and bytes, those of NaN made equal."""
    arrays = [np.asarray(a) for a in (result if isinstance(result, tuple) else (result,))]
    return [(str(a.dtype), np.where(np.isnan(a), a.dtype.type("nan"), a).tobytes()) for a in arrays]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("function", EXPECTED)
def test_zeros_are_ordered(
    function: Callable[..., Any], dtype: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(numpy_probes, "numpy_orders_zeros", lambda: True)
    fused = fuse(function, cache=False, on_reject="raise")
    for n in SIZES:
        for seed in range(6):
            rng = np.random.default_rng(seed)
            numbers = [0.0, -0.0, 0.0, -0.0, 1.0, -1.0, np.nan][: 4 + seed % 4]
            x, y = (rng.choice(numbers, n).astype(dtype) for _ in range(2))
            assert bits(fused(x, y)) == bits(EXPECTED[function](x, y)), (n, seed)
    assert "lanes" in str(fused.report())


def test_as_this_numpy_does() -> None:
    """Elementwise, where this NumPy's own zeros are asked for."""
    fused = fuse(elementwise, cache=False, on_reject="raise")
    for seed in range(6):
        rng = np.random.default_rng(seed)
        x, y = (rng.choice([0.0, -0.0, 2.0], 321) for _ in range(2))
        assert bits(fused(x, y)) == bits(elementwise(x, y))


@pytest.mark.parametrize(("target", "expected"), [("neon", True), ("avx2", False)])
def test_a_build_for_another_machine_knows_its_numpy(target: str, expected: bool) -> None:
    x = np.ones(3)
    own = OwnCode(lambda path: None, WrappedFunction)
    types = type_of(x), type_of(x)
    unit = kernel_unit(elementwise, types, Options(), (TARGETS[target],), own)
    assert unit.probes == {"numpy_orders_zeros": expected}
    assert ("ieee_maximum" in unit.texts[target]) is expected
