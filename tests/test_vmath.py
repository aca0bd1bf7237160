"""Vector math on every ISA at hand: errors in ULP, special values, flags, and lanes left alone.

``pytest -m long tests/test_vmath.py`` runs the functions of one argument on every float32, some
minutes each.
"""
from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from loopir.types import DTYPES
from targets.build import FLAGS
from targets.c.headers import header
from targets.c.vmath import FUNCTIONS, source
from targets.host import available
from targets.isa import TARGETS

HARNESS = Path(__file__).with_name("vmath_harness.c")
CROSS, QEMU = shutil.which("aarch64-linux-gnu-gcc"), shutil.which("qemu-aarch64-static")
CLANG = next(filter(None, map(shutil.which, ("clang", "clang-19", "clang-16", "clang-14"))), None)
BYTES = {k: [n for n in (16, 32, 64) if 8 * n <= t.bits] for k, t in TARGETS.items() if t.bits}
"""Sizes of a target's registers."""

LOUD = 1 | 2 | 8  # divide, overflow, invalid; underflow may come without need

BOUNDS = {
    "exp-f32": 1.0, "log-f32": 1.0, "exp-f64": 1.2, "log-f64": 1.2,
    "tan-f32-sse2": 3.5, "tan-f64-sse2": 3.5,
}
"""Largest error in ULP, where it is not 2.5."""

FLOATS = ("f32", "f64")
UNARY = tuple(op for op in FUNCTIONS if op != "pow")
CASES = [(t, op, d) for t in BYTES for op in FUNCTIONS for d in FLOATS]
each_case = pytest.mark.parametrize(("target", "op", "dtype"), CASES, ids=map("-".join, CASES))


def bound(target: str, op: str, dtype: str) -> float:
    return BOUNDS.get(f"{op}-{dtype}-{target}", BOUNDS.get(f"{op}-{dtype}", 2.5))


def sizes(target: str, dtype: str) -> Iterator[int]:
    return (b // DTYPES[dtype].bytes for b in BYTES[target])


# -- the harness: one program a target, with all its functions

def _typedefs() -> str:
    of = "typedef {} {}x{} __attribute__((vector_size({})));"
    rows = (DTYPES[d] for d in ("f32", "f64", "i32", "i64", "u32", "u64"))
    return "\n".join(of.format(d.c, d.name, n, n * d.bytes) for d in rows for n in (2, 4, 8, 16))


def program(target: str) -> str:
    """The harness over all functions of a target, each of which stands twice in the text."""
    functions = [(op, d, n) for op in FUNCTIONS for d in FLOATS for n in sizes(target, d)]
    functions += [(op, "f32", 2) for op in FUNCTIONS]  # no register is that small
    texts = [source(op, d, n, TARGETS[target]) or "" for op, d, n in functions]
    table = " ".join(f"X({op}, {d}, {n}, {2 if op == 'pow' else 1})" for op, d, n in functions)
    parts = [header("abi.h"), _typedefs(), *texts, *texts, f"#define FUNCTIONS {table}"]
    return "\n".join([*parts, f'#include "{HARNESS}"\n'])


@cache
def _scratch() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="vmath")


@cache
def harness(target: str, compiler: str | None = None) -> tuple[str, ...]:
    """The command that runs `target`'s program, or a skip with the reason."""
    native = TARGETS[target] in available()
    if not native and not (target == "neon" and CROSS and QEMU and not compiler):
        pytest.skip(f"no {target} here, and no emulator")
    cc = compiler or (shutil.which("gcc") or shutil.which("cc") if native else CROSS)
    if cc is None:
        pytest.skip("no C compiler")
    exe = Path(_scratch().name, f"{target}-{Path(cc).name}")
    exe.with_suffix(".c").write_text(program(target))
    flags = [*FLAGS, *TARGETS[target].cflags, *([] if native else ["-static"])]
    subprocess.run([cc, *flags, exe.with_suffix(".c"), "-o", exe, "-lm"], check=True)
    return (str(exe),) if native else (str(QEMU), str(exe))


def evaluate(
    target: str, op: str, dtype: str, lanes: int, *args: Any, compiler: str | None = None
) -> tuple[Any, Any]:
    """Values, and one byte of flags for each vector; ``lanes`` 1 is the C library."""
    element = DTYPES[dtype].numpy
    data = np.stack([np.asarray(a, element).reshape(-1, lanes) for a in args], axis=1).tobytes()
    name = f"{op}_{dtype}" + (f"x{lanes}" if lanes > 1 else "")
    command = [*harness(target, compiler), name]
    out = subprocess.run(command, input=data, stdout=subprocess.PIPE, check=True).stdout
    record = np.frombuffer(out, [("value", element, (lanes,)), ("flags", "u1")])
    return record["value"].ravel(), record["flags"]


# -- errors

def reference(op: str, dtype: str, *args: Any) -> Any:
    wide = np.float64 if dtype == "f32" else np.longdouble
    if dtype == "f64" and np.finfo(wide).nmant < 60:
        pytest.skip("long double is no wider than double here")
    with np.errstate(all="ignore"):
        return getattr(np, {"pow": "power"}.get(op, op))(*(np.asarray(a, wide) for a in args))


def ulps(got: Any, exact: Any) -> Any:
    """Distance in units of the last place; results that are not finite must agree."""
    with np.errstate(all="ignore"):
        rounded = exact.astype(got.dtype)
        place = np.spacing(np.abs(rounded)).astype(exact.dtype)
        error = np.abs(got.astype(exact.dtype) - exact) / place
    same = (rounded == got) | (np.isnan(rounded) & np.isnan(got))
    finite = np.isfinite(rounded) & np.isfinite(got)
    return np.where(finite, error, np.where(same, 0, np.inf))


def samples(op: str, dtype: str, n: int) -> tuple[Any, ...]:
    """Where the function is interesting, near its turning points, and any bits at all."""
    rng = np.random.default_rng(7)
    element, f32 = DTYPES[dtype].numpy, dtype == "f32"
    if op == "pow":
        near = rng.uniform(0.999, 1.001, n), rng.uniform(0.3, 3, n)
        x = np.concatenate([np.exp(rng.uniform(-30, 30, n)), *near]).astype(element)
        with np.errstate(all="ignore"):
            y = rng.uniform(-1, 1, 3 * n) * (86 if f32 else 708) / np.abs(np.log(x.astype("f8")))
        return x, np.where(np.isfinite(y), y, 2).astype(element)
    edge = {"exp": 89 if f32 else 710, "log": 3, "tanh": 10 if f32 else 20}.get(op, 20)
    bits = rng.integers(0, 2**DTYPES[dtype].bits, n, dtype=f"u{element.itemsize}").view(element)
    wide = rng.uniform(-1, 1, n) * 10 ** rng.uniform(-6, 6, n)
    x = np.concatenate([rng.uniform(-1.2 * edge, edge, n), rng.uniform(0.95, 1.05, n), wide, bits])
    return (np.abs(x.astype(element)) if op == "log" else x.astype(element),)


def check_error(target: str, op: str, dtype: str, n: int, compiler: str | None = None) -> None:
    args = samples(op, dtype, n)
    exact = reference(op, dtype, *args)
    for lanes in sizes(target, dtype):
        got, _ = evaluate(target, op, dtype, lanes, *args, compiler=compiler)
        error = ulps(got, exact)
        worst = int(np.argmax(error))
        where = [float(a[worst]) for a in args]
        assert error[worst] <= bound(target, op, dtype), f"{op}{where} is {got[worst]}, x{lanes}"


def check_flags(target: str, op: str, dtype: str, compiler: str | None = None) -> None:
    args = samples(op, dtype, 1 << 8)
    _, each = evaluate(target, op, dtype, 1, *args, compiler=compiler)
    for lanes in sizes(target, dtype):
        _, flags = evaluate(target, op, dtype, lanes, *args, compiler=compiler)
        expected = np.bitwise_or.reduce(each.reshape(-1, lanes), axis=1)
        assert np.array_equal(flags & LOUD, expected & LOUD)


@each_case
def test_error(target: str, op: str, dtype: str) -> None:
    check_error(target, op, dtype, 1 << 9 if target == "neon" else 1 << 12)


@each_case
def test_flags(target: str, op: str, dtype: str) -> None:
    """Those of the C library."""
    check_flags(target, op, dtype)


@pytest.mark.parametrize("target", BYTES)
def test_clang(target: str) -> None:
    """The same text through clang: as accurate, and the same flags."""
    if CLANG is None:
        pytest.skip("no clang")
    for op, dtype in product(FUNCTIONS, FLOATS):
        check_error(target, op, dtype, 1 << 9, CLANG)
        check_flags(target, op, dtype, CLANG)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("target", BYTES)
def test_exact_powers(target: str, dtype: str) -> None:
    """Powers that are floats themselves come out exact, as from libm: ``3.0**2`` is 9."""
    limit = 2.0 ** (np.finfo(DTYPES[dtype].numpy).nmant + 1)
    whole = [(x, y) for x in range(1, 60) for y in range(53) if float(x) ** y < limit]
    eighths = [(x / 8, y) for x in range(1, 100) for y in range(5) if x**y < limit]
    pairs = whole + eighths + [(1.0, 1.0)] * (-len(whole + eighths) % 16)
    x, y = np.array(pairs, DTYPES[dtype].numpy).T
    for lanes in sizes(target, dtype):
        got, _ = evaluate(target, "pow", dtype, lanes, x, y)
        assert np.array_equal(got, [a**b for a, b in pairs])


# -- special values

def specials(op: str, dtype: str) -> tuple[Any, ...]:
    info = np.finfo(DTYPES[dtype].numpy)
    tiny = info.smallest_subnormal
    edges = [0, tiny, 3 * tiny, info.tiny, info.max, np.inf, np.nan, 0.5, 1, 1.5, 2, 3, 1e5, 1e9]
    if op == "exp":
        edges += [87.33, 88.8, 103.9, 104.1, 708.3, 709.8, 745, 746, 1000]
    with np.errstate(all="ignore"):
        values = np.array([*edges, *(-e for e in edges)], info.dtype)
    if op != "pow":
        return (values,)
    x, y = np.array(list(product(values, values)), info.dtype).T
    return x, y


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
    nan = np.isnan(want)
    assert np.array_equal(np.isnan(got), nan)
    assert np.array_equal(np.signbit(got)[~nan], np.signbit(want)[~nan])
    exact = np.isin(want, (0, 1, -1, np.inf, -np.inf))
    assert np.array_equal(got[exact], want[exact])
    rest = ~nan & ~exact
    with np.errstate(all="ignore"):
        error = np.abs(got[rest] - want[rest])
        place = np.spacing(np.abs(want[rest]))
    assert np.all(error <= (tolerance + 0.5) * place)


@each_case
def test_special_values(target: str, op: str, dtype: str) -> None:
    """As libm has them, whatever the neighbours hold; signs of zeros and flags too."""
    args = specials(op, dtype)
    want, each = evaluate(target, op, dtype, 1, *args)
    rows = np.arange(want.size)
    smaller = [2] if dtype == "f32" else []
    for lanes, filler in product([*sizes(target, dtype), *smaller], (None, 1.5)):
        got, flags = evaluate(target, op, dtype, lanes, *surrounded(args, lanes, filler))
        check_special(got.reshape(-1, lanes)[rows, rows % lanes], want, bound(target, op, dtype))
        wrong = (flags ^ each) & LOUD != 0
        assert not wrong.any(), [a[wrong] for a in args]


@each_case
def test_lanes_are_independent(target: str, op: str, dtype: str) -> None:
    """A lane's bits do not depend on its neighbours."""
    usual = [a[: 1 << 8] for a in samples(op, dtype, 1 << 8)]
    rare = [np.resize(a, usual[0].shape) for a in specials(op, dtype)]
    for lanes in sizes(target, dtype):
        kept = np.arange(usual[0].size) % lanes % 2 == 0
        mixed = [np.where(kept, u, r) for u, r in zip(usual, rare, strict=True)]
        alone, _ = evaluate(target, op, dtype, lanes, *usual)
        got, _ = evaluate(target, op, dtype, lanes, *mixed)
        assert np.array_equal(got[kept].view("u1"), alone[kept].view("u1"))


# -- the text

def test_no_vector_form() -> None:
    assert source("exp", "i32", 4, TARGETS["sse2"]) is None
    assert source("sqrt", "f32", 4, TARGETS["sse2"]) is None
    assert source("exp", "f64", 1, TARGETS["sse2"]) is None
    assert source("exp", "f64", 8, TARGETS["scalar"]) is None


@pytest.mark.long
@pytest.mark.parametrize("op", UNARY)
@pytest.mark.parametrize("target", BYTES)
def test_every_float32(target: str, op: str, pytestconfig: pytest.Config) -> None:
    if "long" not in pytestconfig.option.markexpr:
        pytest.skip("asked for by -m long")
    command = [*harness(target), f"{op}_f32x{max(sizes(target, 'f32'))}", "all"]
    out = subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout
    error, where = map(float, out.split())
    print(f"{target} {op}: {error} ULP at {where}")
    assert error <= bound(target, op, "f32")
