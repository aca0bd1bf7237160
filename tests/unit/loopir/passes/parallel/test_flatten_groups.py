"""Flattened groups of blocks: the bits of long rows, where groups and blocks end anywhere."""
from __future__ import annotations

import numpy as np
import pytest
from native import RUNNABLE, run_native

from loopir.ir_interpreter import run_kernel
from loopir.ir_printer import parse, show
from loopir.passes.parallel.flatten_groups import flatten_groups

ROWS = parse("""
def k(x: f64[:, ::1], y: mut(f64[::1]), n: i64):
    disjoint(x, y)
    for i in loop(0, x.shape[0]):
        for g in loop(range(n, x.shape[1], 2048), s=0.5):
            for b in loop(range(g, min(g + 2048, x.shape[1]), 512), t=-0.0):
                for j in vec(b, min(b + 512, x.shape[1]), width=W, group=32, v=-0.0):
                    v = step(v + x[i, j:W])
                t = step(t + hreduce("add", v))
            s = step(s + t)
        y[i] = s
""")

LENGTHS = (0, 1, 31, 511, 512, 513, 2047, 2048, 2049, 2560, 4095, 4096, 4097, 5000, 8192)


@pytest.mark.parametrize("target", RUNNABLE)
@pytest.mark.parametrize("start", [0, 1, 512, 2048])
def test_rows_have_the_same_bits(start: int, target: str) -> None:
    """All groups are small here: the sizes are those of the loops, whatever they are."""
    flat = flatten_groups(ROWS)
    assert "range(g" not in show(flat)
    for length in LENGTHS if target != "neon" else (0, 513, 2048, 5000):
        x = np.random.default_rng(length).standard_normal((2, length)) * 1e3
        wanted, interpreted, native = ({"x": x, "y": np.zeros(2), "n": start} for _ in range(3))
        run_kernel(ROWS, wanted)
        assert run_kernel(flat, interpreted).status == 0
        assert run_native(flat, target, native) == 0
        assert interpreted["y"].tobytes() == wanted["y"].tobytes()
        assert native["y"].tobytes() == wanted["y"].tobytes()


@pytest.mark.parametrize("nothing", [-0.0, 0.0])
def test_the_sign_of_an_empty_sum(nothing: float) -> None:
    kernel = parse(show(ROWS).replace("s=0.5", f"s={nothing}"))
    for values in ([], [-0.0], [-0.0] * 2048, [-0.0] * 2100, [0.0] * 2100):
        x = np.array([values, values])
        wanted, got = ({"x": x, "y": np.ones(2), "n": 0} for _ in range(2))
        run_kernel(kernel, wanted)
        run_kernel(flatten_groups(kernel), got)
        assert got["y"].tobytes() == wanted["y"].tobytes()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("t=-0.0", "t=0.0"),  # no neutral element: a group would add it twice
        ("2048", "1536"),  # no power of two
        ("for g in loop", "for g in parallel_loop"),  # threads share the groups
    ],
)
def test_other_loops_stay(old: str, new: str) -> None:
    text = show(ROWS).replace(old, new)
    if "parallel" in new:
        text = text.replace(", s=0.5", "").replace("s = step(s + t)", "y[i] = t").replace(
            "        y[i] = s\n", "")
    kernel = parse(text)
    assert flatten_groups(kernel) == kernel
