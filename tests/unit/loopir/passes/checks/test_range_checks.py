"""Checks of extrema: after the loop where an array bounds it, else after each of its blocks."""
from __future__ import annotations

import numpy as np
import pytest

from loopir.dtypes import DTYPES
from loopir.ir_interpreter import run_kernel
from loopir.ir_printer import parse, show
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


CUT = """
@stops
def k(x: DTYPE[::1], n: i64, low: i64):
    for i in loop(0, x.shape[0]):
        t = trunc(x[i])
        fits = (t >= DTYPE(-9.223372036854776e+18)) & (t < DTYPE(9.223372036854776e+18))
        check(fits, "replay")
        at = i64(select(fits, t, DTYPE(0.0)))
        check((at >= low) & (at < n), "replay")
"""


@pytest.mark.parametrize("dtype", ["f32", "f64"])
def test_bounds_of_a_cut_float_are_those_of_its_integer(dtype: str) -> None:
    kernel = parse(CUT.replace("DTYPE", dtype))
    compared = range_checks(kernel)
    assert "i64(" not in show(compared)
    edges = [k + d for k in (-8, -1, 0, 1, 7, 8, 2**24, 2**24 + 4) for d in (-1, -0.25, 0, 0.75)]
    values = [*edges, np.nan, np.inf, -np.inf, -0.0, 2.0**63, -(2.0**63), 1e30, 2.0**53]
    for n in (0, 1, 8, 2**24 + 1, 2**24 + 2, 2**53):
        for low in (-n, 0, 3):
            for value in values:
                x = np.array([0.0, 4.0, value], DTYPES[dtype].numpy)
                args = {"x": x, "n": n, "low": low}
                want, got = (run_kernel(k, args).status for k in (kernel, compared))
                assert want == got, (n, low, value)


@pytest.mark.parametrize("bound", [2**53 + 1, 2**62 - 1, 2**63 - 1])
def test_bounds_that_a_float_does_not_have_are_never_weaker(bound: int) -> None:
    kernel = parse(CUT.replace("DTYPE", "f64"))
    compared = range_checks(kernel)
    for low in (-bound - 1, -bound, 1 - bound):
        for value in (float(bound), float(low), *np.nextafter([bound, low, low], [0, 0, -np.inf])):
            args = {"x": np.array([value]), "n": bound, "low": low}
            holds, held = (run_kernel(k, args).status == 0 for k in (compared, kernel))
            assert held >= holds, (low, value)
