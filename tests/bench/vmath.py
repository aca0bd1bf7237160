"""Vector math against libmvec in L1: ``python -m tests.bench.vmath [TARGET|FUNCTION …]``.

Both are called on registers, from C. Ratios count: below 1 ours is the faster. Against NumPy and
numba ``python -m tests.bench`` times the same functions in loops.
"""
from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from loopir.dtypes import DTYPES
from targets.build.build_kernel import FLAGS
from targets.c.emit_c import definitions
from targets.c.headers import read_header
from targets.c.vector_math import BINARY_MATH_FUNCTIONS, MATH_FUNCTIONS
from targets.isa.target_registry import TARGETS, runnable_targets

from .functions import RANGE
from .harness import pin

_LETTER = {"sse2": "b", "avx2": "d", "avx512": "e"}  # of libmvec's names


def _mvec(op: str, dtype: str, lanes: int, target: str) -> tuple[str, str]:
    """The name of libmvec's function and its declaration; sigmoid is made of its exp."""
    if op == "sigmoid":
        exp, text = _mvec("exp", dtype, lanes, target)
        v = f"{dtype}x{lanes}"
        body = f"static {v} mvec_{op}_{v}({v} x) {{ return 1 / (1 + {exp}(-x)); }}"
        return f"mvec_{op}_{v}", f"{text}\n{body}"
    arity = 2 if op in BINARY_MATH_FUNCTIONS else 1
    name = f"_ZGV{_LETTER[target]}N{lanes}{'v' * arity}_{op}{'f' if dtype == 'f32' else ''}"
    operands = ", ".join([f"{dtype}x{lanes}"] * arity)
    return name, f"extern {dtype}x{lanes} {name}({operands});"


def _program(target: str, bits: int, ops: tuple[str, ...]) -> str:
    lines, names, table = ["typedef float f32;", "typedef double f64;"], [], []
    for dtype in ("f32", "f64"):
        lanes = bits // DTYPES[dtype].bits
        for op in ops:
            arity, (low, high) = 2 if op in BINARY_MATH_FUNCTIONS else 1, RANGE[op]
            name, declaration = _mvec(op, dtype, lanes, target)
            names.append(f"tp_{op}_{dtype}x{lanes}")
            lines.append(declaration)
            table.append(f"X({op}, {dtype}, {lanes}, {arity}, {name}, {low}, {high})")
    harness = Path(__file__).with_name("vmath.c")
    lines = [read_header("abi.h"), definitions(" ".join(names), TARGETS[target]), *lines]
    return "\n".join([*lines, f"#define FUNCTIONS {' '.join(table)}", f'#include "{harness}"\n'])


def main(words: list[str]) -> None:
    compiler = shutil.which("gcc") or shutil.which("cc") or sys.exit("no C compiler")
    chosen = tuple(op for op in MATH_FUNCTIONS if op in words) or MATH_FUNCTIONS
    names = [w for w in words if w not in MATH_FUNCTIONS]
    pin()
    for target in runnable_targets():
        if target.name not in _LETTER or (names and target.name not in names):
            continue
        with tempfile.TemporaryDirectory() as scratch:
            text, exe = Path(scratch, "vmath.c"), Path(scratch, "vmath")
            text.write_text(_program(target.name, target.bits, chosen))
            command = [compiler, *FLAGS, *target.cflags, str(text), "-o", str(exe), "-lmvec", "-lm"]
            subprocess.run(command, check=True)
            print(target.name, flush=True)
            subprocess.run([exe], check=True)


if __name__ == "__main__":
    main(sys.argv[1:])
