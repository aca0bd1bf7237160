"""Every row of the op table, on every dtype and every target, against the row's own meaning on
awkward operands.
"""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from native import RUNNABLE, run_native
from op_cases import (
    HERE,
    applicable,
    cast_kernel,
    castable,
    differences,
    edges,
    expected,
    load,
    loop,
    operation_case,
    operation_kernel,
    param,
)

from loopir import nodes as ir
from loopir.dtypes import DTYPES
from loopir.op_table import OPS, evaluate
from loopir.passes.canonical.promote_f16 import promote_f16
from targets.isa.target_registry import TARGETS
from targets.op_support import OpForm, op_support_table

pytestmark = pytest.mark.share(1)  # each row is met in a plain run

NUMPY_ULPS = 4
"""How far NumPy's own functions may be off."""

WIDER = [
    (d.name, w)
    for w in ("f64", "f32")
    for d in DTYPES.values()
    if d.bytes < DTYPES[w].bytes and d.wide is None  # those are computed with as their wider ones
]


def check(dtype: str, target: str, vector: bool, beside: str | None) -> None:
    kernel = promote_f16(operation_kernel(dtype, vector, beside))
    args = operation_case(kernel, dtype)
    run_native(kernel, target, args)
    for op in OPS.values():
        # the libm of another machine has other errors, which the exponent multiplies
        is_others = op.name.startswith("cpow") and target == "neon"
        if applicable(op, dtype) and not is_others:
            got, want = args[f"r_{op.name}"], expected(op, dtype, args)
            at = differences(got, want, op.ulps and op.ulps + NUMPY_ULPS)
            shown = [(args["a"][k], args["b"][k], got[k], want[k]) for k in at[:5]]
            assert not len(at), f"{op.name}: (a, b, got, want) = {shown}"


@pytest.mark.share(108)
@pytest.mark.parametrize("target", RUNNABLE)
@pytest.mark.parametrize("dtype", DTYPES)
def test_vectors(dtype: str, target: str) -> None:
    check(dtype, target, vector=True, beside=None)


@pytest.mark.share(52)
@pytest.mark.parametrize("target", [t for t in RUNNABLE if TARGETS[t].bits])
@pytest.mark.parametrize(("dtype", "beside"), WIDER)
def test_narrow_vectors(dtype: str, beside: str, target: str) -> None:
    check(dtype, target, vector=True, beside=beside)


@pytest.mark.share(2, each="dtype")
@pytest.mark.parametrize(
    ("target", "dtype"),
    [(t, d) for t in RUNNABLE for d in DTYPES if t in ("scalar", "neon") or d in ("f32", "f64")],
)
def test_scalars(target: str, dtype: str) -> None:
    check(dtype, target, vector=False, beside=None)


# -- division by constants

DIVISORS = (2, 3, 7, 10, 64, 100, 127, 128, 255, 641, 32767, 65535, 2**31 - 1, 2**32 - 1, 2**63 - 1)


def division_kernel(dtype: str, beside: str | None) -> ir.Kernel:
    """``q_3[i] = a[i] // 3`` and ``m_3[i] = a[i] % 3`` for every divisor."""
    params, body = [param("n", "u8"), param("a", dtype)], []
    params += [param("w", beside), param("z", beside, True)] if beside else []
    for d in (d for d in DIVISORS if d <= DTYPES[dtype].high):
        stores: list[ir.Stmt] = []
        for op in ("floordiv", "mod"):
            by = ir.Broadcast(ir.Const(d, dtype), "W")
            value = ir.Call(op, (load("a", dtype, True), by), dtype, "W")
            params.append(param(f"{op}_{d}", dtype, True))
            stores.append(ir.Store(f"{op}_{d}", (HERE,), value))
        if beside:
            stores.append(ir.Store("z", (HERE,), load("w", beside, True)))
        body.append(loop(stores, True))
    return ir.Kernel("divisions", tuple(params), tuple(body))


@pytest.mark.share(52)
@pytest.mark.parametrize("beside", [None, "f64"])
@pytest.mark.parametrize("dtype", [d for d in DTYPES if DTYPES[d].kind in "iu"])
@pytest.mark.parametrize("target", RUNNABLE)
def test_division_by_a_constant(target: str, dtype: str, beside: str | None) -> None:
    d = DTYPES[dtype]
    near = np.arange(max(d.low, -700), min(d.high, 700))
    far = np.random.default_rng(1).integers(d.low, d.high, 501, dtype=d.numpy, endpoint=True)
    a = np.concatenate([near.astype(d.numpy), far, np.array(edges(dtype), d.numpy)])
    kernel = division_kernel(dtype, beside)
    args = {"n": np.zeros(len(a), "u1"), "a": a}
    for p in kernel.params:
        args.setdefault(p.name, np.zeros(len(a), DTYPES[p.dtype].numpy))
    run_native(kernel, target, args)
    for p in kernel.params:
        op, _, by = p.name.partition("_")
        if by:
            want = OPS[op].run(a, np.array(int(by), d.numpy))
            assert args[p.name].tolist() == want.tolist(), p.name


# -- casts


@pytest.mark.share(20)
@pytest.mark.parametrize("target", RUNNABLE)
@pytest.mark.parametrize("source", DTYPES)
def test_casts(source: str, target: str) -> None:
    kernel = cast_kernel(source, vector=True)
    args: dict[str, Any] = {"n": np.zeros(71, "u1")}
    for to, d in DTYPES.items():
        args |= {f"x_{to}": castable(source, to), f"r_{to}": np.zeros(71, d.numpy)}
    run_native(kernel, target, args)
    for to in DTYPES:
        got = args[f"r_{to}"]
        with np.errstate(all="ignore"):
            want = evaluate("cast", (args[f"x_{to}"],), to)
        at = differences(got, want, 0)
        shown = [(args[f"x_{to}"][k], got[k], want[k]) for k in at[:5]]
        assert not len(at), f"to {to}: (x, got, want) = {shown}"


# -- the table that `transpile --ops` prints


@pytest.mark.parametrize("target", TARGETS)
def test_every_operation_has_a_cell(target: str) -> None:
    found = list(op_support_table(TARGETS[target]))
    kinds = sum(op.accepts(d) for op in OPS.values() for d in DTYPES) - len(DTYPES)
    assert len({(c.op, c.dtype, c.source) for c in found}) == len(found) == kinds + len(DTYPES) ** 2
    forms = {c.form for c in found}
    assert forms == (set(OpForm) if TARGETS[target].bits else {OpForm.LANES})


WEIGHTS = {
    1: "abs neg floor ceil trunc rint sign not invert relu",
    2: "fmod copysign",
    4: "sqrt rsqrt cbrt",
    6: "hypot",
    8: "sin cos tan exp log exp2 expm1 log2 log10 log1p sinh cosh tanh",
    10: "asin acos atan asinh acosh atanh atan2 sigmoid erf erfc",
    12: "pow",
}
"""What operations cost in additions, by the published table that the rows follow."""


def test_weights() -> None:
    assert {op: OPS[op].weight for ops in WEIGHTS.values() for op in ops.split()} == {
        op: weight for weight, ops in WEIGHTS.items() for op in ops.split()
    }
