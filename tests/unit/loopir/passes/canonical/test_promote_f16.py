"""float16: every value converted on every target, and sampled pairs, against NumPy's own bits."""
from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from native import RUNNABLE, run_native
from op_cases import differences, load, loop, param

from loopir import nodes as ir
from loopir.passes.canonical.promote_f16 import promote_f16
from targets.isa.target_registry import runnable_targets
from transpile import fuse

ALL = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
NATIVE = [t.name for t in runnable_targets()]


def converted(source: str, to: str, x: Any, target: str) -> Any:
    value = ir.Call("cast", (load("x", source, True),), to, "W")
    body = loop([ir.Store("r", (ir.Var("i", "i64"),), value)], True)
    kernel = ir.Kernel("k", (param("n", "u8"), param("x", source), param("r", to, True)), (body,))
    r = np.zeros(len(x), {"f16": "f2", "f32": "f4", "f64": "f8", "i16": "i2"}[to])
    run_native(promote_f16(kernel), target, {"n": np.zeros(len(x), "u1"), "x": x, "r": r})
    return r


def between(dtype: str) -> Any:
    """Every float16, what lies halfway to the next, and the neighbours of both."""
    with np.errstate(all="ignore"):
        x = np.sort(ALL[np.isfinite(ALL)].astype(dtype))
        middle = np.concatenate([(x[:-1] + x[1:]) / 2, np.array([65520, -65520], dtype)])
        around = [f(y, y.dtype.type(way)) for y in (x, middle) for f in (np.nextafter,)
                  for way in (np.inf, -np.inf)]
        odd = np.array([np.nan, np.inf, -np.inf, 1e30, -1e-30, 1e-45], dtype)
    return np.concatenate([x, middle, *around, odd])


@pytest.mark.share(4, each="target")
@pytest.mark.parametrize("target", RUNNABLE)
@pytest.mark.parametrize("to", ["f32", "f64"])
def test_every_half_widens(to: str, target: str) -> None:
    got = converted("f16", to, ALL, target)
    assert not len(differences(got, ALL.astype(got.dtype), 0))


@pytest.mark.share(4, each="target")
@pytest.mark.parametrize("target", RUNNABLE)
@pytest.mark.parametrize("source", ["f4", "f8"])
def test_every_half_and_what_lies_between_narrows(source: str, target: str) -> None:
    x = between(source)
    x = np.concatenate([x, x.astype("f8") * (1 + 2.0**-45)]) if source == "f8" else x
    with np.errstate(all="ignore"):
        want = x.astype(np.float16)
    got = converted(f"f{8 * x.itemsize}", "f16", x, target)
    at = differences(got, want, 0)
    assert not len(at), [(x[k], got[k], want[k]) for k in at[:5]]


PAIRWISE = ("add", "sub", "mul", "div", "floordiv", "mod", "fmod", "minimum", "max", "copysign")


@pytest.mark.parametrize("target", NATIVE)
def test_sampled_pairs(target: str) -> None:
    rng = np.random.default_rng(0)
    a, b = (rng.permutation(ALL) for _ in range(2))
    at = (ir.Var("i", "i64"),)
    params, body = [param("n", "u8"), param("a", "f16"), param("b", "f16")], []
    for op in PAIRWISE:
        value = ir.Call(op, (load("a", "f16", True), load("b", "f16", True)), "f16", "W")
        params.append(param(op, "f16", True))
        body.append(loop([ir.Store(op, at, value)], True))
    args = {"n": np.zeros(len(a), "u1"), "a": a, "b": b, **{p: np.zeros_like(a) for p in PAIRWISE}}
    run_native(promote_f16(ir.Kernel("k", tuple(params), tuple(body))), target, args)
    functions = {"sub": "subtract", "mul": "multiply", "div": "divide", "floordiv": "floor_divide"}
    for op in PAIRWISE:
        with np.errstate(all="ignore"):
            if op == "max":
                want = np.where(a < b, b, a)
            else:
                want = getattr(np, functions.get(op, op))(a, b)
        where = differences(args[op], want, 0)
        assert not len(where), (op, [(a[k], b[k], args[op][k], want[k]) for k in where[:5]])


def test_a_constant_out_of_range_warns_as_python_does() -> None:
    """When it is used, and not while the kernel is made."""

    @fuse
    def f(x: np.ndarray) -> np.ndarray:
        out = np.empty_like(x)
        for i in range(len(x)):
            out[i] = x[i] * 70000.0
        return out

    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.isinf(f(np.ones(3, np.float16))).all()
    with np.errstate(over="raise"), pytest.raises(FloatingPointError):
        f(np.ones(3, np.float16))
