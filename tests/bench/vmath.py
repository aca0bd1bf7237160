"""Vector math against libmvec, in L1 (``python -m tests.bench.vmath [target …]``): ratios count."""
from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from loopir.types import DTYPES
from targets.build import FLAGS
from targets.c.headers import header
from targets.c.vmath import FUNCTIONS, source
from targets.host import available

_LETTER = {"sse2": "b", "avx2": "d", "avx512": "e"}  # of libmvec's names
_RANGE = {"log": (0.01, 20), "pow": (0.01, 20), "tanh": (-5, 5)}


def _program(target: str, bits: int) -> str:
    lines = [header("abi.h"), "typedef float f32;", "typedef double f64;"]
    table = []
    for dtype in ("f32", "f64"):
        lanes = bits // DTYPES[dtype].bits
        for kind in "fiu":
            d = DTYPES[kind + dtype[1:]]
            vector = f"__attribute__((vector_size({bits // 8})))"
            lines.append(f"typedef {d.c} {d.name}x{lanes} {vector};")
        for op in FUNCTIONS:
            arity, (low, high) = 2 if op == "pow" else 1, _RANGE.get(op, (-10, 10))
            name = f"_ZGV{_LETTER[target]}N{lanes}{'v' * arity}_{op}{'f' if dtype == 'f32' else ''}"
            lines.append(source(op, dtype, lanes, target) or "")
            table.append(f"X({op}, {dtype}, {lanes}, {arity}, {name}, {low}, {high})")
    harness = Path(__file__).with_name("vmath.c")
    return "\n".join([*lines, f"#define FUNCTIONS {' '.join(table)}", f'#include "{harness}"\n'])


def main(names: list[str]) -> None:
    compiler = shutil.which("gcc") or shutil.which("cc") or sys.exit("no C compiler")
    for target in available():
        if target.name not in _LETTER or (names and target.name not in names):
            continue
        with tempfile.TemporaryDirectory() as scratch:
            text, exe = Path(scratch, "vmath.c"), Path(scratch, "vmath")
            text.write_text(_program(target.name, target.bits))
            command = [compiler, *FLAGS, *target.cflags, str(text), "-o", str(exe), "-lmvec", "-lm"]
            subprocess.run(command, check=True)
            print(target.name, flush=True)
            subprocess.run([exe], check=True)


if __name__ == "__main__":
    main(sys.argv[1:])
