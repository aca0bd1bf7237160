"""Versioning by the size of a call: small calls keep the order of folds, whatever the nests."""
from __future__ import annotations

import numpy as np
import pytest

from loopir.ir_interpreter import run_kernel
from loopir.ir_printer import parse
from loopir.ir_verifier import verify
from loopir.nodes import If, Loop
from loopir.passes.pass_list import optimise
from loopir.passes.vector.exact_bits import exact_up_to
from loopir.passes.version_small_calls import (
    LARGEST_SMALL_CALL,
    has_small_calls,
    version_small_calls,
)

ROWS = """
def k(x: f64[:, ::1], v: f64[::1], n: i64, out: mut(f64[::1])):
    disjoint(x, out)
    disjoint(v, out)
    for i in loop(0, x.shape[0]):
        for j in loop(0, x.shape[1], s=0.0):
            s = step(s + x[i, j] * v[j])
        out[i] = s
"""
SIZES = {"x", "v", "n"}


def test_the_small_copy_has_the_order_of_the_source() -> None:
    fused = parse(ROWS)
    fast = optimise(fused)
    versioned = version_small_calls(fused, fast, SIZES)
    verify(versioned, "vector")
    (branch,) = versioned.body
    assert isinstance(branch, If)
    assert branch.orelse == fast.body
    assert exact_up_to(fast, ()) is not None
    assert has_small_calls(versioned, SIZES)
    assert not has_small_calls(versioned, {"x"})
    assert not has_small_calls(fast, SIZES)


def test_what_both_versions_begin_with_stands_once() -> None:
    """A loop of ints before the fold, and a name that is bound in it and read after the branch."""
    fused = parse("""
def k(k: i64[::1], x: f64[::1], out: mut(f64[()])):
    for i in loop(0, k.shape[0], n=0):
        n = step(k[i] - n)
    for j in loop(0, x.shape[0], s=0.0):
        s = step(s + x[j])
    out[()] = s + f64(n)
""")
    versioned = version_small_calls(fused, optimise(fused), {"k", "x"})
    verify(versioned, "vector")
    loop, branch = versioned.body
    assert isinstance(loop, Loop)
    assert isinstance(branch, If)
    assert has_small_calls(versioned, {"k", "x"})
    for length in (0, 3, 9, 40):
        x, ints = np.random.default_rng(length).random(length), np.arange(length)
        found, expected = np.zeros(()), np.zeros(())
        run_kernel(versioned, {"k": ints, "x": x, "out": found})
        run_kernel(fused, {"k": ints, "x": x, "out": expected})
        if 2 * length <= LARGEST_SMALL_CALL:
            assert found == expected
        np.testing.assert_allclose(found, expected, rtol=1e-14)


@pytest.mark.parametrize(
    ("shape", "n", "is_small"),
    [((3, 7), 3, True), ((3, 7), 4, False), ((1, 13), -5, True), ((1, 15), 1 << 62, False),
     ((0, 9), 0, True), ((4, 8), 0, False)],
)
def test_the_size_decides(shape: tuple[int, int], n: int, is_small: bool) -> None:
    """It is at least what the condition counts; a fold of 0.1s in another order is another sum."""
    rng = np.random.default_rng(3)
    x, v = rng.random(shape), rng.random(shape[1])
    fused = parse(ROWS)
    versioned = version_small_calls(fused, optimise(fused), SIZES)
    found, expected = np.zeros(shape[0]), np.zeros(shape[0])
    run_kernel(versioned, {"x": x, "v": v, "n": n, "out": found})
    run_kernel(fused, {"x": x, "v": v, "n": n, "out": expected})
    size = x.size + v.size + (n if n >= 0 else -(n + 1))
    assert is_small == (size <= LARGEST_SMALL_CALL)
    if is_small:
        assert found.tobytes() == expected.tobytes()
    np.testing.assert_allclose(found, expected, rtol=1e-14)


@pytest.mark.parametrize(
    "text",
    [
        ROWS.replace("x.shape[1], s", "200, s"),  # much work however small the call
        ROWS.replace("x[i, j] * v[j]", "exp(x[i, j])"),  # rounds otherwise than Python
    ],
)
def test_what_is_left_alone(text: str) -> None:
    fused = parse(text)
    fast = optimise(fused)
    assert version_small_calls(fused, fast, SIZES) is fast
