"""Lists of ints, given as arguments, in which a function puts floats: both are told apart."""
from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import numpy as np
import pytest
from agree import assert_same, outcome

from transpile import fuse

FUNCTIONS: list[Callable[..., Any]] = []


def listed(function: Callable[..., Any]) -> Callable[..., Any]:
    FUNCTIONS.append(function)
    return function


@listed
def halved_where(a, b):
    for i in range(len(a)):
        if b[i]:
            a[i] = a[i] / 2
    return len(a)


@listed
def halved_by_parity(a, b):
    for i in range(len(a)):
        a[i] = a[i] / 2 if a[i] % 2 else a[i] // 2
    return sum(a)


@listed
def running(a, b):
    s = 0
    for i in range(1, len(a)):
        a[i] = a[i - 1] * 0.5 + a[i] if b[i] else a[i - 1]
        s += a[i]
    return s, a


@listed
def floats_and_ints_again(a, b):
    n = 0
    for i in range(len(a)):
        a[i] /= 2
        n += type(a[i]) is float
        if b[i]:
            a[i] = i
    return n, [v * 2 for v in a]


@listed
def of_the_greatest(a, b):
    m = max(a)
    for i in range(len(a)):
        a[i] = a[i] / m
    return b[int(a[0])]


LISTS = (
    [1, 2, 3, 4], [8, -3, 3], [], [5] * 3, [0, -7, 2**53, 0, 0, 1], [1, 2.5, 4], [1.5, 2],
    [2**53 + 1, 3], [True, 2], [-0.0, 0, 3],
)


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_floats_stand_at_exactly_those_places(function: Callable[..., Any]) -> None:
    fused = fuse(function, on_reject="silent", reassociate=False)
    for a in LISTS:
        for b in ([True] * len(a), [k % 2 == 0 for k in range(len(a))]):
            assert_same(outcome(fused, (a, b)), outcome(function, (a, b)), f"{a}")
    assert fused.stats.compiled


def test_it_is_compiled_and_found_in_the_disk_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRANSPILE_FALLBACK", "error")
    for fused in (fuse(halved_where), fuse(halved_where)):
        a = [1, 2, 3, 4]
        for _ in range(2):
            fused(a, [True, False, False, True])
        assert [(type(v), v) for v in a] == [(float, 0.25), (int, 2), (int, 3), (float, 1.0)]
        assert fused.stats.compiled == 2


def test_a_list_that_is_passed_twice_is_pythons() -> None:
    def crossed(a, b):
        for i in range(len(a)):
            a[i] = b[-1 - i] / 2

    fused = fuse(crossed, on_reject="silent")
    ours, theirs = [1, 2, 3], [1, 2, 3]
    fused(ours, ours)
    crossed(theirs, theirs)
    assert ours == theirs


def test_an_item_that_follows_from_the_one_before() -> None:
    """The items are first all Python's; gcc 12 made of that a fill after the loop."""
    def running_maximum(x):
        w = [0.0] * len(x)
        for i in range(1, len(x)):
            w[i] = max(w[i - 1], x[i])
        return w

    fused = fuse(running_maximum, on_reject="raise", reassociate=False)
    for values in ([1.0, -2.0, 3.0, 0.0, -0.0, 5.0], [], [np.nan, 1.0, np.nan, 2.0], [-1.0] * 70):
        x = np.array(values)
        assert_same(outcome(fused, (x,)), outcome(running_maximum, (x,)), f"{x}")
    assert fused.stats.compiled == 4


def rows_by_name(r, s):
    for i in range(len(r)):
        row = r[i]
        row[1] = i * s
    return r


def rows(r, s):
    for i in range(len(r)):
        r[i][1] = i * s
    return r


def made_rows(r, s):
    w = [[0, 0] for _ in range(len(r))]
    for i in range(len(r)):
        row = w[i]
        row[1] = i * s
    return w


@pytest.mark.parametrize("function", [rows_by_name, rows, made_rows])
def test_rows_of_a_table_get_floats(function: Callable[..., Any]) -> None:
    """A table that is an argument has no flags: it is refused, and not a failure of ours."""
    fused = fuse(function, on_reject="silent")
    table = [[0, 0] for _ in range(6)]
    assert repr(fused(deepcopy(table), 0.5)) == repr(function(deepcopy(table), 0.5))
    assert "BUILD_FAILED" not in fused.stats.replays
    assert fused.stats.compiled == (function is made_rows)


def _grid(n: int, x: list[float]) -> list[list[float]]:
    g: list[list[float]] = [[0] * n for _ in range(n)]
    for i in range(n):
        for j in range(n):
            g[i][j] = g[i][j] + x[i]
    return g


def _front(x: np.ndarray, k: int) -> list[float]:
    v = [0.0] * len(x)
    for i in range(k):
        v[i] = x[i]
    return v


@pytest.mark.parametrize(("function", "args", "spelled"), [
    (_grid, (2, [1.0, 2.0]), "g list[list[int | float]]"),
    (_front, (np.ones(3), 2), "v list[float | f64]"),
])
def test_the_report_names_both_types(
    function: Any, args: tuple[Any, ...], spelled: str
) -> None:
    fused = fuse(function)
    assert fused(*args) == function(*args)
    assert spelled in str(fused.report())
