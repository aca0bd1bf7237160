"""Formulas of element-wise functions: operands of two kinds, special values."""
from __future__ import annotations

import warnings
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from agree import same
from written import written

from transpile import fuse

SPECIAL = np.array([-np.inf, -2.5, 0.0, 1.0, np.inf, np.nan])
SCALARS = (0, -2, True, -0.0, 0.0, float("nan"), np.int64(0), np.float32("nan"))
ARRAYS = (SPECIAL, SPECIAL.astype(np.float32), np.arange(-2, 4), np.arange(6) % 2 == 0)


@pytest.mark.share(5)
@pytest.mark.parametrize("part", range(5))
def test_operands_of_two_kinds(part: int, tmp_path: Path) -> None:
    """The dtype of one operand decides about the other: NaN may come from either.

    Arrays have no negative zeros: which zero NumPy takes depends on the place in the array.
    """
    plain: Any = written(
        tmp_path, "import numpy as np\ndef f(a, b):\n    return np.fmax(a, b), np.fmin(a, b)\n"
    ).f
    compiled = fuse(plain, on_reject="silent")
    pairs = [*product(SCALARS, SCALARS), *product(ARRAYS, ARRAYS)]
    pairs += [p for s in (0, 1.0, True, np.float32(2)) for a in ARRAYS for p in ((s, a), (a, s))]
    for a, b in pairs[part::5]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected, value = plain(a, b), compiled(a, b)
        assert same(value, expected), (a, b, value, expected)
    assert compiled.stats.compiled > 9


def whole(x, low, high):
    return np.clip(x, low, high), np.clip(x, -1.0, high), x.clip(low, 1.0), np.clip(x, -0.0, 0.0)


def not_a_number(x, low, high):
    return np.clip(x, float("nan"), 1.0), x.clip(0.0, np.nan)


def of_numbers(x, low, high):
    out = np.zeros_like(x)
    for i in range(len(x)):
        out[i] = np.clip(x[i], np.nan, 1.0) if i % 2 else np.clip(x[i], 0.0, -0.0)
    return out


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
@pytest.mark.parametrize("f", [whole, not_a_number, of_numbers])
def test_zeros_and_nans_are_clipped_as_numpy_does(f: Any, dtype: type) -> None:
    values = [0.0, -0.0, 1.0, -1.0, np.nan]
    x, low, high = np.array([*product(values, values, values)], dtype).T.copy()
    compiled = fuse(f, on_reject="raise")
    assert same(compiled(x, low, high), f(x, low, high))
    assert compiled.stats.compiled
    assert not compiled.stats.replays


@pytest.mark.parametrize("decimals", [22, -22, 23, 37, -37, 330, 400])
def test_round_to_very_many_decimals(decimals: int, tmp_path: Path) -> None:
    """NumPy multiplies 10 with itself; from 10 ** 23 on that is not the nearest float64, and beyond
    10 ** 308 it is infinite.
    """
    rounded = f"np.round(x, {decimals}), np.round(x[1], {decimals})"
    text = f"import numpy as np\ndef f(x):\n    return {rounded}\n"
    plain: Any = written(tmp_path, text).f
    compiled = fuse(plain, on_reject="silent")
    x = np.array([1.5, -2.25, 1e30, 123.456, np.nan])
    with np.errstate(all="ignore"):
        assert same(compiled(x), plain(x))
    assert compiled.stats.compiled == (abs(decimals) <= 22)
    assert "bug of transpile" not in str(compiled.report())


@pytest.mark.parametrize("coefficients", [[-0.0], [0.0], [1.5, 0.0], [1.5, -0.0, 2.0]])
def test_zeros_among_the_coefficients_of_a_polynomial(
    coefficients: list[float], tmp_path: Path
) -> None:
    """NumPy adds the int 0 to a coefficient -0.0, or not, by the type of `x`: that stays Python."""
    text = f"import numpy as np\ndef f(x):\n    return np.polyval({coefficients}, x)\n"
    plain: Any = written(tmp_path, text).f
    compiled = fuse(plain, on_reject="silent")
    for x in (np.array([-1, 2]), np.array([-1.5, -0.0, 2.0])):
        assert same(compiled(x), plain(x))
    assert compiled.stats.compiled == (0 if "-0.0" in str(coefficients) else 2)
