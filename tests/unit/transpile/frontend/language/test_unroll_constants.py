"""Loops over constants, and sums over them: whole arrays are added up, also in a time loop that
carries the array on, and where a test leaves constants out.
"""
from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from transpile import fuse


@pytest.fixture(autouse=True)
def _quiet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRANSPILE_CACHE", str(tmp_path))
    monkeypatch.setenv("TRANSPILE_FALLBACK", "error")


def sum_in_time_loop(g: Any, n: Any) -> Any:
    for _ in range(n):
        nb = sum(np.roll(g, i, 0) for i in (-1, 1))
        g = ((nb == 3) | ((g == 1) & (nb == 2))).astype(g.dtype)
    return g


def loop_in_time_loop(g: Any, n: Any) -> Any:
    for _ in range(n):
        nb = 0
        for i in (-1, 1):
            nb = nb + np.roll(g, i, 0)
        g = (nb > 1).astype(g.dtype)
    return g


def sum_with_condition(g: Any, n: Any) -> Any:
    return sum(np.roll(g, i, 0) for i in (-1, 0, 1) if i)


def sums_with_condition(g: Any, n: Any) -> Any:
    for _ in range(n):
        nb = sum(np.roll(g, (i, j), (0, 1)) for i in (-1, 0) for j in (0, 1) if i or j)
        g = (nb > 1).astype(g.dtype)
    return g


def loops_with_condition(g: Any, n: Any) -> Any:
    for _ in range(n):
        nb = 0
        for i in (-1, 0):
            for j in (0, 1):
                if (i, j) != (0, 0):
                    nb = nb + np.roll(np.roll(g, i, 0), j, 1)
        g = (nb > 1).astype(g.dtype)
    return g


def sum_of_pairs(g: Any, n: Any) -> Any:
    for _ in range(n):
        g = sum(g * a if a else g + b for a, b in ((0, 1), (2, 0)))
    return g


def rebound(g: Any, n: Any) -> Any:
    s = g
    for i in (0, 2):
        i = i - 2
        s = s + g * i if i else s - g
    return s


def sum_over_range(g: Any, n: Any) -> Any:
    for _ in range(n):
        nb = sum(np.roll(g, i, 0) for i in range(-1, 2) if i)
        g = (nb > 1).astype(g.dtype)
    return g


def sum_over_ranges(g: Any, n: Any) -> Any:
    return sum(
        np.roll(np.roll(g, i, 0), j, 1) for i in range(-1, 2) for j in range(1, -2, -1) if i or j
    ) - g


def sum_of_list(g: Any, n: Any) -> Any:
    return sum([np.roll(g, i, 0) for i in range(3)])


def sum_of_slices(g: Any, n: Any) -> Any:
    return sum(g[1 + i : 3 + i, 1 + j : 3 + j] for i in range(-1, 2) for j in range(-1, 2))


def axes_of_items(g: Any, n: Any) -> Any:
    return sum(np.roll(g, s, axis=axis) for s, axis in ((1, 0), (-1, 0), (1, 1), (-1, 1)))


def axes_of_loops(g: Any, n: Any) -> Any:
    nb = 0
    for axis in (0, 1):
        for s in (1, -1):
            nb = nb + np.roll(g, s, axis)
    return nb


ALL = [
    sum_over_range, sum_over_ranges, sum_of_list, sum_of_slices, axes_of_items, axes_of_loops,
    sum_in_time_loop, loop_in_time_loop, sum_with_condition, sums_with_condition,
    loops_with_condition, sum_of_pairs, rebound,
]


@pytest.mark.parametrize("function", ALL)
def test_whole_arrays_are_added_up(function: Callable[..., Any]) -> None:
    g = (np.random.default_rng(0).random((4, 5)) > 0.5).astype(np.int64)
    fused = fuse(function)
    got, wanted = fused(g, 3), function(g, 3)
    assert (got.dtype, got.tolist()) == (wanted.dtype, wanted.tolist())
    assert fused.stats.compiled == 1


def another_range(g: Any, n: Any) -> Any:
    range = other_items
    return sum(np.roll(g, i, 0) for i in range(2))


def other_items(n: int) -> tuple[int, ...]:
    return 5, 7, n


def no_items(g: Any, n: Any) -> Any:
    return sum(np.roll(g, i, 0) for i in range(2, 2))


@pytest.mark.filterwarnings("ignore::transpile.FuseWarning")
@pytest.mark.parametrize("function", [another_range, no_items])
def test_only_short_ranges_of_constants_are_unrolled(
    function: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRANSPILE_FALLBACK", "")
    g = np.arange(12.0).reshape(4, 3)
    np.testing.assert_array_equal(fuse(function)(g, 1), function(g, 1))


def nothing_for_certain(g: Any, n: Any) -> Any:
    for _ in range(n):
        g = sum(np.roll(g, i, 0) for i in (-1, 1) if i > n)
    return g


def test_a_sum_without_items_is_the_int_0(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRANSPILE_FALLBACK", "")
    g = np.ones((3, 3))
    with pytest.warns(match="LOWER_"):
        assert fuse(nothing_for_certain)(g, 1) == 0


def changed_by_closure(x: Any) -> Any:
    def other() -> None:
        nonlocal i
        i = 5

    s = 0.0
    for i in (0, 1):
        other()
        if i == 5:
            s = s + x[0]
    return s


def test_a_variable_that_a_closure_binds_is_not_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRANSPILE_FALLBACK", "")
    assert fuse(changed_by_closure)(np.ones(1)) == 2.0


def neighbours(x: Any) -> Any:
    s = 0.0
    for i in range(1, len(x) - 1):
        for d in range(-1, 1 + 1):
            for e in range(2, 0, -1):
                if not d and e:
                    s += x[i + d] * e
    return s


def diagonal(x: Any) -> Any:
    s = 0.0
    for i in range(1, len(x) - 1):
        for d in range(-1, 2):
            for e in (0, 1):
                if d == e or abs(d) + e > 1:
                    s += x[i + d] * e
    return s, d


@pytest.mark.parametrize("function", [neighbours, diagonal])
def test_tests_of_the_variables_of_short_ranges_are_decided(function: Callable[..., Any]) -> None:
    x = np.arange(40.0)
    fused = fuse(function)
    assert fused(x) == function(x)
    assert fused.stats.compiled == 1
    report = fused.report(x)
    assert not report.rejections
    assert str(report).count("unrolled") == 2


def convolved(a: Any) -> Any:
    k = np.array([[1.0, 2.0, 1.0], [2.0, 4.0, 2.0]])
    h, w = a.shape[0] - 1, a.shape[1] - 2
    out = np.zeros((h, w))
    for i in range(2):
        for j in range(3):
            out += k[i, j] * a[i : i + h, j : j + w]
    return out


def blurred(a: Any) -> Any:
    w = [0.25, 0.5, 0.25]
    m = a.shape[1]
    out = np.zeros_like(a)
    for k in range(3):
        out[:, 1 : m - 1] += w[k] * a[:, k : m - 2 + k]
    return out


def lagged(a: Any) -> Any:
    out = np.zeros(a.shape[1] - 3)
    for row in a:
        for k in range(4):
            out += row[k : len(row) - 3 + k] * (k + 1)
    return out


def strided(a: Any) -> Any:
    for k in range(1, 4):
        a[:, k::4] = a[:, ::4][:, : len(a[0, k::4])] * k
    return a


@pytest.mark.parametrize("function", [convolved, blurred, lagged, strided])
def test_slices_from_and_to_the_variables_of_short_ranges(function: Callable[..., Any]) -> None:
    fused = fuse(function)
    for shape in ((5, 8), (4, 36), (3, 4)):
        a = np.random.default_rng(0).random(shape)
        wanted, got = a.copy(), a.copy()
        np.testing.assert_array_equal(fused(got), function(wanted))
        np.testing.assert_array_equal(got, wanted)
    assert fused.stats.compiled == 3


@pytest.mark.parametrize("function", [convolved, blurred])
def test_sums_over_shifted_slices_are_one_loop(function: Callable[..., Any]) -> None:
    report = fuse(function).report(np.ones((6, 7)))
    assert not report.rejections
    assert len([x for x in report.loops if x.lanes and x.lanes > 1]) == 1
