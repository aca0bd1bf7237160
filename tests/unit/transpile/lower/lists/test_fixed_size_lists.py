"""Lists of fixed length: none is longer than the array that was allocated for it."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from agree import assert_same, outcome

from transpile import fuse


def in_a_loop(counts: Any, x: Any) -> Any:
    s = 0.0
    for i in range(len(counts) - 1):
        m = int(counts[i])
        items = [0.0] * m
        for k in range(m):
            items[(k * 7) % m] += x[k]
        for k in range(m):
            s += items[k] * items[m - 1 - k]
        counts[i + 1] = counts[i] * 5 + i
    return s


def in_a_branch(counts: Any, x: Any) -> Any:
    counts[0] = len(x)
    s = 0.0
    if x[0] >= 0.0:
        m = int(counts[0])
        items = [1.5] * m
        for k in range(m):
            items[(k * 7) % m] += x[k]
        for v in items:
            s += v
    return s


def of_rows(counts: Any, x: Any) -> Any:
    counts[0] = counts[1] * 20
    s = 0.0
    if x[0] >= 0.0:
        m = int(counts[0])
        rows = [[0.0] * m for _ in range(3)]
        for k in range(m):
            rows[k % 3][k] = x[k]
        for k in range(m):
            s += rows[0][k] - rows[1][k] + rows[2][m - 1 - k] * 0.5
    return s


def of_ints_and_floats(counts: Any, x: Any) -> Any:
    s = 0
    for i in range(3):
        m = int(counts[i]) + 1
        items = [0] * m
        items[m - 1] = 2.5
        for v in items:
            s += v
        counts[i + 1] = counts[i] * 30
    return s


@pytest.mark.share(1)
@pytest.mark.parametrize("function", [in_a_loop, in_a_branch, of_rows, of_ints_and_floats])
def test_the_kernel_changes_what_lengths_are_computed_of(function: Any) -> None:
    """The array is allocated before the kernel, for the greatest count at that time: calls that
    need no more are compiled, the others are replayed.
    """
    fused = fuse(function, on_reject="raise")
    for counts in ([2, 3, 1, 4], [9, 60, 1, 1], [1, 2, 0, 0], [1, 1, 1, 5000]):
        for _ in range(2):
            mine, theirs = np.array(counts), np.array(counts)
            x = np.arange(3000.0)
            wanted = outcome(function, (theirs, x))
            assert_same(outcome(fused, (mine, x)), wanted, f"{function.__name__} {counts}")
    assert fused.stats.compiled == 2
    assert fused.stats.replays == {"GUARD_BOUNDS": 6}


def test_lengths_of_elements_that_do_not_change_are_compiled() -> None:
    def longest(counts: Any) -> Any:
        best = 0
        for i in range(len(counts)):
            items = [0] * int(counts[i])
            for k in range(len(items)):
                items[k] = k * i
            best = max(best, len(items) and items[-1])
        return best

    fused = fuse(longest, on_reject="raise")
    for counts in ([2, 3, 1], [5, 0, 7, 7], [0], []):
        given = np.array(counts, np.int64)
        assert fused(given) == longest(given)
    assert fused.stats.replays == {}
    assert fused.stats.compiled == 4


def filled(n: int, m: int) -> Any:
    t = [[0.0] * m for _ in range(n)]
    for i in range(n):
        for j in range(m):
            t[i][j] = i * 0.5 + j
    return np.array(t)


def longer_than_the_range(n: int, m: int) -> Any:
    t = [1.0] * (n + 2)
    s = 0.0
    for i in range(n):
        t[i + 1] += t[i] * m
        s += t[i + 2]
    return s, t


def too_short(n: int, m: int) -> Any:
    t = [1.0] * n
    for i in range(m):
        t[i] = 2.0 * i
    return t


def length_then_changed(n: int, m: int) -> Any:
    t = [1.0] * n
    s = 0.0
    for i in range(m):
        n = n + 1
        for j in range(n):
            if j < len(t):
                t[j] += i
        s += t[n - i - 2]
    return s, t, n


def made_in_a_loop(n: int, m: int) -> Any:
    s = 0.0
    for i in range(n):
        t = [[1.0] * i for _ in range(m)]
        for a in range(m):
            for b in range(i):
                t[a][b] += a * b + i
        for a in range(n):
            for b in range(i):
                s += t[a][b]
    return s


def from_the_end(n: int, m: int) -> Any:
    t = [0.0] * n
    for i in range(n):
        t[-1 - i] = t[n - 1 - i] + i
        t[i - n] -= m
    return t


LENGTHS = (
    filled, longer_than_the_range, too_short, length_then_changed, made_in_a_loop, from_the_end,
)


@pytest.mark.parametrize("function", LENGTHS, ids=lambda f: f.__name__)
def test_subscripts_by_loops_over_the_length(function: Any) -> None:
    fused = fuse(function, on_reject="silent")
    for n in (4, 0, 1, 9, -2):
        for m in (3, 0, 1, -1, 5, 9):
            assert_same(outcome(fused, (n, m)), outcome(function, (n, m)), f"{n}, {m}")
    assert fused.stats.compiled


def test_a_table_by_ranges_of_its_lengths_is_never_made() -> None:
    text = fuse(filled).emit("loopir", 4, 3)
    assert "own(" not in text, text
    assert "inside" not in text, text


def test_a_list_of_none_is_named() -> None:
    def best(x):
        found = [None] * len(x)
        for i in range(len(x)):
            if found[i] is None:
                found[i] = x[i]
        return found

    (rejection,) = fuse(best).report([1.5]).rejections
    assert rejection.message == \
        "the items of `found` are None at first, and no list of None is compiled"
    assert "if the other items are numbers" in (rejection.help or "")
