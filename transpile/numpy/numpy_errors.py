"""Exceptions that NumPy raises whatever the data are, noted for the message of the refusal.

A macro that meets such a call or store does not fire, so that Python raises the exception. It notes
the reason with the node (`core_nodes.note_obstacle`). Lowering refuses the node, and gives this
reason in place of "is not a function that can be compiled"::

    x.sum(axis=2)       # of a matrix: there is no axis 2
    x += 1.5            # of an array of ints: NumPy stores no float in it
"""
from __future__ import annotations

import ast
from collections.abc import Sequence

import numpy as np

from ..analysis.type_facts import Fact
from ..diagnostics import Rejection, counted
from ..frontend.core_nodes import note_obstacle, source_text
from ..frontend.integer_constants import integer_constant
from ..frontend.source import span_of
from ..types.value_types import ELEMENTS

__all__ = ["note_missing_axis", "note_unsafe_store"]


def note_missing_axis(call: ast.AST, axes: Sequence[ast.expr], rank: int) -> None:
    """Notes with `call` the first constant of `axes` that an array of that rank does not have;
    nothing where there is none.
    """
    for axis in (integer_constant(a, None) for a in axes):
        if axis is not None and not -rank <= axis < rank:
            count = counted(rank, "axis", "axes")
            message = f"there is no axis {axis} in an array of {count}: NumPy raises AxisError"
            help = f"count the axes from 0: `axis={rank - 1}` is the last one"
            note_obstacle(call, Rejection("LOWER_CALL", message, span_of(call), help=help))
            return


def note_unsafe_store(
    statement: ast.stmt, stored: Fact, target: Fact, *, is_update: bool
) -> None:
    """Notes with `statement`, which stores the value `stored` in elements of `target`, that NumPy
    cannot cast the value to the dtype of `target` by ``casting="same_kind"``. Nothing where it can,
    and where the dtype of `stored` is not known or not the same on every path. ``is_update``: the
    statement is ``x += …``, for which NumPy raises then; for ``x[m] = …`` it converts, which the
    compiler does not.
    """
    if target.array is None or not stored.types:
        return
    to = ELEMENTS[target.array.dtype].numpy
    kinds = {ELEMENTS[t.dtype].numpy for t in stored.types}
    if len(kinds) > 1 or any(np.can_cast(kind, to, "same_kind") for kind in kinds):
        return
    value, array = kinds.pop().name, f"an array of {to.name}"
    text = f"`{source_text(statement)}`"
    if is_update:
        message = f"{text} puts a {value} into {array}: NumPy raises UFuncTypeError"
        help = f"update an array of {value}, or assign the result to a new array"
    else:
        message = f"{text} puts a {value} into {array}, which NumPy converts"
        help = f"convert the value before, for instance with `np.{to.name}(...)`"
    note_obstacle(statement, Rejection("LOWER_TYPE", message, span_of(statement), help=help))
