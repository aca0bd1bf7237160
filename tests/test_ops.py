"""Every row of the op table, on every dtype and every target, against the row's own meaning on
awkward operands.
"""
from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from native import RUNNABLE, run_native

from loopir import nodes as ir
from loopir.dtypes import DTYPES
from loopir.op_table import OPS, Op, evaluate
from loopir.passes.canonical.promote_f16 import promote_f16
from targets.c.op_support import OpForm, op_support_table
from targets.isa.target_registry import TARGETS

N = ir.Dim("n", 0)
HERE = ir.Var("i", "i64")


def edges(dtype: str) -> list[Any]:
    d = DTYPES[dtype]
    if d.kind == "b":
        return [False, True]
    if d.kind in "iu":
        near = (0, 1, 2, 3, 7, 10, d.high // 2, d.high - 1, d.high)
        return [*near, *((d.low, d.low + 1, -1, -2, -7, -10) if d.kind == "i" else (100,))]
    info = np.finfo(d.numpy)
    sizes = (0.0, 0.3, 0.5, 1.0, 1.5, 2.5, 3.0, 7.75, 1e6, 3e9, 2.0**52 + 1, np.inf)
    tiny = (info.tiny, info.smallest_subnormal, info.max, info.eps)
    return [np.nan, *sizes, *tiny, *(-x for x in (*sizes, *tiny))]


def operands(dtype: str, arity: int) -> list[Any]:
    """All pairs of edges: as many arrays as operands, of a length that fills no register."""
    rows = list(itertools.product(edges(dtype), repeat=min(arity, 2)))
    rows += rows[: 1 if len(rows) % 2 == 0 else 2]
    columns = [np.array(c, DTYPES[dtype].numpy) for c in zip(*rows, strict=True)]
    return columns if arity < 3 else [*columns, columns[0][::-1].copy()]


CELLS = {(c.op, c.dtype) for t in TARGETS.values() for c in op_support_table(t) if not c.source}


def applicable(op: Op, dtype: str) -> bool:
    return (op.name, dtype) in CELLS


# -- kernels: one loop an operation, over the same operands


def load(array: str, dtype: str, vector: bool) -> ir.Expr:
    return ir.Load(array, (HERE,), dtype, "W" if vector else 1)


def loop(stores: list[ir.Stmt], vector: bool) -> ir.Stmt:
    rng = ir.Interval(ir.Const(0, "i64"), N)
    return ir.VecLoop("i", rng, "W", tuple(stores)) if vector else ir.Loop("i", rng, tuple(stores))


def param(name: str, dtype: str, written: bool = False) -> ir.Param:
    return ir.Param(name, dtype, 1, 0, written)


def operation_kernel(dtype: str, vector: bool, beside: str | None) -> ir.Kernel:
    """``r_op[i] = op(a[i], b[i])`` for every op; with `beside`, in loops that also copy an array of
    that wider dtype.
    """
    kinds = {"n": "u8", "a": dtype, "b": dtype, "c": dtype, "m": "bool"}
    params, body = [param(name, d) for name, d in kinds.items()], []
    if beside:
        params += [param("w", beside), param("z", beside, True)]
    for op in OPS.values():
        if not applicable(op, dtype):
            continue
        args = [load(x, "bool" if x == "m" else dtype, vector) for x in operand_names(op, dtype)]
        result = "bool" if op.result == "m" else dtype
        value = ir.Call(op.name, tuple(args), result, "W" if vector else 1)
        params.append(param(f"r_{op.name}", result, True))
        stores: list[ir.Stmt] = [ir.Store(f"r_{op.name}", (HERE,), value)]
        if beside:
            stores.append(ir.Store("z", (HERE,), load("w", beside, vector)))
        body.append(loop(stores, vector))
    return ir.Kernel("operations", tuple(params), tuple(body))


def operand_names(op: Op, dtype: str) -> list[str]:
    """The arrays an operation reads: a, b, c and, for a mask beside other dtypes, m."""
    names = iter("abc")
    return ["m" if x == "m" and dtype != "bool" else next(names) for x in op.operands]


def operation_case(kernel: ir.Kernel, dtype: str) -> dict[str, Any]:
    a, b, c = operands(dtype, 3)
    rng = np.random.default_rng(0)
    args: dict[str, Any] = {"n": np.zeros(len(a), "u1"), "a": a, "b": b, "c": rng.permutation(c)}
    args["m"] = rng.integers(0, 2, len(a)).astype(bool)
    for p in kernel.params:
        args.setdefault(p.name, np.zeros(len(a), DTYPES[p.dtype].numpy))
    return args


def expected(op: Op, dtype: str, args: dict[str, Any]) -> Any:
    given = [args[x] for x in operand_names(op, dtype)]
    with np.errstate(all="ignore"):
        return evaluate(op.name, tuple(given), "bool" if op.result == "m" else dtype)


def differences(got: Any, want: Any, ulps: float) -> Any:
    """Where two arrays differ: in bits, NaNs of any kind alike; or by more than `ulps`."""
    if got.dtype.kind != "f":
        return np.flatnonzero(got != want)
    bits = got.view(f"i{got.itemsize}"), want.view(f"i{want.itemsize}")
    same = (bits[0] == bits[1]) | (np.isnan(got) & np.isnan(want))
    with np.errstate(all="ignore"):
        near = np.abs(got - want) <= ulps * np.spacing(np.abs(want)) if ulps else same
    return np.flatnonzero(~(same | near))


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
        if applicable(op, dtype):
            got, want = args[f"r_{op.name}"], expected(op, dtype, args)
            at = differences(got, want, op.ulps and op.ulps + NUMPY_ULPS)
            shown = [(args["a"][k], args["b"][k], got[k], want[k]) for k in at[:5]]
            assert not len(at), f"{op.name}: (a, b, got, want) = {shown}"


@pytest.mark.share(8)
@pytest.mark.parametrize("target", RUNNABLE)
@pytest.mark.parametrize("dtype", DTYPES)
def test_vectors(dtype: str, target: str) -> None:
    check(dtype, target, vector=True, beside=None)


@pytest.mark.share(8)
@pytest.mark.parametrize("target", [t for t in RUNNABLE if t != "scalar"])
@pytest.mark.parametrize(("dtype", "beside"), WIDER)
def test_narrow_vectors(dtype: str, beside: str, target: str) -> None:
    check(dtype, target, vector=True, beside=beside)


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


@pytest.mark.share(8)
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


def castable(source: str, to: str) -> Any:
    """Edges that the cast has a meaning for: of a float that the integer type cannot hold there is
    none.
    """
    x = np.array(edges(source), DTYPES[source].numpy)
    if DTYPES[source].kind == "f" and DTYPES[to].kind in "iu":
        whole = np.trunc(x.astype(np.longdouble))
        x = x[(whole >= DTYPES[to].low) & (whole <= DTYPES[to].high)]
    return np.resize(x, 71)


def cast_kernel(source: str, vector: bool) -> ir.Kernel:
    params, body = [param("n", "u8")], []
    for to in DTYPES:
        params += [param(f"x_{to}", source), param(f"r_{to}", to, True)]
        value = ir.Call("cast", (load(f"x_{to}", source, vector),), to, "W" if vector else 1)
        body.append(loop([ir.Store(f"r_{to}", (HERE,), value)], vector))
    return promote_f16(ir.Kernel("casts", tuple(params), tuple(body)))


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
    kinds = sum(DTYPES[d].kind in op.kinds for op in OPS.values() for d in DTYPES) - len(DTYPES)
    assert len({(c.op, c.dtype, c.source) for c in found}) == len(found) == kinds + len(DTYPES) ** 2
    forms = {c.form for c in found}
    assert forms == ({OpForm.LANES} if target == "scalar" else set(OpForm))


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
