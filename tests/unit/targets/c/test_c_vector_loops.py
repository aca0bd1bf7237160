"""Elements some bytes apart: each width, distance and length; nothing is read that is not there."""
from __future__ import annotations

import ctypes
import mmap
import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from forked_programs import with_bytecode
from native import RUNNABLE, run_native

from loopir import nodes as ir
from loopir.dtypes import DTYPES
from loopir.ir_interpreter import run_kernel
from loopir.ir_printer import parse
from targets.c import emit, emit_c
from targets.isa.target_registry import TARGETS, runnable_targets
from targets.legalization.legalize import legalize

NUMBERS = ("u8", "i16", "f32", "i32", "f64", "i64")
LENGTHS = (0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 21, 31, 32, 33, 47, 63, 64, 65, 127, 129)
APART = (-3, -1, 2, 3, 4, 5)
"""Distances in elements."""


@cache
def copies(beside: str | None, *, down: bool = False, side: bool = False) -> ir.Kernel:
    """Copies an array of each dtype, alone in its loop or beside one that makes lanes wider; or
    neighbours, last to first; or `side` by side.
    """
    params, loops = [], []
    for d in NUMBERS:
        params += [f"x_{d}: {d}[{'::1' if down or side else ':'}]", f"y_{d}: mut({d}[::1])"]
        element = f"x_{d}[y_{d}.shape[0] - 1 - i:W:-1]" if down else f"x_{d}[i:W]"
        loops.append(f"    for i in vec(0, y_{d}.shape[0], width=W):")
        loops.append(f"        y_{d}[i:W] = {element}")
        if beside:
            loops.append("        z[i:W] = w[i:W]")
    if beside:
        params += [f"w: {beside}[:]", f"z: mut({beside}[::1])"]
    return parse("\n".join([f"def copies({', '.join(params)}):", *loops, ""]))


def filled(dtype: str, n: int) -> np.ndarray[Any, Any]:
    return np.arange(1, n + 1).astype(DTYPES[dtype].numpy)


def spaced(dtype: str, n: int, apart: int) -> np.ndarray[Any, Any]:
    """`n` elements of an array that ends, or begins, with the last of them."""
    return filled(dtype, max(0, (n - 1) * abs(apart) + 1))[::apart][:n]


@pytest.mark.share(12)
@pytest.mark.parametrize("beside", [None, "f32", "f64"])
@pytest.mark.parametrize("target", RUNNABLE)
def test_elements_apart(target: str, beside: str | None) -> None:
    kernel = copies(beside)
    for n in LENGTHS if target != "neon" else (1, 19, 65):
        for apart in APART if target != "neon" else (2, 3, 4):
            args = {p.name: spaced(p.dtype, n, 1 if p.written else apart) for p in kernel.params}
            assert run_native(kernel, target, args) == 0
            for p in kernel.params:
                if p.written:
                    source = args["w" if p.name == "z" else f"x{p.name[1:]}"]
                    assert args[p.name].tobytes() == source.tobytes(), (p.dtype, n, apart)


@pytest.mark.share(12)
@pytest.mark.parametrize("beside", [None, "f32", "f64"])
@pytest.mark.parametrize("down", [True, False])
@pytest.mark.parametrize("target", RUNNABLE)
def test_neighbours_in_both_directions(target: str, down: bool, beside: str | None) -> None:
    """Nothing is stored behind them."""
    kernel = copies(beside, down=down, side=not down)
    for n in LENGTHS if target != "neon" else (1, 19, 65):
        homes = {p.name: spaced(p.dtype, n + 3, 1) for p in kernel.params}
        assert run_native(kernel, target, {k: a[:n] for k, a in homes.items()}) == 0
        for d in NUMBERS:
            want = homes[f"x_{d}"][:n][:: -1 if down else 1]
            assert homes[f"y_{d}"][:n].tobytes() == want.tobytes(), (d, n)
            assert homes[f"y_{d}"][n:].tobytes() == spaced(d, n + 3, 1)[n:].tobytes(), (d, n)


PAIRS = {
    "parts": """
    for i in vec(0, x.shape[0], width=W):
        a = x[i:W, 0]
        b = x[i:W, 1]
        y[i:W, 0] = a * b - b
        y[i:W, 1] = a + b
""",
    "parts by themselves": """
    for i in vec(0, x.shape[0], width=W):
        y[i:W, 0] = x[i:W, 0] + x[i:W, 0]
        y[i:W, 1] = x[i:W, 1] * x[i:W, 1]
""",
    "one after the other": """
    for i in vec(0, x.shape[0], width=W):
        y[i:W, 0] = y[i:W, 1] + x[i:W, 0]
        y[i:W, 1] = y[i:W, 0] + x[i:W, 1]
""",
    "where they are large": """
    for i in pred(0, x.shape[0], width=W, where=x[i:W, 0] > broadcast(T(20), W)):
        y[i:W, 0] = x[i:W, 0] + x[i:W, 1]
        y[i:W, 1] = x[i:W, 1]
""",
    "each the other": """
    for i in vec(0, x.shape[0], width=W):
        y[i:W, 0] = x[i:W, 1]
        y[i:W, 1] = x[i:W, 0]
""",
}


def pairs(name: str, dtype: str) -> ir.Kernel:
    head = f"def pairs(x: {dtype}[:, ::1], y: mut({dtype}[:, ::1])):"
    return parse(head + PAIRS[name].replace("T(", f"{dtype}("))


def rows(dtype: str, n: int, width: int) -> np.ndarray[Any, Any]:
    """Pairs, `width` elements apart."""
    return filled(dtype, n * width).reshape(n, width)[:, :2]


@pytest.mark.share(76)
@pytest.mark.parametrize("target", RUNNABLE)
@pytest.mark.parametrize("dtype", ["u8", "f32", "f64"])
@pytest.mark.parametrize("name", PAIRS)
def test_neighbours(name: str, dtype: str, target: str) -> None:
    """Parts side by side, with a gap after each two and without; into others and in place."""
    kernel = pairs(name, dtype)
    for n in LENGTHS if target != "neon" else (3, 33):
        for width in (2, 3):
            for same in (False, True):
                want, got = [
                    {"x": x, "y": x if same else rows(dtype, n, width)}
                    for x in (rows(dtype, n, width), rows(dtype, n, width))
                ]
                run_kernel(kernel, want)
                assert run_native(kernel, target, got) == 0
                whole = [a["y"] if a["y"].base is None else a["y"].base for a in (want, got)]
                assert whole[0].tobytes() == whole[1].tobytes(), (n, width, same)


@cache
def known_pairs(name: str) -> ir.Kernel:
    """The same, of several dtypes, on parts that follow each other without a gap."""
    params, loops = [], []
    for d in ("u8", "f32", "f64"):
        params += [f"x_{d}: {d}[::2, ::1]", f"y_{d}: mut({d}[::2, ::1])"]
        loops.append(re.sub(r"\b([xy])\b", rf"\1_{d}", PAIRS[name]).replace("T(", f"{d}("))
    return parse(f"def pairs({', '.join(params)}):{''.join(loops)}")


@pytest.mark.share(12)
@pytest.mark.parametrize("target", RUNNABLE)
@pytest.mark.parametrize("name", ["parts", "where they are large", "each the other"])
def test_neighbours_without_a_gap(name: str, target: str) -> None:
    """Also so many that stores are aligned first, from all that they may start at."""
    kernel = known_pairs(name)
    cases = [(n, 0) for n in LENGTHS] + [(1400, k) for k in (0, 1, 3, 18)]
    for n, start in cases if target != "neon" else [(3, 0), (33, 0), (1400, 1)]:
        for same in (False, True):
            want, got = _wanted_pairs(name, n, start, same), _filled_pairs(kernel, n, start, same)
            assert run_native(kernel, target, got) == 0
            for k, a in got.items():
                assert a.tobytes() == want[k].tobytes(), (k, n, start, same)


@cache
def _wanted_pairs(name: str, n: int, start: int, same: bool) -> dict[str, Any]:
    args = _filled_pairs(known_pairs(name), n, start, same)
    run_kernel(known_pairs(name), args)
    return args


def _filled_pairs(kernel: ir.Kernel, n: int, start: int, same: bool) -> dict[str, Any]:
    args = {p.name: filled(p.dtype, 2 * (n + start)).reshape(-1, 2)[start:] for p in kernel.params}
    return {k: args[f"x{k[1:]}"] if same else a for k, a in args.items()}


def test_who_is_stored_together() -> None:
    def text(name: str) -> str:
        return emit(legalize(pairs(name, "f64"), TARGETS["avx2"]), TARGETS["avx2"])

    assert all("tp_spread2" in text(name) for name in ("parts", "parts by themselves"))
    assert not any("tp_spread2" in text(name) for name in ("one after the other", "each the other"))
    assert "tp_scatter2" in text("where they are large")
    known = emit(legalize(known_pairs("parts"), TARGETS["avx512"]), TARGETS["avx512"])
    assert "tp_both_f64x8" in known
    assert not re.search("strides|tp_gather|tp_every", known.partition("tp_body")[2])


# -- large kernels

FOLDS = """
def folds(x: f64[::1], r: mut(f64[::1])):
    for i in vec(0, x.shape[0], width=W, group=32, s=0.0, m=f64("inf")):
        s = step(s + x[i:W])
        m = step(min(m, x[i:W]))
    r[0] = hreduce("add", s)
    r[1] = hreduce("min", m)
"""


@pytest.mark.parametrize("target", [t.name for t in runnable_targets() if t.masks == "bits"])
def test_the_short_code_of_large_kernels_has_the_same_bits(
    target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    small, large = parse(FOLDS), parse(FOLDS.replace("folds", "large"))
    texts = [emit(legalize(small, TARGETS[target]), TARGETS[target])]
    inputs = [np.random.default_rng(n).random(n) * 1e3 for n in LENGTHS]
    results = [np.zeros((2, len(LENGTHS), 2)) for _ in range(2)]
    for kernel, into in zip((small, large), results, strict=True):
        for k, x in enumerate(inputs):
            assert run_native(kernel, target, {"x": x, "r": into[0, k]}) == 0
        monkeypatch.setattr(emit_c, "_LARGE", 1)
    texts.append(emit(legalize(large, TARGETS[target]), TARGETS[target]))
    assert len(texts[1]) < len(texts[0]) - 400
    assert results[0].tobytes() == results[1].tobytes()


# -- what lies next to an array

_PAGE = mmap.PAGESIZE


def _between_walls(size: int) -> int:
    """The address of so many pages before and behind which none can be touched."""
    libc = ctypes.CDLL(None)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, *(ctypes.c_int,) * 3, ctypes.c_long)
    libc.mprotect.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    at: int = libc.mmap(None, (size + 2) * _PAGE, 0, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, 0)
    assert libc.mprotect(at + _PAGE, size * _PAGE, mmap.PROT_READ | mmap.PROT_WRITE) == 0
    return at + _PAGE


def _against_walls(target: str, beside: str | None) -> None:
    """Every copy, of arrays that begin with the first byte of their pages or end with the last."""
    kernel, side = copies(beside), (copies(beside, down=True), copies(beside, side=True))
    homes = {p.name: _between_walls(1) for p in kernel.params if not p.written}
    for n in (x for x in LENGTHS if 0 < x < 80):
        for apart in (1, 2, 3, 4):
            for last in (False, True):
                args: dict[str, Any] = {}
                for p in kernel.params:
                    kind = DTYPES[p.dtype].numpy
                    room = ((n - 1) * apart + 1) * kind.itemsize
                    if p.written:
                        args[p.name] = np.zeros(n, kind)
                        continue
                    at = homes[p.name] + (_PAGE - room if last else 0)
                    memory = (ctypes.c_char * room).from_address(at)
                    args[p.name] = np.frombuffer(memory, kind)[::apart]
                for k in side if apart == 1 else (kernel,):
                    assert run_native(k, target, args) == 0
                if apart == 2 and beside is None:
                    _pairs_against_walls(target, homes, n, last)


def _pairs_against_walls(target: str, homes: dict[str, int], n: int, last: bool) -> None:
    kernel = known_pairs("parts")
    args: dict[str, Any] = {}
    for p in kernel.params:
        kind = DTYPES[p.dtype].numpy
        room = 2 * n * kind.itemsize
        at = homes.get(p.name, 0) + (_PAGE - room if last else 0)
        memory = bytearray(room) if p.written else (ctypes.c_char * room).from_address(at)
        args[p.name] = np.frombuffer(memory, kind).reshape(n, 2)
    assert run_native(kernel, target, args) == 0


@pytest.mark.share(18)
@pytest.mark.skipif(sys.platform != "linux", reason="mmap's constants")
@pytest.mark.parametrize("beside", [None, "f32", "f64"])
@pytest.mark.parametrize("target", [t.name for t in runnable_targets()])
def test_nothing_beside_an_array_is_read(target: str, beside: str | None) -> None:
    code = f"import test_c_vector_loops as t; t._against_walls({target!r}, {beside!r})"
    here = str(Path(__file__).parent)
    path = f"import sys; sys.path[:] = {[here, *sys.path]!r}; "
    done = subprocess.run(
        [sys.executable, "-c", path + code], timeout=120, capture_output=True,
        env=with_bytecode(os.environ),
    )
    assert done.returncode == 0, done.stderr.decode()


@pytest.mark.parametrize("target", RUNNABLE)
def test_registers_do_not_hide_what_a_branch_gives(target: str) -> None:
    """The second register of `at` is another variable than the `at_1` around it."""
    k = parse("""
def f(x: f64[::1], r: mut(i64[()])):
    if x.shape[0] > 3:
        for i in vec(0, x.shape[0], width=W, group=32, at=0):
            at = step(at + ramp(i, 1, W))
        at_1 = give(hreduce("add", at))
    else:
        at_1 = give(5)
    r[()] = at_1
""")
    for n in (3, 4, 70):
        r = np.zeros((), np.int64)
        assert run_native(k, target, {"x": np.zeros(n), "r": r}) == 0
        assert r == (n * (n - 1) // 2 if n > 3 else 5)
