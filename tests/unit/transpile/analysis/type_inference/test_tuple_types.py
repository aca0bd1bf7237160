"""Lists of tuples whose items are compared, swapped, taken out and stored as a whole."""
from __future__ import annotations

import heapq
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from agree import assert_same, outcome

from transpile import fuse


def sorted_by_selection(xs: Any) -> Any:
    h = [(x, i) for i, x in enumerate(xs)]
    for i in range(len(h)):
        k = i
        for j in range(i + 1, len(h)):
            if h[j] < h[k]:
                k = j
        h[i], h[k] = h[k], h[i]
    return h


def sorted_by_insertion(xs: Any) -> Any:
    h = []
    for i, x in enumerate(xs):
        t = (x, -i)
        h.append(t)
        k = len(h) - 1
        while k > 0 and t <= h[k - 1]:
            h[k] = h[k - 1]
            k -= 1
        h[k] = t
    return h


def smallest_two(xs: Any) -> Any:
    best, second = (xs[0], 0), (xs[1], 1)
    if second < best:
        best, second = second, best
    for i in range(2, len(xs)):
        t = (xs[i], i)
        if t < best:
            best, second = t, best
        elif t < second:
            second = t
    return best, second


def of_the_ends(xs: Any) -> Any:
    h = [(x, i) for i, x in enumerate(xs)]
    t = h[-1]
    h[-1] = h[0]
    h[0] = t
    return h, h[len(h) // 2 - 1], h[0] != h[1]


def taken_out(xs: Any) -> Any:
    h = [(x, i) for i, x in enumerate(xs)]
    s = 0.0
    while len(h) > 1:
        t = h.pop()
        if t > h[0]:
            h[0] = t
        s += t[0]
    return h, s


def grown_while_read(xs: Any) -> Any:
    h = [(x, i, x * 2) for i, x in enumerate(xs)]
    i, s = 0, 0.0
    while i < len(h):
        t = h[i]
        if t[1] > 2 and t != h[i - 1]:
            s += t[2]
        if len(h) < 12:
            h.append((t[0] + 1, t[1], t[2]))
        h[i] = h[len(h) - 1]
        i += 1
    return s, h


def on_a_heap(xs: Any) -> Any:
    h = [(xs[0], 0)]
    for i in range(1, len(xs)):
        heapq.heappush(h, (xs[i], i))
        if i % 3 == 0:
            d, u = heapq.heappop(h)
            heapq.heappush(h, (d + 0.25, u))
    out = []
    while h:
        out.append(heapq.heappop(h))
    return out


PROGRAMS = [
    sorted_by_selection, sorted_by_insertion, smallest_two, of_the_ends, taken_out,
    grown_while_read, on_a_heap,
]


@pytest.mark.parametrize("function", PROGRAMS)
def test_items_as_a_whole(
    function: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRANSPILE_FALLBACK", "error")
    rng = np.random.default_rng(5)
    fused = fuse(function)
    for count in (3, 4, 9, 40):
        xs = [*rng.integers(-3, 3, count) / 2.0]
        for given in (xs, np.array(xs), [int(x) for x in xs]):
            assert_same(outcome(fused, (given,)), outcome(function, (given,)), (given,), 0)
    assert not fused.report([1.0, 2.0, 0.5]).rejections or fused.stats.compiled
    assert not fused.stats.replays


@pytest.mark.parametrize("function", PROGRAMS)
def test_not_a_number(function: Callable[..., Any]) -> None:
    """A NaN is equal to itself in a tuple, if it is the same object: Python runs."""
    nan = float("nan")
    for xs in ([nan] * 5, [1.0, nan, 0.5, nan, -1.0]):
        got, wanted = fuse(function)(list(xs)), function(list(xs))
        assert repr(got) == repr(wanted)


def test_shortest_paths(monkeypatch: pytest.MonkeyPatch) -> None:
    def paths(ptr: Any, idx: Any, w: Any, n: Any) -> Any:
        dist = np.full(n, np.inf)
        dist[0] = 0.0
        heap = [(0.0, 0)]
        while heap:
            d, u = heapq.heappop(heap)
            if d > dist[u]:
                continue
            for k in range(ptr[u], ptr[u + 1]):
                v = idx[k]
                if d + w[k] < dist[v]:
                    dist[v] = d + w[k]
                    heapq.heappush(heap, (dist[v], v))
        return dist

    monkeypatch.setenv("TRANSPILE_FALLBACK", "error")
    rng = np.random.default_rng(3)
    fused = fuse(paths)
    for n in (2, 10, 300):
        args = np.arange(0, 4 * n + 1, 4), rng.integers(0, n, 4 * n), rng.random(4 * n).round(1), n
        np.testing.assert_array_equal(fused(*args), paths(*args))
    assert fused.stats.compiled == 3
    assert not fused.report(*args).rejections


def of_two_lengths(xs: Any) -> Any:
    h = [(x, 0) for x in xs]
    t = (1.0, 2, 3)
    h.append(t)
    return h


def of_two_names(xs: Any) -> Any:
    h = [(x, i) for i, x in enumerate(xs)]
    p = h
    t = h.pop()
    p.append((t[0], 7))
    return h, t, p is h


def of_lists(xs: Any) -> Any:
    h = [(xs, i) for i in range(3)]
    t = h[1]
    h[0] = t
    return h[0] < h[2], h[0] is t


@pytest.mark.parametrize("function", [of_two_lengths, of_two_names, of_lists])
@pytest.mark.filterwarnings("ignore::transpile.FuseWarning")
def test_others_are_pythons(function: Callable[..., Any]) -> None:
    assert fuse(function)([3.0, 1.0]) == function([3.0, 1.0])
