"""Times what is generated against what is written by hand: how many times as long it takes.

    python -m tests.bench.kernels [NAME …] [--sizes 16,4096,262144,4194304] [--target avx512]

Both are called from C within the same rounds, on the same arrays; the shortest times are divided.
Below 1.0 the generated code is faster. ns: what an element takes by hand. Nothing is asserted.
"""
from __future__ import annotations

import argparse
import ctypes
import sys
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from batch import PAIRS, table
from batch_cases import bench_arguments
from native import as_arrays, as_scalars

from targets.build.build_kernel import build_kernel
from targets.handwritten_kernels import kernel_library, kernel_meaning
from targets.isa.target_registry import TARGETS, best_target

from .harness import pin

_LOOP = """
#include <time.h>
int64_t bench(int64_t k, const tp_array *arrays, const tp_scalar *scalars, int64_t times)
{
    struct timespec a, b;
    clock_gettime(CLOCK_MONOTONIC, &a);
    for (int64_t i = 0; i < times; i++) kernels[k](arrays, scalars);
    clock_gettime(CLOCK_MONOTONIC, &b);
    return (b.tv_sec - a.tv_sec) * 1000000000 + b.tv_nsec - a.tv_nsec;
}
"""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.kernels", description=__doc__)
    parser.add_argument("names", nargs="*", help="parts of the names of kernels; all if none")
    parser.add_argument("--sizes", default="16,4096,262144,4194304")
    parser.add_argument("--target", default=best_target().name)
    parser.add_argument("--rounds", type=int, default=9)
    options = parser.parse_args()
    pin()
    target = TARGETS[options.target]
    bench = ctypes.CDLL(build_kernel(table(target) + _LOOP, target)).bench
    bench.restype = ctypes.c_int64
    sizes = [int(n) for n in options.sizes.split(",")]
    print(f"{target.name:16}" + "".join(f"{n:>12}{'ns':>8}" for n in sizes))
    slower = []
    for pair, (name, dtype) in enumerate(PAIRS):
        if options.names and not any(x in name for x in options.names):
            continue
        line = f"{name:12}{dtype:4}"
        for n in sizes:
            ratio, ns = _measured(bench, pair, n, options.rounds)
            line += f"{ratio:12.2f}{ns:8.3f}"
            slower += [(ratio, name, dtype, n)] if ratio > 1.1 else []
        print(line, flush=True)
    print(
        f"{len(kernel_library())} kernels; slower than by hand by more than a tenth: {len(slower)}"
    )
    for ratio, name, dtype, n in sorted(slower, reverse=True):
        print(f"{ratio:8.2f} {name} {dtype} {n}")


def _measured(bench: Any, pair: int, n: int, rounds: int) -> tuple[float, float]:
    """Generated ÷ by hand, and nanoseconds an element by hand."""
    kernel = kernel_meaning(*PAIRS[pair])
    args = bench_arguments(np.random.default_rng(1), *PAIRS[pair], n)
    given = as_arrays(kernel, args), as_scalars(kernel, args)
    ways = pair, pair + len(PAIRS)
    once = max(bench(ctypes.c_int64(k), *given, ctypes.c_int64(1)) for k in ways)
    times = max(1, min(20_000, 2_000_000 // (once + 1)))
    samples: tuple[list[float], list[float]] = ([], [])
    for _ in range(rounds):
        for k, kept in zip(ways, samples, strict=True):
            kept.append(bench(ctypes.c_int64(k), *given, ctypes.c_int64(times)) / times)
    ours, by_hand = map(min, samples)
    return ours / by_hand, by_hand / n


if __name__ == "__main__":
    main()
