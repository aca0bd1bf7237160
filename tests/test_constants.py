"""What arguments and types decide, decided anew for each call."""
from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from transpile import fuse

X = np.arange(5.0)
NOTHING: Any = None


@pytest.fixture(autouse=True)
def _quiet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRANSPILE_CACHE", str(tmp_path))


def by_flag(x: Any, flag: Any) -> Any:
    s = 0.0
    for i in range(len(x)):
        if flag is None:
            s += x[i]
        elif isinstance(flag, float):
            s -= x[i]
        else:
            s += 1.0
    return s


def by_mode(x: Any, mode: Any = "up", /) -> Any:
    s = 0.0
    for i in range(len(x)):
        s = s + x[i] if mode == "up" else s - x[i]
    return s


def by_global(x: Any) -> Any:
    s = 0.0
    for i in range(len(x)):
        if NOTHING is None:
            s += x[i]
    return s


def test_each_call_is_asked_again() -> None:
    f = fuse(by_flag, on_reject="raise")
    for _ in range(2):
        for flag in (None, 3.0, 3, True, np.float64(1.0), np.float32(1.0), None, "so", int, X):
            assert f(X, flag) == by_flag(X, flag)
    assert not f.stats.replays


def test_strs_that_are_equal_are_one() -> None:
    f = fuse(by_mode, on_reject="raise")
    assert f(X) == f(X, "up") == f(X, "".join(["u", "p"])) == 10.0
    assert f(X, "".join(["do", "wn"])) == f(X, "down") == -10.0
    assert len(f.signatures) == 2
    assert not f.stats.replays


def test_so_many_strs_choose_nothing() -> None:
    f = fuse(by_mode, on_reject="silent")
    for k in range(80):
        assert f(X, f"no {k}") == -10.0
    assert len(f.signatures) < 50


def test_a_global_that_is_none_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    f = fuse(by_global, on_reject="raise")
    assert f(X) == f(X) == 10.0
    monkeypatch.setattr(f"{__name__}.NOTHING", 1)
    assert f(X) == f(X) == 0.0
    monkeypatch.setattr(f"{__name__}.NOTHING", None)
    assert f(X) == f(X) == 10.0


def test_a_recipe_is_of_these_constants() -> None:
    for _ in range(2):
        f = fuse(by_mode, on_reject="raise")
        assert f(X, "up") == 10.0
        assert f(X, "down") == -10.0
        assert f(X) == 10.0


def test_the_report_names_them() -> None:
    assert "mode: 'up'" in str(fuse(by_mode).report(X))
