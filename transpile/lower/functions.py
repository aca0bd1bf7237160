"""Functions whose meaning is known: what the spellings of the op table stand for."""

from __future__ import annotations

import ast
import math
from types import BuiltinFunctionType
from typing import Any

import numpy as np

from loopir.ops import OPS, Op

__all__ = ["COMPARISONS", "MATH", "OPERATORS", "UFUNCS", "made_in_c"]


def _table(module: Any, prefix: str) -> dict[Any, Op]:
    """What the rows' names stand for in `module`; not what somebody has put in their place."""
    out: dict[Any, Op] = {}
    for op in OPS.values():
        names = [s.removeprefix(prefix) for s in op.spellings if s.startswith(prefix)]
        for value in (getattr(module, name, None) for name in names):
            if getattr(value, "__name__", None) in names and made_in_c(value):
                out[value] = op
    return out


def made_in_c(value: object) -> bool:
    """Whether `value` is a builtin, a type or NumPy's own, and no Python function in its place."""
    return isinstance(value, (BuiltinFunctionType, np.ufunc, type)) or (
        type(value).__module__.startswith("numpy")
    )


UFUNCS = _table(np, "numpy.")
MATH = _table(math, "math.")
OPERATORS: dict[str, type[ast.operator]] = {
    "add": ast.Add,
    "sub": ast.Sub,
    "mul": ast.Mult,
    "div": ast.Div,
    "floordiv": ast.FloorDiv,
    "mod": ast.Mod,
    "bitand": ast.BitAnd,
    "bitor": ast.BitOr,
    "bitxor": ast.BitXor,
}
COMPARISONS = {
    "lt": ast.Lt,
    "le": ast.LtE,
    "gt": ast.Gt,
    "ge": ast.GtE,
    "eq": ast.Eq,
    "ne": ast.NotEq,
}
