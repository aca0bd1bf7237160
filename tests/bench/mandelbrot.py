"""Times an escape loop on each of this machine's targets against numba and plain C at -O3.

    python -m tests.bench.mandelbrot [--size 512] [--turns 200] [--rounds 5]

All of one line is measured in turn within the same rounds; each ratio is theirs / ours.
"""
from __future__ import annotations

import argparse
import ctypes
import os
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from targets.host import available
from transpile import fuse

from .__main__ import Timed, _numba, _pretty, measure

C_NAMES = {np.float32: "float", np.float64: "double"}


def escape(re, im, m, out):
    for i in range(len(re)):
        a, b = re[i], im[i]
        x, y = a, b
        count = 0
        while count < m and x * x + y * y <= 4:
            x, y = x * x - y * y + a, 2 * x * y + b
            count += 1
        out[i] = count


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.mandelbrot", description=__doc__)
    parser.add_argument("--size", type=int, default=512)
    parser.add_argument("--turns", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args(argv)
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    lib, numba = _library(), _numba()
    print(f"{'target':9}{'dtype':9}{'ours':>12}{'numba':>8}{'C':>8}")
    for dtype in C_NAMES:
        for target in available():
            print(_line(target.name, dtype, options, lib, numba), flush=True)


def _line(target: str, dtype: type, options: Any, lib: Any, numba: Any) -> str:
    across = np.linspace(-2, 1, options.size)
    re, im = (a.ravel().astype(dtype) for a in np.meshgrid(across, across[::-1] * 2 / 3))
    outs = {name: np.zeros(re.size, np.int32) for name in ("ours", "numba", "C")}
    ours, c = fuse(target=target, threads=1)(escape), getattr(lib, f"escape_{C_NAMES[dtype]}")
    pointers = [ctypes.c_void_p(a.ctypes.data) for a in (re, im, outs["C"])]
    turns, size = ctypes.c_int64(options.turns), ctypes.c_size_t(re.size)
    runs: dict[str, Timed] = {
        "ours": lambda: ours(re, im, options.turns, outs["ours"]),
        "C": lambda: c(*pointers, turns, size),
    }
    if numba is not None:
        jitted = numba.njit(escape)
        runs["numba"] = lambda: jitted(re, im, options.turns, outs["numba"])
    times = measure(runs, options.rounds, re.size * options.turns)
    assert ours.stats.compiled > 0, ours.report(re, im, options.turns, outs["ours"])
    assert (outs["ours"] == outs["C"]).all()
    ratios = [f"{times[k] / times['ours']:8.2f}" if k in times else " " * 8 for k in ("numba", "C")]
    return f"{target:9}{np.dtype(dtype).name:9}{_pretty(times['ours']):>12}{''.join(ratios)}"


def _library() -> ctypes.CDLL:
    path = Path(tempfile.mkdtemp()) / "mandelbrot.so"
    flags = ["-O3", "-march=native", "-ffp-contract=off", "-shared", "-fPIC"]
    source, cc = Path(__file__).with_suffix(".c"), os.environ.get("CC", "cc")
    subprocess.run([cc, *flags, str(source), "-o", str(path)], check=True)
    return ctypes.CDLL(str(path))


if __name__ == "__main__":
    main()
