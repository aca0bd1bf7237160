"""Kernels with one loop for each operation or cast, their operands, and the expected results."""
from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from loopir import nodes as ir
from loopir.dtypes import DTYPES
from loopir.op_table import OPS, Op, evaluate
from loopir.passes.canonical.promote_f16 import promote_f16
from targets.isa.target_registry import TARGETS
from targets.op_support import op_support_table

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


def operation_kernel(
    dtype: str, vector: bool, beside: str | None, wanted: Callable[[Op, str], bool] = applicable
) -> ir.Kernel:
    """``r_op[i] = op(a[i], b[i])`` for every op that is wanted; with `beside`, in loops that also
    copy an array of that wider dtype.
    """
    kinds = {"n": "u8", "a": dtype, "b": dtype, "c": dtype, "m": "bool"}
    params, body = [param(name, d) for name, d in kinds.items()], []
    if beside:
        params += [param("w", beside), param("z", beside, True)]
    for op in OPS.values():
        if not wanted(op, dtype):
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
    """The arrays an operation reads: a, b, c, a and, for a mask beside other dtypes, m."""
    names = iter("abca")
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
