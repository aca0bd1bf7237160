"""Native result: a result specification compiled to rows of words, from which C builds the result.

A row tells the kind of a result, and where its parts are: objects of the call, slots that the
kernel has filled, other rows. `build_object` of `values.c` interprets the rows::

    TupleResult((ScalarResult("n"), ObjectResult("x")))
    →   TUPLE 2 a b;   a: SCALAR dtype slot 0 0;   b: GIVEN x       # 0 0: the slot has the dtype

A result that C does not build itself, such as a view, has a row that calls a Python function of
`result_functions.py`: the call as a whole is still performed in C. A result that no row describes,
such as a Python float from a slot of float16, raises `NotNative`: then the Python wrapper performs
the call (`python_wrapper.py`).
"""
from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

import numpy as np

from loopir.dtypes import DTYPES
from targets.abi.native_entry import (
    CALLED,
    CHOSEN,
    GIVEN,
    LIST,
    LISTED,
    LITERAL,
    MIXED,
    PYTHON,
    SCALAR,
    SHRUNK,
    TUPLE,
    ZIPPED,
    Pointer,
    Program,
)

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
from .not_native import NotNative
from .result_functions import (
    PYTHON_TYPES,
    complex_of_parts,
    first_as_python,
    first_items,
    head_view,
    mixed_list,
    strided_view,
)

__all__ = ["HasFramePlaces", "ResultProgram"]

_FORMAT_LETTERS = {
    "f64": "d", "f32": "f", "i64": "q", "i32": "i", "i16": "h", "i8": "b",
    "u64": "Q", "u32": "I", "u16": "H", "u8": "B", "bool": "?",
}


def _kind_of_number(dtype: str) -> int:
    """The kind of a Python number for `dtype`, as `python_number` of `values.c` has it."""
    return ord("q" if dtype == "u64" else _FORMAT_LETTERS[dtype])


class HasFramePlaces(Protocol):
    """The places of values in a call (`native_call.CallFrameLayout`)."""

    @property
    def slots(self) -> Mapping[str, tuple[int, str]]: ...
    def place_of_object(self, name: str) -> int: ...


class ResultProgram:
    """Compiles the result specification of a kernel to the rows from which `build_object` of
    `values.c` builds the result (its comment lists the kinds of rows). `native_call` makes it.

    Methods that add a row return its start in the program. They raise NotNative where no row can
    be made for a slot of that dtype; then the Python wrapper performs the call.
    """

    def __init__(self, places: HasFramePlaces, program: Program) -> None:
        self._places, self._words, self._row = places, program.words, program.row

    def add(self, returned: ResultSpec) -> int:
        """Add the rows of `returned`; returns where they start. What makes the result:

        - C alone: None, constants, objects of the call, real scalars, arrays cut to their length,
          and tuples, lists and selections of results;
        - C, with a row of Python for the rest: a list of the elements of an array, also of both
          Python's and NumPy's scalars (``flags``). Only at run time C sees whether it can make the
          items (LISTED, MIXED); the row is for arrays where it cannot;
        - a class or function that a row calls with the items (`TupleResult.display`);
        - one of `result_functions`, which a row calls (`_by_python_helper`): views and complex
          numbers.
        """
        match returned:
            case NoneResult():
                return self._row(LITERAL, Pointer(None))
            case ConstantResult(value):
                return self._row(LITERAL, Pointer(value))
            case ObjectResult(name):
                return self._row(GIVEN, self._places.place_of_object(name))
            case ScalarResult(slot, weak=True):
                return self._python_scalar(slot, self._places.slots[slot][1])
            case ScalarResult(slot, flag=None):
                return self._numpy_scalar(slot, self._places.slots[slot][1])
            case ScalarResult(slot, flag=str(flag), weak_dtype=weak, dtype=dtype):
                row = self._row(CHOSEN, self._slot_index(flag), 0, 0)
                self._words[row + 2] = self._python_scalar(slot, weak or "f64")
                self._words[row + 3] = self._numpy_scalar(
                    slot, dtype or self._places.slots[slot][1]
                )
                return row
            case SelectResult(flag, then, orelse):
                row = self._row(CHOSEN, self._slot_index(flag), 0, 0)
                self._words[row + 2 : row + 4] = self.add(then), self.add(orelse)
                return row
            case ListResult(name, count, weak, flags, dtype):
                place = self._places.place_of_object(name)
                words = (place, *self._count(count), weak, 0)
                if flags is None:
                    row = self._row(LISTED, *words)
                else:
                    kind = _kind_of_number(dtype or "f64")
                    row = self._row(MIXED, *words, self._places.place_of_object(flags), kind)
                self._words[row + 5] = self._by_python_helper(returned)
                return row
            case ZippedResult(lists):
                row = self._row(ZIPPED, 0)
                self._words[row + 1] = self._sequence_row(TUPLE, *lists)
                return row
            case ArrayResult(name, count, dtype):
                descr = Pointer(ELEMENTS[dtype or "f64"].numpy)
                place = self._places.place_of_object(name)
                return self._row(SHRUNK, place, *self._count(count), descr)
            case TupleResult(items, display) if display not in (list, tuple):
                return self._call_row(display, *items)
            case TupleResult(items, display):
                return self._sequence_row(LIST if display is list else TUPLE, *items)
        return self._by_python_helper(returned)

    def _by_python_helper(self, returned: ResultSpec) -> int:
        """A row that calls the function of `result_functions` which makes the result: for what C
        never makes, and of a list for the arrays that C cannot list (`add`).
        """
        match returned:
            case ViewResult(name, (1,), (0,), (0, str(stop))):
                return self._call_row(head_view, ObjectResult(name), ScalarResult(stop, weak=True))
            case ViewResult(name, steps, axes, numbers):
                arguments = (
                    ScalarResult(n, weak=True) if isinstance(n, str) else ConstantResult(n)
                    for n in numbers
                )
                return self._call_row(
                    strided_view,
                    ObjectResult(name),
                    ConstantResult(steps),
                    ConstantResult(axes),
                    *arguments,
                )
            case ComplexResult(re, im):
                return self._call_row(complex_of_parts, re, im)
            case ListResult(name, None, weak, None):
                return self._call_row(np.ndarray.tolist if weak else list, ObjectResult(name))
            case ListResult(name, str(count), weak, None):
                return self._call_row(
                    first_as_python if weak else first_items,
                    ObjectResult(name),
                    ScalarResult(count, weak=True),
                )
            case ListResult(name, count, weak, str(flags), dtype):
                length = ScalarResult(count, weak=True) if count else ConstantResult(None)
                return self._call_row(
                    mixed_list,
                    ObjectResult(name),
                    ObjectResult(flags),
                    ConstantResult(PYTHON_TYPES[dtype or "f64"]),
                    ConstantResult(weak),
                    length,
                )
        raise NotNative("only Python makes a result of this kind")

    def _call_row(self, function: Callable[..., Any], *items: ResultSpec) -> int:
        """A row that calls a Python function with these results."""
        row = self._row(CALLED, Pointer(function), 0)
        self._words[row + 2] = self._sequence_row(TUPLE, *items)
        return row

    def _sequence_row(self, kind: int, *items: ResultSpec) -> int:
        """A row for a tuple or list of results."""
        row = self._row(kind, len(items), *[0] * len(items))
        for k, item in enumerate(items, row + 2):
            self._words[k] = self.add(item)
        return row

    def _count(self, slot: str | None) -> tuple[int, int]:
        """The words for a number of elements: the index of its slot and the format letter of the
        slot's dtype; -1 and 0 for all elements.
        """
        if slot is None:
            return -1, 0
        index, stored = self._places.slots[slot]
        if stored not in _FORMAT_LETTERS:
            raise NotNative(f"only Python reads a number of elements of type {stored}")
        return index, ord(_FORMAT_LETTERS[stored])

    def _slot_index(self, slot: str) -> int:
        """The index of the kernel parameter of a slot."""
        return self._places.slots[slot][0]

    def _python_scalar(self, slot: str, dtype: str) -> int:
        """A row for the value of a slot as a Python scalar for `dtype`."""
        index, stored = self._places.slots[slot]
        if not {dtype, stored} <= _FORMAT_LETTERS.keys():
            raise NotNative(f"only Python makes a Python number of a result of type {stored}")
        return self._row(PYTHON, _kind_of_number(dtype), index, ord(_FORMAT_LETTERS[stored]))

    def _numpy_scalar(self, slot: str, dtype: str) -> int:
        """A row for the value of a slot as a NumPy scalar of `dtype`."""
        index, stored = self._places.slots[slot]
        letters = 0, 0
        if stored != dtype:
            if not {dtype, stored} <= _FORMAT_LETTERS.keys():
                raise NotNative(f"only Python makes a NumPy {dtype} of a result of type {stored}")
            letters = ord(_FORMAT_LETTERS[stored]), ord(_FORMAT_LETTERS[dtype])
        return self._row(SCALAR, Pointer(DTYPES[dtype].numpy), index, *letters)
