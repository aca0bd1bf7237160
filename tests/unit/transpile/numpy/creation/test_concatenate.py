"""Joining arrays with lists that are written in the call, as NumPy makes arrays of them."""
from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from agree import assert_same, outcome
from written import written

from transpile import fuse


def with_zero(x, X):
    return np.concatenate(([0], x)), np.hstack(([x[0], 2.5], x)), np.vstack((X, [1, 2, 3]))


def around(x, X):
    total = 0
    for k in range(3):
        total += np.concatenate(([k], np.cumsum(x), (True, False))).sum()
    return total, np.concatenate(([[1, 2, 3]], X)), np.stack([x[:2], [1, 0.5]])


def empty_lists(x, X):
    return np.concatenate(([], x)), np.hstack([(), x, x[:0]]), np.concatenate(([], []))


def numbers(x, X):
    return np.hstack((0, x)), np.hstack([x[0], x, 2.5]), np.append(0, x), np.append(x, x[-1])


def appended(x, X):
    return np.append(x, [1, 2]), np.append([], x), np.append((0.5,), [3]), np.append(x, x[1:])


def joined_by_subscript(x, X):
    r = np.r_[x[0], x, x[-1]]
    return r[1:] * 2, np.r_[0.5, x], np.r_[x, x], np.r_[0:3, x], np.r_[1:len(x):2], np.r_[X, X]


def columns_by_subscript(x, X):
    return np.c_[x, x[::-1]], np.c_[np.ones(len(x)), x] @ np.ones(2), np.c_[x[:2], X, X]


@pytest.mark.parametrize(
    "function",
    [with_zero, around, empty_lists, numbers, appended, joined_by_subscript, columns_by_subscript],
)
@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "u1", "?"])
def test_lists_among_the_parts(
    function: Any, dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRANSPILE_FALLBACK", "error")
    args = np.array([1, 0, 3, 1], dtype), np.ones((2, 3), dtype)
    assert_same(outcome(fuse(function), args), outcome(function, args), dtype)


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8"])
def test_numbers_of_r_are_weak(dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRANSPILE_FALLBACK", "error")

    def ends(x, n, s):
        return np.r_[0, x], np.r_[n, x, True], np.r_[s, x], np.r_[x[0], 1.5], np.r_[n, s]

    args = np.array([1, 0, 3, 1], dtype), 4, 2.5
    assert_same(outcome(fuse(ends), args), outcome(ends, args), dtype)


@pytest.mark.parametrize("part", ["[[0], x]", "[300, x.astype(np.uint8)]", "['0:3:4j', x]", "[()]"])
@pytest.mark.parametrize("name", ["r_", "c_"])
def test_other_items_of_r_are_left_to_python(name: str, part: str, tmp_path: Path) -> None:
    f = written(tmp_path, f"import numpy as np\ndef f(x): return np.{name}{part}\n").f
    args = (np.ones(3),)
    compiled = fuse(f, on_reject="silent")
    assert_same(outcome(compiled, args), outcome(f, args), part)
    assert [code for code in compiled.stats.replays if not code.startswith("LOWER_")] == []


def test_insertion_of_several(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRANSPILE_FALLBACK", "error")

    def inserted(x, f, n):
        return np.insert(x, 1, x), np.insert(x, n, [n, 0.5]), np.insert(f, -1, (1.5, 2)), \
            np.insert(x, 0, [])

    args = np.arange(4.0), np.ones(3, "f4"), 4
    assert_same(outcome(fuse(inserted), args), outcome(inserted, args), "insert")


def test_parts_of_vectors_as_operands(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRANSPILE_FALLBACK", "error")

    def computed(x, n):
        r = np.insert(x, -1, x) * 2
        s = np.sqrt(np.delete(x, n)) - np.delete(x, 0)
        return r, s, np.hanning(n) * 0.5, np.average(np.ones((4, 2)), axis=0, weights=x + 1) * 2

    args = np.arange(4.0), 3
    assert_same(outcome(fuse(computed), args), outcome(computed, args), "operands", ulps=4)


def append_along(x, k):
    t = np.append(x, k, axis=0)
    return t * 2


def append_to_number(x, k):
    t = np.append(k, x, 0)
    return t.sum()


def append_element(x, k):
    x[:] = np.append(x, x[0], axis=-1)[: len(x)]
    return x


@pytest.mark.parametrize("function", [append_along, append_to_number, append_element])
def test_a_number_is_no_array_along_an_axis(function: Any) -> None:
    args = np.arange(4.0), 3
    found = outcome(fuse(function, on_reject="silent"), args)
    assert_same(found, outcome(function, args), "append")
    assert found.error is not None
    assert found.error[0] is ValueError


def test_other_lists_are_left_to_python() -> None:
    def names(x):
        return np.concatenate((x, ["a"])), np.concatenate(([[]], x[None]))

    compiled = fuse(names, on_reject="silent")
    assert_same(outcome(compiled, (np.ones(3),)), outcome(names, (np.ones(3),)), "names")
