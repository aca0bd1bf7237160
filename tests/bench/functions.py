"""Each function of our vector math over an array in L1: as a loop, and as NumPy has it."""
from __future__ import annotations

import importlib.util
import sys
import tempfile
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from targets.c.vector_math import MATH_FUNCTIONS
from transpile import ops

from .harness import Case

__all__ = ["CASES", "RANGE"]

_POSITIVE, _UNIT = (0.01, 20), (-1, 1)
_RANGES = {
    "log": _POSITIVE, "log2": _POSITIVE, "log10": _POSITIVE, "log1p": (-0.9, 20), "pow": _POSITIVE,
    "tanh": (-5, 5), "asin": _UNIT, "acos": _UNIT, "atanh": (-0.99, 0.99), "acosh": (1, 20),
    "erf": (-3, 3),
}
_WHOLE = tuple(op for op in MATH_FUNCTIONS if "_" not in op)
"""Without the parts of complex functions, which no loop over reals spells."""
RANGE = {op: _RANGES.get(op, (-10, 10)) for op in _WHOLE}
"""Between which numbers a function's first argument is."""

_SPELLED = {
    "sigmoid": "1 / (1 + np.exp(-{x}))", "erf": "math.erf({x})", "atan2": "np.arctan2({x}, {y})",
    "pow": "{x} ** {y}", "hypot": "np.hypot({x}, {y})",
}
_AIMS = {"exp": "2.5 NumPy in f32", "sin": "20 NumPy in f64", "sigmoid": "2 numba"}
_FOLDER = tempfile.TemporaryDirectory()


def _expression(op: str, x: str, y: str) -> str:
    arc = op[0] == "a" and op != "atan2"
    name = f"arc{op[1:]}" if arc else op
    return _SPELLED.get(op, f"np.{name}({{x}})").format(x=x, y=y)


def _written() -> ModuleType:
    """A module with a loop for each function, and the same over whole arrays."""
    lines = ["import math", "import numpy as np"]
    for op in _WHOLE:
        lines += [f"def {op}_loop(x, y, out):", "    for i in range(len(x)):"]
        lines += [f"        out[i] = {_expression(op, 'x[i]', 'y[i]')}"]
        lines += [f"def {op}_array(x, y, out):", f"    out[:] = {_expression(op, 'x', 'y')}"]
    path = Path(_FOLDER.name, "bench_functions.py")
    path.write_text("\n".join(lines) + "\n")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec
    assert spec.loader
    module = sys.modules[path.stem] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _case(op: str, module: ModuleType) -> Case:
    def make(n: int, dtype: str, rng: np.random.Generator) -> tuple[Any, ...]:
        x = np.linspace(*RANGE[op], n, dtype=dtype)
        return x, np.linspace(-8, 8, n, dtype=dtype), np.zeros(n, dtype)

    array = getattr(module, f"{op}_array")
    if op == "erf":  # NumPy has none
        array = lambda x, y, out: ops.erf(x)  # noqa: E731
    return Case(name=op, loop=getattr(module, f"{op}_loop"), array=array, c=f"{op}_map",
                sizes=(4096,), make=make, aim=_AIMS.get(op, "ahead of fast"))


_MODULE = _written()
CASES = tuple(_case(op, _MODULE) for op in _WHOLE)
