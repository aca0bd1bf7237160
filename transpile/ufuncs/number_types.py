"""Number types: the dtypes of what a fused function returns, if that is numbers.

A function may return an int for some values and a float for others (``return 0 if v < 0 else v``).
Type inference knows all of them, whatever the values are.
"""
from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from .. import knobs
from ..call_plan import ResultSlot
from ..options import chosen_target
from ..pipeline import Compilation, run_stages
from ..result_spec import ConstantResult, ResultSpec, ScalarResult, SelectResult, TupleResult
from ..types.typeof import argument_types, parameter_names
from ..types.value_types import ELEMENTS

__all__ = ["number_types"]


def number_types(fused: Any, values: Sequence[Any]) -> list[np.dtype[Any]] | None:
    """For each number that `fused` returns for arguments of these types, what NumPy promotes its
    types to. None where it returns anything else. Raises Refused if it is not compiled.
    """
    function = fused.__wrapped__
    names = parameter_names(function.__code__)
    types = dict(zip(names, argument_types(tuple(values), function), strict=True))
    machine = chosen_target(fused.options, knobs.read()).model
    state = run_stages(
        Compilation(function=function, types=types, options=fused.options, machine=machine),
        stop_after="lower",
    )
    plan = state.plan
    slots = {b.name: ELEMENTS[b.dtype].numpy for b in plan.bindings if isinstance(b, ResultSlot)}
    returned = plan.returned
    is_tuple = isinstance(returned, TupleResult) and returned.display is tuple
    items = returned.items if is_tuple and isinstance(returned, TupleResult) else (returned,)
    try:
        return [np.result_type(*_alternatives(item, slots)) for item in items]
    except _NoNumberError:
        return None


class _NoNumberError(Exception):
    """A result is no number."""


_WEAK: Mapping[str, object] = {"b": False, "i": 0, "u": 0, "f": 0.0, "c": 0j}
"""By the kind of a dtype, a number of Python: it is weak in NumPy's promotion."""


def _alternatives(spec: ResultSpec, slots: Mapping[str, np.dtype[Any]]) -> Iterator[Any]:
    """The types that a result may have: dtypes, and numbers in place of Python's types."""
    match spec:
        case ScalarResult(flag=str(), weak_dtype=str(weak), dtype=str(dtype)):
            yield _WEAK[ELEMENTS[weak].numpy.kind]
            yield ELEMENTS[dtype].numpy
        case ScalarResult(slot=slot, weak=weak):
            yield _WEAK[slots[slot].kind] if weak else slots[slot]
        case SelectResult(then=then, orelse=orelse):
            yield from _alternatives(then, slots)
            yield from _alternatives(orelse, slots)
        case ConstantResult(value=bool() | int() | float() | complex() as value):
            yield value
        case _:
            raise _NoNumberError
