"""Exceptions that NumPy raises whatever the data are, noted for the message of the refusal.

A macro that meets such a call or store does not fire, so that Python raises the exception. It notes
the reason with the node (`core_nodes.note_obstacle`). Lowering refuses the node, and gives this
reason in place of "is not a function that can be compiled"::

    x.sum(axis=2)       # of a matrix: there is no axis 2
    x += 1.5            # of an array of ints: NumPy stores no float in it
    np.linspace(0, 1, n)    # with a float n: TypeError
"""
from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from .. import core_functions
from ..analysis.type_inference.expression_facts import call_probe, called_function
from ..analysis.type_inference.type_facts import samples_of
from ..analysis.type_inference.type_lattice import Fact
from ..analysis.type_inference.type_probe import OPERATORS
from ..codes.lowering_codes import HELP_FOR_EXCEPTIONS
from ..diagnostics import Rejection, counted
from ..frontend.ast_walk import integer_constant
from ..frontend.core_nodes import note_obstacle, source_text
from ..frontend.macros.firing_conditions import may_be_no_operation
from ..frontend.macros.macro_context import Context
from ..frontend.macros.macro_index import fires_on
from ..frontend.source import span_of
from ..types.result_types import ExactSample, Sample, type_error
from ..types.value_types import ELEMENTS, ScalarType

__all__ = ["note_missing_axis", "note_type_error", "note_unsafe_store"]


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


@fires_on(ast.Call, ast.BinOp, ast.UnaryOp, when=may_be_no_operation)
def note_type_error(node: ast.AST, cx: Context) -> None:
    """A call or operation for whose operands Python or NumPy raises TypeError, whatever their
    values are, stays as it is. The report says so, and which operand is a float where an int would
    do.

        u = np.linspace(0, 1, 2.0)
    →
        u = np.linspace(0, 1, 2.0)
    """
    probe = _probe(node, cx)
    if probe is None or any(len(samples) != 1 for samples in probe.operands):
        return
    samples, names = tuple(s for (s,) in probe.operands), tuple(probe.names)
    said = type_error(probe.function, samples, names)
    if said is None:
        return
    message, note, help = f"`{probe.text}` raises TypeError: {said}", None, HELP_FOR_EXCEPTIONS
    for place, e in enumerate(probe.expressions, len(samples) - len(probe.expressions)):
        with_int = *samples[:place], ScalarType("i64", weak=True), *samples[place + 1 :]
        kind = _float_type(samples[place])
        if kind and type_error(probe.function, with_int, names) is None:
            message = f"`{source_text(e)}` is of type {kind}: `{probe.text}` raises TypeError"
            help, note = f"convert it to an int, `int({source_text(e)})`", said
    rejection = Rejection("LOWER_TYPE", message, span_of(node), note=note, help=help)
    note_obstacle(node, rejection)


class _Probe(NamedTuple):
    """A call of an operation on samples of its operands."""

    text: str
    """The function or the operation, as in the source."""
    function: Callable[..., object]
    operands: Sequence[Sequence[Sample]]
    """For each operand the samples of the types that it may have."""
    names: Sequence[str]
    """The names of the last operands, which are keyword arguments."""
    expressions: Sequence[ast.expr]
    """The last operands in the source: of a method all but the first."""


def _probe(node: ast.AST, cx: Context) -> _Probe | None:
    """How to run the operation `node` on samples; None where that may not be done."""
    match node:
        case ast.Call(func=func, args=args, keywords=keywords):
            target = called_function(cx.facts, func)
            is_core = getattr(target, "__module__", "") == core_functions.__name__
            if is_core or (probe := call_probe(cx.facts, node, target)) is None:
                return None
            return _Probe(source_text(func), *probe, [*args, *(k.value for k in keywords)])
        case ast.BinOp(left=left, op=op, right=right) if not isinstance(op, ast.MatMult):
            operands = [left, right]
        case ast.UnaryOp(op=op, operand=operand) if not isinstance(op, ast.Not):
            operands = [operand]
        case _:
            return None
    function, samples = OPERATORS[type(op).__name__], [samples_of(cx.facts, e) for e in operands]
    return _Probe(source_text(node), function, samples, [], operands)


def _float_type(sample: Sample) -> str:
    """The name of the type, if that is a float of Python's or NumPy's; else ``""``."""
    if isinstance(sample, ExactSample):
        return "float" if sample.type is float else ""
    if not isinstance(sample, ScalarType) or ELEMENTS[sample.dtype].kind != "f":
        return ""
    return "float" if sample.weak else ELEMENTS[sample.dtype].numpy.name


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
