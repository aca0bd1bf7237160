"""Times loops that carry something: prefix sums, running maxima, argmin, histograms, against NumPy,
numba, and the same loops in C at -O3.

    python -m tests.bench.scans [case …] [--sizes 2048,262144,16777216] [--rounds 7]

All of one line is measured in turn within the same rounds; each ratio is theirs / ours. The last
column is ours / a copy of the same length by C.
"""
from __future__ import annotations

import argparse
import ctypes
import os
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from transpile import fuse

from .__main__ import _numba, _pretty, measure

C_NAMES = {np.float32: "float", np.float64: "double"}


def sums(x, y, b, h):
    s = 0.0
    for i in range(len(x)):
        s += x[i]
        y[i] = s


def peaks(x, y, b, h):
    s = x[0]
    for i in range(len(x)):
        if x[i] > s:
            s = x[i]
        y[i] = s


def place(x, y, b, h):
    s = x[0]
    k = 0
    for i in range(1, len(x)):
        if x[i] < s:
            s = x[i]
            k = i
    return k


def smooth(x, y, b, h):
    s = x[0]
    for i in range(len(x)):
        s = 0.125 * x[i] + 0.875 * s
        y[i] = s


def np_smooth(x, y, b, h):
    """NumPy has none: Python's own floats."""
    s = float(x[0])
    y[:] = [s := 0.125 * v + 0.875 * s for v in x.tolist()]


def filtered(x, y, b, h):
    for i in range(1, len(x)):
        y[i] = x[i] * y[i - 1] + x[i - 1]


def np_filtered(x, y, b, h):
    """NumPy has none: Python's own floats."""
    s = float(y[0])
    y[1:] = [s := s * f + v for f, v in zip(x[1:].tolist(), x.tolist(), strict=False)]


def bins(x, y, b, h):
    for i in range(len(b)):
        h[b[i]] += 1


def weights(x, y, b, h):
    for i in range(len(b)):
        y[b[i]] += x[i]


def np_weights(x, y, b, h):
    y[: len(h)] += np.bincount(b, x, minlength=len(h))


def np_bins(x, y, b, h):
    h += np.bincount(b, minlength=len(h))


CASES: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "sums": (sums, lambda x, y, b, h: np.cumsum(x, out=y)),
    "peaks": (peaks, lambda x, y, b, h: np.maximum.accumulate(x, out=y)),
    "smooth": (smooth, np_smooth),
    "filtered": (filtered, np_filtered),
    "place": (place, lambda x, y, b, h: np.argmin(x)),
    "bins": (bins, np_bins),
    "weights": (weights, np_weights),
}


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.scans", description=__doc__)
    parser.add_argument("cases", nargs="*", choices=[*CASES, []])
    parser.add_argument("--sizes", default="2048,262144,16777216")
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args(argv)
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    lib, numba = _library(), _numba()
    print(f"{'case':9}{'dtype':9}{'n':>10}{'ours':>12}{'NumPy':>8}{'numba':>8}{'C':>8}{'/copy':>8}")
    for name in options.cases or CASES:
        for dtype in (np.float32, np.float64):
            for n in map(int, options.sizes.split(",")):
                print(_line(name, dtype, n, options.rounds, lib, numba), flush=True)


def _line(name: str, dtype: type, n: int, rounds: int, lib: Any, numba: Any) -> str:
    rng = np.random.default_rng(1)
    x, y = _aligned(rng.random(n).astype(dtype)), _aligned(np.zeros(n, dtype))
    args = (x, y, rng.integers(0, 256, n).astype(np.int32), np.zeros(256, np.int32))
    loop, array = CASES[name]
    ours = fuse(on_reject="raise")(loop)
    pointers = [ctypes.c_void_p(a.ctypes.data) for a in args]
    c = [getattr(lib, f"{f}_{C_NAMES[dtype]}") for f in (name, "copy")]
    size = ctypes.c_size_t(n)
    runs: dict[str, Callable[[], Any]] = {
        "ours": lambda: ours(*args),
        "NumPy": lambda: array(*args),
        "C": lambda: c[0](*pointers, size),
        "copy": lambda: c[1](*pointers, size),
    }
    if numba is not None:
        jitted = numba.njit(loop)
        runs["numba"] = lambda: jitted(*args)
    times = measure(runs, rounds, n)
    assert ours.stats.compiled > 0, ours.report(*args)
    t = times["ours"]
    ratios = [f"{times[k] / t:8.2f}" if k in times else " " * 8 for k in ("NumPy", "numba", "C")]
    kind = np.dtype(dtype).name
    return f"{name:9}{kind:9}{n:10}{_pretty(t):>12}{''.join(ratios)}{t / times['copy']:8.2f}"


def _aligned(a: np.ndarray) -> np.ndarray:
    """A copy that starts where a register may be loaded whole."""
    room = np.empty(a.nbytes + 64, np.uint8)
    at = -room.ctypes.data % 64
    copy = room[at : at + a.nbytes].view(a.dtype)
    copy[:] = a
    return copy


def _library() -> ctypes.CDLL:
    path = Path(tempfile.mkdtemp()) / "scans.so"
    flags = ["-O3", "-march=native", "-shared", "-fPIC", "-fno-builtin"]
    source = Path(__file__).with_name("scans.c")
    cc = os.environ.get("CC", "cc")
    subprocess.run([cc, *flags, str(source), "-o", str(path)], check=True)
    return ctypes.CDLL(str(path))


if __name__ == "__main__":
    main()
