"""Scalar expressions as C: what need not be computed where an ``and`` or ``or`` is decided."""
from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from written import written

from loopir.ir_parser import parse
from loopir.passes.pass_list import optimise
from targets.build import c_compiler
from targets.c.emit_c import emit
from targets.isa.target_registry import TARGETS, runnable_targets
from targets.legalization.legalize import legalize
from transpile import fuse

KERNEL = """
def k(x: f64[::1], t: f64, out: mut(f64[::1])):
    guard(out.shape[0] >= x.shape[0], "GUARD_BOUNDS")
    disjoint(x, out)
    for i in loop(0, x.shape[0]):
        left = x[i] > 0.0
        out[i] = select({}, 1.0, 2.0)
"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("left | (t < exp(select(left, 0.0, -x[i])))", "||"),
        ("left & (t < exp(select(left, -x[i], 0.0)))", "&&"),
        ("left | (t < exp(select(left, 0.0, -x[i] / select(left, 1.0, t))))", "||"),
        ("left | (t < exp(-x[i]))", ""),
        ("left & (t < exp(select(left, 0.0, -x[i])))", ""),
        ("left | (t < exp(select(left, 1000.0, -x[i])))", ""),  # np.where would overflow
        ("left | (t < exp(select(left, 0.0, 1.0 / x[i])))", ""),  # np.where divides all
        ("left | (t * 3.0 < exp(select(left, 0.0, -x[i])))", ""),
        ("left | (t + 1.0 < exp(select(left, 0.0, -x[i])))", "||"),  # t + 1.0 raises no flag
        ("left | (t < select(left, 0.0, -x[i]))", ""),  # costs less than a branch
    ],
)
def test_math_functions_are_skipped_where_no_flag_is_lost(text: str, expected: str) -> None:
    c = emit(parse(KERNEL.format(text)), TARGETS["scalar"])
    body = c[c.index("tp_body") :]
    found = [mark for mark in ("||", "&&") if f"left {mark} " in body]
    assert found == ([expected] if expected else [])


@pytest.mark.parametrize("target", ["sse2", "avx2", "avx512", "neon"])
def test_no_vector_of_less_than_a_register_is_asked_for_in_one(target: str) -> None:
    """Clang has no register for 64 bits of floats on x86-64."""
    t = TARGETS[target]
    kernel = """
def k(y: f64[::1], x: f32[::1], out: mut(f64[::1])):
    guard(out.shape[0] >= x.shape[0], "GUARD_BOUNDS")
    guard(y.shape[0] >= x.shape[0], "GUARD_LENGTH")
    disjoint(y, out)
    disjoint(x, out)
    for i in loop(0, x.shape[0]):
        out[i] = f64(select(y[i] > 0.0, x[i] * x[i], -0.0))
"""
    c = emit(legalize(optimise(parse(kernel), t.model), t), t)
    asked, everywhere = c.count("TP_ASKED(v * v)"), c.count("TP_EVERYWHERE(v * v)")
    assert (asked > 0, everywhere > 0) == (t.bits == 128, t.bits > 128)


def accepted(x, u, t, out):
    count = 0
    for i in range(len(x)):
        if x[i] <= 0.0 or u[i] < np.exp(-x[i] / t):
            out[count % 3] += 1.0
            count += 1
    return count


def given_up(x, u, t, out):
    for i in range(len(x)):
        skips = (x[i] <= 0.0) | (u[i] < np.exp(-x[i] / t))
        out[i % 3] += 1.0 if skips else 2.0


@pytest.mark.parametrize("function", [accepted, given_up])
@pytest.mark.parametrize("t", [0.0, -1e-3, 0.5])
@pytest.mark.parametrize("low", [-5, 0])
def test_warnings_are_those_of_what_python_computes(function, t, low) -> None:
    rng = np.random.default_rng(1)
    x, u = rng.integers(low, 1 - low, 40).astype(float), rng.random(40)
    results = []
    for f in (function, fuse(function, on_reject="raise")):
        out = np.zeros(3)
        with warnings.catch_warnings(record=True) as shown:
            warnings.simplefilter("always")
            value = f(x, u, t, out)
        results.append((value, out.tolist(), [str(w.message) for w in shown]))
    assert results[0][:2] == results[1][:2]
    assert set(results[0][2]) == set(results[1][2])


def test_a_long_chain_of_conditions_is_compiled_in_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A macro of C that has its operand twice makes 2**40 texts of 40 selects in one another."""
    monkeypatch.setattr(c_compiler, "TIMEOUT", 20.0)
    monkeypatch.setattr(c_compiler, "_timed_out", set())
    chain = "".join(f"        elif v < {k}.5: r = v * {k}.0\n" for k in range(1, 40))
    f = written(tmp_path, (
        "def f(x, out):\n    for i in range(len(x)):\n        v = x[i]\n"
        f"        if v < 0.0: r = -v\n{chain}        else: r = 1.0 / v\n        out[i] = r\n")).f
    x = np.linspace(-1.0, 45.0, 40)
    ours, theirs = np.zeros(40), np.zeros(40)
    for target in ("scalar", "sse2"):
        fuse(f, on_reject="raise", target=target)(x, ours)
        f(x, theirs)
        assert ours.tobytes() == theirs.tobytes()


@pytest.mark.parametrize("target", [t.name for t in runnable_targets() if t.bits])
@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "int32", "uint8"])
def test_a_select_of_zero_keeps_or_clears_all_bits_of_a_lane(target: Any, dtype: str) -> None:
    def either(x, y, kept, cleared, negative):
        for i in range(len(x)):
            kept[i] = y[i] if x[i] > 1 else 0
            cleared[i] = 0 if x[i] > 1 else y[i]
            negative[i] = y[i] if x[i] > 1 else -0.0

    values = [0.0, 1.0, 2.0, 3.0]
    if dtype.startswith("float"):
        values += [-0.0, np.nan, -np.nan, np.inf, -np.inf, 1e-310]
    compiled = fuse(either, on_reject="raise", target=target)
    for n in (0, 1, 2, 3, 17, 100):
        x = np.resize(np.array([v for v in values for _ in values]), n).astype(dtype)
        y = np.resize(np.array(values), n).astype(dtype)
        results = []
        for f in (either, compiled):
            outs = [np.empty(n, dtype), np.empty(n, dtype), np.empty(n)]
            f(x, y, *outs)
            results.append([a.tobytes() for a in outs])
        assert results[0] == results[1]


def test_a_select_of_zero_is_no_blend() -> None:
    text = KERNEL.format("x[i] < t").replace("1.0, 2.0", "x[i], 0.0")
    target = TARGETS["avx2"]
    assert "& (i64x4)" in emit(legalize(optimise(parse(text)), target), target)
