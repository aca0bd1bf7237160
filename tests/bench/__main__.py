"""Times every case: ours against NumPy, numba, plain C, and kernels written by hand, on one core.

    python -m tests.bench [case …] [--sizes 64,4096] [--rounds 5] [--target avx2] [--contract]

Each column is the time of the other, divided by ours: above 1, we are faster. gcc: the same loop in
C by the system's compiler at -O3 for this machine; fast: with -ffast-math, too; hand: our kernel;
limit: a copy or a sum, in C, of the largest array. Aims are ratios to the columns they name. All of
a line are checked to compute the same, run in turn, and the best times are divided. peak: the fused
multiply-adds that a core can do, counted as two; `--contract` lets us use them, too.
"""
from __future__ import annotations

import argparse
import os
from collections.abc import Sequence

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import numpy as np  # noqa: E402  # BLAS asks for its threads when it is loaded

from targets.isa.target_registry import best_target  # noqa: E402
from transpile import fuse  # noqa: E402

from . import carried, escapes, functions, integers, maps, nests  # noqa: E402
from .harness import HEAD, line, measure, pin  # noqa: E402
from .runners import in_c  # noqa: E402

FAMILIES = (maps, nests, carried, escapes, integers, functions)


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("cases", nargs="*", help="parts of the names of cases; all if none")
    parser.add_argument("--sizes", help="instead of those that suit each case")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--target", default=best_target().name)
    parser.add_argument("--contract", action="store_true")
    options = parser.parse_args(argv)
    pin()
    print(f"peak {_peak('float32'):.0f} Gop/s float32, {_peak('float64'):.0f} float64\n{HEAD}")
    for case in (case for family in FAMILIES for case in family.CASES):
        if options.cases and not any(part in case.name for part in options.cases):
            continue
        compiled = fuse(on_reject="raise", target=options.target, contract=options.contract)
        for dtype in case.dtypes:
            for n in map(int, options.sizes.split(",")) if options.sizes else case.sizes:
                ours = compiled(case.loop)
                print(line(case, ours, dtype, n, options.target, options.rounds), flush=True)


def _peak(dtype: str) -> float:
    """Operations a nanosecond of nothing but fused multiply-adds."""
    steps, vectors, lanes = 1_000_000, 16, 64 // np.dtype(dtype).itemsize
    seconds = measure({"peak": in_c("peak", dtype, (), steps, fast=True)}, 5)["peak"]
    return 2 * steps * vectors * lanes / seconds / 1e9


if __name__ == "__main__":
    main()
