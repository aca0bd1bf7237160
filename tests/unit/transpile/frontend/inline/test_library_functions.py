"""Functions of `bisect` and `heapq`, in Python and compiled: the results of the C functions."""
from __future__ import annotations

import bisect
import copy
import heapq
import random
from bisect import bisect_left, insort
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from transpile import fuse
from transpile.frontend.inline import library_functions
from transpile.frontend.inline.library_functions import library_function_of

BISECTIONS = ["bisect_left", "bisect_right", "insort_left", "insort_right"]
HEAPS = ["heapify", "heappop", "heappush", "heappushpop", "heapreplace"]


def outcome(function: Callable[..., Any], *args: Any, **options: Any) -> str:
    """The result or exception of a call, and its arguments afterwards."""
    args = copy.deepcopy(args)
    try:
        told = repr(function(*args, **options))
    except Exception as e:
        told = f"{type(e).__name__}: {e}"
    return f"{told} {args!r}"


def numbers(rng: random.Random, count: int) -> list[float]:
    """Ties, both zeros and, at times, NaN."""
    items = [0.0, -0.0, 1.5, -2.0, float("inf"), *(rng.uniform(-3, 3) for _ in range(4))]
    items += [float("nan")] * (rng.random() < 0.3)
    return [rng.choice(items) for _ in range(count)]


@pytest.mark.parametrize("name", BISECTIONS)
@pytest.mark.parametrize("seed", range(12))
def test_bisections(name: str, seed: int) -> None:
    rng = random.Random(seed)
    items = numbers(rng, rng.randrange(12))
    items = sorted(items) if rng.random() < 0.7 else items
    options: dict[str, Any] = {}
    if rng.random() < 0.5:
        options["lo"] = rng.choice([0, 1, True, 3, -1, 20, np.int64(1)])
    if rng.random() < 0.5:
        options["hi"] = rng.choice([None, 0, 2, -1, -5, 30, np.int64(2)])
    if rng.random() < 0.3:
        options["key"] = abs
    wanted, got = getattr(bisect, name), getattr(library_functions, name)
    for _ in range(5):
        x = rng.choice(numbers(rng, 5))
        result = outcome(got, items, x, **options)
        if "IndexError" not in result:  # beyond the list: Python runs
            expected = outcome(wanted, items, x, **options)
            if "ValueError" in expected:  # whose message is another one in Python 3.15
                result, expected = result.partition(":")[0], expected.partition(":")[0]
            assert result == expected


@pytest.mark.parametrize("name", HEAPS)
@pytest.mark.parametrize("seed", range(8))
def test_heaps(name: str, seed: int) -> None:
    rng = random.Random(seed)
    items = numbers(rng, rng.choice([1, 2, 3, 5, 8, 30, 3000]))
    if rng.random() < 0.7:
        heapq.heapify(items)
    args = [items] if name in ("heapify", "heappop") else [items, rng.choice(items)]
    assert outcome(getattr(library_functions, name), *args) == outcome(getattr(heapq, name), *args)


def test_what_stands_for_a_builtin_function() -> None:
    for module, names in ((bisect, BISECTIONS), (heapq, HEAPS)):
        for name in names:
            assert library_function_of(getattr(module, name)) is getattr(library_functions, name)
    assert library_function_of(bisect.bisect) is library_functions.bisect_right
    assert library_function_of(len) is library_function_of(np.add) is None


# -- Compiled


@pytest.fixture
def compiled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRANSPILE_CACHE", str(tmp_path))
    monkeypatch.setenv("TRANSPILE_FALLBACK", "error")


def places(xs: Any, qs: Any) -> Any:
    return [bisect_left(xs, q) for q in qs]


def places_behind(xs: Any, qs: Any) -> Any:
    total = 0
    for q in qs:
        total += bisect.bisect(xs, q, 1, len(xs) - 1)
    return total


def places_by_key(xs: Any, qs: Any) -> Any:
    return [bisect.bisect_right(xs, q, key=lambda v: v * 2 - 1) for q in qs]


def places_by_builtin(xs: Any, qs: Any) -> Any:
    return [bisect.bisect_right(xs, q, key=abs) for q in qs]


def increasing_subsequence(xs: Any, qs: Any) -> Any:
    tails: list[float] = []
    for q in qs:
        k = bisect_left(tails, q)
        if k == len(tails):
            tails.append(q)
        else:
            tails[k] = q
    return tails


def sorted_by_insertion(xs: Any, qs: Any) -> Any:
    out: list[float] = []
    for q in qs:
        insort(out, q)
    return out


def largest(xs: Any, qs: Any) -> Any:
    heap: list[float] = []
    for q in qs:
        heapq.heappush(heap, q)
        if len(heap) > 5:
            heapq.heappop(heap)
    return heap


def largest_by_replacement(xs: Any, qs: Any) -> Any:
    heap = [q for q in qs[:5]]
    heapq.heapify(heap)
    for q in qs[5:]:
        if q > heap[0]:
            heapq.heapreplace(heap, q)
    return heap


def largest_by_push_and_pop(xs: Any, qs: Any) -> Any:
    heap = [0.0] * 5
    for q in qs:
        heapq.heappushpop(heap, q)
    return heap


def sorted_by_heap(xs: Any, qs: Any) -> Any:
    heap: list[float] = []
    for q in qs:
        heapq.heappush(heap, q)
    return [heapq.heappop(heap) for _ in range(len(heap))]


def merged(xs: Any, qs: Any) -> Any:
    heap, cost = list(qs), 0.0
    heapq.heapify(heap)
    while len(heap) > 1:
        a = heapq.heappop(heap)
        b = heapq.heappop(heap)
        heapq.heappush(heap, a + b)
        cost += a + b
    return cost


PROGRAMS = [
    places, places_behind, places_by_key, places_by_builtin, increasing_subsequence,
    sorted_by_insertion, largest, largest_by_replacement, largest_by_push_and_pop, sorted_by_heap,
    merged,
]


@pytest.mark.usefixtures("compiled")
@pytest.mark.parametrize("function", PROGRAMS)
def test_compiled(function: Callable[..., Any]) -> None:
    rng = random.Random(7)
    fused = fuse(function)
    for count in (1, 5, 6, 40):
        xs = sorted(rng.uniform(-1, 1) for _ in range(count + 2))
        qs = [*(rng.uniform(-1, 1) for _ in range(count)), *xs[: count // 2]]
        assert outcome(fused, xs, qs) == outcome(function, xs, qs), count
        assert outcome(fused, np.array(xs), qs) == outcome(function, np.array(xs), qs), count
    assert fused.stats.compiled


def out_of_bounds(xs: Any, qs: Any) -> Any:
    return [bisect_left(xs, q, 0, 50) for q in qs]


def negative_start(xs: Any, qs: Any) -> Any:
    return [bisect_left(xs, q, -1) for q in qs]


def empty_heap(xs: Any, qs: Any) -> Any:
    heap = [q for q in qs]
    for _ in range(len(qs) + 1):
        heapq.heappop(heap)


@pytest.mark.parametrize("function", PROGRAMS)
@pytest.mark.filterwarnings("ignore::transpile.FuseWarning")
def test_empty_lists(function: Callable[..., Any]) -> None:
    for xs, qs in (([1.0], []), ([], [1.0]), ([], [])):
        assert outcome(fuse(function), xs, qs) == outcome(function, xs, qs)


@pytest.mark.parametrize("function", [out_of_bounds, negative_start, empty_heap])
@pytest.mark.filterwarnings("ignore::transpile.FuseWarning")
def test_exceptions_are_pythons(function: Callable[..., Any]) -> None:
    xs, qs = [1.0, 2.0, 3.0], [2.5, 0.5, 9.0]
    told = outcome(fuse(function), xs, qs)
    assert told == outcome(function, xs, qs)
    assert "Error" in told


@pytest.mark.filterwarnings("ignore::transpile.FuseWarning")
def test_a_function_that_is_bound_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    fused = fuse(places_behind)
    xs, qs = [1.0, 2.0, 3.0, 4.0], [2.5, 0.5, 9.0]
    assert fused(xs, qs) == places_behind(xs, qs)
    monkeypatch.setattr(bisect, "bisect", bisect.bisect_left)
    assert fused(xs, [2.0, 3.0]) == places_behind(xs, [2.0, 3.0]) == 3
    monkeypatch.setattr(bisect, "bisect", lambda *args: 7)
    assert fused(xs, qs) == 21


def scaled(v: Any, by: Any = None) -> Any:
    if by is None:
        return v
    return by(v)


def test_arguments_that_are_functions_are_not_none() -> None:
    def all_ways(xs: Any, qs: Any) -> Any:
        total = 0.0
        for x in xs:
            total += scaled(x) + scaled(x, abs) + scaled(x, lambda v: v + 1) + scaled(x, by=np.sqrt)
        return total

    fused = fuse(all_ways)
    xs = np.array([0.5, 1.0, 4.0])
    assert fused(xs, 0) == all_ways(xs, 0)
    assert fused.stats.compiled == 1
    report = fused.report(xs, 0)
    assert not report.rejections, report


# -- Not as the C functions want it: heaps are lists, and given by position


NOT_A_HEAP: list[Callable[..., Any]] = [
    lambda heap: heapq.heapify(heap),
    lambda heap: heapq.heapreplace(heap, 2.0),
    lambda heap: heapq.heappushpop(heap, 2.0),
    lambda heap: heapq.heappop(heap),
    lambda heap: heapq.heappush(heap, 2.0),
    lambda heap: heapq.heapify(heap.copy()),
    lambda heap: heapq.heapify(heap[1:]),
    lambda heap: heapq.heapreplace(np.zeros(len(heap)), 2.0),
]


@pytest.mark.parametrize("function", NOT_A_HEAP)
@pytest.mark.parametrize("heap", [np.array([3.0, 1.0, 2.0]), np.array([], int), bytearray(b"31")])
@pytest.mark.filterwarnings("ignore::transpile.FuseWarning")
def test_a_heap_that_is_no_list(function: Callable[..., Any], heap: Any) -> None:
    told = outcome(fuse(function), heap)
    assert told == outcome(function, heap)
    assert "Error" in told


def by_keyword(x: Any) -> Any:
    heap = [v for v in x]
    heapq.heappush(heap, item=2.0)  # type: ignore[call-arg]  # the C function has no keywords
    return heap


def too_many(x: Any) -> Any:
    heap = [v for v in x]
    heapq.heapify(heap, 2.0)  # type: ignore[call-arg]  # refused by the C function
    return heap


@pytest.mark.parametrize("function", [by_keyword, too_many])
@pytest.mark.filterwarnings("ignore::transpile.FuseWarning")
def test_arguments_that_the_c_function_has_not(function: Callable[..., Any]) -> None:
    told = outcome(fuse(function), [3.0, 1.0])
    assert told == outcome(function, [3.0, 1.0])
    assert "TypeError" in told


@pytest.mark.usefixtures("compiled")
def test_a_list_argument_becomes_a_heap() -> None:
    def made(xs: Any) -> Any:
        heapq.heapify(xs)
        return xs[0]

    fused = fuse(made)
    xs = [3.0, 1.0, 2.0, 0.5]
    assert outcome(fused, xs) == outcome(made, xs)
    assert fused.stats.compiled == 1
