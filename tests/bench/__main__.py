"""Times every case at four sizes and two dtypes: ours against NumPy, numba, and hand-written C on
the same bytes.

    python -m tests.bench [case …] [--sizes 16,4096,262144,16777216] [--rounds 7]

All of one line is measured in turn within the same rounds, and the medians divided: read the
ratios, not the times. The limit is C compiled by the system's compiler at -O3 -ffast-math with the
vectors of this machine. Nothing is asserted.
"""
from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from transpile import fuse

from .cases import CASES, Case

Timed = Callable[[], Any]
_C_NAMES = {np.float32: "float", np.float64: "double"}


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("cases", nargs="*", help="parts of the names of cases; all if none")
    parser.add_argument("--sizes", default="16,4096,262144,16777216")
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args(argv)
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    limits = _limits()
    numba = _numba()
    print(
        f"{'case':22}{'dtype':9}{'n':>10}{'ours':>12}{'NumPy/ours':>12}{'numba/ours':>12}{'limit/ours':>12}"
    )
    for case in CASES:
        if options.cases and not any(c in case.name for c in options.cases):
            continue
        for dtype in (np.float32, np.float64):
            for n in map(int, options.sizes.split(",")):
                print(_line(case, dtype, n, options.rounds, limits, numba), flush=True)


def _line(case: Case, dtype: type, n: int, rounds: int, limits: Any, numba: Any) -> str:
    rng = np.random.default_rng(1)
    x, y, out = rng.random(n).astype(dtype), rng.random(n).astype(dtype), np.zeros(n, dtype)
    args = case.args(x, y, out)
    ours = fuse(on_reject="raise")(case.loop)
    runs: dict[str, Timed] = {"ours": lambda: ours(*args), "numpy": lambda: case.array(*args)}
    if numba is not None:
        jitted = numba.njit(fastmath=True)(case.loop)
        runs["numba"] = lambda: jitted(*args)
    if limits is not None and case.limit:
        runs["limit"] = _limit(limits, case.limit, dtype, x, y, out)
    times = measure(runs, rounds, n)
    assert ours.stats.compiled > 0, ours.report(*args)
    t = times["ours"]
    ratios = [
        f"{times[k] / t:12.2f}" if k in times else f"{'':12}" for k in ("numpy", "numba", "limit")
    ]
    return f"{case.name:22}{np.dtype(dtype).name:9}{n:10}{_pretty(t):>12}" + "".join(ratios)


def measure(runs: dict[str, Timed], rounds: int, n: int) -> dict[str, float]:
    """Median seconds a call, the runs taking turns within each round."""
    for run in runs.values():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            run()
    repeat = max(1, min(2000, 2_000_000 // max(n, 1)))
    samples: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(rounds):
        for name, run in runs.items():
            run()
            start = time.perf_counter()
            for _ in range(repeat):
                run()
            samples[name].append((time.perf_counter() - start) / repeat)
    return {name: statistics.median(times) for name, times in samples.items()}


def _limit(
    lib: Any, name: str, dtype: type, x: np.ndarray, y: np.ndarray, out: np.ndarray
) -> Timed:
    ffi, module = lib
    c = _C_NAMES[dtype]
    function = getattr(module, f"{name}_{c}")
    pointers = [ffi.from_buffer(f"{c}[]", a) for a in (x, y, out)]
    n = len(x)
    return lambda: function(*pointers, n)


def _limits() -> Any:
    """The C marks, built for this machine; None without a compiler."""
    from cffi import FFI

    folder = tempfile.mkdtemp()
    path = Path(folder) / "limit.so"
    flags = ["-O3", "-ffast-math", "-march=native", "-mprefer-vector-width=512", "-shared", "-fPIC"]
    source = Path(__file__).with_name("limit.c")
    try:
        subprocess.run(
            [os.environ.get("CC", "cc"), *flags, str(source), "-o", str(path)], check=True
        )
    except (OSError, subprocess.CalledProcessError) as e:
        print(f"no hand-written C: {e}", file=sys.stderr)
        return None
    ffi = FFI()
    ffi.cdef("".join(_prototypes()))
    return ffi, ffi.dlopen(str(path))


def _prototypes() -> Iterator[str]:
    for c in _C_NAMES.values():
        for name in ("copy", "triad", "sum", "dot"):
            yield f"void {name}_{c}(const {c} *, const {c} *, {c} *, size_t);"


def _numba() -> Any:
    try:
        import numba
    except ImportError:
        print("numba is not installed: its column stays empty", file=sys.stderr)
        return None
    return numba


def _pretty(seconds: float) -> str:
    for unit, scale in (("s", 1.0), ("ms", 1e3), ("µs", 1e6)):
        if seconds * scale >= 1:
            return f"{seconds * scale:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


if __name__ == "__main__":
    main()
