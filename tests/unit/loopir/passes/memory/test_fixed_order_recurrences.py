"""Loops that carry the elements of previous iterations: the same answers, in vectors."""
from __future__ import annotations

import random
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from agree import assert_same, outcome, same
from written import written

from targets.isa.target_registry import runnable_targets
from transpile import fuse

TARGETS = [t.name for t in runnable_targets()]
DTYPES = ("?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8")
SIZES = (0, 1, 2, 3, 4, 5, 9, 40, 133, 700)
SPECIAL = (0.0, -0.0, np.nan, np.inf, -np.inf, 1.0, -1.0, 0.5)


def shifted(x: Any, first: Any) -> Any:
    out = np.empty_like(x)
    before = first
    for i in range(len(x)):
        out[i] = before
        before = x[i]
    return out, before


def shifted_twice(x: Any, first: Any) -> Any:
    out = np.empty_like(x)
    a = b = first
    for i, v in enumerate(x):
        out[i] = a if v > b else b
        a, b = b, v
    return out, a, b


def changes(x: Any, first: Any) -> Any:
    count, before = 0, first
    for v in x:
        count += v != before
        before = v
    return count


def changes_kept(x: Any, first: Any) -> Any:
    count, before = 0, first
    for v in x:
        if v != before:
            count += 1
            before = v
    return count


def last_change(x: Any, first: Any) -> Any:
    at, before = -1, first
    for i in range(len(x)):
        if before == x[i]:
            at = i
        else:
            before = x[i]
    return at, before


def from_the_end(x: Any, first: Any) -> Any:
    out = np.empty(len(x), np.bool_)
    after = first
    for i in range(len(x) - 1, -1, -1):
        out[i] = x[i] < after
        after = x[i]
    return out


def rows(x: Any, first: Any) -> Any:
    y = x[: len(x) // 3 * 3].reshape(3, -1)
    out = np.empty_like(y)
    for i in range(y.shape[0]):
        before = first
        for j in range(y.shape[1]):
            out[i, j] = before if before > y[i, j] else y[i, j]
            before = y[i, j]
    return out


def kept(x: Any, first: Any) -> Any:
    out, before = [], first
    for v in x:
        if v != before:
            out.append(v)
        before = v
    return np.array(out)


def in_place(x: Any, first: Any) -> Any:
    if len(x) > 0:
        before = x[0]
        for i in range(len(x) - 1):
            after = x[i + 1]
            x[i] = after if after > before else before
            before = after
    return first


def overwritten(x: Any, first: Any) -> Any:
    before = first
    for i in range(len(x)):
        v = x[i]
        x[i] = before
        before = v
    return before


def overwritten_before_it_is_read(x: Any, first: Any) -> Any:
    out = np.empty_like(x)
    before = first
    for i in range(len(x)):
        v = x[i]
        x[i] = first
        out[i] = before
        before = v
    return out


def stored_before_it_is_read(x: Any, first: Any) -> Any:
    out = np.zeros_like(x)
    if len(x) > 0:
        before = x[0]
        for i in range(len(x) - 1):
            v = x[i + 1]
            x[i] = first
            out[i] = before
            before = v
    return out


def first_of_equal_zeros(x: Any, first: Any) -> Any:
    out = np.empty_like(x)
    before = first
    for i in range(len(x)):
        out[i] = before
        if x[i] != before:
            before = x[i]
    return out


def first_descent(x: Any, first: Any) -> Any:
    if len(x) > 0:
        before = x[0]
        for i in range(1, len(x)):
            if x[i] < before:
                return i
            before = x[i]
    return -1


def is_sorted(x: Any, first: Any) -> Any:
    before = first
    for v in x:
        if v < before:
            return False
        before = v
    return True


def until_it_falls(x: Any, first: Any) -> Any:
    before = first
    for v in x:
        if v < before:
            break
        before = v
    return before


PROGRAMS: list[Callable[..., Any]] = [
    shifted, shifted_twice, changes, changes_kept, last_change, from_the_end, rows, kept, in_place,
    overwritten, overwritten_before_it_is_read, stored_before_it_is_read, first_of_equal_zeros,
    first_descent, is_sorted, until_it_falls,
]
IN_VECTORS = {shifted, shifted_twice, changes, changes_kept, from_the_end, rows, in_place,
              first_descent, is_sorted}


def elements(n: int, dtype: str) -> Any:
    rng = np.random.default_rng(n)
    x = rng.integers(0, 3, n).astype(dtype)
    if dtype[0] == "f":
        x[::3] = rng.choice(SPECIAL, len(x[::3]))
    return x


@pytest.mark.share(12)
@pytest.mark.parametrize("part", range(3))
@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_every_dtype_agrees(f: Any, part: int) -> None:
    fused = fuse(f, on_reject="raise", target=TARGETS[-1])
    for dtype in DTYPES[part::3]:
        for n in SIZES:
            args = elements(n, dtype), np.dtype(dtype).type(1)
            calls = fused.stats.compiled
            assert_same(outcome(fused, args), outcome(f, args), f"{dtype} at {n}")
            assert fused.stats.compiled == calls + 1, f"{dtype} at {n} runs as Python"


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("f", sorted(IN_VECTORS, key=lambda f: f.__name__))
def test_is_vectorised(f: Any, target: str) -> None:
    fused = fuse(f, on_reject="raise", target=target)
    args = elements(40, "f8"), np.float64(1)
    assert "width=" in fused.emit("loopir", *args)
    for n in SIZES:
        up_and_down = np.minimum(np.arange(n / 1), 4 * n / 3 - np.arange(n / 1))
        for x in (elements(n, "f8"), np.arange(n / 1) + 1, up_and_down):
            args = x, np.float64(1)
            assert_same(outcome(fused, args), outcome(f, args), f"at {n}")


def differences_into(x: Any, out: Any) -> Any:
    before = x[0]
    for i in range(len(x)):
        out[i] = x[i] - before
        before = x[i]
    return before


def test_one_array_for_both() -> None:
    fused = fuse(differences_into, target=TARGETS[-1])
    for n in (1, 2, 3, 40):
        whole = np.arange(2.0 * n + 2) ** 2
        for x, out in ((0, n), (0, 0), (0, 1), (1, 0), (0, 2)):
            ours, wanted = whole.copy(), whole.copy()
            got = fused(ours[x : x + n], ours[out : out + n])
            assert same(got, differences_into(wanted[x : x + n], wanted[out : out + n]))
            assert same(ours, wanted)


# -- programs at random


def program(seed: int) -> str:
    """A loop that carries a, b and c, which often are previous elements."""
    rng = random.Random(seed)
    pick = rng.choice
    some = ("a", "b", "c", "x[i]", "y[i + 1]", "v")
    carried = ("a", "b", "a", "b", "c", "x[i]", "v")
    statements = (
        f"z[i + {pick('012')}] = {pick(some)} - {pick(carried)}",
        f"total += {pick(carried)}",
        f"count += {pick(some)} {pick(('!=', '<'))} {pick(carried)}",
        f"if {pick(some)} > {pick(some)}: z[i + 1] = {pick(carried)}",
        f"x[i + {pick('012')}] = {pick(some)} + {pick(carried)}",
    )
    lines = rng.sample(statements[: pick((4, 4, 5))], pick((1, 1, 2)))
    if rng.random() < 0.2:
        lines.insert(0, f"{pick('xy')}[i + {pick('012')}] = {pick(('1.0', 'a', 'v', 'z[i]'))}")
    steps, kept = ("x[i]", "y[i + 1]", "v", "x[i + 2]", "x[i] * 2", "float(i)"), rng.random() < 0.3
    for name, other in rng.sample((("c", "b"), ("b", "a"), ("a", "v")), 3):
        step = other if rng.random() < 0.3 else pick(steps)
        lines.append(f"{name} = {step}" if not kept else f"if {step} != {name}: {name} = {step}")
    first = pick(("1.0", "x[0]", "y[0]")), pick(("0.0", "x[1]", "x[0]")), pick(("v", "x[2]"))
    body = "\n        ".join([f"v = {pick(('x[i]', 'y[i]', 'x[i + 1]'))}", *lines])
    result = pick(("a, b, c, total, count", "total, count"))
    return f"""
def f(x, y, z):
    total, count, v = 0.0, 0, 2.0
    a, b, c = {", ".join(first)}
    for i in range({pick("01")}, len(x) - 2):
        {body}
    return {result}
"""


@pytest.mark.share(40)
@pytest.mark.parametrize("seed", range(120))
def test_random_programs(seed: int, tmp_path: Path) -> None:
    plain = written(tmp_path, program(seed)).f
    fused = fuse(plain, on_reject="raise", target=TARGETS[-1 - seed % 2])
    for n in (3, 4, 5, 6, 42):
        rng = np.random.default_rng(seed + n)
        arrays = [rng.integers(-2, 3, n).astype("f8") for _ in "xyz"]
        for a, b, c in ((0, 1, 2), (0, 0, 2), (0, 1, 0), (0, 1, 1), (0, 0, 0)):
            args = arrays[a], arrays[b], arrays[c]
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                assert_same(outcome(fused, args), outcome(plain, args), f"{seed} at {n}")
    assert fused.stats.compiled
