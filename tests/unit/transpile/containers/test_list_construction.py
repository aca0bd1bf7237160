"""New lists, also in functions that have no other loop."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from transpile import fuse


def of_length(b):
    prev = list(range(len(b) + 1))
    prev[0] = 9
    return prev


def returned(n):
    return list(range(n))


def with_item(n):
    return [7, *range(n)]


def joined(n):
    return list(range(n)) + list(range(2))


def backwards(n):
    x = list(reversed(range(n)))
    x[0] = 9
    return x


def in_order(n):
    return sorted(range(n), reverse=True)


def sorted_array(x):
    return sorted(x)


def extended(n):
    x = [0]
    x += range(n)
    x += (2 * v for v in range(n))
    x.extend(range(3))
    return x


@pytest.mark.parametrize(("f", "x"), [
    (of_length, [1, 2]), (returned, 5), (returned, 0), (returned, -3), (with_item, 4), (joined, 4),
    (backwards, 5), (in_order, 5), (sorted_array, np.array([3.0, 1.0, 2.0])), (extended, 4),
])
def test_lists_of_ranges_are_compiled_in_any_function(
    f: Callable[..., Any], x: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRANSPILE_FALLBACK", "error")
    compiled = fuse(f)
    found, expected = compiled(x), f(x)
    assert found == expected
    assert [*map(type, found)] == [*map(type, expected)]
    assert compiled.stats.compiled == 1


def test_an_array_added_to_a_list_makes_an_array() -> None:
    def added(x):
        y = [1.0, 2.0, 3.0]
        y += x
        return y

    found = fuse(added, on_reject="silent")(np.arange(3.0))
    np.testing.assert_array_equal(found, added(np.arange(3.0)))


def test_a_list_argument_is_not_converted_for_one_item() -> None:
    def last(x):
        return x.pop(0)

    fused = fuse(last, on_reject="silent")
    assert fused([1, 2]) == 1
    assert fused.stats.compiled == 0


def of_range(n):
    return range(n)


def tuple_of_range(n):
    return tuple(range(n))


@pytest.mark.parametrize("f", [of_range, tuple_of_range])
def test_a_range_that_nothing_walks_is_told(f: Callable[..., Any]) -> None:
    rejection, *_ = fuse(f).report(5).rejections
    assert rejection.message == "`range(n)` is no loop's range, nor made a list"
    assert "np.arange" in (rejection.help or "")
