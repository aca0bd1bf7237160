"""Constants as C."""
from __future__ import annotations

import math

import numpy as np

from loopir import nodes as ir
from loopir.types import DTYPES

__all__ = ["literal"]


def literal(c: ir.Const) -> str:
    """`c` in C, in parentheses where it needs any."""
    t = DTYPES[c.dtype]
    if t.wide:
        return f"((uint16_t){int(np.array(c.value, t.numpy).view(np.uint16)):#x})"
    if t.kind == "f":
        return _float(c)
    value = int(c.value)
    if value == t.low and t.bits == 64 and t.kind == "i":
        return "INT64_MIN"
    digits = f"{value}U" if t.kind == "u" else str(value)
    return f"(({t.c}){digits})"


def _float(c: ir.Const) -> str:
    single = c.dtype == "f32"
    with np.errstate(all="ignore"):
        value = float(np.float32(c.value)) if single else float(c.value)
    suffix = "f" if single else ""
    size = abs(value)
    if math.isnan(value):
        text = f'__builtin_nan{suffix}("")'
    elif math.isinf(value):
        text = f"__builtin_inf{suffix}()"
    else:
        text = (repr(size) if size.is_integer() and size < 1e6 else size.hex()) + suffix
    return f"(-{text})" if math.copysign(1, value) < 0 else text
