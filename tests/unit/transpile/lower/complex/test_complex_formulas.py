"""Powers of complex numbers: NumPy's bits for arrays and scalars, Python's for its own numbers."""

from __future__ import annotations

import itertools
import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from agree import assert_same, outcome

from transpile import fuse

PARTS = (0.0, -0.0, 1.0, -2.0, 0.5, np.inf, -np.inf, np.nan)
SPECIAL = [complex(a, b) for a in PARTS for b in PARTS]


def whole(z: Any, w: Any, x: Any, k: Any) -> Any:
    return (
        np.power(z, 2), np.power(z, 3), np.power(z, -3), np.power(z, 0.5), np.power(z, w),
        z ** 0.5, z ** -1, z ** 0, z ** 1.0, z ** 2.0, z ** 4, z ** 2.5, z ** (1 + 2j), w ** x,
        x ** w, 2 ** w, k ** w, z ** k,
    )


def each(z: Any, w: Any, x: Any, k: Any) -> Any:
    out = np.zeros((10, len(z)), z.dtype)
    for i in range(len(z)):
        out[0, i] = z[i] ** w[i]
        out[1, i] = z[i] ** x[i]
        out[2, i] = x[i] ** z[i]
        out[3, i] = z[i] ** int(k[i])
        out[4, i] = z[i] ** -1
        out[5, i] = z[i] ** 0.5
        out[6, i] = np.power(z[i], -2)
        out[7, i] = np.power(z[i], 2)
        out[8, i] = z[i] ** 7
        out[9, i] = 1.5 ** z[i]
    return out


def operands(dtype: str, special: bool) -> tuple[Any, ...]:
    """Random numbers, or all pairs of numbers with awkward parts."""
    rng = np.random.default_rng(5)
    real = dtype.replace("c8", "f4").replace("c16", "f8")
    if special:
        pairs = [*itertools.product(SPECIAL, SPECIAL)]
        z, w = (np.array(column, dtype) for column in zip(*pairs, strict=True))
        return z, w, w.real.astype(real), rng.integers(-101, 102, len(z))
    z, w = ((rng.normal(size=67) + 1j * rng.normal(size=67)).astype(dtype) for _ in range(2))
    return z, w, rng.normal(size=67).astype(real), rng.integers(-101, 102, 67)


def same_bits(a: Any, b: Any) -> bool:
    """The same bits, NaNs of any kind alike."""
    both = [np.ascontiguousarray(v).view(v.real.dtype) for v in (a, b)]
    bits = [v.view(f"i{v.itemsize}") for v in both]
    return bool(((bits[0] == bits[1]) | (np.isnan(both[0]) & np.isnan(both[1]))).all())


@pytest.mark.parametrize("dtype", ["c8", "c16"])
@pytest.mark.parametrize("function", [whole, each])
def test_numpys_bits(
    function: Callable[..., Any], dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRANSPILE_FALLBACK", "error")
    fused = fuse(function)
    for special in (False, True):
        args = operands(dtype, special)
        with np.errstate(all="ignore"):
            for k, (got, want) in enumerate(zip(fused(*args), function(*args), strict=True)):
                assert got.dtype == want.dtype
                assert same_bits(got, want), (k, special)
    assert fused.stats.compiled == 2


def test_warnings_are_numpys() -> None:
    def f(z: Any, w: Any) -> Any:
        return z ** w, z ** -1

    fused = fuse(f, on_reject="silent")
    for z, w in itertools.product(SPECIAL[::3], SPECIAL[::5]):
        told = []
        for function in (fused, f):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                function(np.array([z]), np.array([w]))
            told.append(sorted(str(w.message) for w in caught))
        assert told[0] == told[1], (z, w)
    assert fused.stats.compiled


@pytest.mark.skipif(sys.version_info >= (3, 14), reason="newer rules are not compiled")
def test_pythons_powers(monkeypatch: pytest.MonkeyPatch) -> None:
    def f(a: float, b: float) -> Any:
        z = complex(a, b)
        return (
            z ** 0, z ** 1, z ** 2, z ** 3, z ** 100, z ** 2.0, z ** 1.5, z ** 0.5,
            np.power(z, 2), np.power(z, 0.5),
        )

    def g(a: float, b: float) -> Any:
        z = complex(a, b)
        return z ** -1, z ** -7, z ** -0.5

    for function in (f, g):
        fused = fuse(function, on_reject="silent")
        for a, b in ((1.5, -0.5), (-0.25, 3.0), (0.0, 2.0), (1e-3, -0.0)):
            assert_same(outcome(fused, (a, b)), outcome(function, (a, b)), f"{a} {b}", ulps=4)
        assert fused.stats.compiled == 4, fused.report()
        for a, b in ((1e200, 1e200), (0.0, 0.0), (np.inf, 1.0), (np.nan, 0.0), (-0.0, 0.0),
                     (0.0, 1e-200), (1e-110, 0.0), (1e-170, -1e-170), (1e-40, 1e-50)):
            assert_same(outcome(fused, (a, b)), outcome(function, (a, b)), f"{a} {b}", ulps=4)


def test_a_power_that_is_only_known_at_run_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """``z ** p`` of an array is a square root or a reciprocal for some p: NumPy decides."""
    monkeypatch.delenv("TRANSPILE_FALLBACK", raising=False)

    def f(z: Any, p: Any) -> Any:
        return z ** p

    fused = fuse(f, on_reject="silent")
    z = np.array([0j, 1 + 2j, -3j])
    for p in (2, -1, 0.5, 3, 1.5, 1j, z, np.arange(3.0)):
        assert_same(outcome(fused, (z, p)), outcome(f, (z, p)), str(p))


def whole_powers(z, w):
    squares = z ** 2, np.square(z), (z + 1) ** 2 - w ** 2
    return *squares, np.reciprocal(z), z ** -0.5, z ** w, w ** 0.5


def in_place(z, w):
    z **= 2
    w **= 0.5
    z[1:] **= -1
    np.multiply(z, w, out=w)
    z *= 2 - 1j


@pytest.mark.parametrize("dtype", [np.complex128, np.complex64])
@pytest.mark.parametrize("function", [whole_powers, in_place], ids=lambda f: f.__name__)
def test_powers_of_whole_arrays_have_numpys_bits(
    function: Any, dtype: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A square is a product of NumPy's loop, which its square of a scalar is not."""
    rng, fused = np.random.default_rng(4), fuse(function)
    for n in (3, 50, 1):
        if n > 1 or function is whole_powers:  # else the result overlaps the operand, for NumPy
            monkeypatch.setenv("TRANSPILE_FALLBACK", "error")
        else:
            monkeypatch.delenv("TRANSPILE_FALLBACK")
        given = (rng.normal(size=(2, n)) + 1j * rng.normal(size=(2, n))).astype(dtype)
        ours, theirs = given.copy(), given.copy()
        results = zip(fused(*ours) or [], function(*theirs) or [], strict=True)
        for got, wanted in [(ours, theirs), *results]:
            assert (got.dtype, got.tobytes()) == (wanted.dtype, wanted.tobytes())


def masked(z, w):
    z[w.real > 0.5] **= 2
    z[w.imag > 0.5] *= w[w.imag > 0.5]


def test_one_element_in_place_has_numpys_bits() -> None:
    """NumPy takes operand and result for overlapping, and rounds otherwise."""
    rng = np.random.default_rng(5)
    for function in (in_place, masked):
        fused = fuse(function, on_reject="silent")
        for _ in range(40):
            given = rng.normal(size=(2, 1)) + 1j * rng.normal(size=(2, 1))
            ours, theirs = given.copy(), given.copy()
            fused(*ours)
            function(*theirs)
            assert ours.tobytes() == theirs.tobytes()


def test_squares_in_place_are_compiled() -> None:
    def squared(x):
        x **= 2
        x[1:] **= 2.0
        return x

    fused, x = fuse(squared, on_reject="raise"), np.arange(9.0)
    assert np.array_equal(fused(x.copy()), squared(x.copy()))
