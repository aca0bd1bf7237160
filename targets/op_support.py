"""Table of operation support, for ``transpile --ops`` and tests: native, expanded or lane by lane.

LLVM's legalize actions drive its legalisation. This table drives nothing: it is read off the code
that is emitted.
"""
from __future__ import annotations

import re
from collections.abc import Iterator
from enum import Enum

from loopir.dtypes import DTYPES
from loopir.lazy_dataclass import record
from loopir.op_table import OPS

from .c.lane_masks import MASK_OPS
from .c.vector_math import MATH_FUNCTIONS
from .c.vector_ops import define_vector_op, scalarized_function
from .isa.target import Target, Vec

__all__ = ["OpEntry", "OpForm", "op_support_table"]


class OpForm(Enum):
    """How an operation is emitted as vector code."""

    NATIVE = "native"  # one instruction, or a C operator
    EXPANDED = "expanded"  # several instructions on whole vectors
    LANES = "lane by lane"


@record(frozen=True, slots=True)
class OpEntry:
    """How one operation is emitted for one dtype."""

    op: str
    dtype: str  # of the operands; of a cast, of the result
    form: OpForm
    source: str = ""  # of a cast, the dtype of the operand


def op_support_table(target: Target) -> Iterator[OpEntry]:
    """How `target` computes each operation on each dtype that it accepts, and each cast: by one
    instruction, by several on whole vectors, or lane by lane in scalar code.

        OpEntry("sqrt", "f64", OpForm.NATIVE), OpEntry("fmod", "f64", OpForm.LANES), …

    Nothing is decided here: the entries are read off what `vector_ops` and `vector_math` would
    emit. ``transpile --ops`` shows the table, and tests compare it between targets.
    """
    for op in OPS.values():
        for d in DTYPES.values():
            if op.name == "cast":
                yield from (
                    OpEntry("cast", to, _cast_form(d.name, to, target), d.name) for to in DTYPES
                )
            elif op.accepts(d.name):
                yield OpEntry(op.name, d.name, _op_form(op.name, d.name, target))


def _op_form(op: str, dtype: str, target: Target) -> OpForm:
    """The form of `op` on `dtype`."""
    v = Vec(dtype, target.lanes(dtype))
    if v.lanes == 1:
        return OpForm.LANES
    if dtype == "bool":
        return OpForm.EXPANDED if len(re.findall("[&|^~]", MASK_OPS[op])) > 1 else OpForm.NATIVE
    if target.row(op, v):
        return OpForm.NATIVE
    name = f"tp_{op}_{v.name}"
    lane_by_lane = scalarized_function(op, name, v, target)
    is_library_function = op in MATH_FUNCTIONS and DTYPES[dtype].kind == "f"
    return (
        OpForm.LANES
        if not is_library_function and define_vector_op(name, target) == lane_by_lane
        else OpForm.EXPANDED
    )


def _cast_form(source: str, to: str, target: Target) -> OpForm:
    """The form of a cast."""
    lanes = min(target.lanes(source), target.lanes(to))
    if lanes == 1:
        return OpForm.LANES
    if source == to:
        return OpForm.NATIVE
    if "bool" in (source, to):
        return OpForm.EXPANDED
    a, b = DTYPES[source], DTYPES[to]
    is_reinterpreted = a.bits == b.bits and "f" not in (a.kind, b.kind)
    is_one_instruction = is_reinterpreted or target.row("cast", Vec(to, lanes), source)
    return OpForm.NATIVE if is_one_instruction else OpForm.EXPANDED
