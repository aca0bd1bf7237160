"""Random sums of integers that pass the ends of their type on the way: values and warnings."""
from __future__ import annotations

import random
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from example_counts import examples, hurried_flags, with_flags
from written import written

from loopir.passes.parallel import parallelize
from targets.abi import thread_pool
from transpile import fuse

LENGTHS = (0, 1, 31, 33, 64, 200, 1500)
LOOPS = (
    "for v in x: s += v",
    "for v in x: s -= v",
    "for i in range(len(x)): s = s + x[i]",
    "for v in x:\n        if v > t: s += v",
    "for v in x:\n        if v > t: s += v\n        else: s -= v; n += 1",
    "for v in x:\n        s += v\n        n += v",
    "for i in range(len(x)): s += x[i] * (i % 3)",
    "for i in range(len(x)): s += int(x[i])",
    "for i in range(len(x)):\n        s += int(x[i])\n        y[i] = i",
)
STARTS = ("0", "1", "x.dtype.type(0)", "t", "int(t)")


def program(r: random.Random) -> str:
    """A function with a sum that is checked, and perhaps a second one."""
    start, loop = r.choice(STARTS), r.choice(LOOPS)
    return f"def f(x, t, y):\n    s, n = {start}, 0\n    {loop}\n    return s, n"


def terms(r: random.Random, dtype: str) -> np.ndarray:
    """Integers of which a few are so large that partial sums may overflow, and sum up to little."""
    info, length = np.iinfo(dtype), r.choice(LENGTHS)
    x = np.array([r.randrange(-99, 99) for _ in range(length)], dtype)
    large = (info.max, info.min, info.max // 2, info.min // 2, info.max // 64, info.min // 64)
    for _ in range(r.choice((0, 1, 2, 4, 9)) if length else 0):
        at, value = r.randrange(length), r.choice(large)
        x[at] = value
        if r.random() < 0.7:  # something near takes it back
            x[min(at + r.choice((1, 2, 8, 32, 64)), length - 1)] = min(-value, info.max)
    return x


def shown(f: Callable[..., Any], x: np.ndarray, t: Any) -> tuple[Any, ...]:
    """The results of `f` with their types, its warnings, and what it has written."""
    y = np.zeros(len(x))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        results = f(x.copy(), t, y)
    return [(type(v), v) for v in results], {str(w.message) for w in caught}, y.tolist()


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("target", ["scalar", "sse2", "native"])
def test_sums_near_the_ends_of_their_type(
    tmp_path: Path, start: int, target: str, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRANSPILE_SELECT", "compiled")
    monkeypatch.setenv("TRANSPILE_CFLAGS", with_flags("-DTP_WORTH=0", *hurried_flags()))
    monkeypatch.setattr(parallelize, "_EXACT_BLOCK", 512)
    if target != "native":
        monkeypatch.setenv("TRANSPILE_TARGET", target)
    r, compiled = random.Random(start), 0
    for _ in range(examples(6)):
        source, dtype = program(r), r.choice(("int64", "int64", "int32"))
        f = written(tmp_path, source).f
        fused = fuse(f, on_reject="silent")
        for _ in range(12):
            x, t = terms(r, dtype), r.choice((0, 5, -3, 2**61))
            if dtype == "int32" and t > 5:
                t = 2**29
            with thread_pool.forced(threads):
                got = shown(fused, x, np.dtype(dtype).type(t))
            assert got == shown(f, x, np.dtype(dtype).type(t)), f"{source}\n{x.tolist()}\n{t}"
        compiled += fused.stats.compiled
    assert compiled > 0


def total(x, t, y):
    s = 0
    for v in x:
        s += v
    return s, 0


@pytest.mark.parametrize("places", [(0, 1, 32, 33), (0, 600, 1200, 1201), (0, 32, 33, 65)])
def test_a_sum_that_comes_back_has_overflowed(places: tuple[int, ...]) -> None:
    """In lanes, 2**62 and -2**62 may meet before any partial sum is too large."""
    x, fused = np.zeros(1300, np.int64), fuse(total)
    x[[*places]] = 2**62, 2**62, -(2**62), -(2**62)
    wanted = shown(total, x, 0)
    assert wanted[1] == {"overflow encountered in scalar add"}
    assert shown(fused, x, 0) == wanted
    x[[*places]] = 2**60, 2**60, -(2**60), -(2**60)
    assert shown(fused, x, 0) == shown(total, x, 0)
