"""Loops over narrow elements with integers from outside: both versions give Python's answers."""
from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest

from targets.isa.target_registry import runnable_targets
from transpile import fuse

WEIGHTS = (0, 1, 77, 255, 256, 257, -1, -256, 32767, 32768, -32768, -32769, 1 << 31, -(1 << 62))
BORDERS = {
    "u1": (0, 1, 254, 255), "i1": (-128, -1, 0, 127), "u2": (0, 1, 65535), "i2": (-32768, 32767),
}


def blend(a: Any, b: Any, w: int, out: Any) -> None:
    for i in range(len(a)):
        out[i] = (int(a[i]) * w + int(b[i]) * (256 - w)) >> 8


def blend_rounded(a: Any, b: Any, w: int, out: Any) -> None:
    for i in range(len(a)):
        out[i] = (int(a[i]) * w + int(b[i]) * (256 - w) + 128) // 256


def blend_by_rows(a: Any, b: Any, w: int, out: Any) -> None:
    half = len(a) // 2
    for y in range(2):
        for x in range(half):
            out[y * half + x] = (int(a[y * half + x]) * w + int(b[x]) * (256 - w)) >> 8


def added(a: Any, b: Any, w: int, out: Any) -> None:
    for i in range(len(a)):
        out[i] = int(a[i]) + int(b[i])


def weighted(a: Any, b: Any, w: int, out: Any) -> int:
    s = 0
    for i in range(len(a)):
        s += int(a[i]) * w
    return s


def distance(a: Any, b: Any, w: int, out: Any) -> int:
    s = 0
    for i in range(len(a)):
        d = int(a[i]) * w - int(b[i]) * w
        s += abs(d)
    return s


def where_large(a: Any, b: Any, w: int, out: Any) -> int:
    count = 0
    for i in range(len(a)):
        if int(a[i]) * w > int(b[i]) + w:
            count += 1
    return count


def outcome(f: Callable[..., Any], *args: Any) -> Any:
    """The result, or the type and text of the exception; and the array that was written."""
    try:
        result = f(*args)
    except OverflowError as error:
        result = type(error), str(error)
    return result, args[-1].tolist()


@pytest.mark.parametrize("target", [t.name for t in runnable_targets()])
@pytest.mark.parametrize(
    "f", [blend, blend_rounded, blend_by_rows, added, weighted, distance, where_large]
)
def test_both_versions_give_pythons_answer(f: Callable[..., Any], target: str) -> None:
    rng = np.random.default_rng(1)
    compiled = fuse(f, target=target, on_reject="raise")
    for dtype, n in product(BORDERS, (1, 2, 70)):
        a, b = (np.resize(rng.permutation(np.array(BORDERS[dtype], dtype)), n) for _ in "ab")
        a[n // 2 :] = rng.choice(np.arange(np.iinfo(dtype).min, np.iinfo(dtype).max), n - n // 2)
        for w in WEIGHTS:
            want = outcome(f, a, b, w, np.zeros(n, "u1"))
            assert outcome(compiled, a, b, w, np.zeros(n, "u1")) == want, (dtype, n, w)


def test_small_weights_run_compiled() -> None:
    a, out = np.arange(256, dtype="u1"), np.zeros(256, "u1")
    compiled = fuse(blend, on_reject="raise")
    for w in range(257):
        compiled(a, a[::-1].copy(), w, out)
    assert compiled.stats.compiled == 257, compiled.stats
