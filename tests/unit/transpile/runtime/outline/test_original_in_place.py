"""Regions whose short calls Python serves: their statements are in the outlined function, too."""
from __future__ import annotations

import ast
import traceback
from typing import Any

import numpy as np
import pytest

from transpile import fuse
from transpile.runtime import call_selection, fuse_decorator
from transpile.runtime.outline.original_in_place import with_originals_in_place

BEFORE = """
def f(x, n):
    while n:
        s, t = _tp_region_3_4(x)
        n -= 1
    _tp_region_5_4(s, x)
    return _tp_region_6_4(s)
"""
RUNS = {"_tp_region_3_4": "s = t = 0\nfor v in x: s += v", "_tp_region_6_4": "return s + 1"}
AFTER = """
def f(x, n):
    while n:
        if test_0(x):
            s = t = 0
            for v in x:
                s += v
        else:
            s, t = _tp_region_3_4(x)
        n -= 1
    _tp_region_5_4(s, x)
    if test_1(s):
        return s + 1
    else:
        return _tp_region_6_4(s)
"""


def parsed(text: str) -> ast.FunctionDef:
    function = ast.parse(text).body[0]
    assert isinstance(function, ast.FunctionDef)
    return function


def test_the_statements_stand_beside_the_call() -> None:
    tree = parsed(BEFORE)
    runs = {helper: ast.parse(text).body for helper, text in RUNS.items()}
    tests = {helper: f"test_{k}" for k, helper in enumerate(RUNS)}
    found = with_originals_in_place(tree, runs, tests)
    assert ast.unparse(found) == ast.unparse(parsed(AFTER))
    assert ast.unparse(tree) == ast.unparse(parsed(BEFORE)), "the tree that is given stays"
    assert with_originals_in_place(tree, {}, {}) is tree


class Slow:
    """A clock by which compiled code is slow for short calls, and fast for long ones."""

    def __init__(self) -> None:
        self.add_time = call_selection.CallSelection.add_time

    def __call__(self, of: Any, size: int, served: Any, _: int, **options: Any) -> bool:
        nanoseconds = 900 * size if served == "python" else 5000
        return self.add_time(of, size, served, nanoseconds, **options)


def total(xs: Any, log: Any) -> Any:
    log.append(len(log))
    last, s = None, 0.25
    for x in xs:
        s += x * s
        last = x
    return s, last


def by_size(xs: Any, log: Any) -> Any:
    log.append(len(log))
    even, odd = [x for x in xs if x % 2 == 0], [x for x in xs if x % 2 != 0]
    return len(odd), odd, even


@pytest.fixture
def _by_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRANSPILE_SELECT", "time")
    clock, choice = Slow(), call_selection.CallSelection.choice
    monkeypatch.setattr(
        call_selection.CallSelection, "add_time", lambda *args, **options: clock(*args, **options)
    )

    def choice_without_series(of: Any, size: int, exact_size: Any = None, **_: Any) -> Any:
        return choice(of, size, exact_size)  # a series is timed in C, by the real clock

    monkeypatch.setattr(call_selection.CallSelection, "choice", choice_without_series)


def regions(fused: Any) -> Any:
    (outlined,) = [s.outlined for s in fused._specializations.values() if s.outlined]
    return outlined


@pytest.mark.usefixtures("_by_clock")
@pytest.mark.parametrize("function", [total, by_size])
def test_short_calls_run_in_place(function: Any) -> None:
    """Both are served as by Python, and the counts tell by which."""
    rng = np.random.default_rng(3)
    short, long = rng.normal(size=3).tolist(), rng.normal(size=30).tolist()
    fused = fuse(function, on_reject="silent")
    for _ in range(200):
        assert fused(long, []) == function(long, [])
        for xs in (short, short[:1], []):
            assert fused(xs, []) == function(xs, [])
    outlined = regions(fused)
    assert outlined.in_place == {r.helper for r in outlined.regions}
    (region,) = outlined.regions
    before = region.fused.stats
    calls = fuse_decorator._MANY_CALLS
    for _ in range(calls):
        assert fused(short, []) == function(short, [])
        assert fused(long, []) == function(long, [])
    after = region.fused.stats
    assert after.compiled - before.compiled == calls
    assert sum(after.replays.values()) - sum(before.replays.values()) == calls


def line_of(error: BaseException) -> Any:
    frames = traceback.extract_tb(error.__traceback__)
    return [(s.lineno, s.line) for s in frames if s.filename == __file__][-1]


@pytest.mark.usefixtures("_by_clock")
def test_what_raises_there() -> None:
    """Exceptions are Python's, with its lines, and whatever else is passed is served."""
    fused = fuse(total, on_reject="silent")
    for _ in range(200):
        fused([1.0, 2.0], [])
    assert regions(fused).in_place
    others: list[Any] = ["ab", 3, None, np.ones(3), [[1]], (1.0, 2.0), {3.0: 4}, ["a"]]
    for xs in ([1.0, "a"], *others):
        results: list[Any] = []
        for f in (total, fused):
            log: list[int] = [5]
            try:
                results.append((f(xs, log), log))
            except Exception as error:
                results.append((type(error), str(error), line_of(error), log))
        assert repr(results[0]) == repr(results[1]), xs
