"""Result construction: Python source of the result, from the arrays that the kernel filled.

The Python wrapper returns the value of this expression. Where a call is performed in C,
`build_object` of `values.c` makes the same result from rows (`native_result`).
"""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from loopir.dtypes import DTYPES

from ...result_spec import (
    ArrayResult,
    ComplexResult,
    ConstantResult,
    ListResult,
    NoneResult,
    ObjectResult,
    ResultSpec,
    ScalarResult,
    SelectResult,
    TupleResult,
    ViewResult,
    ZippedResult,
)
from ...types.value_types import ELEMENTS
from .result_functions import (
    PYTHON_TYPES,
    complex_of_parts,
    first_as_python,
    first_items,
    head_view,
    mixed_list,
    shrunk_array,
    strided_view,
)

__all__ = ["WrapperNames", "result_source"]

class WrapperNames(Protocol):
    """The names of a wrapper (`python_wrapper._WrapperSource`): dtypes of its slots, names of
    bindings, and new helper names.
    """

    @property
    def dtypes(self) -> Mapping[str, str]: ...
    def value_name(self, name: str) -> str: ...
    def object_name(self, name: str) -> str: ...
    def add_helper(self, kind: str, value: Any) -> str: ...


def result_source(returned: ResultSpec, names: WrapperNames) -> str:
    """Python source of the expression by which a wrapper returns what `returned` describes, from
    the arrays and slots that the kernel has filled::

        TupleResult((ObjectResult("y"), ScalarResult("n", weak=True)))   →   (y, _tps_n.item(), )

    What depends on the data, such as the length of a list, is in slots (``_tps_…``), which the
    source reads. ``names``: of the wrapper; it takes the functions and constants that the source
    uses. `python_wrapper` calls this for each wrapper. `ResultProgram` compiles the same
    specification for C: both must give equal objects.
    """
    match returned:
        case NoneResult():
            return "None"
        case ConstantResult(value):
            return names.add_helper("v", value)
        case ObjectResult(name):
            return names.object_name(name)
        case ViewResult(name, steps=(1,), axes=(0,), numbers=(0, str(length))):  # a head
            stop = _item_source(length, names)
            return f"{names.add_helper('f', head_view)}({names.object_name(name)}, {stop})"
        case ViewResult(name, steps, axes, numbers):
            sources = (_item_source(n, names) if isinstance(n, str) else str(n) for n in numbers)
            arguments = ", ".join([names.object_name(name), str(steps), str(axes), *sources])
            return f"{names.add_helper('f', strided_view)}({arguments})"
        case ScalarResult():
            return _scalar_source(returned, names)
        case ComplexResult(re, im):
            parts = f"{result_source(re, names)}, {result_source(im, names)}"
            return f"{names.add_helper('f', complex_of_parts)}({parts})"
        # a list of Python's and NumPy's scalars: the bool array `flags` tells them apart
        case ListResult(name, count, weak, flags=str(flags), weak_dtype=str(dtype)):
            python = names.add_helper("p", PYTHON_TYPES[dtype])
            length = _item_source(count, names) if count else "None"
            arguments = f"{name}, {flags}, {python}, {weak}, {length}"
            return f"{names.add_helper('f', mixed_list)}({arguments})"
        case ListResult(name, count, weak):
            if count:
                function = names.add_helper("f", first_as_python if weak else first_items)
                return f"{function}({name}, {_item_source(count, names)})"
            return f"{name}.tolist()" if weak else f"{names.add_helper('f', list)}({name})"
        case ZippedResult(items):
            lists = ", ".join(result_source(item, names) for item in items)
            return f"[*{names.add_helper('f', zip)}({lists})]"
        case ArrayResult(name, count, dtype):
            dtype_name = names.add_helper("d", ELEMENTS[dtype].numpy if dtype else None)
            length = _item_source(count, names) if count else "None"
            return f"{names.add_helper('f', shrunk_array)}({name}, {length}, {dtype_name})"
        case TupleResult(items, display) if display is list:
            return f"[{', '.join(result_source(item, names) for item in items)}]"
        case TupleResult(items, display) if display is not tuple:
            arguments = ", ".join(result_source(item, names) for item in items)
            return f"{names.add_helper('f', display)}({arguments})"
        case TupleResult(items):
            return f"({''.join(f'{result_source(item, names)}, ' for item in items)})"
        case SelectResult(flag, then, orelse):
            then_source = f"{result_source(then, names)} if {_item_source(flag, names)}"
            return f"({then_source} else {result_source(orelse, names)})"


def _item_source(slot: str, names: WrapperNames) -> str:
    """Source of the value of a slot as a Python scalar."""
    return f"{names.value_name(slot)}.item()"


def _scalar_source(value: ScalarResult, names: WrapperNames) -> str:
    """Source of a scalar result: Python's or NumPy's, or by its flag one of both."""
    scalar = f"{names.value_name(value.slot)}[()]"
    if value.weak:
        return _item_source(value.slot, names)
    if value.flag is None:
        return scalar
    if value.dtype not in (None, names.dtypes[value.slot]):  # the slot fits both types
        scalar = f"{names.add_helper('d', DTYPES[value.dtype].numpy.type)}({scalar})"
    python = names.add_helper("p", PYTHON_TYPES[value.weak_dtype or "f64"])
    weak = f"{python}({_item_source(value.slot, names)})"
    return f"({weak} if {_item_source(value.flag, names)} else {scalar})"
