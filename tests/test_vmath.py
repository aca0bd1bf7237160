"""Vector math on every ISA at hand: errors in ULP, special values, flags, and lanes that do not disturb one another.

``pytest -m long tests/test_vmath.py`` runs the one-argument functions on every float32: some minutes a function.
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
from targets.host import available
from targets.isa import TARGETS
from targets.vmath import FUNCTIONS, source

HARNESS = Path(__file__).with_name("vmath_harness.c")
CROSS, QEMU = shutil.which("aarch64-linux-gnu-gcc"), shutil.which("qemu-aarch64-static")
BYTES = {"sse2": (16,), "avx2": (16, 32), "avx512": (16, 32, 64), "neon": (16,)}
DIVIDE, OVER, INVALID = 1, 2, 8
LOUD = DIVIDE | OVER | INVALID

BOUNDS = {
    ("exp", "f32"): 1.0, ("exp", "f64"): 1.2, ("log", "f32"): 1.0, ("log", "f64"): 1.2,
    ("tan", "f64", "sse2"): 3.5,
}
"""Largest error in ULP, where it is not 2.5."""

CASES = [(t, op, d) for t in BYTES for op in FUNCTIONS for d in ("f32", "f64")]
each_case = pytest.mark.parametrize(("target", "op", "dtype"), CASES, ids=map("-".join, CASES))
exact_f64 = np.finfo(np.longdouble).nmant > 60


def bound(op: str, dtype: str, target: str) -> float:
    return BOUNDS.get((op, dtype, target), BOUNDS.get((op, dtype), 2.5))


def sizes(target: str, dtype: str) -> Iterator[int]:
    return (b // DTYPES[dtype].bytes for b in BYTES[target])


# -- the harness: one program a target, with all its functions

def _typedefs() -> str:
    of = "typedef {} {}x{} __attribute__((vector_size({})));"
    rows = (d for d in DTYPES.values() if d.name in ("f32", "f64", "i32", "i64", "u32", "u64"))
    return "\n".join(of.format(d.c, d.name, n, n * d.bytes) for d in rows for n in (2, 4, 8, 16))


def program(target: str) -> str:
    functions = [(op, d, n) for op in FUNCTIONS for d in ("f32", "f64") for n in sizes(target, d)]
    functions += [(op, "f32", 2) for op in FUNCTIONS]  # no register is that small
    texts = [source(op, d, n, target) or "" for op, d, n in functions]
    table = " ".join(f"X({op}, {d}, {n}, {arity(op)})" for op, d, n in functions)
    twice = "\n".join(texts + texts)
    return f'#include <stdint.h>\n{_typedefs()}\n{twice}\n#define FUNCTIONS {table}\n#include "{HARNESS}"\n'


def arity(op: str) -> int:
    return 2 if op == "pow" else 1


@cache
def _scratch() -> Path:
    holder = tempfile.TemporaryDirectory(prefix="vmath")
    _scratch.holder = holder  # type: ignore[attr-defined]  # removed when the process ends
    return Path(holder.name)


@cache
def harness(target: str) -> tuple[str, ...]:
    """The command that runs `target`'s program, or a skip with the reason."""
    native = TARGETS[target] in available()
    if not native and not (target == "neon" and CROSS and QEMU):
        pytest.skip(f"no {target} here, and no emulator")
    compiler = shutil.which("gcc") or shutil.which("cc") if native else CROSS
    if compiler is None:
        pytest.skip("no C compiler")
    return _built(target, compiler, () if native else (str(QEMU),))


def _built(target: str, compiler: str, runner: tuple[str, ...]) -> tuple[str, ...]:
    exe = _scratch() / f"{target}-{Path(compiler).name}"
    exe.with_suffix(".c").write_text(program(target))
    static = ["-static"] if runner else []
    command = [compiler, *FLAGS, *TARGETS[target].cflags, str(exe.with_suffix(".c")), "-o", str(exe), *static, "-lm"]
    subprocess.run(command, check=True)
    return (*runner, str(exe))


def evaluate(target: str, op: str, dtype: str, lanes: int, *args: Any) -> tuple[Any, Any]:
    """Values, and one byte of flags for each vector; ``lanes`` 1 is the C library."""
    element = DTYPES[dtype].numpy
    data = np.stack([np.asarray(a, element).reshape(-1, lanes) for a in args], axis=1)
    name = f"{op}_{dtype}" + (f"x{lanes}" if lanes > 1 else "")
    out = subprocess.run([*harness(target), name], input=data.tobytes(), stdout=subprocess.PIPE, check=True).stdout
    record = np.frombuffer(out, [("value", element, (lanes,)), ("flags", "u1")])
    return record["value"].ravel(), record["flags"]


# -- errors

def reference(op: str, dtype: str, *args: Any) -> Any:
    wide = np.float64 if dtype == "f32" else np.longdouble
    with np.errstate(all="ignore"):
        return getattr(np, {"pow": "power"}.get(op, op))(*(np.asarray(a, wide) for a in args))


def ulps(got: Any, exact: Any) -> Any:
    """Distance in units of the last place of the correctly rounded result; special results must agree."""
    with np.errstate(all="ignore"):
        rounded = exact.astype(got.dtype)
        error = np.abs(got.astype(exact.dtype) - exact) / np.spacing(np.abs(rounded)).astype(exact.dtype)
    same = (rounded == got) | (np.isnan(rounded) & np.isnan(got))
    return np.where(np.isfinite(rounded) & np.isfinite(got), error, np.where(same, 0, np.inf))


def samples(op: str, dtype: str, n: int) -> tuple[Any, ...]:
    """Where the function is interesting, near its turning points, and any bits at all."""
    rng = np.random.default_rng(7)
    element = DTYPES[dtype].numpy
    f32 = dtype == "f32"
    if op == "pow":
        x = np.concatenate([np.exp(rng.uniform(-30, 30, n)), rng.uniform(0.999, 1.001, n), rng.uniform(0.3, 3, n)]).astype(element)
        with np.errstate(all="ignore"):
            y = rng.uniform(-1, 1, 3 * n) * (86 if f32 else 708) / np.abs(np.log(x.astype("f8")))
        return x, np.where(np.isfinite(y), y, 2).astype(element)
    lo, hi = {"exp": (-104, 89) if f32 else (-746, 710), "log": (0.3, 3), "tanh": (-10, 10) if f32 else (-20, 20)}.get(op, (-20, 20))
    bits = rng.integers(0, 2**DTYPES[dtype].bits, n, dtype=f"u{element.itemsize}").view(element)
    wide = rng.uniform(-1, 1, n) * 10 ** rng.uniform(-6, 6, n)
    near = np.concatenate([rng.uniform(lo, hi, n), rng.uniform(0.95, 1.05, n), np.abs(wide) if op == "log" else wide])
    return (np.concatenate([near.astype(element), np.abs(bits) if op == "log" else bits]),)


@each_case
def test_error(target: str, op: str, dtype: str) -> None:
    if dtype == "f64" and not exact_f64:
        pytest.skip("long double is no wider than double here")
    harness(target)
    args = samples(op, dtype, 1 << 9 if target == "neon" else 1 << 12)
    exact = reference(op, dtype, *args)
    for lanes in sizes(target, dtype):
        got, _ = evaluate(target, op, dtype, lanes, *args)
        error = ulps(got, exact)
        worst = int(np.argmax(error))
        where = [float(a[worst]) for a in args]
        assert error[worst] <= bound(op, dtype, target), f"{op}{where} is {got[worst]}, x{lanes}"


@each_case
def test_flags(target: str, op: str, dtype: str) -> None:
    """Those of the C library; underflow may come without need."""
    args = samples(op, dtype, 1 << 8)
    _, each = evaluate(target, op, dtype, 1, *args)
    for lanes in sizes(target, dtype):
        _, flags = evaluate(target, op, dtype, lanes, *args)
        expected = np.bitwise_or.reduce(each.reshape(-1, lanes), axis=1)
        assert np.array_equal(flags & LOUD, expected & LOUD)


# -- special values

def specials(op: str, dtype: str) -> tuple[Any, ...]:
    info = np.finfo(DTYPES[dtype].numpy)
    edges = [0, info.smallest_subnormal, 3 * info.smallest_subnormal, info.tiny, info.max, np.inf, np.nan, 0.5, 1, 1.5, 2, 3, 1e5, 1e9]
    edges += [87.33, 88.8, 103.9, 104.1, 708.3, 709.8, 745, 746, 1000] if op == "exp" else []
    with np.errstate(all="ignore"):
        values = np.array([*edges, *(-e for e in edges)], info.dtype)
    if arity(op) == 1:
        return (values,)
    x, y = np.array(list(product(values, values)), info.dtype).T
    return x, y


@each_case
def test_special_values(target: str, op: str, dtype: str) -> None:
    """As libm has them, in every lane, whatever its neighbours hold; signs of zeros and flags included."""
    args = specials(op, dtype)
    want, each = evaluate(target, op, dtype, 1, *args)
    for lanes in (*sizes(target, dtype), *([2] if dtype == "f32" else [])):
        for filler in (None, 1.5):
            vectors = [np.repeat(a[:, None], lanes, axis=1) for a in args]
            place = np.arange(len(want)) % lanes
            if filler is not None:
                for v, a in zip(vectors, args, strict=True):
                    v[:] = filler
                    v[np.arange(len(a)), place] = a
            got, flags = evaluate(target, op, dtype, lanes, *vectors)
            got = got.reshape(-1, lanes)[np.arange(len(want)), place]
            _check_special(got, want, bound(op, dtype, target))
            assert np.array_equal(flags & LOUD, each & LOUD), [a[(flags ^ each) & LOUD != 0] for a in args]


def _check_special(got: Any, want: Any, tolerance: float) -> None:
    nan = np.isnan(want)
    assert np.array_equal(np.isnan(got), nan)
    assert np.array_equal(np.signbit(got)[~nan], np.signbit(want)[~nan])
    exact = np.isin(want, (0, 1, -1, np.inf, -np.inf))
    assert np.array_equal(got[exact], want[exact])
    rest = ~nan & ~exact
    with np.errstate(all="ignore"):
        error = np.abs(got[rest] - want[rest])
    assert np.all(error <= (tolerance + 0.5) * np.spacing(np.abs(want[rest])))


@each_case
def test_lanes_are_independent(target: str, op: str, dtype: str) -> None:
    """A lane's bits do not depend on its neighbours."""
    usual = [a[: 1 << 8] for a in samples(op, dtype, 1 << 8)]
    rare = [np.resize(a, usual[0].shape) for a in specials(op, dtype)]
    for lanes in sizes(target, dtype):
        alone, _ = evaluate(target, op, dtype, lanes, *usual)
        mixed = [np.where(np.arange(u.size) % lanes % 2, r, u) for u, r in zip(usual, rare, strict=True)]
        got, _ = evaluate(target, op, dtype, lanes, *mixed)
        kept = np.arange(got.size) % lanes % 2 == 0
        assert np.array_equal(got[kept].view("u1"), alone[kept].view("u1"))


# -- the text

def test_no_form() -> None:
    assert source("exp", "i32", 4, "sse2") is None
    assert source("sqrt", "f32", 4, "sse2") is None
    assert source("exp", "f64", 1, "sse2") is None
    assert source("exp", "f64", 8, "scalar") is None


@pytest.mark.parametrize("target", BYTES)
def test_clang(target: str) -> None:
    """The same text through clang: as accurate."""
    clang = next(filter(None, map(shutil.which, ("clang", "clang-19", "clang-16", "clang-14"))), None)
    if clang is None or TARGETS[target] not in available():
        pytest.skip("no clang, or not this machine's code")
    command = _built(target, clang, ())
    for op, dtype in product(FUNCTIONS, ("f32", "f64")):
        element, lanes = DTYPES[dtype].numpy, max(sizes(target, dtype))
        args = samples(op, dtype, 1 << 9)
        data = np.stack([a.reshape(-1, lanes) for a in args], axis=1).tobytes()
        out = subprocess.run([*command, f"{op}_{dtype}x{lanes}"], input=data, stdout=subprocess.PIPE, check=True).stdout
        got = np.frombuffer(out, [("value", element, (lanes,)), ("flags", "u1")])["value"].ravel()
        assert ulps(got, reference(op, dtype, *args)).max() <= bound(op, dtype, target)


@pytest.mark.long
@pytest.mark.parametrize("op", [f for f in FUNCTIONS if arity(f) == 1])
@pytest.mark.parametrize("target", BYTES)
def test_every_float32(target: str, op: str, pytestconfig: pytest.Config) -> None:
    if "long" not in pytestconfig.option.markexpr:
        pytest.skip("asked for by -m long")
    command = [*harness(target), f"{op}_f32x{max(sizes(target, 'f32'))}", "all"]
    error, where = map(float, subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout.split())
    print(f"{target} {op}: {error} ULP at {where}")
    assert error <= bound(op, "f32", target)
