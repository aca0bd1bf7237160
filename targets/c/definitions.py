"""The C definitions that a kernel's text names, each after what it needs itself; no others."""
from __future__ import annotations

import re

from loopir.types import DTYPES

from ..target import Target
from .fold import define_fold
from .prefix import define_prefix
from .recurrence import define_linear
from .vecops import define, vector_named
from .vmath import source

__all__ = ["definitions"]

_NAME = re.compile(r"\b(?:tp_\w+_\w+|[fiu]\d+x\d+(?:_u)?|c8x\d+|q64x\d+|m(?:8|16|32|64))\b")


def definitions(text: str, target: Target) -> str:
    """Every typedef and function that `text` names."""
    found: dict[str, str] = {}
    for name in _NAME.findall(text):
        _collect(name, target, found)
    types = [d for d in found.values() if d.startswith("typedef")]
    functions = [d for d in found.values() if not d.startswith("typedef")]
    return "\n".join(types + functions)


def _collect(name: str, target: Target, found: dict[str, str]) -> None:
    """Adds the definition of `name` behind those it needs."""
    if name in found or (text := _define(name, target)) is None:
        return
    for other in _NAME.findall(text):
        if other != name:
            _collect(other, target, found)
    found[name] = text


def _define(name: str, target: Target) -> str | None:
    if name.startswith("tp_"):
        made = define_fold(name, target) or define_prefix(name, target) or define_linear(name)
        return made or _math(name, target) or define(name, target)
    return _typedef(name)


def _math(name: str, target: Target) -> str | None:
    op, _, suffix = name.removeprefix("tp_").rpartition("_")
    v = vector_named(suffix)
    return source(op, v.dtype, v.lanes, target) if v else None


def _typedef(name: str) -> str:
    if name.startswith("m"):
        return f"typedef uint{name[1:]}_t {name};"
    if name[0] in "cq":
        kind, size = {"c": ("char", 1), "q": ("long long", 8)}[name[0]]
        size *= int(name.split("x")[1])
        return f"typedef {kind} {name} __attribute__((vector_size({size})));"
    v = vector_named(name.removesuffix("_u"))
    assert v
    loose = f", may_alias, aligned({DTYPES[v.dtype].bytes})" if name.endswith("_u") else ""
    return f"typedef {DTYPES[v.dtype].c} {name} __attribute__((vector_size({v.bits // 8}){loose}));"
