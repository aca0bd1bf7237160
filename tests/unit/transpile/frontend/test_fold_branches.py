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


class Holder:
    def __init__(self, a: Any, k: Any) -> None:
        self.a, self.k, self.other = a, k, "other"

    @fuse(on_reject="silent")
    def total(self, x: Any) -> Any:
        s = 0.0
        for i in range(len(x)):
            s += self.a[i] * x[i] * self.k
        return s


class Counting(Holder):
    asked = 0

    @property
    def k(self) -> Any:
        Counting.asked += 1
        return 2.0

    @k.setter
    def k(self, value: Any) -> None:
        pass


def test_what_objects_hold_is_read_at_each_call() -> None:
    held = Holder(X, 2.0)
    for k in (2.0, 3.0, 2, np.float32(2.0), 3.0):
        held.k = k
        held.other = [k]
        assert held.total(X) == 30.0 * k
    held.a = X * 2
    assert held.total(X) == 180.0
    assert not Holder.total.stats.replays
    del held.k
    with pytest.raises(AttributeError, match="'k'"):
        held.total(X)


def test_properties_are_not_read() -> None:
    f = fuse(Holder.total.__wrapped__, on_reject="silent")
    assert f(Counting(X, 1.0), X) == 60.0
    assert Counting.asked == 5
    assert f(Holder(X, 1.0), X) == 30.0
    assert f(Counting(X, 1.0), X) == 60.0


def first_items(t: Any) -> Any:
    return t[0], len(t)


def test_tuples_of_other_lengths() -> None:
    f = fuse(first_items, on_reject="raise")
    for t in ((1, 2), (1, 2, 3), (1.0,), (1, 2)):
        assert f(t) == first_items(t)
