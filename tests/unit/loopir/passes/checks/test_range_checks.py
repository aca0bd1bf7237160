"""Checks of extrema: after the loop where an array bounds it, else after each of its blocks."""
from __future__ import annotations

import pytest

from loopir.ir_printer import parse
from loopir.nodes import Check, Loop, RangeDesc
from loopir.passes.checks.range_checks import range_checks


@pytest.mark.parametrize(
    ("integer", "in_blocks"),
    [
        ("b[i]", False),
        ("b[i + 3] % 7", False),
        ("a[b[0], i]", False),
        ("i % 50", True),
        ("i * i", True),
        ("b[i % 5]", True),
        ("b[select(i < b.shape[0], i, 0)]", True),
    ],
)
def test_a_loop_that_no_array_bounds_is_checked_after_each_block(
    integer: str, in_blocks: bool
) -> None:
    kernel = parse(
        "@stops\ndef k(a: i64[:, :], b: i64[::1], n: i64, m: i64):\n"
        f"    for i in loop(0, n):\n        check({integer} < m, \"replay\")\n"
    )
    loop, *after = range_checks(kernel).body
    assert isinstance(loop, Loop)
    assert isinstance(loop.range, RangeDesc) == in_blocks
    if in_blocks:
        block, check = loop.body
        assert isinstance(block, Loop)
        assert not after
    else:
        check = after[-1]
    assert isinstance(check, Check)
