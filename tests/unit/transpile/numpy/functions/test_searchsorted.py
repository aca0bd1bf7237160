"""Binary searches: the places that the NumPy at hand finds, also in arrays that are not sorted."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from agree import assert_same, outcome

from transpile import fuse


def of_all(a: Any, v: Any) -> Any:
    return np.searchsorted(a, v), np.searchsorted(a, v, side="right")


def one_by_one(a: Any, v: Any) -> Any:
    out = []
    for k in v:
        place = np.searchsorted(a, k)
        out.append((place, np.searchsorted(a, k, side="right")))
    return out


def digitized(a: Any, v: Any) -> Any:
    return np.digitize(v, a), np.digitize(v, a, right=True)


def interpolated(a: Any, v: Any) -> Any:
    return np.interp(v, a, np.arange(float(len(a))))


@pytest.mark.parametrize("function", [of_all, one_by_one, digitized, interpolated])
def test_arrays_in_any_order(function: Any) -> None:
    """Of one NaN, of NaNs among numbers, of arrays with equal elements; keys that are NaN."""
    fused = fuse(function, target="scalar", on_reject="silent")
    rng = np.random.default_rng(0)
    for k in range(150):
        a = rng.integers(0, 9, k % 13).astype(float)
        v = rng.integers(0, 9, k % 9).astype(float)
        if k % 4 == 0:
            a[: 1 + k % 2] = np.nan
        if k % 5 == 0:
            v[:1] = np.nan
        if k % 3 == 0:
            a.sort()
        assert_same(outcome(fused, (a, v)), outcome(function, (a, v)), f"{a} {v}")
    assert fused.stats.compiled > 50


def test_reports_list_no_search_for_one_key() -> None:
    def below(a: Any, v: Any) -> Any:
        total = 0
        for k in v:
            total += np.searchsorted(a, k)
        return total

    (loop,) = fuse(below).report(np.ones(8), np.ones(3)).loops
    assert loop.what != "while"
    assert loop.notes[0] == "`np.searchsorted(a, k)` needs a loop of its own"
