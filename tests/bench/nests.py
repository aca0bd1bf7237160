"""Times nests of loops: ours against NumPy, numba, and plain C by gcc -O3, on one core.

    python -m tests.bench.nests [row …] [--sizes 64,256,768] [--rounds 7] [--contract]

Each column but the first is the time of the other, divided by ours: above 1, we are faster.
`aim` is where design says to stand, with the column that it is a ratio to. All of a line run in
turn, and the best times are divided, since whatever else runs only makes them longer. The first
line has the multiply-adds that a core can do, counted as two; `--contract` lets us use them, too.
"""
from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import numpy as np  # noqa: E402  # BLAS asks for its threads when it is loaded

from transpile import fuse  # noqa: E402

Make = Callable[[int, type, np.random.Generator], tuple[Any, ...]]
_C_NAMES = {np.float32: "float", np.float64: "double"}
COLUMNS = ("numpy", "numba", "gcc")


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """``loop`` is what we and numba compile, its result argument first; ``array`` NumPy's idiom on
    the same arguments. ``c``: the name in nests.c, which takes them as pointers, and the size.
    ``work``: operations for a size, to print a rate.
    """

    name: str
    loop: Callable[..., Any]
    array: Callable[..., Any]
    make: Make
    work: Callable[[int], float]
    aim: str
    c: str = ""


def matmul(c, a, b):
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            s = 0.0
            for k in range(a.shape[1]):
                s += a[i, k] * b[k, j]
            c[i, j] = s


def matmul_ikj(c, a, b):
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            c[i, j] = 0.0
        for k in range(a.shape[1]):
            for j in range(b.shape[1]):
                c[i, j] += a[i, k] * b[k, j]


def matvec(y, a, x):
    for i in range(a.shape[0]):
        s = 0.0
        for k in range(a.shape[1]):
            s += a[i, k] * x[k]
        y[i] = s


def jacobi(b, a):
    for i in range(1, a.shape[0] - 1):
        for j in range(1, a.shape[1] - 1):
            b[i, j] = 0.2 * (a[i, j] + a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1])


def conv(b, a, w):
    for i in range(a.shape[0] - 2):
        for j in range(a.shape[1] - 2):
            s = 0.0
            for p in range(3):
                for q in range(3):
                    s += a[i + p, j + q] * w[p, q]
            b[i, j] = s


def transpose(b, a):
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            b[j, i] = a[i, j]


def distances(d, x):
    for i in range(x.shape[0]):
        for j in range(x.shape[0]):
            s = x[i, 0] - x[i, 0]
            for k in range(x.shape[1]):
                t = x[i, k] - x[j, k]
                s += t * t
            d[i, j] = np.sqrt(s)


def np_jacobi(b, a):
    inner = a[1:-1, 1:-1] + a[:-2, 1:-1] + a[2:, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:]
    b[1:-1, 1:-1] = a.dtype.type(0.2) * inner


def np_conv(b, a, w):
    windows = np.lib.stride_tricks.sliding_window_view(a, (3, 3))
    b[:-2, :-2] = np.einsum("ijpq,pq->ij", windows, w)


def np_transpose(b, a):
    b[...] = a.T


def np_distances(d, x):
    np.sqrt(((x[:, None] - x[None]) ** 2).sum(-1), out=d)


def square(*shapes: tuple[int, ...]) -> Make:
    """Random arrays of those shapes, where 0 stands for the size."""

    def make(n: int, dtype: type, rng: np.random.Generator) -> tuple[Any, ...]:
        return tuple(rng.random([k or n for k in shape]).astype(dtype) for shape in shapes)

    return make


ROWS = (
    Row(name="matmul", loop=matmul, array=lambda c, a, b: np.matmul(a, b, out=c), c="matmul",
        make=square((0, 0), (0, 0), (0, 0)), work=lambda n: 2 * n**3, aim="1.7 numpy"),
    Row(name="matmul, ikj", loop=matmul_ikj, array=lambda c, a, b: np.matmul(a, b, out=c),
        c="matmul", make=square((0, 0), (0, 0), (0, 0)), work=lambda n: 2 * n**3, aim="1.7 numpy"),
    Row(name="matvec", loop=matvec, array=lambda y, a, x: np.matmul(a, x, out=y), c="matvec",
        make=square((0,), (0, 0), (0,)), work=lambda n: 2 * n**2, aim="1.0 numba"),
    Row(name="jacobi 2d", loop=jacobi, array=np_jacobi, c="jacobi",
        make=square((0, 0), (0, 0)), work=lambda n: 5 * n**2, aim="1.2 numba"),
    Row(name="conv 3x3", loop=conv, array=np_conv, c="conv",
        make=square((0, 0), (0, 0), (3, 3)), work=lambda n: 18 * n**2, aim="2 numba"),
    Row(name="transpose", loop=transpose, array=np_transpose, c="transpose",
        make=square((0, 0), (0, 0)), work=lambda n: n**2, aim="4 numba"),
    Row(name="distances, d=8", loop=distances, array=np_distances, c="distances",
        make=square((0, 0), (0, 8)), work=lambda n: 24 * n**2, aim="2 numba"),
)


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.nests", description=__doc__)
    parser.add_argument("rows", nargs="*", help="parts of the names of rows; all if none")
    parser.add_argument("--sizes", default="64,256,768")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--contract", action="store_true")
    options = parser.parse_args(argv)
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    plain, numba = _plain(), _numba()
    for dtype in _C_NAMES if plain is not None else ():
        print(f"peak {np.dtype(dtype).name} {_peak(dtype, plain):.0f} Gop/s", flush=True)
    head = "".join(f"{name:>8}" for name in COLUMNS)
    print(f"{'nest':18}{'dtype':9}{'n':>6}{'Gop/s':>8}{head}   aim")
    for row in ROWS:
        if options.rows and not any(part in row.name for part in options.rows):
            continue
        for dtype in (np.float32, np.float64):
            for n in map(int, options.sizes.split(",")):
                ours = fuse(on_reject="raise", contract=options.contract)(row.loop)
                print(_line(row, ours, dtype, n, options.rounds, plain, numba), flush=True)


def _peak(dtype: type, plain: Any) -> float:
    """Operations a nanosecond of nothing but fused multiply-adds."""
    _, module = plain
    steps, vectors, lanes = 1_000_000, 16, 64 // np.dtype(dtype).itemsize
    function = getattr(module, f"peak_{_C_NAMES[dtype]}")
    best = measure({"peak": lambda: function(steps)}, 5)["peak"]
    return 2 * steps * vectors * lanes / best / 1e9


def _line(
    row: Row, ours: Any, dtype: type, n: int, rounds: int, plain: Any, numba: Any
) -> str:
    args = row.make(n, dtype, np.random.default_rng(1))
    runs: dict[str, Callable[[], Any]] = {
        "ours": lambda: ours(*args), "numpy": lambda: row.array(*args),
    }
    if numba is not None:
        jitted = numba.njit(fastmath=True)(row.loop)
        runs["numba"] = lambda: jitted(*args)
    if plain is not None and row.c:
        ffi, module = plain
        function = getattr(module, f"{row.c}_{_C_NAMES[dtype]}")
        given = [ffi.from_buffer(f"{_C_NAMES[dtype]}[]", a) for a in args]
        given += [ffi.NULL] * (3 - len(given))
        runs["gcc"] = lambda: function(*given, n)
    times = measure(runs, rounds)
    assert ours.stats.compiled > 0, ours.report(*args)
    t = times["ours"]
    ratios = (f"{times[k] / t:8.2f}" if k in times else f"{'':8}" for k in COLUMNS)
    rate = row.work(n) / t / 1e9
    return f"{row.name:18}{np.dtype(dtype).name:9}{n:6}{rate:8.1f}{''.join(ratios)}   {row.aim}"


def measure(runs: dict[str, Callable[[], Any]], rounds: int) -> dict[str, float]:
    """The best seconds a call of each, the runs taking turns."""
    best: dict[str, float] = {}
    repeat: dict[str, int] = {}
    for name, run in runs.items():
        run()
        start = time.perf_counter()
        run()
        repeat[name] = max(1, min(1000, int(0.005 / (time.perf_counter() - start + 1e-9))))
    for _ in range(rounds):
        for name, run in runs.items():
            start = time.perf_counter()
            for _ in range(repeat[name]):
                run()
            took = (time.perf_counter() - start) / repeat[name]
            best[name] = min(took, best.get(name, took))
    return best


def _plain() -> Any:
    """The C loops, by gcc -O3 for this machine; None without a compiler."""
    from cffi import FFI

    path = Path(tempfile.mkdtemp()) / "nests.so"
    wide = ["-march=native", "-mprefer-vector-width=512"]
    flags = ["-O3", "-ffast-math", *wide, "-shared", "-fPIC", "-lm"]
    source = Path(__file__).with_name("nests.c")
    compiler = os.environ.get("CC", "cc")
    try:
        subprocess.run([compiler, str(source), *flags, "-o", str(path)], check=True)
    except (OSError, subprocess.CalledProcessError) as e:
        print(f"no plain C: {e}", file=sys.stderr)
        return None
    ffi = FFI()
    names = {row.c for row in ROWS if row.c}
    ffi.cdef("".join(
        f"void {name}_{c}({c} *, const {c} *, const {c} *, size_t);"
        for name in names for c in _C_NAMES.values()
    ))
    ffi.cdef("float peak_float(size_t); double peak_double(size_t);")
    return ffi, ffi.dlopen(str(path))


def _numba() -> Any:
    try:
        import numba
    except ImportError:
        print("numba is not installed: its column stays empty", file=sys.stderr)
        return None
    return numba


if __name__ == "__main__":
    main()
