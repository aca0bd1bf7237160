"""Errors of vector math: ``python -m tests.tools.ulp [--all] [--target T …] [function …]``.

By default a quick sample; with ``--all`` every float32 for functions of one argument, and ten
million arguments in each range otherwise. Prints the largest error in ULP and where it is. float32
is judged by our function on doubles, which is judged by the C library's on long doubles.
"""
from __future__ import annotations

import argparse
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

from loopir.dtypes import DTYPES
from targets.build.build_kernel import FLAGS
from targets.c.emit_c import definitions
from targets.c.headers import read_header
from targets.c.vector_math import BINARY_MATH_FUNCTIONS, MATH_FUNCTIONS
from targets.isa.target_registry import TARGETS, runnable_targets

__all__ = [
    "FLOATS", "RANGES", "beside_round_numbers", "harness", "largest_error", "lanes_of", "ranges",
]

FLOATS = ("f32", "f64")
_HARNESS = Path(__file__).with_name("vmath_harness.c")
_CROSS, _QEMU = shutil.which("aarch64-linux-gnu-gcc"), shutil.which("qemu-aarch64-static")

_ANY = {"f32": (-3e38, 3e38), "f64": (-1.7e308, 1.7e308)}
_POSITIVE = {"f32": (1e-45, 3e38), "f64": (5e-324, 1.7e308)}
RANGES: dict[str, list[tuple[float, ...] | dict[str, tuple[float, float]]]] = {
    "exp": [(-1, 1), {"f32": (-104, 89), "f64": (-746, 710)}],
    "exp2": [(-1, 1), {"f32": (-150, 128), "f64": (-1075, 1024)}],
    "expm1": [(-2, 2), {"f32": (-104, 89), "f64": (-746, 710)}],
    "sinh": [(-3, 3), {"f32": (-90, 90), "f64": (-711, 711)}],
    "cosh": [(-3, 3), {"f32": (-90, 90), "f64": (-711, 711)}],
    "tanh": [(-3, 3), (-30, 30)],
    "sigmoid": [(-3, 3), {"f32": (-88, 20), "f64": (-709, 40)}],
    "log": [(0.5, 2), _POSITIVE],
    "log2": [(0.5, 2), _POSITIVE],
    "log10": [(0.5, 2), _POSITIVE],
    "log1p": [(-1, 2), _POSITIVE],
    "asinh": [(-3, 3), _ANY],
    "acosh": [(1, 3), {"f32": (1, 3e38), "f64": (1, 1.7e308)}],
    "atanh": [(-1, 1)],
    "sin": [(-10, 10), (-1e5, 1e5), _ANY],
    "cos": [(-10, 10), (-1e5, 1e5), _ANY],
    "tan": [(-10, 10), (-1e5, 1e5), _ANY],
    "asin": [(-1, 1)],
    "acos": [(-1, 1)],
    "atan": [(-3, 3), _ANY],
    "cbrt": [(1, 8), _ANY],
    "erf": [(-1, 1), (-6, 6)],
    "pow": [(0.999, 1.001, -500, 500), (0, 20, -30, 30), (1, 2, -1000, 1000)],
    "atan2": [(-3, 3, -3, 3), (-1e30, 1e30, -1e30, 1e30)],
    "hypot": [(-3, 3, -3, 3), (-1e30, 1e30, -1e30, 1e30)],
    "cexp_re": [(-1, 1, -4, 4), (-87, 87, -1e4, 1e4)],
    "cexp_im": [(-1, 1, -4, 4), (-87, 87, -1e4, 1e4)],
}
"""Where to look, function by function: bounds of each argument."""


def lanes_of(target: str, dtype: str, bits: int = 0) -> int:
    return (bits or TARGETS[target].bits) // DTYPES[dtype].bits


def _program(target: str, ops: tuple[str, ...], sizes: tuple[int, ...]) -> str:
    """The harness over functions of a target."""
    functions = [(op, d, lanes_of(target, d, n)) for op in ops for d in FLOATS for n in sizes]
    names = " ".join(f"tp_{op}_{d}x{n}" for op, d, n in functions)
    arity = {op: 2 if op in BINARY_MATH_FUNCTIONS else 1 for op in ops}
    table = " ".join(f"X({op}, {d}, {n}, {arity[op]})" for op, d, n in functions)
    scalars = " ".join(f"S({op}, {n})" for op, n in arity.items())
    parts = [
        read_header("abi.h"),
        definitions(names, TARGETS[target]),
        f"#define FUNCTIONS {table}",
    ]
    return "\n".join([*parts, f"#define SCALARS {scalars}", f'#include "{_HARNESS}"\n'])


@cache
def _scratch() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="vmath")


def runnable(target: str) -> bool:
    return TARGETS[target] in runnable_targets() or bool(target == "neon" and _CROSS and _QEMU)


@cache
def harness(
    target: str, ops: tuple[str, ...] = MATH_FUNCTIONS, sizes: tuple[int, ...] = (0,), cc: str = ""
) -> tuple[str, ...]:
    """The command that runs a program with those functions; ``sizes`` in bits, 0 the registers'."""
    native = TARGETS[target] in runnable_targets()
    cc = cc or str((shutil.which("gcc") or shutil.which("cc")) if native else _CROSS)
    exe = Path(tempfile.mkdtemp(dir=_scratch().name), target)
    exe.with_suffix(".c").write_text(_program(target, ops, sizes))
    flags = [*FLAGS, *TARGETS[target].cflags, *([] if native else ["-static"])]
    subprocess.run([cc, *flags, exe.with_suffix(".c"), "-o", exe, "-lm"], check=True)
    return (str(exe),) if native else (str(_QEMU), str(exe))


def ranges(op: str, dtype: str) -> list[tuple[float, ...]]:
    """Those of RANGES for a dtype."""
    return [b[dtype] if isinstance(b, dict) else b for b in RANGES[op]]


def beside_round_numbers(op: str, dtype: str) -> list[tuple[float, ...]]:
    """The neighbours on both sides of each half of an integer where a function of one argument is
    of interest: there are the bounds of its cases.
    """
    low, high = (f(b[k] for b in ranges(op, dtype)) for k, f in enumerate((min, max)))
    round_numbers = (k / 2 for k in range(int(2 * max(low, -1100)), int(2 * min(high, 1100)) + 1))
    pairs = (sorted((x, x * (1 + step))) for x in round_numbers for step in (-1e-6, 1e-6))
    return [(a, b) for a, b in pairs if low <= a < b <= high]


def largest_error(
    command: tuple[str, ...], target: str, op: str, dtype: str, count: int,
    where: Sequence[tuple[float, ...]] = (),
) -> tuple[float, str]:
    """The largest error of the vector function `op` on `target`, in ULP, and the place of it, as
    text. ``command`` runs the test program; it tries ``count`` arguments in each range of `where`,
    or, if that is empty, in the ranges that are usual for the function. ``count`` 0: all float32
    of a function of one argument, else ten million.
    """
    name = f"{op}_{dtype}x{lanes_of(target, dtype)}"
    if (
        not count and dtype == "f32" and op not in (*BINARY_MATH_FUNCTIONS, "sigmoid")
    ):  # its exp overflows sooner
        words = ["all", f"{op}_f64x{lanes_of(target, 'f64')}"]
    else:
        bounds = where or ranges(op, dtype)
        words = [str(count or 10**7), *(str(x) for b in bounds for x in b)]
    out = subprocess.run([*command, name, *words], stdout=subprocess.PIPE, check=True, text=True)
    lines = (line.split(None, 1) for line in out.stdout.splitlines())
    return max((float(error), place) for error, place in lines)


def _table(targets: list[str], ops: tuple[str, ...], count: int) -> Iterator[str]:
    yield f"{'':10}" + "".join(f"{t + ' ' + d:>14}" for t in targets for d in FLOATS)
    for op in ops:
        errors = (
            largest_error(harness(t, ops), t, op, d, count)[0] for t in targets for d in FLOATS
        )
        yield f"{op:10}" + "".join(f"{e:14.2f}" for e in errors)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.tools.ulp", description=__doc__)
    parser.add_argument("functions", nargs="*", choices=[[], *MATH_FUNCTIONS], default=[])
    parser.add_argument("--all", action="store_true", help="every float32, ten million others")
    parser.add_argument("--target", action="append", choices=[t for t in TARGETS if runnable(t)])
    options = parser.parse_args()
    targets = options.target or [t for t in TARGETS if TARGETS[t].bits and runnable(t)]
    for line in _table(
        targets, tuple(options.functions) or MATH_FUNCTIONS, 0 if options.all else 20000
    ):
        print(line, flush=True)


if __name__ == "__main__":
    main()
