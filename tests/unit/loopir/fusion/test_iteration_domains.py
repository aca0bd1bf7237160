"""Iteration domains: ranges whose starts and trip counts are equal as affine forms."""
from __future__ import annotations

import pytest

from loopir.fusion.iteration_domains import same_domain, trip_count_difference
from loopir.ir_printer import parse
from loopir.nodes import Loop


def loops(first: str, second: str) -> tuple[Loop, Loop]:
    """Two loops over these ranges."""
    text = "def k(n: i64, m: i64, x: mut(f64[::1])):\n"
    text += "".join(f"    for {v} in loop({r}):\n        x[0] = 0.0\n"
                    for v, r in (("i", first), ("j", second)))
    a, b = parse(text).body
    assert isinstance(a, Loop)
    assert isinstance(b, Loop)
    return a, b


@pytest.mark.parametrize(("first", "second", "difference"), [
    ("0, n", "0, n", 0), ("0, n", "0, n + 1", -1), ("1, n", "0, n", -1), ("0, n", "0, m", None),
    ("0, max(n, 0)", "0, max(n, 0) - 1", 1), ("0, n + m", "0, m + n", 0),
])
def test_difference_of_trip_counts(first: str, second: str, difference: int | None) -> None:
    a, b = loops(first, second)
    assert trip_count_difference(a.range, b.range, {}) == difference
    assert same_domain(a, b, {}) == (difference == 0)
