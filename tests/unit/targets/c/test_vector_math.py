"""Vector math on every ISA at hand: errors in ULP, special values, flags, and lanes left alone.

``--long`` adds every float32, clang, and registers below the largest; ``python -m tests.tools.ulp``
prints the errors.
"""
from __future__ import annotations

import shutil
import subprocess
from itertools import product
from typing import Any

import numpy as np
import pytest
from native import RUNNABLE, run_native

from loopir import nodes as ir
from loopir.dtypes import DTYPES
from loopir.op_table import OPS
from targets.c.vector_math import BINARY_MATH_FUNCTIONS, MATH_FUNCTIONS, vector_math_source
from targets.isa.target_registry import TARGETS
from tests.tools.ulp import (
    FLOATS,
    beside_round_numbers,
    harness,
    lanes_of,
    largest_error,
    ranges,
    runnable,
)

NATIVE = [t for t in RUNNABLE if t != "neon"]
VECTOR_TARGETS = [t for t in TARGETS if TARGETS[t].bits]
CLANG = next(filter(None, map(shutil.which, ("clang", "clang-19", "clang-16", "clang-14"))), None)
LOUD = 1 | 2 | 8  # divide, overflow, invalid; underflow may come without need

each_target = pytest.mark.parametrize("target", VECTOR_TARGETS)
each_function = pytest.mark.parametrize("op", MATH_FUNCTIONS)


def sizes(target: str) -> list[int]:
    return [bits for bits in (128, 256, 512) if bits <= TARGETS[target].bits]


def command(target: str, every_size: bool = False, cc: str | None = "") -> tuple[str, ...]:
    if not runnable(target):
        pytest.skip(f"no {target} here, and no emulator")
    if cc is None or not (cc or shutil.which("gcc") or shutil.which("cc")):
        pytest.skip("no such C compiler")
    if cc and target == "neon":
        pytest.skip("clang is not set up to cross-compile")
    return harness(target, sizes=tuple(sizes(target)) if every_size else (0,), cc=cc)


def evaluate(run: tuple[str, ...], op: str, dtype: str, lanes: int, *args: Any) -> tuple[Any, Any]:
    """Values, and one byte of flags for each vector; ``lanes`` 1 is the C library."""
    element = DTYPES[dtype].numpy
    data = np.stack([np.asarray(a, element).reshape(-1, lanes) for a in args], axis=1).tobytes()
    name = f"{op}_{dtype}" + (f"x{lanes}" if lanes > 1 else "")
    out = subprocess.run([*run, name], input=data, stdout=subprocess.PIPE, check=True).stdout
    record = np.frombuffer(out, [("value", element, (lanes,)), ("flags", "u1")])
    return record["value"].ravel(), record["flags"]


# -- errors


@pytest.mark.share(8, each="op")
@each_function
@each_target
def test_error(target: str, op: str) -> None:
    """Within what the op table promises, in every range of interest."""
    for dtype in FLOATS:
        count = 200 if target == "neon" else 3000
        error, where = largest_error(command(target), target, op, dtype, count)
        assert error <= OPS[op].ulps, f"{op} {dtype} at {where}"


@pytest.mark.share(40)
@pytest.mark.parametrize("op", [op for op in MATH_FUNCTIONS if op not in BINARY_MATH_FUNCTIONS])
@each_target
def test_error_beside_round_numbers(target: str, op: str) -> None:
    """On both sides of its bounds, which SSE2 tells apart by the upper halves of doubles alone."""
    for dtype in FLOATS:
        where = beside_round_numbers(op, dtype)
        error, place = largest_error(command(target), target, op, dtype, 8, where)
        assert len(where) >= 6
        assert error <= OPS[op].ulps, f"{op} {dtype} at {place}"


@pytest.mark.long
@each_function
@each_target
def test_every_float32(target: str, op: str) -> None:
    if target == "neon":
        pytest.skip("nothing emulated: it would take hours")
    for dtype in FLOATS:
        error, where = largest_error(command(target), target, op, dtype, 0)
        print(f"{target} {op} {dtype}: {error} ULP at {where}")
        assert error <= OPS[op].ulps


@each_target
@pytest.mark.parametrize("dtype", FLOATS)
def test_exact_powers(target: str, dtype: str) -> None:
    """Powers that are floats themselves come out exact, as from libm: ``3.0**2`` is 9."""
    limit = 2.0 ** (np.finfo(DTYPES[dtype].numpy).nmant + 1)
    whole = [(x, y) for x in range(1, 60) for y in range(53) if float(x) ** y < limit]
    eighths = [(x / 8, y) for x in range(1, 100) for y in range(5) if x**y < limit]
    pairs = whole + eighths + [(1.0, 1.0)] * (-len(whole + eighths) % 16)
    x, y = np.array(pairs, DTYPES[dtype].numpy).T
    got, _ = evaluate(command(target), "pow", dtype, lanes_of(target, dtype), x, y)
    assert np.array_equal(got, [a**b for a, b in pairs])


# -- special values


def specials(op: str, dtype: str) -> tuple[Any, ...]:
    info = np.finfo(DTYPES[dtype].numpy)
    tiny, one = info.smallest_subnormal, info.dtype.type(1)
    told = (np.array(np.nan, info.dtype).view(f"u{info.dtype.itemsize}") + 0x123).view(info.dtype)
    edges = [0, tiny, 3 * tiny, info.tiny, info.max, np.inf, np.nan, 0.5, 1, 1.5, 2, 3, 1e5, 1e9]
    edges += [told[()]]
    if op not in BINARY_MATH_FUNCTIONS:
        edges += [87.33, 88.8, 103.9, 104.1, 127, 150, 708.3, 709.8, 745, 746, 1000, 1023, 1075]
        edges += [np.nextafter(one, 0), np.nextafter(one, 2), info.max / 2, info.tiny * 2, 1e-9]
    with np.errstate(all="ignore"):
        values = np.array([*edges, *(-e for e in edges)], info.dtype)
    if op not in BINARY_MATH_FUNCTIONS:
        return (values,)
    x, y = np.array(list(product(values, values)), info.dtype).T
    return x, y


def usual(op: str, dtype: str, n: int) -> tuple[Any, ...]:
    """Arguments of any size, each in the domain of most functions or near it."""
    rng = np.random.default_rng(7)
    count = n if op not in BINARY_MATH_FUNCTIONS else 2 * n
    near, far = rng.uniform(-1, 3, count), np.exp(rng.normal(0, 4, count))
    x = np.where(rng.random(count) < 0.5, near, far)
    return tuple(x.astype(DTYPES[dtype].numpy).reshape(-1, n))


def surrounded(args: tuple[Any, ...], lanes: int, filler: float | None) -> list[Any]:
    """Vectors with argument ``k`` in lane ``k % lanes``, in the others `filler` or the same."""
    rows = np.arange(args[0].size)
    vectors = [np.repeat(a[:, None], lanes, axis=1) for a in args]
    for v, a in zip(vectors, args, strict=True):
        if filler is not None:
            v[:] = filler
            v[rows, rows % lanes] = a
    return vectors


def check_special(got: Any, want: Any, tolerance: float) -> None:
    """NaN, infinities and zeros with their signs are libm's; the rest is near."""
    nan = np.isnan(want)
    assert np.array_equal(np.isnan(got), nan)
    assert np.array_equal(np.signbit(got)[~nan], np.signbit(want)[~nan])
    exact = np.isin(want, (0, np.inf, -np.inf))
    assert np.array_equal(got[exact], want[exact])
    rest = ~nan & ~exact
    with np.errstate(all="ignore"):
        error = np.abs(got[rest] - want[rest])
        place = np.spacing(np.abs(want[rest]))
    assert np.all(error <= (tolerance + 1) * place)


def check_lanes(run: tuple[str, ...], op: str, dtype: str, lanes: int) -> None:
    """Special values and their flags, whatever the neighbours hold, and in each lane the same."""
    ordinary = 0.5 if op in ("asin", "acos", "atanh") else 1.5
    for args in (specials(op, dtype), usual(op, dtype, 96)):
        want, each = evaluate(run, op, dtype, 1, *args)
        rows, bits = np.arange(want.size), []
        for filler in (None, ordinary):
            got, flags = evaluate(run, op, dtype, lanes, *surrounded(args, lanes, filler))
            got = got.reshape(-1, lanes)
            check_special(got[rows, rows % lanes], want, OPS[op].ulps)
            wrong = (flags ^ each) & LOUD != 0
            assert not wrong.any(), [a[wrong] for a in args]
            columns = range(lanes) if filler is None else [rows % lanes]
            bits += [got[rows, c].view(f"i{got.itemsize}")[~np.isnan(want)] for c in columns]
        assert all(np.array_equal(b, bits[0]) for b in bits)


@pytest.mark.share(8, each="op")
@each_function
@each_target
def test_lanes(target: str, op: str) -> None:
    for dtype in FLOATS:
        check_lanes(command(target), op, dtype, lanes_of(target, dtype))


@pytest.mark.long
@pytest.mark.parametrize("cc", ["", CLANG], ids=["gcc", "clang"])
@each_target
def test_every_size(target: str, cc: str | None) -> None:
    run = command(target, every_size=True, cc=cc)
    for op, dtype, bits in product(MATH_FUNCTIONS, FLOATS, sizes(target)):
        check_lanes(run, op, dtype, lanes_of(target, dtype, bits))


# -- the same bits on every target that has a fused multiply-add


def in_every_range(op: str, dtype: str, n: int) -> list[Any]:
    """Special values, and `n` values for each range of `op`."""
    rng, element = np.random.default_rng(3), DTYPES[dtype].numpy
    parts = [specials(op, dtype), usual(op, dtype, n)]
    for bounds in ranges(op, dtype):
        columns = []
        for low, high in zip(bounds[::2], bounds[1::2], strict=True):
            if np.isfinite(high - low) and high < 1e30:
                columns.append(rng.uniform(low, high, n))
            else:
                least, most = np.log(np.finfo(element).tiny) - 30, np.log(np.finfo(element).max)
                columns.append(rng.choice([-1, 1], n) * np.exp(rng.uniform(least, most, n)))
        parts.append(tuple(c.astype(element) for c in columns))
    columns = [np.concatenate([p[k].ravel() for p in parts]) for k in range(len(parts[0]))]
    return [np.resize(c, -(-len(c) // 16) * 16) for c in columns]


@pytest.mark.share(8, each="op")
@each_function
def test_targets_with_fma_give_the_same_bits(op: str) -> None:
    """Only where both take their libm's results may these differ: an emulated target has another
    libm.
    """
    fused = [t for t in VECTOR_TARGETS if TARGETS[t].has_fma and runnable(t)]
    for dtype in FLOATS:
        args = in_every_range(op, dtype, 4000)
        results = []
        for target in fused:
            run = command(target, every_size=True)
            libm, _ = evaluate(run, op, dtype, 1, *args)
            for bits in sizes(target):
                got, _ = evaluate(run, op, dtype, lanes_of(target, dtype, bits), *args)
                results.append((target, bits, got, libm))
        for target, bits, got, libm in results[1:]:
            _, _, want, other_libm = results[0]
            differs = ~((got == want) | np.isnan(got) & np.isnan(want))
            differs |= (np.signbit(got) != np.signbit(want)) & ~np.isnan(want)
            differs &= (got != libm) | (want != other_libm)
            assert not differs.any(), (target, bits, dtype, [a[differs][:3] for a in args])


# -- in loops


@pytest.mark.share(10)
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("target", NATIVE)
def test_place_in_the_array(target: str, dtype: str) -> None:
    """What element k becomes depends neither on k nor on how many there are."""
    at = (ir.Var("i", "i64"),)
    operands = tuple(ir.Load(x, at, dtype, "W") for x in "ab")
    calls = {op: ir.Call(op, operands[: OPS[op].arity], dtype, "W") for op in MATH_FUNCTIONS}
    body = tuple(ir.Store(f"r_{op}", at, call) for op, call in calls.items())
    rng = ir.Interval(ir.Const(0, "i64"), ir.Dim("a", 0))
    params = [ir.Param(x, dtype, 1, 0) for x in "ab"]
    params += [ir.Param(f"r_{op}", dtype, 1, 0, True) for op in MATH_FUNCTIONS]
    kernel = ir.Kernel("math", tuple(params), (ir.VecLoop("i", rng, "W", body),))
    a, b = (np.resize(x, 67) for x in usual("pow", dtype, 23))

    def run(start: int, count: int) -> dict[str, Any]:
        args = {"a": a[start : start + count].copy(), "b": b[start : start + count].copy()}
        results = {f"r_{op}": np.empty_like(args["a"]) for op in MATH_FUNCTIONS}
        run_native(kernel, target, args | results)
        return results

    whole = run(0, len(a))
    for start, count in product((0, 1, 5), (1, 2, 3, 7, 16, 19, 61)):
        for name, got in run(start, count).items():
            want = whole[name][start : start + count]
            assert np.array_equal(got, want, equal_nan=True), (name, start, count)


# -- the text


def test_no_vector_form() -> None:
    assert vector_math_source("exp", "i32", 4, TARGETS["sse2"]) is None
    assert vector_math_source("sqrt", "f32", 4, TARGETS["sse2"]) is None
    assert vector_math_source("exp", "f64", 1, TARGETS["sse2"]) is None
    assert vector_math_source("exp", "f64", 8, TARGETS["scalar"]) is None


@pytest.mark.share(1)
@each_target
def test_a_subnormal_power_raises_underflow(target: str) -> None:
    """Also where the last product of `scaled` is exact, since the power itself is not a float."""
    ranges = {("exp", "f64"): (-745, -708.5), ("exp2", "f64"): (-1074, -1022.1),
              ("exp", "f32"): (-103.5, -87.4), ("exp2", "f32"): (-148.9, -126.1)}
    run = command(target)
    for (op, dtype), (least, most) in ranges.items():
        lanes = lanes_of(target, dtype)
        x = np.zeros((400, lanes))
        x[:, 1] = np.linspace(least, most, 400)
        values, flags = evaluate(run, op, dtype, lanes, x)
        assert (flags & 4).all(), (op, dtype)
        assert not (evaluate(run, op, dtype, lanes, 0 * x)[1] & 4).any(), (op, dtype)
        assert (values.reshape(-1, lanes)[:, 1] >= 0).all()


@pytest.mark.share(1)
@each_target
def test_a_nan_whose_upper_half_is_that_of_inf_is_none_the_less_a_nan(target: str) -> None:
    bits = np.array([0x7FF0000000000001, 0xFFF0000000000001, 0xFFF00000FFFFFFFF], np.uint64)
    x = np.repeat(bits.view(np.float64), lanes_of(target, "f64"))
    for op in ("exp", "exp2", "expm1", "tanh", "erf", "sinh", "log", "cbrt", "atan"):
        values, _ = evaluate(command(target), op, "f64", lanes_of(target, "f64"), x)
        assert np.isnan(values).all(), op
