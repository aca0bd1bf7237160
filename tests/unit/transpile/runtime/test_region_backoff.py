"""Regions that run in loops and are of no use there: they stand aside, and look again."""
from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from transpile import fuse
from transpile.runtime import specialization
from transpile.runtime.region_records import OutlinedRegion


def in_turn(rows: Any) -> Any:
    out = []
    for row in rows:
        total = 0.0
        for v in row:
            total += v * 2
        out.append(str(total))
    return out


def parts(fused: Any) -> list[OutlinedRegion]:
    specs = [s for s in fused._specializations.values() if s.outlined]
    return [region for s in specs for region in (*s.outlined.regions, *s.dropped)]


def looks(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Counts how often arguments are looked at."""
    found = [0]
    inner = specialization.argument_types

    def counted(*args: Any) -> Any:
        found[0] += 1
        return inner(*args)

    monkeypatch.setattr(specialization, "argument_types", counted)
    return found


@pytest.mark.parametrize("row", [{1.5: 0, 2.5: 1}, {1.0}, "", range(3)])
def test_what_is_refused_again_and_again(row: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    found, rows = looks(monkeypatch), [row] * 20_000
    fused = fuse(in_turn, on_reject="silent")
    assert fused(rows) == in_turn(rows)
    assert not fused.stats.compiled
    assert found[0] < 100
    assert sum(sum(p.fused.stats.replays.values()) for p in parts(fused)) >= len(rows)


@pytest.mark.parametrize("row", [[1.5, 2.5] * 2, np.ones(3)])
def test_what_is_of_use_stays(row: Any) -> None:
    rows = [row] * 20_000
    fused = fuse(in_turn, on_reject="silent")
    assert fused(rows) == in_turn(rows)
    assert fused.stats.compiled == len(rows)


def test_what_comes_later_is_compiled() -> None:
    rows = [{1.0}] * 30 + [np.arange(4.0)] * 2000 + [{2.0}] * 100 + [np.ones(2)] * 3000
    fused = fuse(in_turn, on_reject="silent")
    for _ in range(2):
        assert fused(rows) == in_turn(rows)
    assert fused.stats.compiled > 8000


def test_a_function_that_is_refused_is_not_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    found = looks(monkeypatch)
    fused = fuse(sum_of, on_reject="silent")
    for _ in range(200):
        fused({1.0, 2.0})
    assert fused(np.ones(3)) == 3.0
    assert fused.stats.compiled == 1
    assert sum(fused.stats.replays.values()) == 200
    assert found[0] < 20


def sum_of(row: Any) -> float:
    total = 0.0
    for v in row:
        total += v
    return total


def test_errors_are_pythons() -> None:
    rows: list[Any] = [{1.0}] * 500 + [{"a"}]
    fused = fuse(in_turn, on_reject="silent")
    for _ in range(2):
        with pytest.raises(TypeError, match="unsupported operand"):
            fused(rows)


def chained(n: int) -> Any:
    """A region that Python has to answer each time: a number that is none of Python's own."""
    d: list[Any] = [0] * n
    for i in range(1, n):
        d[i] = Fraction(10**6)
        for k in range(i):
            if d[k] + i < d[i]:
                d[i] = d[k] + i
    return d


def test_what_fails_its_guards_again_and_again() -> None:
    fused = fuse(chained, on_reject="silent")
    for _ in range(4):
        assert fused(400) == chained(400)
    regions: list[Any] = [region.fused for region in parts(fused)]
    assert 16 <= sum(region._backoff._failures for region in regions) < 200
    assert sum(fused.stats.replays.values()) >= 4 * 399
