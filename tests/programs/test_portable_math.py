"""``portable=True``: math functions of numbers have the bits of vectors, on all targets with FMA.
"""
from __future__ import annotations

import linecache
import math
from typing import Any

import numpy as np
import pytest

from targets.isa.target_registry import runnable_targets
from transpile import fuse

FUSED = [t.name for t in runnable_targets() if t.has_fma]
pytestmark = pytest.mark.skipif(not FUSED, reason="this machine has no fused multiply-add")

ONE = (
    "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "asin", "acos",
    "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "cbrt", "erf",
)
TWO = ("pow", "atan2", "hypot")


def arguments(name: str, dtype: str, n: int = 403) -> tuple[Any, Any]:
    low, high = {"acosh": (1.1, 9), "log1p": (-0.9, 9)}.get(name, (0.1, 9))
    low, high = (-0.99, 0.99) if name in ("asin", "acos", "atanh") else (low, high)
    x = np.random.default_rng(5).uniform(low, high, n)
    return x.astype(dtype), x[::-1].astype(dtype)


def program(name: str, spelling: str) -> dict[str, Any]:
    """A map, and a recurrence that has the same values: its loop can't be vectorised."""
    call = f"{spelling}(x[i], z[i])" if name in TWO else f"{spelling}(x[i])"
    number = f"{spelling}(x[i] + p, z[i])" if name in TWO else f"{spelling}(x[i] + p)"
    source = (
        f"def in_lanes(x, z, y):\n    for i in range(len(x)):\n        y[i] = {call}\n"
        "def one_by_one(x, z, y):\n"
        "    p = x[0] - x[0]\n"
        f"    for i in range(len(x)):\n        y[i] = {number}\n        p = min(abs(y[i]), p)\n"
    )
    names: dict[str, Any] = {"math": math, "np": np}
    path = f"<portable {hash(source)}>"
    linecache.cache[path] = (len(source), None, source.splitlines(True), path)
    exec(compile(source, path, "exec"), names)
    return names


def results(names: dict[str, Any], args: tuple[Any, Any], **options: Any) -> tuple[Any, Any]:
    values = []
    for function in ("in_lanes", "one_by_one"):
        y = np.empty_like(args[0])
        fuse(names[function], on_reject="raise", **options)(*args, y)
        values.append(y)
    return values[0], values[1]


@pytest.mark.parametrize("name", [*ONE, *TWO])
def test_numbers_have_the_bits_of_vectors(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if not hasattr(math, name):
        pytest.skip(f"math has no {name} in this Python")
    monkeypatch.setenv("TRANSPILE_FALLBACK", "error")
    args = arguments(name, "f8")
    names = program(name, f"math.{name}")
    want = None
    for target in FUSED:
        lanes, numbers = results(names, args, target=target, portable=True)
        want = lanes if want is None else want
        assert np.array_equal(lanes, want), target
        assert np.array_equal(numbers, want), target
        np.testing.assert_allclose(want, results(names, args, target=target)[1], rtol=1e-14)


@pytest.mark.parametrize("name", ["exp", "log", "sin", "arctan2", "power"])
def test_float32(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRANSPILE_FALLBACK", "error")
    two = {"arctan2": "atan2", "power": "pow"}.get(name, name)
    args = arguments(two, "f4")
    names = program(two, f"np.{name}")
    for target in FUSED:
        lanes, numbers = results(names, args, target=target, portable=True)
        assert lanes.dtype == np.float32
        assert np.array_equal(lanes, numbers), target


def test_without_it_numbers_have_pythons_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else the test above could not fail."""
    monkeypatch.setenv("TRANSPILE_FALLBACK", "error")
    differ = 0
    for name in ("exp", "log", "sin", "tanh", "pow"):
        args, names = arguments(name, "f8"), program(name, f"math.{name}")
        want = np.empty_like(args[0])
        names["one_by_one"](*args, want)
        for target in FUSED:
            lanes, numbers = results(names, args, target=target)
            assert np.array_equal(numbers, want), (name, target)
            differ += not np.array_equal(lanes, numbers)
    assert differ


def test_small_calls_are_not_left_to_python() -> None:
    """Python's bits may be others, so a call has one answer, whoever is faster."""
    names = program("tanh", "math.tanh")
    (x, z), y = arguments("tanh", "f8", 2), np.empty(2)
    compiled = fuse(names["one_by_one"], portable=True, on_reject="raise")
    for _ in range(200):
        compiled(x, z, y)
    assert compiled.stats.compiled == 200, compiled.stats
