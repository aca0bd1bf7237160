"""The type of a name that a loop rebinds: after no iteration that from before the loop."""
from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from agree import assert_same, outcome
from written import written

from transpile import fuse

PAIRS = {
    "int": (np.int64(2), 7), "float": (np.float64(2.5), 7.5), "bool": (np.bool_(False), True),
}
"""A NumPy and a Python scalar of the same dtype."""


def rebound(v: Any, w: Any, n: int) -> Any:
    while n > 0:
        v = w
        n //= 2
    return v


def in_loops(v: Any, w: Any, n: int, items: list[float]) -> Any:
    """`v`, or `w` after some iterations, of each kind of loop.

    A `while` halves, since one that counts is compiled as a `for`.
    """
    a = b = c = d = e = f = v
    k = n
    while k > 0:
        a = w
        k //= 2
    k = n
    while True:
        if k <= 0:
            break
        b = w
        k //= 2
    for _ in range(n):
        c = w
    for _ in items:
        d = w
    for i in range(n):
        while i > 0:
            e = w
            i //= 2
    for i in range(n):
        if i == 1:
            break
        f = w
    return a, b, c, d, e, f, rebound(v, w, n)


@pytest.mark.parametrize("pair", PAIRS.values(), ids=PAIRS)
@pytest.mark.parametrize("python_before", [False, True], ids=["to Python", "to NumPy"])
def test_types_after_zero_and_more_iterations(
    pair: tuple[Any, Any], *, python_before: bool
) -> None:
    v, w = reversed(pair) if python_before else pair
    compiled = fuse(in_loops, target="scalar", on_reject="raise")
    for n in (0, 1, 2):
        args = (v, w, n, [0.5] * n)
        assert_same(outcome(compiled, args), outcome(in_loops, args), f"{args}")
    assert compiled.stats.compiled == 3


def test_an_operation_on_the_value_before_a_while() -> None:
    """The result of a float32 and an int has the dtype of the NumPy int that was there before."""

    def scaled(v: Any) -> Any:
        while v > 5:
            v = 3
        return np.float32(0.1) * v

    compiled = fuse(scaled, on_reject="silent")
    for v in (np.int64(2), np.int64(7), 2, 7):
        assert_same(outcome(compiled, (v,)), outcome(scaled, (v,)), repr(v))


def largest_so_far(x: Any, m: Any) -> Any:
    out = []
    for v in x:
        m = max(m, v)
        out.append(m)
    return out, m


def smallest_before(x: Any, m: Any) -> Any:
    out = []
    last = m
    for v in x:
        last = m
        out.append(m)
        m = min(m, v)
    return out, last


def larger_by_if(x: Any, m: Any) -> Any:
    out = []
    for v in x:
        if v > m:
            m = v
        out.append(m + 1)
    return out


@pytest.mark.parametrize("function", [largest_so_far, smallest_before, larger_by_if])
def test_the_type_of_an_extremum_that_its_loop_reads(
    function: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRANSPILE_FALLBACK", "error")
    fused = fuse(function)
    inf, nan = float("inf"), float("nan")
    rows = ([], [1.0], [-0.0, 0.0], [nan, 1.0, nan], [1.0, nan, 2.0], [-2.0, -1.0, 3.0, inf],
            [*np.linspace(-3, 3, 40)], [*np.linspace(3, -3, 70)])
    for row in rows:
        for start in (0.0, -0.0, -inf, inf, nan, 0.5):
            x = np.array(row, float)
            assert repr(fused(x, start)) == repr(function(x, start))


def summed_peaks(p: Any) -> Any:
    peak, total = -1, 0.0
    for v in p:
        if v > peak:  # Python's -1 or an element
            peak = v
        total += peak
    return total


def distances_to_peak(p: Any) -> Any:
    peak, total = -math.inf, 0.0
    for v in p:
        if v > peak:
            peak = v
        total += peak - v
    return total, peak


def ratio_to_trough(p: Any) -> Any:
    trough, worst = 100, 0.0
    for v in p:
        if v < trough:
            trough = v
        d = (v - trough) / 8
        if d > worst:
            worst = d
    return worst


@pytest.mark.share(1)
@pytest.mark.parametrize("function", [summed_peaks, distances_to_peak, ratio_to_trough])
def test_a_type_that_follows_from_that_of_an_extremum(function: Any) -> None:
    compiled = fuse(function, on_reject="raise")
    for dtype in ("i4", "u1", "f8"):
        for items in ([], [3], [0, 0], [3, 4, 1], [99] * 40, [*range(50, 10, -1)] * 3):
            args = (np.array(items, dtype),)
            assert_same(outcome(compiled, args), outcome(function, args), f"{args}", ulps=64)
    assert compiled.stats.compiled


LAST_CLIPPED = """
def f(x):
    products = []
    for v in x:
        if v > 0:
            if v > 1:
                last = v
            else:
                last = {bound}
        {in_loop}
    return {result}
"""


@pytest.mark.parametrize("bound", [0.5, 0.1])
@pytest.mark.parametrize(("in_loop", "result"), [
    ("pass", "last"), ("products.append(v * last)", "products"),
])
def test_the_type_of_a_name_that_only_some_iterations_bind(
    bound: float, in_loop: str, result: str, tmp_path: Path
) -> None:
    """It is Python's or NumPy's by the last iteration that has bound it, and unbound before that:
    then Python raises.
    """
    text = LAST_CLIPPED.format(bound=bound, in_loop=in_loop, result=result)
    function = written(tmp_path, text).f
    compiled = fuse(function, target="scalar", on_reject="raise")
    for items in ([0.2, 2.0], [2.0, 0.2], [0.2], [3.0, -1.0], [-1.0], [0.2, -1.0]):
        for dtype in ("f4", "f8"):
            args = (np.array(items, dtype),)
            assert_same(outcome(compiled, args), outcome(function, args), f"{args}")
    assert compiled.stats.compiled == 10
    assert sum(compiled.stats.replays.values()) == 2  # [-1.0]


def test_what_is_made_of_an_int_that_a_loop_may_have_replaced() -> None:
    """Python's int is not exact as a float32, nor this one as a float64."""

    def made(x: Any, k: Any, out: Any, ints: Any) -> Any:
        s = k
        for v in x:
            s = s + v
        out[0] = s
        ints[0] = s
        return float(s), round(s), math.sin(s), np.float64(s), complex(s, 1), math.trunc(s)

    def as_int(x: Any, k: Any, out: Any, ints: Any) -> Any:
        s = k
        for v in x:
            s = s + v
        return int(s), math.floor(s)

    for function in (made, as_int):
        compiled = fuse(function, target="scalar", on_reject="raise")
        for dtype in ("f4", "f8"):
            for k in (2**24 + 1, 2**53 + 1):
                for items in ([], [2.0]):
                    args = (np.array(items, dtype), k, np.zeros(1), np.zeros(1, int))
                    assert_same(outcome(compiled, args), outcome(function, args), f"{args}")
        assert compiled.stats.compiled == 4
        assert compiled.stats.replays == {"GUARD_EMPTY": 4}


def test_the_type_of_an_extremum_of_several_needs_no_accumulator() -> None:
    """Whether the initial float was replaced is told by the final value."""
    def widest(x: Any, y: Any) -> Any:
        m = 0.0
        for u, v in zip(x, y, strict=False):
            m = max(m, u - v, v - u)
        return m

    fused = fuse(widest, on_reject="raise")
    x, y = np.array([1.0, 2.0, np.nan]), np.array([1.0, 4.5, 0.0])
    for n in (0, 1, 3):
        got, wanted = fused(x[:n], y[:n]), widest(x[:n], y[:n])
        assert (type(got), got) == (type(wanted), wanted)
    assert fused.report(x, y).vectorized == 1
