"""The functions of prelude.mlir that a text calls, filled in for their dtypes; no others."""
from __future__ import annotations

import os
import re
from collections.abc import Mapping
from functools import cache
from string import Template

from loopir.types import DTYPES, DType

from .rows import element_type, mnemonic
from .writer import INFINITY

__all__ = ["defined", "definitions"]

_FILE = os.path.join(os.path.dirname(__file__), "prelude.mlir")
_HEAD = re.compile(r"^// ([biuf]+)(?::.*(?:\n//.*)*)?\n", re.MULTILINE)
_NAME = re.compile(r"@(\w+)")


def definitions(text: str) -> str:
    """Every function that `text` calls, and those that they call."""
    found: dict[str, str] = {}
    waiting = _NAME.findall(text)
    for name in waiting:
        if name not in found and name in _library():
            found[name] = _library()[name]
            waiting += _NAME.findall(found[name])
    return "".join(f"{text}\n" for text in found.values())


def defined(name: str) -> bool:
    """Whether there is a function of that name."""
    return name in _library()


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
    return found


def _tokens(d: DType) -> dict[str, str]:
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
        "F": {16: "f16", 32: "f"}.get(d.bits, ""),
        "ZERO": "0.0" if float_ else "0",
        "ONE": "1.0" if float_ else "1",
        "INF": hex(INFINITY[d.bits]) if float_ else "",
    }
