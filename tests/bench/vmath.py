"""Vector math against libmvec in L1: ``python -m tests.bench.vmath [--peers] [TARGET|FUNCTION …]``.

With ``--peers`` instead compiled loops over 4096 elements, against NumPy's functions and the same
loops by numba. Ratios count: below 1 ours is the faster.
"""
from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from loopir.types import DTYPES
from targets.build import FLAGS
from targets.c.definitions import definitions
from targets.c.headers import header
from targets.c.vmath import BINARY, FUNCTIONS
from targets.host import available
from targets.isa import TARGETS
from transpile import fuse, ops

_LETTER = {"sse2": "b", "avx2": "d", "avx512": "e"}  # of libmvec's names
_POSITIVE, _UNIT = (0.01, 20), (-1, 1)
_RANGE = {
    "log": _POSITIVE, "log2": _POSITIVE, "log10": _POSITIVE, "log1p": (-0.9, 20), "pow": _POSITIVE,
    "tanh": (-5, 5), "asin": _UNIT, "acos": _UNIT, "atanh": _UNIT, "acosh": (1, 20), "erf": (-3, 3),
}


def _mvec(op: str, dtype: str, lanes: int, target: str) -> tuple[str, str]:
    """The name of libmvec's function and its declaration; sigmoid is made of its exp."""
    if op == "sigmoid":
        exp, text = _mvec("exp", dtype, lanes, target)
        v = f"{dtype}x{lanes}"
        body = f"static {v} mvec_{op}_{v}({v} x) {{ return 1 / (1 + {exp}(-x)); }}"
        return f"mvec_{op}_{v}", f"{text}\n{body}"
    arity = 2 if op in BINARY else 1
    name = f"_ZGV{_LETTER[target]}N{lanes}{'v' * arity}_{op}{'f' if dtype == 'f32' else ''}"
    operands = ", ".join([f"{dtype}x{lanes}"] * arity)
    return name, f"extern {dtype}x{lanes} {name}({operands});"


def _program(target: str, bits: int, ops: tuple[str, ...]) -> str:
    lines, names, table = ["typedef float f32;", "typedef double f64;"], [], []
    for dtype in ("f32", "f64"):
        lanes = bits // DTYPES[dtype].bits
        for op in ops:
            arity, (low, high) = 2 if op in BINARY else 1, _RANGE.get(op, (-10, 10))
            name, declaration = _mvec(op, dtype, lanes, target)
            names.append(f"tp_{op}_{dtype}x{lanes}")
            lines.append(declaration)
            table.append(f"X({op}, {dtype}, {lanes}, {arity}, {name}, {low}, {high})")
    harness = Path(__file__).with_name("vmath.c")
    lines = [header("abi.h"), definitions(" ".join(names), TARGETS[target]), *lines]
    return "\n".join([*lines, f"#define FUNCTIONS {' '.join(table)}", f'#include "{harness}"\n'])


_SPELLED = {
    "sigmoid": "1 / (1 + np.exp(-{x}))", "erf": "math.erf({x})", "atan2": "np.arctan2({x}, {y})",
    "pow": "{x} ** {y}", "hypot": "np.hypot({x}, {y})",
}


def _expression(op: str, x: str, y: str) -> str:
    arc = op[0] == "a" and op != "atan2"
    name = f"arc{op[1:]}" if arc else op
    return _SPELLED.get(op, f"np.{name}({{x}})").format(x=x, y=y)


def _loops(chosen: tuple[str, ...], folder: str) -> Any:
    """A module with a loop for each function, and the same over whole arrays as NumPy has it."""
    lines = ["import math", "import numpy as np"]
    for op in chosen:
        lines += [f"def loop_{op}(x, y, out):", "    for i in range(len(x)):"]
        lines += [f"        out[i] = {_expression(op, 'x[i]', 'y[i]')}"]
        lines += [f"def array_{op}(x, y, out):", f"    out[:] = {_expression(op, 'x', 'y')}"]
    path = Path(folder, "vmath_loops.py")
    path.write_text("\n".join(lines) + "\n")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec
    assert spec.loader
    module = sys.modules[path.stem] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _fastest(run: Callable[..., Any], args: tuple[Any, ...]) -> float:
    """Seconds of the fastest of some calls, after a first one."""
    run(*args)
    best = 1e9
    for _ in range(200):
        start = time.perf_counter()
        run(*args)
        best = min(best, time.perf_counter() - start)
    return best


def _peers(chosen: tuple[str, ...]) -> None:
    from numba import njit

    print("ns an element     ours  ÷NumPy  ÷numba")
    with tempfile.TemporaryDirectory() as folder:
        module = _loops(chosen, folder)
        for op in chosen:
            for dtype in (np.float32, np.float64):
                low, high = _RANGE.get(op, (-10, 10))
                x = np.linspace(low, high, 4096, dtype=dtype)
                args = x, np.linspace(-8, 8, 4096, dtype=dtype), np.empty_like(x)
                loop = getattr(module, f"loop_{op}")
                ours = _fastest(fuse(on_reject="raise")(loop), args)
                array = ops.erf if op == "erf" else getattr(module, f"array_{op}")
                numpy = _fastest(array, args[:1] if op == "erf" else args)
                numba = _fastest(njit(loop), args)
                name = f"{op}_{np.dtype(dtype)}"
                print(f"{name:15}{ours / 4096e-9:7.3f}{ours / numpy:8.2f}{ours / numba:8.2f}")


def main(words: list[str]) -> None:
    compiler = shutil.which("gcc") or shutil.which("cc") or sys.exit("no C compiler")
    chosen = tuple(op for op in FUNCTIONS if op in words) or FUNCTIONS
    if "--peers" in words:
        _peers(chosen)
        return
    names = [w for w in words if w not in FUNCTIONS]
    for target in available():
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
