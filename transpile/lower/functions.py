"""Functions whose meaning is known: what the spellings of the op table stand for."""
from __future__ import annotations

import ast
import math
from typing import Any

import numpy as np

from loopir.ops import OPS, Op

from .. import ops
from ..scope import made_in_c

__all__ = ["COMPARISONS", "MATH", "OPERATORS", "OURS", "UFUNCS"]


def _table(module: Any, prefix: str) -> dict[Any, Op]:
    """What the rows' names stand for in `module`; not what somebody has put in their place."""
    out: dict[Any, Op] = {}
    for op in OPS.values():
        names = [s.removeprefix(prefix) for s in op.spellings if s.startswith(prefix)]
        for value in (getattr(module, name, None) for name in names):
            if getattr(value, "__name__", None) in names and made_in_c(value):
                out[value] = op
    return out


OURS = {getattr(ops, op.name): op for op in OPS.values() if hasattr(ops, op.name)}

UFUNCS = _table(np, "numpy.") | OURS
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
    "pow": ast.Pow,
    "shl": ast.LShift,
    "shr": ast.RShift,
}
COMPARISONS = {
    "lt": ast.Lt,
    "le": ast.LtE,
    "gt": ast.Gt,
    "ge": ast.GtE,
    "eq": ast.Eq,
    "ne": ast.NotEq,
}
