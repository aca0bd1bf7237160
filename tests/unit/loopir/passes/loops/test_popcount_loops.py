"""Loops that count bits: the counts are Python's, and a negative number is left to Python."""
from __future__ import annotations

import numpy as np
import pytest

from loopir.ir_interpreter import run_kernel
from loopir.ir_printer import parse
from loopir.ir_traversal import contains
from loopir.nodes import While
from loopir.passes.loops.popcount_loops import popcount_loops
from transpile import fuse

NUMBERS = [0, 1, 2, 3, 4, 127, 128, 255, 1 << 31, (1 << 32) - 1, (1 << 62) + 5, (1 << 63) - 1]


def cleared(x, out):
    total = 0
    for i in range(len(x)):
        v = int(x[i])
        c = 0
        while v:
            v &= v - 1
            c += 1
        total += c
        out[i] = c + v
    return total


def shifted(x, out):
    total = 3
    for i in range(len(x)):
        v = x[i]
        while v > 0:
            total += int(v & 1)
            v >>= 1
        out[i] = v
    return total


def of_lists(x, out):
    most = 0
    for i, v in enumerate(x):
        c = 0
        while v != 0:
            c += v & 1
            v >>= 1
        most = max(most, c)
        out[i] = c
    return most


def halved(x, out):
    total = 0
    for i in range(len(x)):
        v = int(x[i])
        c = 0
        while v > 0:
            c += v % 2
            v //= 2
        total += c
        out[i] = c + v
    return total


def at_positions(x, out):
    total = 5
    for i in range(len(x)):
        c = 0
        for k in range(8):
            c += (int(x[i]) >> k) & 1
        for k in range(3, 31):
            if int(x[i]) & (1 << k):
                c += 1
                total += 1
        out[i] = c
    return total


@pytest.mark.parametrize("f", [cleared, shifted, of_lists, halved, at_positions])
@pytest.mark.parametrize("dtype", ["int64", "int32", "uint32", "uint8"])
def test_counts_are_pythons(f, dtype: str) -> None:
    fused = fuse(f, on_reject="raise")
    random = np.random.default_rng(0).integers(0, np.iinfo(dtype).max, 300, dtype)
    edges = np.array([n for n in NUMBERS if n <= np.iinfo(dtype).max], dtype)
    for x in (random, edges, edges[:1], edges[:0]):
        a, b = np.zeros((2, len(x)), np.int64)
        x = x.tolist() if f is of_lists else x
        if f is of_lists and not x:
            continue
        assert f(x, a) == fused(x, b)
        assert a.tolist() == b.tolist()
    assert fused.stats.compiled
    assert not fused.stats.replays


def test_a_number_that_is_never_0_is_left_to_python() -> None:
    kernel = parse("""
def k(x: i64[::1], out: mut(i64[::1])):
    for i in loop(0, x.shape[0]):
        v = x[i]
        while loop(go, c=0, v_1=v, go=v != 0):
            v_2 = v_1 & v_1 - 1
            check(~add_over(c, 1), "over")
            c = step(c + 1)
            v_1 = step(v_2)
            go = step(v_2 != 0)
        out[i] = c
""")
    counted = popcount_loops(kernel)
    assert not contains(counted, While)
    for numbers, fits in ((NUMBERS, True), ([5, -1], False), ([-(1 << 63)], False)):
        out = np.zeros(len(numbers), np.int64)
        outcome = run_kernel(counted, {"x": np.array(numbers), "out": out})
        assert (outcome.status == 0) == fits
        if fits:
            assert out.tolist() == [n.bit_count() for n in numbers]


def test_signed_numbers_with_negative_ones_that_end_the_loop() -> None:
    fused = fuse(shifted, on_reject="raise")
    x = np.array([5, -1, -(1 << 63), 7, 0])
    a, b = np.zeros((2, 5), np.int64)
    assert shifted(x, a) == fused(x, b)
    assert a.tolist() == b.tolist()


def test_positions_of_negative_numbers() -> None:
    fused = fuse(at_positions, on_reject="raise")
    x = np.array([5, -1, -(1 << 63), 7, 0, -256, -(1 << 31)])
    a, b = np.zeros((2, len(x)), np.int64)
    assert at_positions(x, a) == fused(x, b)
    assert a.tolist() == b.tolist()
    assert "popcount" in fused.emit("loopir", x, a)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16"])
def test_sums_of_bits_in_the_dtype_of_the_elements(dtype: str) -> None:
    def f(x):
        t = x[0]
        for v in x:
            for k in range(8):
                t += (v >> k) % 2
        return t

    fused = fuse(f, on_reject="raise")
    for numbers in ([0, 1, 127, 3], [127] * 40, [100, 127, 127, 127, 127]):
        x = np.array(numbers, dtype)
        with np.errstate(over="ignore"):
            expected, result = f(x), fused(x)
        assert (expected, type(expected)) == (result, type(result))


def mask_by_mask(x):
    out = np.ones(len(x), np.int64)
    for k in range(20):
        out += (x >> k) & 1
    return out


@pytest.mark.parametrize("dtype", ["int64", "int32", "uint8"])
def test_bits_that_are_counted_position_by_position_for_all_numbers(dtype: str) -> None:
    fused = fuse(mask_by_mask, on_reject="raise")
    for n in (0, 1, 2, 3, 17, 1000):
        x = np.random.default_rng(n).integers(np.iinfo(dtype).min, np.iinfo(dtype).max, n, dtype)
        assert mask_by_mask(x).tolist() == fused(x).tolist()
    assert fused.stats.compiled
    assert "popcount" in fused.emit("loopir", x)
