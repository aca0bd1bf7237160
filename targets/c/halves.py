"""Halves of a group as C: what right halves join, in a register and from one to the next."""
from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from loopir import nodes as ir
from loopir.types import DTYPES

from ..target import Vec
from .expressions import expr
from .masks import as_width
from .scope import Running, Scope
from .vecops import operation

__all__ = ["alone", "joins", "order"]


def alone(e: ir.Expr, none: ir.Const | None, v: Vec, s: Scope) -> str:
    """`e`, in lanes that are no elements `none`: it changes nothing, and raises nothing."""
    text = expr(e, s)
    if not (s.region and s.region.live) or none is None:
        return text
    live = as_width(s.region.live, v.lanes, DTYPES[v.dtype].bits, s.target)
    nothing = f"tp_splat_{v.name}({expr(none, s)})"
    return operation("select", v, (live, text, nothing), s.target)


def joins(
    r: Running, k: int | str, join: Callable[[int], str], kept: Mapping[str, str]
) -> Iterator[str]:
    """Register `k` of a group joins the left halves that it stands to the right of.

    ``join(level)`` says how; `kept` are the arrays of left halves, and what comes into each.
    """
    for level in range(r.count.bit_length() - 1):
        below = (1 << level) - 1
        keep = " ".join(f"{array}[{level}] = {value};" for array, value in kept.items())
        if isinstance(k, str):
            yield f"if ({k} >> {level} & 1) {{ {join(level)} }}"
            yield f"else if (({k} & {below}) == {below}) {{ {keep} }}"
        elif k >> level & 1:
            yield join(level)
        elif k & below == below:
            yield keep


def order(lanes: int, half: int, other: int) -> list[int]:
    """Lanes of right halves take the last of the left; the others themselves, or of `other`."""
    return [k // half * half - 1 if k & half else k + other for k in range(lanes)]
