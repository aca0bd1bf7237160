"""How a target does each operation on each dtype: natively, in several steps, lane by lane."""
from __future__ import annotations

import re
from collections.abc import Iterator
from enum import Enum

from loopir.ops import OPS
from loopir.record import record
from loopir.types import DTYPES

from ..target import Target, Vec
from .masks import LOGIC
from .vecops import define, lane_by_lane
from .vmath import FUNCTIONS

__all__ = ["Cell", "Form", "cells"]


class Form(Enum):
    """What vector code an operation becomes."""

    NATIVE = "native"  # one instruction, or what C's own operator becomes
    EXPANDED = "expanded"  # several, still on whole vectors
    LANES = "lane by lane"


@record(frozen=True, slots=True)
class Cell:
    """``op`` on operands of `dtype`; of a cast from `source`, that is the result's."""

    op: str
    dtype: str
    form: Form
    source: str = ""


def cells(target: Target) -> Iterator[Cell]:
    """Every operation on every dtype that it takes, and every cast."""
    for op in OPS.values():
        for d in DTYPES.values():
            if op.name == "cast":
                yield from (Cell("cast", to, _cast(d.name, to, target), d.name) for to in DTYPES)
            elif d.kind in op.kinds:
                yield Cell(op.name, d.name, _form(op.name, d.name, target))


def _form(op: str, dtype: str, target: Target) -> Form:
    v = Vec(dtype, target.lanes(dtype))
    if v.lanes == 1:
        return Form.LANES
    if dtype == "bool":
        return Form.EXPANDED if len(re.findall("[&|^~]", LOGIC[op])) > 1 else Form.NATIVE
    if target.row(op, v):
        return Form.NATIVE
    name = f"tp_{op}_{v.name}"
    each = lane_by_lane(op, name, v, target)
    whole = op in FUNCTIONS and DTYPES[dtype].kind == "f"
    return Form.LANES if not whole and define(name, target) == each else Form.EXPANDED


def _cast(source: str, to: str, target: Target) -> Form:
    lanes = min(target.lanes(source), target.lanes(to))
    if lanes == 1:
        return Form.LANES
    if source == to:
        return Form.NATIVE
    if "bool" in (source, to):
        return Form.EXPANDED
    a, b = DTYPES[source], DTYPES[to]
    reinterpreted = a.bits == b.bits and "f" not in (a.kind, b.kind)
    one = reinterpreted or target.row("cast", Vec(to, lanes), source)
    return Form.NATIVE if one else Form.EXPANDED
