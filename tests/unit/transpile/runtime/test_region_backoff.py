"""Regions that run in loops and are of no use there: they stand aside, and look again."""
from __future__ import annotations

import os
import sys
from collections import defaultdict
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from transpile import fuse
from transpile.runtime import specialization
from transpile.runtime.refused.region_records import OutlinedRegion


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


def pascal(n: int) -> Any:
    """The guards of its region fail where the rows have several lengths, from the third one on."""
    rows: list[Any] = []
    for i in range(n):
        row = [1] * (i + 1)
        for j in range(1, i):
            row[j] = rows[i - 1][j - 1] + rows[i - 1][j]
        rows.append(row)
    return rows[-1]


def entries(fused: Any) -> int:
    """How often regions of the outlined function were entered."""
    return sum(region.fused.calls for region in parts(fused))


@pytest.fixture
def by_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """As users have it: the faster one serves, and Python where guards fail."""
    monkeypatch.setitem(os.environ, "TRANSPILE_SELECT", "time")


@pytest.mark.usefixtures("by_time")
def test_regions_whose_guards_fail_are_entered_more_and_more_rarely() -> None:
    fused = fuse(pascal, on_reject="silent")
    entered = []
    for _ in range(4):
        for _ in range(500):
            assert fused(30) == pascal(30)
        entered.append(entries(fused))
    assert entered[0] > 0
    assert entered[3] < 30 * 100  # of 30 * 2000
    assert entered[3] - entered[1] <= 30 * 20
    assert fused.stats.replays["GUARD_DTYPE"] > 1500


def totals(groups: Any) -> list[str]:
    out = []
    for group in groups:
        total = 0
        for pair in group:
            total += pair[0] * 3 + pair[1]
        out.append(str(total))
    return out


def after_failures(ragged: Any) -> Any:
    """`totals`, fused, after many calls in which the guards of its region failed."""
    fused = fuse(totals, on_reject="silent")
    for _ in range(300):
        assert fused(ragged) == totals(ragged)
    assert fused.stats.compiled == 0
    return fused


@pytest.mark.usefixtures("by_time")
def test_regions_whose_guards_hold_again_are_entered_again() -> None:
    regular = [[[1, 2]] * 400] * 3
    fused = after_failures([[[1, 2]] * 400 + [[1, 2, 3]]] * 3)
    for _ in range(10_000):  # usually 100
        assert fused(regular) == totals(regular)
        if fused.stats.compiled > 100:
            break
    assert fused.stats.compiled > 100


@pytest.mark.usefixtures("by_time")
def test_a_larger_call_tries_the_kernels_again() -> None:
    regular = [[[1, 2]] * 4000] * 40
    compiled = 0
    for _ in range(5):  # times decide what serves: on a busy machine perhaps Python, once
        fused = after_failures([[[1, 2]] * 20 + [[1, 2, 3]]] * 3)
        for _ in range(4):
            assert fused(regular) == totals(regular)
        compiled = max(compiled, fused.stats.compiled)
        if compiled >= 3 * 40:
            break
    assert compiled >= 3 * 40


@pytest.mark.usefixtures("by_time")
def test_a_call_that_raises_while_no_region_is_entered() -> None:
    fused, groups = fuse(totals, on_reject="silent"), [[[1, 2]] * 4 + [[1, 2, 3]]]
    for _ in range(300):
        assert fused(groups) == totals(groups)
    for _ in range(200):
        with pytest.raises(IndexError, match="list index out of range"):
            fused([[[1, 2]] * 4 + [[1]]])
    assert fused(groups) == totals(groups)


def grouped(rows: Any) -> Any:
    """Its region could have other bits than Python, and is replayed for rows that are too short."""
    try:
        sums: Any = defaultdict(float)
        for key, value in rows:
            sums[key] += value
        return {key: sums[key] for key in sums}
    except ValueError:
        return None


def frames_of(fused: Any, *args: Any) -> list[str]:
    """The names of the Python functions that run in a call, in this order."""
    ran = []
    sys.setprofile(lambda frame, event, _: ran.append(frame.f_code.co_name + event))
    try:
        fused(*args)
    finally:
        sys.setprofile(None)
    return [name.removesuffix("call") for name in ran if name.endswith("dcall")]


@pytest.mark.usefixtures("by_time")
def test_an_exception_that_is_caught_passes_no_regions() -> None:
    fused = fuse(grouped, on_reject="silent")
    for _ in range(300):
        assert fused([(1,)]) is None
    assert frames_of(fused, [(1,)]) == ["grouped"]
    assert fused.stats.compiled == 0
    for rows in ([(1, 2)], [(1, 2.5), (2, 1.5), (1, 0.5)], [(1, 2, 3)], []):
        for _ in range(100):
            assert fused(rows) == grouped(rows)


def either(x: Any, rows: Any, of_rows: bool) -> str:
    total = 0.0
    if of_rows:
        for row in rows:
            total += row[0] * row[1] + row[2]
        return str(total)
    for v in x:
        total += v * v
    return str(total)


@pytest.mark.usefixtures("by_time")
@pytest.mark.parametrize("is_first", [False, True])
def test_a_call_with_other_bits_than_pythons_has_one_answer(is_first: bool) -> None:
    """The region of `x` stays compiled, however often the guards of the other one fail."""
    x = np.random.default_rng(0).normal(size=20_000)
    rows = [[1.0, 2.0]]
    fused, expected = (fuse(either, on_reject="silent") for _ in range(2))
    answer = expected(x, rows, False)
    assert answer != either(x, rows, False)
    assert expected.stats.compiled == 1
    if is_first:
        assert fused(x, rows, False) == answer
    for _ in range(300):
        with pytest.raises(IndexError):
            fused(x, rows, True)
    assert fused(x, rows, False) == answer
    assert fused.stats.compiled == is_first + 1
