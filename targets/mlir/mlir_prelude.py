"""MLIR prelude: functions for the operations that no dialect has an instruction for.

They come from `prelude.mlir`, and from the rows of the operation table that are one call of C's
math library. Each is instantiated for the dtypes in use.
"""
from __future__ import annotations

import os
import re
from collections.abc import Mapping
from functools import cache
from string import Template

from loopir.dtypes import DTYPES, DType
from loopir.op_table import OPS, Op

from .mlir_ops import element_type, mnemonic

__all__ = ["INFINITY", "NoMlirForm", "prelude_function", "prelude_functions"]

INFINITY = {16: 0x7C00, 32: 0x7F800000, 64: 0x7FF0000000000000}
"""The bit pattern of infinity, by bits of the float."""

_FILE = os.path.join(os.path.dirname(__file__), "prelude.mlir")
_HEAD = re.compile(r"^// ([biuf]+)(?::.*(?:\n//.*)*)?\n", re.MULTILINE)
_NAME = re.compile(r"@(\w+)")


class NoMlirForm(Exception):
    """An operation cannot be written in MLIR: its row is no call of C's math library, and neither
    `mlir_ops` nor `prelude.mlir` has it.
    """


def prelude_function(op: str, dtype: str) -> str:
    """The name of the function for `op` on operands of `dtype`. Raises NoMlirForm without one."""
    name = f"tp_{op}_{dtype}"
    if name not in _library():
        raise NoMlirForm(f"the operation `{op}` on {DTYPES[dtype].numpy.name} has no form in MLIR")
    return name


def prelude_functions(text: str) -> str:
    """The functions that `text` calls, transitively."""
    found: dict[str, str] = {}
    waiting = _NAME.findall(text)
    for name in waiting:
        if name not in found and name in _library():
            found[name] = _library()[name]
            waiting += _NAME.findall(found[name])
    return "".join(f"{text}\n" for text in found.values())


@cache
def _library() -> Mapping[str, str]:
    """The functions by name, for every dtype."""
    with open(_FILE, encoding="utf-8") as file:
        parts = _HEAD.split(file.read())
    found: dict[str, str] = {}
    for kinds, text in zip(parts[1::2], parts[2::2], strict=True):
        for d in DTYPES.values():
            if d.kind in kinds:
                filled = Template(text.strip()).substitute(_tokens(d))
                found[_NAME.findall(filled)[0]] = filled
    for op in OPS.values():
        for d in DTYPES.values():
            name = f"tp_{op.name}_{d.name}"
            written = name in found or mnemonic(op.name, d.name) is not None
            if op.libm and op.accepts(d.name) and not written:
                found |= _libm_functions(op, name, d)
    return found


def _libm_functions(op: Op, name: str, d: DType) -> dict[str, str]:
    """The function `name` for an operation that is one call of C's math library, and what it calls.
    """
    type_, called = element_type(d.name), f"{op.libm}{_libm_suffix(d)}"
    values = [f"%{letter}" for letter in "abcdef"[: op.arity]]
    params = ", ".join(f"{v}: {type_}" for v in values)
    types = ", ".join(type_ for _ in values)
    return {
        called: f"func.func private @{called}({types}) -> {type_}",
        name: f"func.func private @{name}({params}) -> {type_} {{\n"
        f"  %r = func.call @{called}({', '.join(values)}) : ({types}) -> {type_}\n"
        f"  func.return %r : {type_}\n}}",
    }


def _libm_suffix(d: DType) -> str:
    """The suffix of a function of C's math library for the float type `d`."""
    return {16: "f16", 32: "f"}.get(d.bits, "")


def _tokens(d: DType) -> dict[str, str]:
    """What the placeholders of `prelude.mlir` stand for, for the dtype `d`."""
    float_ = d.kind == "f"
    words = {"LT": "lt", "MIN": "min", "MAX": "max"}
    named = {word: mnemonic(op, d.name) or "" for word, op in words.items()}
    numbers = {"BITS": d.bits, "LAST": d.bits - 1, "LOW": d.low, "HIGH": d.high}
    numbers |= {"HALF": (1 << d.bits - 1) - 1, "QUARTER": 1 << max(d.bits - 2, 0)}
    return {
        **named,
        **{word: str(number) for word, number in numbers.items()},
        "D": d.name,
        "T": element_type(d.name),
        "F": _libm_suffix(d),
        "ZERO": "0.0" if float_ else "0",
        "ONE": "1.0" if float_ else "1",
        "INF": hex(INFINITY[d.bits]) if float_ else "",
    }
