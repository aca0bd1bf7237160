"""Targets: the width table, what legalisation makes of vector loops, and hand-written vector
kernels run on each.
"""
from __future__ import annotations

import copy
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from native import RUNNABLE, run_native
from paths import GOLDEN

import targets
from loopir import nodes as ir
from loopir.dtypes import DTYPES
from loopir.ir_interpreter import run_kernel
from loopir.ir_printer import parse, show
from loopir.ir_traversal import bottom_up, walk
from loopir.op_table import OPS
from targets.build.build_kernel import build_kernel
from targets.c import emit
from targets.isa.target_registry import TARGETS, Vec, best_target, runnable_targets
from targets.legalization.legalize import legalize
from targets.legalization.vector_cost_model import recomputes_predicate, registers_at_once

SIZES = (0, 1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 33, 63, 64, 65, 300, 1193)

VECTOR_TARGETS = [t.name for t in TARGETS.values() if t.bits]

WIDTHS = [  # f32, i32, bit-packed bool
    ("sse2", 4, 4, 128),
    ("avx2", 8, 8, 256),
    ("avx512", 16, 16, 512),
    ("neon", 4, 4, 128),
    ("scalar", 1, 1, 1),
]


@pytest.mark.parametrize(("name", "f32", "i32", "packed"), WIDTHS)
def test_widths(name: str, f32: int, i32: int, packed: int) -> None:
    t = TARGETS[name]
    found = (t.lanes("f32"), t.lanes("i32"), t.lanes("bool", packed=True))
    assert found == (f32, i32, packed)


@pytest.mark.parametrize("name", TARGETS)
def test_no_row_stands_twice(name: str) -> None:
    """Of rows that cover the same operands the first would hide the others."""
    t = TARGETS[name]
    lanes = [2**k for k in range(1, 7)]
    for row in t.rows:
        for dtype in row.dtypes.split():
            for source in row.source.split() or [""]:
                sizes = [Vec(dtype, n) for n in lanes]
                assert any(row.covers(row.op, v, source) for v in sizes if v.bits <= t.bits)
                for v in sizes:
                    covering = [r for r in t.rows if r.covers(row.op, v, source)]
                    assert len(covering) <= 1, (row.op, v.name, source)


@pytest.mark.parametrize("name", TARGETS)
def test_rows_name_operations(name: str) -> None:
    assert {r.op for r in TARGETS[name].rows} <= {*OPS, "any", "bits"}


def test_rows_that_need_more_than_the_target() -> None:
    """Code without them is the other targets', and has other recipes."""
    t, v = TARGETS["avx512"], Vec("i64", 8)
    bare, rich = (replace(t, extras=frozenset(x)) for x in ((), ("avx512_vpopcntdq",)))
    assert bare.row("popcount", v) is None
    assert rich.row("popcount", v) is not None
    assert rich.row("popcount", Vec("u8", 64)) is None
    assert (bare.full_name, rich.full_name) == ("avx512", "avx512+avx512_vpopcntdq")


def test_this_machine() -> None:
    assert TARGETS["scalar"] in runnable_targets()
    assert best_target() is runnable_targets()[0]


# -- legalisation


def loops(k: ir.Kernel, name: str) -> list[Any]:
    legal = legalize(k, TARGETS[name])
    return [n for n in walk(legal) if isinstance(n, (ir.VecLoop, ir.PredLoop))]


def test_lanes_follow_the_widest_dtype() -> None:
    k = parse("""
def f(x: f32[::1], y: mut(f64[::1])):
    for i in vec(0, x.shape[0], width=W):
        y[i:W] = f64(x[i:W])
""")
    wanted = {"scalar": 1, "sse2": 2, "avx2": 4, "avx512": 8, "neon": 2}
    assert {t: loops(k, t)[0].width for t in wanted} == wanted


CHECKED_SCAN = parse("""
def f(x: i64[::1], y: mut(i64[::1]), z: mut(i64[::1]), r: mut(i64[()])):
    for i in vec(0, x.shape[0], width=W, group=8, s=3, p=1):
        s_1, s_0 = prefix("add", s, x[i:W])
        check(~add_over(s_0, x[i:W]), "over")
        y[i:W] = s_1
        p_1, p_0 = prefix("add", p, x[i:W] ^ broadcast(9, W))
        check(~add_over(p_0, x[i:W] ^ broadcast(9, W)), "divide")
        z[i:W] = p_0
    r[()] = s + p
""")


def test_checked_scans_of_few_lanes_are_scalar() -> None:
    wanted = {"scalar": 1, "sse2": 1, "avx2": 1, "avx512": 8, "neon": 1}
    assert {t: loops(CHECKED_SCAN, t)[0].width for t in wanted} == wanted
    beside_floats = parse("""
def f(x: i64[::1], v: mut(f64[::1]), y: mut(i64[::1])):
    for i in vec(0, x.shape[0], width=W, group=8, s=3):
        s_1, s_0 = prefix("add", s, x[i:W])
        check(~add_over(s_0, x[i:W]), "over")
        y[i:W] = s_1
        v[i:W] = exp(v[i:W])
""")
    unchecked = parse("""
def f(x: i64[::1], y: mut(i64[::1])):
    for i in vec(0, x.shape[0], width=W, group=8, s=3):
        s_1 = prefix("add", s, x[i:W])
        y[i:W] = s_1
""")
    assert {loops(k, "avx2")[0].width for k in (beside_floats, unchecked)} == {4}


@pytest.mark.parametrize("target", RUNNABLE)
def test_checked_scans_find_each_overflow(target: str) -> None:
    """Wherever in the groups and behind them it is; the results wrap."""
    rng = np.random.default_rng(3)
    for n in (0, 1, 7, 8, 9, 20) if target != "neon" else (3, 19):
        for place in (None, *range(n)) if target != "neon" else (None, 1, n - 1):
            x = rng.integers(0, 9, n)
            if place is not None:
                x[place] = np.iinfo(np.int64).max
            want, got = (
                {"x": x, "y": np.zeros_like(x), "z": np.zeros_like(x), "r": np.zeros((), "i8")}
                for _ in range(2)
            )
            status = run_kernel(CHECKED_SCAN, want).status
            assert run_native(CHECKED_SCAN, target, got) == status
            assert bool(status) == (place is not None)
            for name in "yzr":
                assert want[name].tobytes() == got[name].tobytes()


FILTER = parse("""
def f(x: f32[::1], t: f32, out: mut(f32[::1]), n: mut(i64[()])):
    for i in pred(0, x.shape[0], width=W, where=x[i:W] > broadcast(t, W), c=0):
        append(out, c, x[i:W] * broadcast(f32(2.0), W))
    n[()] = c
""")


def test_mask_forms() -> None:
    wanted = {
        "scalar": "BranchPerLane", "sse2": "SelectBlend", "avx2": "SelectBlend",
        "avx512": "AVX512Mask", "neon": "SelectBlend",
    }
    assert {t: loops(FILTER, t)[0].form.name for t in wanted} == wanted
    for t, natural in wanted.items():
        for form in ir.MaskForm:
            loop = loops(asking(FILTER, form=form), t)[0]
            branches = form is ir.MaskForm.BranchPerLane
            assert loop.form.name == (form.name if branches else natural)
            assert (loop.width == 1) == (loop.form is ir.MaskForm.BranchPerLane)


def asking(k: ir.Kernel, **how: Any) -> ir.Kernel:
    """`k` with all of its predicated loops in that form, or skipping."""
    return bottom_up(k, lambda n: replace(n, **how) if isinstance(n, ir.PredLoop) else n)


def test_a_group_is_the_kernels() -> None:
    k = parse(KERNELS["sum"])
    assert {loops(k, t)[0].group for t in TARGETS} == {64}


def test_what_ends_a_loop_is_computed_from_each_group() -> None:
    [loop] = loops(parse(KERNELS["early"]), "avx2")
    assert "o" not in {n.name for n in walk(loop.accs[0].step) if isinstance(n, ir.Var)}
    [loop] = loops(parse(KERNELS["early"].replace("o=False", "o=True")), "avx2")
    assert "o" in {n.name for n in walk(loop.accs[0].step) if isinstance(n, ir.Var)}


def test_joined_folds_run_as_many_registers_at_once_as_have_space() -> None:
    k = parse(KERNELS["statistics"])
    for t, (registers, at_once) in {"avx2": (8, 2), "avx512": (4, 4), "scalar": (64, 64)}.items():
        (loop,) = loops(k, t)
        found = loop.group // loop.width, registers_at_once(loop, TARGETS[t])
        assert (len(loop.accs), *found) == (5, registers, at_once), t


def test_joined_folds_of_long_groups_are_apart_where_they_do_not_fit_the_registers() -> None:
    """Their 16 registers are too many for copies of the body."""
    k = parse(KERNELS["statistics"])
    assert {t: [len(x.accs) for x in loops(k, t)] for t in ("sse2", "neon")} == {
        "sse2": [5], "neon": [2, 2, 1],
    }


def test_joined_folds_that_skip_groups_are_apart_where_they_do_not_fit_the_registers() -> None:
    k = parse(KERNELS["skipping_statistics"])
    wanted = {"scalar": [3], "sse2": [3], "avx2": [2, 1], "avx512": [3], "neon": [2, 1]}
    assert {t: [len(x.accs) for x in loops(k, t)] for t in wanted} == wanted
    assert [len(x.body) for x in loops(k, "avx2")] == [1, 1]


@pytest.mark.parametrize("target", [t for t in RUNNABLE if t in VECTOR_TARGETS])
@pytest.mark.parametrize(
    ("dtype", "wide", "factor", "is_short"),
    [
        ("i32", "i64", "i64(y[i:W])", True),
        ("u32", "u64", "u64(y[i:W])", True),
        ("i32", "i64", "broadcast(-7, W)", True),
        ("i32", "i64", "(i64(y[i:W]) + i64(y[i:W]))", False),
        ("u32", "i64", "i64(y[i:W])", False),
        ("i64", "i64", "y[i:W]", False),
    ],
)
def test_products_of_halves(dtype: str, wide: str, factor: str, is_short: bool, target: str) -> None:
    k = parse(f"""
def product(x: {dtype}[::1], y: {dtype}[::1], z: mut({wide}[::1])):
    for i in vec(0, x.shape[0], width=W):
        t = cast(x[i:W], {wide})
        z[i:W] = t * {factor}
""")
    has_row = TARGETS[target].row("short_mul", Vec(wide, TARGETS[target].lanes(wide))) is not None
    legal = legalize(k, TARGETS[target])
    assert any(getattr(n, "op", "") == "short_mul" for n in walk(legal)) == (is_short and has_row)
    limits = np.iinfo(DTYPES[dtype].numpy)
    ends = np.array([limits.min, limits.max, 0, 1, limits.max - 1, limits.min + 1, 12345], limits.dtype)
    x, y = (np.ascontiguousarray(a.ravel()) for a in np.meshgrid(ends, ends))
    want, got = ({"x": x, "y": y, "z": np.zeros(x.size, DTYPES[wide].numpy)} for _ in range(2))
    assert run_kernel(k, want).status == run_native(k, target, got)
    assert np.array_equal(want["z"], got["z"])


def test_folds_that_do_more_stay_joined() -> None:
    folds = KERNELS["skipping_statistics"]
    chained = folds.replace("v * v", "v * s")
    stores = folds.replace("        q = step", "        x[i:W] = v\n        q = step")
    stores = stores.replace("x: f32[::1]", "x: mut(f32[::1])")
    for text in (chained, stores):
        assert len(loops(parse(text), "avx2")) == 1
    (loop,) = loops(parse(stores), "avx2")
    assert registers_at_once(loop, TARGETS["avx2"]) == 8


# -- vector kernels, in the interpreter and on every target

KERNELS = {
    "statistics": """
def statistics(x: f32[::1], r: mut(f32[::1])):
    for i in vec(0, x.shape[0], width=W, group=64, s=f32(0.0), q=f32(0.0), l=f32("inf"), h=f32("-inf"), a=f32(0.0)):
        v = x[i:W]
        w = v * v
        s = step(s + v)
        q = step(q + w * v)
        l = step(minimum(l, w))
        h = step(maximum(h, w - v))
        a = step(a + abs(v))
    r[0] = hreduce("add", s)
    r[1] = hreduce("add", q)
    r[2] = hreduce("minimum", l)
    r[3] = hreduce("maximum", h) + hreduce("add", a)
""",
    "skipping_statistics": """
def skipping_statistics(x: f32[::1], r: mut(f32[::1])):
    for i in pred(0, x.shape[0], width=W, group=64, where=x[i:W] > broadcast(f32(0.5), W), s=f32(0.0), q=f32(0.0), h=f32("-inf")):
        v = sqrt(abs(x[i:W])) / (abs(x[i:W]) + broadcast(f32(1.0), W))
        s = step(s + v)
        q = step(q + v * v)
        h = step(maximum(h, v))
    r[0] = hreduce("add", s)
    r[1] = hreduce("add", q)
    r[2] = hreduce("maximum", h)
    r[3] = f32(0.0)
""",
    "saxpy": """
def saxpy(x: f32[::1], y: mut(f32[::1]), a: f32):
    for i in vec(0, x.shape[0], width=W):
        y[i:W] = broadcast(a, W) * x[i:W] + y[i:W]
""",
    "sum": """
def sum(x: f32[::1], r: mut(f32[()])):
    for i in vec(0, x.shape[0], width=W, group=64, s=f32(0.0)):
        s = step(s + x[i:W])
    r[()] = hreduce("add", s)
""",
    "moments": """
def moments(x: f64[::1], r: mut(f64[::1])):
    for i in vec(0, x.shape[0], width=W, group=32, s=0.0, q=0.0, m=f64("inf")):
        s = step(s + x[i:W])
        q = step(q + x[i:W] * x[i:W])
        m = step(min(m, x[i:W]))
    r[0] = hreduce("add", s)
    r[1] = hreduce("add", q)
    r[2] = hreduce("min", m)
""",
    "bytes": """
def bytes(u: u8[::1], r: mut(u8[()]), w: mut(i64[()])):
    for i in vec(0, u.shape[0], width=W, group=256, s=u8(0)):
        s = step(s + u[i:W])
    r[()] = hreduce("add", s)
    for i in vec(0, u.shape[0], width=W, group=32, t=0):
        t = step(t + i64(u[i:W]))
    w[()] = hreduce("add", t)
""",
    "all_any": """
def all_any(x: f32[::1], b: bool[::1], r: mut(bool[::1])):
    for i in vec(0, x.shape[0], width=W, group=64, a=True, o=False):
        a = step(a & (x[i:W] > broadcast(f32(-3.0), W)))
        o = step(o | b[i:W])
    r[0] = hreduce("and", a)
    r[1] = hreduce("or", o)
""",
    "filter_fold": """
def filter_fold(x: f32[::1], t: f32, r: mut(f32[()])):
    for i in pred(0, x.shape[0], width=W, group=64, where=x[i:W] > broadcast(t, W), s=f32(0.0)):
        s = step(s + x[i:W])
    r[()] = hreduce("add", s)
""",
    "filter_wide": """
def filter_wide(x: f32[::1], b: bool[::1], d: f64[::1], out: mut(f64[::1]), n: mut(i64[()])):
    for i in pred(0, x.shape[0], width=W, where=b[i:W], c=0):
        append(out, c, d[i:W] + f64(x[i:W]))
    n[()] = c
""",
    "filter_store": """
def filter_store(x: f32[::1], b: bool[::1], y: mut(f32[::1]), z: mut(u8[::1]), u: u8[::1]):
    for i in pred(0, x.shape[0], width=W, where=x[i:W] < broadcast(f32(0.5), W)):
        y[i:W] = where(b[i:W], x[i:W])
        z[i:W] = u[i:W]
        check(x[i:W] > broadcast(f32(-2.5), W), "invalid")
""",
    "filter_dear": """
def filter_dear(x: f32[::1], y: mut(f32[::1]), r: mut(f32[()])):
    for i in pred(0, x.shape[0], width=W, group=64, where=x[i:W] > broadcast(f32(3.9), W), s=f32(0.0)):
        v = sqrt(abs(x[i:W]) + broadcast(f32(1.0), W))
        y[i:W] = sqrt(v) / v
        s = step(s + sqrt(v / (v + broadcast(f32(2.0), W))) / v)
    r[()] = hreduce("add", s)
""",
    "filter_dear_predicate": """
def filter_dear_predicate(x: f32[::1], y: mut(f32[::1])):
    for i in pred(0, x.shape[0], width=W, where=sqrt(sqrt(abs(x[i:W]))) > broadcast(f32(1.4), W)):
        y[i:W] = x[i:W] * broadcast(f32(2.0), W)
""",
    "filter_nothing_read_twice": """
def filter_nothing_read_twice(x: mut(f32[::1]), y: mut(f32[::1])):
    for i in pred(0, x.shape[0], width=W, where=x[i:W] > broadcast(f32(0.0), W)):
        x[i:W] = x[i:W] * broadcast(f32(2.0), W)
        y[i:W] = x[i:W]
""",
    "index": """
def index(x: f64[::1], y: mut(f64[::1]), z: mut(i64[::1])):
    for i in vec(0, x.shape[0], width=W):
        z[i:W] = ramp(i, 1, W)
        y[i:W] = x[i:W] / f64(ramp(i, 1, W) - broadcast(x.shape[0], W))
""",
    "backwards": """
def backwards(x: f32[::1], y: mut(f32[::1]), z: mut(f32[::1])):
    for i in vec(0, x.shape[0], width=W):
        y[i:W] = x[x.shape[0] - 1 - i:W:-1]
        z[x.shape[0] - 1 - i:W:-1] = x[i:W]
""",
    "strides": """
def strides(s: f32[:], t: mut(f32[:]), b: bool[:], q: mut(bool[::1])):
    for i in vec(0, s.shape[0], width=W):
        t[i:W] = -s[i:W]
        q[i:W] = ~b[i:W]
""",
    "columns": """
def columns(m: f64[:, ::1], v: mut(f64[::1])):
    for j in vec(0, m.shape[1], width=W):
        v[j:W] = m[0, j:W]
    for i in loop(1, m.shape[0]):
        for j in vec(0, m.shape[1], width=W):
            v[j:W] = v[j:W] + m[i, j:W]
""",
    "early": """
def early(x: f32[::1], r: mut(bool[()])):
    for i in vec(0, x.shape[0], width=W, group=64, o=False):
        o = step(o | (x[i:W] > broadcast(f32(2.0), W)))
        until(hreduce("or", o))
    r[()] = hreduce("or", o)
""",
    "late": """
def late(x: f32[::1], r: mut(bool[()])):
    for i in vec(0, x.shape[0], width=W, group=64, a=True):
        a = step(a & (x[i:W] < broadcast(f32(4.5), W)))
        until(~hreduce("and", a))
    r[()] = hreduce("and", a)
""",
    "awkward_names": """
def awkward_names(double: f32[::1], int: mut(f32[::1]), tp_x: f32, exp: f32):
    for register in vec(0, double.shape[0], width=W):
        f32x16 = double[register:W] * broadcast(tp_x, W)
        int[register:W] = f32x16 + broadcast(exp, W)
""",
    "heavy": """
def heavy(x: f32[::1], r: mut(f32[::1])):
    for i in vec(0, x.shape[0], width=W, group=64, s=f32(0.0), p=f32(0.0)):
        s = step(s + sqrt(abs(x[i:W])) / (floor(x[i:W]) + broadcast(f32(9.0), W)))
        p = step(p + sqrt(abs(x[i:W] - broadcast(f32(1.0), W))) * sqrt(abs(x[i:W])) / broadcast(f32(3.0), W))
    r[0] = hreduce("add", s)
    r[1] = hreduce("add", p)
""",
}


def arguments(k: ir.Kernel, n: int) -> dict[str, Any]:
    rng = np.random.default_rng(n)
    args: dict[str, Any] = {}
    for p in k.params:
        kind = DTYPES[p.dtype].numpy
        room = n + 70 if p.name == "out" else max(n, 4) if p.name == "r" and p.rank else n
        if p.rank is None:
            args[p.name] = kind.type(0.25)
            continue
        shape = {0: (), 1: (room,), 2: (3, n)}[p.rank]
        values = (rng.standard_normal(shape) * 2).astype(kind) if kind.kind == "f" else None
        args[p.name] = (
            rng.integers(0, 2 if kind.kind == "b" else 100, shape).astype(kind)
            if values is None
            else values
        )
        if p.rank == 0:
            args[p.name] = np.asarray(args[p.name])
        if p.rank == 1 and p.unit is None:
            args[p.name] = np.repeat(args[p.name], 2)[::2]
    return args


@pytest.mark.share(38)
@pytest.mark.parametrize("target", RUNNABLE)
@pytest.mark.parametrize("name", KERNELS)
def test_vector_kernels(name: str, target: str) -> None:
    means_the_same(parse(KERNELS[name]), target, SIZES)


@pytest.mark.share(12)
@pytest.mark.parametrize("how", [{"form": ir.MaskForm.BranchPerLane}, {"skips": True}], ids=str)
@pytest.mark.parametrize("target", [t for t in RUNNABLE if t in VECTOR_TARGETS])
@pytest.mark.parametrize("name", [name for name in KERNELS if name.startswith("filter")])
def test_branches_where_there_are_vectors(name: str, target: str, how: dict[str, Any]) -> None:
    """For each lane, and around all. The other two forms are what `test_vector_kernels` runs: each
    target has one of them.
    """
    k = asking(parse(KERNELS[name]), **how)
    means_the_same(k, target, (0, 1, 17, 65, 300))


ASKED = (
    "broadcast(h, W)",
    "~b[i:W]",
    "broadcast(h, W) & (x[i:W] < broadcast(t, W))",
    "(x[i:W] < broadcast(t, W)) | broadcast(h, W)",
    "b[i:W] ^ (x[i:W] < broadcast(t, W))",
    "(x[i:W] < broadcast(t, W)) == (~b[i:W] & broadcast(h, W))",
    "select(b[i:W], x[i:W] < broadcast(t, W), broadcast(h, W))",
)


@pytest.mark.share(12)
@pytest.mark.parametrize("target", [t for t in RUNNABLE if t in VECTOR_TARGETS])
@pytest.mark.parametrize("dtype", ["f32", "f64"])
@pytest.mark.parametrize("asked", ASKED)
def test_what_is_asked_before_skipping(asked: str, dtype: str, target: str) -> None:
    k = parse(f"""
def asked(x: {dtype}[::1], b: bool[::1], y: mut({dtype}[::1]), t: {dtype}):
    h = t > {dtype}(0.0)
    for i in pred(0, x.shape[0], width=W, where={asked}):
        v = sqrt(abs(x[i:W])) / (abs(x[i:W]) + broadcast({dtype}(1.0), W))
        y[i:W] = sqrt(v / (v + broadcast({dtype}(2.0), W))) / (v + broadcast({dtype}(3.0), W))
""")
    means_the_same(asking(k, skips=True), target, (0, 17, 65))


@pytest.mark.share(4, each="target")
@pytest.mark.parametrize("target", [t for t in RUNNABLE if t in VECTOR_TARGETS])
@pytest.mark.parametrize("dtype", ["f16", "f32"])
@pytest.mark.parametrize("value", ["v", "select(b, s, v)"])
def test_one_of_two_numbers_in_all_lanes(value: str, dtype: str, target: str) -> None:
    k = parse(f"""
def chosen(y: mut({dtype}[::1]), s: {dtype}, t: f64, b: bool):
    for i in vec(0, y.shape[0], width=W):
        v = select(b, s, cast(t * t, {dtype}))
        y[i:W] = broadcast({value}, W)
""")
    means_the_same(k, target, (0, 17, 65))


def test_dear_bodies_are_branched_around() -> None:
    dear, cheap = (parse(KERNELS[name]) for name in ("filter_dear", "filter_fold"))
    assert all(loops(dear, t)[0].skips == (t in VECTOR_TARGETS) for t in TARGETS)
    assert not any(loops(cheap, t)[0].skips for t in TARGETS)
    assert all(loops(asking(cheap, skips=True), t)[0].skips for t in VECTOR_TARGETS)


def test_masked_stores_are_branched_around_where_masks_are_lanes() -> None:
    """In four registers at once, so that a branch is predicted where many lanes are stored."""
    stores = {t: loops(parse(KERNELS["filter_store"]), t)[0] for t in VECTOR_TARGETS}
    assert {t for t, loop in stores.items() if loop.skips} == {"sse2", "avx2", "neon"}
    assert all(loop.group >= 4 * loop.width for t, loop in stores.items() if t != "avx512")


def test_cheap_predicates_are_asked_twice() -> None:
    dear, cheap = (parse(KERNELS[name]) for name in ("filter_dear_predicate", "filter_dear"))
    assert recomputes_predicate(loops(cheap, "avx2")[0])
    assert not recomputes_predicate(loops(asking(dear, skips=True), "avx2")[0])


def means_the_same(k: ir.Kernel, target: str, sizes: tuple[int, ...]) -> None:
    """`k` on `target` has the status and the bits of the interpreter."""
    for n in sizes if target != "neon" else (0, 1, 5, 33, 300):
        want, got = arguments(k, n), arguments(k, n)
        status = run_kernel(k, want).status
        assert run_native(k, target, got) == status, n
        for p in k.params:
            if p.written:
                a, b = want[p.name], got[p.name]
                if p.name == "out":
                    a, b = a[: want["n"]], b[: got["n"]]
                assert a.tobytes() == b.tobytes(), (n, p.name)


@pytest.mark.parametrize("target", RUNNABLE)
def test_large_results_go_past_the_caches(target: str) -> None:
    k = parse("""
def f(x: f32[::1], y: mut(f32[::1])):
    for i in vec(0, x.shape[0], width=W):
        y[i:W] = x[i:W] + broadcast(f32(1.0), W)
""")
    n = 5_000_003 if target != "neon" else 3_000
    x = np.arange(n + 1, dtype="f4")[1:]
    y = np.zeros(n + 9, "f4")
    assert run_native(k, target, {"x": x, "y": y[3:-6]}) == 0
    np.testing.assert_array_equal(y[3:-6], x + np.float32(1))
    assert not y[:3].any()
    assert not y[-6:].any()


OVERLAPS = {
    "shifted": ("disjoint(x, y)", "y[i:W] = x[i:W] + x[i + 1:W]", True),
    "every_other": ("disjoint(x, y)", "y[i:W] = x[i * 2:W:2] - x[i * 2 + 1:W:2]", True),
    "masked": ("disjoint(x, y)", "y[i:W] = where(x[i:W] > x[i + 1:W], x[i:W])", True),
    "checked": ("disjoint(x, y)", 'check(x[i:W] < broadcast(T(9), W), "over")\n'
                "        y[i:W] = x[i:W]", True),
    "perhaps_one": ("disjoint_or_same(x, y)", "y[i:W] = x[i:W] * x[i:W]", False),
    "in_place": ("disjoint(x, y)", "y[i:W] = y[i:W] + x[i:W]", False),
    "stencil": ("disjoint(x, y)", f"y[i:W] = {'max(' * 12}x[i + 1:W]"
                + "".join(f", x[i + {k}:W])" for k in range(12)), True),
    "twice": ("disjoint(x, y)", "y[i:W] = x[i:W]\n        y[i:W] = x[i + 1:W]", False),
}


@pytest.mark.parametrize("target", RUNNABLE)
@pytest.mark.parametrize("dtype", ["f64", "u8", "i16"])
@pytest.mark.parametrize("name", OVERLAPS)
def test_last_registers_of_maps_overlap_others(name: str, dtype: str, target: str) -> None:
    """Where an element may be stored twice; else the last register is under a mask. So it is of
    wide lanes if the body fills the pipes with one register.
    """
    guard, statement, overlaps = OVERLAPS[name]
    k = parse(f"""
def f(x: {dtype}[::1], y: mut({dtype}[::1]), n: i64):
    {guard}
    for i in vec(0, n, width=W):
        {statement.replace("T(", f"{dtype}(")}
""")
    t = TARGETS[target]
    overlaps &= t.masks == "lanes" and t.bits > 0 and (dtype, name) != ("f64", "stencil")
    assert ("i_first" in emit(legalize(k, t), t)) == overlaps
    rng = np.random.default_rng(0)
    for n in range(80) if target != "neon" else (0, 1, 3, 17, 41):
        x = rng.integers(-9, 12, 2 * n + 12).astype(DTYPES[dtype].numpy)
        want, got = ({"x": x, "y": np.full(n + 5, 7, x.dtype), "n": n} for _ in range(2))
        assert run_native(k, target, got) == run_kernel(k, want).status
        assert want["y"].tobytes() == got["y"].tobytes()


# -- C


@pytest.mark.parametrize("target", [t for t in TARGETS if Path(GOLDEN, t).is_dir()])
@pytest.mark.parametrize("name", ["saxpy", "sum", "filter_fold"])
def test_golden(name: str, target: str, golden: Callable[[Path, str], None]) -> None:
    t = TARGETS[target]
    text = emit(legalize(parse(KERNELS[name]), t), t)
    shared = Path(targets.__path__[0], "c", "headers", "abi.h").read_text(encoding="utf-8")
    assert shared in text
    golden(GOLDEN / target / f"{name}.c", text.replace(shared, ""))


@pytest.mark.skipif("sse2" not in RUNNABLE, reason="not an x86-64 machine")
@pytest.mark.parametrize("name", KERNELS)
def test_sse2_code_has_no_later_instructions(name: str) -> None:
    """Every instruction with a vex or evex prefix is spelt with a v."""
    t = TARGETS["sse2"]
    path = build_kernel(emit(legalize(parse(KERNELS[name]), t), t), t)
    if not shutil.which("objdump"):
        pytest.skip("no objdump")
    listing = subprocess.run(
        ["objdump", "-d", "--no-show-raw-insn", path], capture_output=True, text=True
    ).stdout
    names = {line.split("\t")[1].split()[0] for line in listing.splitlines() if "\t" in line}
    assert not {x for x in names if x.startswith("v") and x not in ("verr", "verw")}


BLENDED = """
def k(x: own(f64[::1]), y: f64[::1], b: own(bool[::1]), d: i64):
    disjoint(y, x)
    disjoint(b, x)
    for i in vec(0, y.shape[0], width=W):
        v = x[i:W]
        m = v > y[i:W]
        x[i:W] = where(m, y[i:W])
        b[i:W] = where(m, broadcast(True, W))
    for i_1 in vec(0, y.shape[0], width=W):
        m_1 = y[i_1:W] > broadcast(0.5, W)
        x[y.shape[0] - 1 - i_1:W:-1] = where(m_1, y[i_1:W] * broadcast(2.0, W))
"""


@pytest.mark.parametrize("name", VECTOR_TARGETS)
@pytest.mark.parametrize("owner", ["own", "mut"])
def test_stores_to_loaded_elements_have_masks(name: str, owner: str) -> None:
    """Not where masks are lanes and the kernel owns the array: no other thread stores to it."""
    legal = legalize(parse(BLENDED.replace("own", owner)), TARGETS[name])
    masked = [n.array for n in walk(legal) if isinstance(n, ir.Store) and n.mask is not None]
    has_blend = TARGETS[name].masks == "lanes" and owner == "own"
    assert masked == (["b", "x"] if has_blend else ["x", "b", "x"])


def assert_as_interpreted(
    text: str, name: str, arrays: dict[str, Any], written: tuple[str, ...]
) -> None:
    """The kernel `text`, compiled for the target `name`, writes what the interpreter does."""
    kernel, results = parse(text), []
    for run in (run_kernel, lambda k, a: run_native(k, name, a)):
        given = copy.deepcopy(arrays)
        run(kernel, given)
        results.append([repr(given[array].tolist()) for array in written])
    assert results[0] == results[1]


@pytest.mark.parametrize("name", RUNNABLE)
@pytest.mark.parametrize("n", SIZES)
def test_masked_stores_of_all_kinds(name: str, n: int) -> None:
    rng = np.random.default_rng(n)
    arrays = {"x": rng.random(n), "y": rng.random(n), "b": np.zeros(n, bool), "d": 0}
    assert_as_interpreted(BLENDED, name, arrays, written=("x", "b"))


SELECTED = """
def k(top: own(f64[::1]), at: own(i64[::1]), x: f64[::1], y: own(f64[::1]), place: i64):
    disjoint(x, top)
    disjoint(x, at)
    disjoint(x, y)
    disjoint(top, y)
    for i in pred(0, x.shape[0], width=W, where=x[i:W] > top[i:W]):
        top[i:W] = x[i:W]
        at[i:W] = broadcast(place, W)
    for i_1 in pred(0, x.shape[0], width=W, where=x[i_1:W] > broadcast(0.5, W)):
        y[i_1:W] = x[i_1:W] * broadcast(2.0, W)
"""


@pytest.mark.parametrize("name", VECTOR_TARGETS)
@pytest.mark.parametrize("owner", ["own", "mut"])
def test_copies_under_a_predicate_have_no_mask(name: str, owner: str) -> None:
    """Not where masks are lanes and the kernel owns the arrays; what is computed keeps its mask."""
    legal = legalize(parse(SELECTED.replace("own", owner)), TARGETS[name])
    loops = [n for n in walk(legal) if isinstance(n, ir.PredLoop)]
    stored = {n.array for loop in loops for n in walk(loop) if isinstance(n, ir.Store)}
    is_selected = TARGETS[name].masks == "lanes" and owner == "own"
    assert stored == ({"y"} if is_selected else {"top", "at", "y"})


@pytest.mark.parametrize("name", RUNNABLE)
@pytest.mark.parametrize("n", SIZES)
def test_copies_under_a_predicate(name: str, n: int) -> None:
    rng = np.random.default_rng(n)
    arrays = {
        "x": rng.random(n), "top": rng.random(n), "at": np.full(n, -1), "y": rng.random(n),
        "place": 7,
    }
    arrays["x"][n // 2 :: 3] = np.nan
    assert_as_interpreted(SELECTED, name, arrays, written=("top", "at", "y"))


@pytest.mark.parametrize("name", ["avx2", "avx512"])
@pytest.mark.parametrize(
    ("test", "expected"),
    [
        ("~(x[i:W] <= broadcast(t, W))", "not_le(x[i:4], broadcast(t, 4))"),
        ("~(x[i:W] > broadcast(t, W))", "not_lt(broadcast(t, 4), x[i:4])"),
        ("~(x[i:W] >= x[i:W])", "not_le(x[i:4], x[i:4])"),
    ],
)
def test_negated_comparisons_of_floats_are_one_operation(
    name: str, test: str, expected: str,
) -> None:
    kernel = parse(f"""
def k(x: f64[::1], t: f64, found: mut(bool[()])):
    for i in vec(0, x.shape[0], width=W, group=32, some=False):
        some = step(some | {test})
    found[()] = hreduce("or", some)
""")
    lanes = TARGETS[name].lanes("f64")
    assert f"some | {expected.replace('4', str(lanes))}" in show(legalize(kernel, TARGETS[name]))


def test_without_an_instruction_a_comparison_is_negated_by_itself() -> None:
    kernel = parse("""
def k(x: f64[::1], n: i64[::1], t: f64, found: mut(bool[()])):
    for i in vec(0, x.shape[0], width=W, group=32, some=False):
        some = step(some | ~(x[i:W] <= broadcast(t, W)))
    found[()] = hreduce("or", some)
    for j in vec(0, n.shape[0], width=W, group=32, some_1=False):
        some_1 = step(some_1 | ~(n[j:W] <= broadcast(3, W)))
    found[()] = hreduce("or", some_1)
""")
    for name in ("scalar", "sse2", "neon"):
        assert "not_" not in show(legalize(kernel, TARGETS[name]))
    assert show(legalize(kernel, TARGETS["avx2"])).count("not_") == 1
