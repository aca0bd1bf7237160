"""Extrema without an instruction: a NaN is looked for in two registers at once, and never lost."""
from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from native import RUNNABLE, run_native

from loopir import nodes as ir
from loopir.dtypes import DTYPES
from loopir.ir_interpreter import run_kernel
from loopir.ir_printer import parse
from targets.c import emit
from targets.isa.target_registry import TARGETS
from targets.legalization.legalize import legalize

LENGTHS = (0, 1, 3, 16, 31, 32, 33, 63, 64, 65, 97, 300)


@cache
def extrema(dtype: str) -> ir.Kernel:
    """The least and the greatest element, and another maximum alone in its loop."""
    return parse(f"""
def extrema(x: {dtype}[::1], start: {dtype}, least: mut({dtype}[()]), most: mut({dtype}[()]),
            has: mut(bool[()])):
    for i in vec(0, x.shape[0], width=W, group=32, a=start, b=start):
        v = x[i:W]
        a = step(minimum(a, v))
        b = step(maximum(v, b))
    least[()] = hreduce("minimum", a)
    for j in vec(0, x.shape[0], width=W, group=32, c=start):
        c = step(maximum(c, x[j:W]))
    most[()] = maximum(hreduce("maximum", b), hreduce("maximum", c))
    for k in vec(0, x.shape[0], width=W, group=32, d=False, e=start):
        w = x[k:W]
        d = step((w != w) | d)
        e = step(max(e, w))
    has[()] = hreduce("or", d)
    most[()] = maximum(most[()], hreduce("max", e))
""")


def rows(dtype: str, n: int) -> list[np.ndarray[Any, Any]]:
    """Numbers, and these with one NaN or infinity at each of some places."""
    x = np.random.default_rng(n).standard_normal(n).astype(dtype)
    found = [x, -np.abs(x), np.full(n, -np.inf, dtype), np.full(n, np.nan, dtype)]
    for k in {0, 1, 4, 5, 30, 31, 32, 36, n // 2, n - 5, n - 2, n - 1} & {*range(n)}:
        for value in (np.nan, np.inf, -np.inf):
            found.append(x.copy())
            found[-1][k] = value
    return found


@pytest.mark.share(20)
@pytest.mark.parametrize("dtype", ["f32", "f64"])
@pytest.mark.parametrize("target", RUNNABLE)
def test_extrema_with_nan(target: str, dtype: str) -> None:
    kernel, kind = extrema(dtype), {"f32": np.float32, "f64": np.float64}[dtype]
    for n in LENGTHS if target != "neon" else (33, 64):
        for x in rows(kind.__name__, n):
            for start in (0.5, np.nan) if target != "neon" else (0.5,):
                want, got = (
                    {"x": x, "start": kind(start), "least": np.array(0, kind),
                     "most": np.array(0, kind), "has": np.array(False)}
                    for _ in range(2)
                )
                run_kernel(kernel, want)
                assert run_native(kernel, target, got) == 0
                for name in ("least", "most", "has"):
                    np.testing.assert_array_equal(got[name], want[name], str((n, x, start)))


@pytest.mark.parametrize("target", ["sse2", "avx2", "avx512", "neon"])
@pytest.mark.parametrize("dtype", ["f32", "f64"])
def test_two_registers_share_a_test(target: str, dtype: str) -> None:
    body = emit(legalize(extrema(dtype), TARGETS[target]), TARGETS[target])
    body = body[body.index("tp_body(") :]
    firsts, seconds = body.count("tp_maximumfirst_"), body.count("tp_maximumsecond_")
    assert firsts == seconds > 1
    assert body.count("tp_nanfirst_") == body.count("| tp_unordered_") > 0
    assert body.count("tp_minimumfirst_") == body.count("tp_minimumsecond_") > 0


def test_an_operand_that_is_compared_and_chosen_is_loaded_once() -> None:
    kernel = parse("""
def k(x: f64[::1], start: f64, most: mut(f64[()])):
    for i in vec(0, x.shape[0], width=W, group=32, a=start):
        a = step(max(a, x[i:W]))
    most[()] = hreduce("max", a)
""")
    text = emit(legalize(kernel, TARGETS["avx2"]), TARGETS["avx2"])
    assert '__asm__("" : "+x"(x_i));' in text
    with_instruction = emit(legalize(kernel, TARGETS["avx512"]), TARGETS["avx512"])
    assert "x_i" not in with_instruction


@cache
def places(dtype: str) -> ir.Kernel:
    """The places of the least and of the greatest element, the first of equal ones."""
    place = f"i{dtype[1:]}"
    return parse(f"""
def places(x: {dtype}[::1], low: {dtype}, high: {dtype}, least: mut({place}[()]),
           most: mut({place}[()])):
    n = {place}(x.shape[0])
    for i in vec(0, x.shape[0], width=W, group=16, a=high, at=n, b=low, to=n):
        k = ramp({place}(i), 1, W)
        v = x[i:W]
        is_less = v < a
        is_more = v > b
        a = step(select(is_less, v, a))
        at = step(select(is_less, k, at))
        b = step(select(is_more, v, b))
        to = step(select(is_more, k, to))
    least[()] = hreduce("min", a, at)
    most[()] = hreduce("max", b, to)
""")


@pytest.mark.parametrize("target", RUNNABLE)
@pytest.mark.parametrize("dtype", ["f64", "i64", "u64", "f32"])
def test_places_of_extrema(target: str, dtype: str) -> None:
    """Of NaN, infinite and equal elements, too; the greatest integer if the start is NaN."""
    rng, kernel = np.random.default_rng(1), places(dtype)
    few = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 2.5])
    for n in LENGTHS if target != "neon" else (33,):
        starts: list[tuple[float, float]] = [(0, 1 << 62), (3, 7)]
        x = rng.integers(0, 9, n).astype(DTYPES[dtype].numpy)
        if dtype[0] == "f":
            starts = [(-np.inf, np.inf), (-0.5, 0.5), (np.nan, np.nan)]
            x = np.where(rng.random(n) < 0.2, x, rng.choice(few, n).astype(x.dtype))
        for low, high in starts:
            end = np.iinfo(DTYPES[f"i{dtype[1:]}"].numpy).max if high != high else n
            meant = [_first(x, x < high, np.min, end), _first(x, x > low, np.max, end)]
            for run in (run_kernel, lambda k, args: run_native(k, target, args)):
                args = {"x": x, "low": x.dtype.type(low), "high": x.dtype.type(high),
                        "least": np.array(-1, f"i{x.itemsize}"),
                        "most": np.array(-1, f"i{x.itemsize}")}
                run(kernel, args)
                assert [int(args["least"]), int(args["most"])] == meant, (n, x, low)


def _first(x: Any, taken: Any, extremum: Any, end: int) -> int:
    """The first place of the extremum of those elements; `end` if there are none."""
    return int(np.flatnonzero(taken & (x == extremum(x[taken])))[0]) if taken.any() else end
