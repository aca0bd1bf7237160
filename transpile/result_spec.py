"""Result specification: what a compiled call returns, in terms of the arrays its kernel filled.

A tree of records. "Slots" are arrays of one element (`call_plan.ResultSlot`). Lowering of
``return`` makes the specification. In `runtime.kernel_call`, `result_source` prints it as Python,
and `native_result` makes rows of it, for C.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from loopir.lazy_dataclass import record

from .core_functions import counter_of, defaultdict_of, dict_of, lists_of, multimap_of, set_of

__all__ = [
    "SelectResult", "ArrayResult", "DictOfValues", "ListResult", "ConstantResult", "NoneResult",
    "ComplexResult", "ResultSpec", "ObjectResult", "TupleResult", "ScalarResult", "ViewResult",
    "ZippedResult", "as_tuple", "builds_lists", "builds_tables", "set_attributes",
]


@record(frozen=True, slots=True)
class NoneResult:
    """None."""


@record(frozen=True, slots=True)
class ConstantResult:
    """A constant of the source."""

    value: object


@record(frozen=True, slots=True)
class ObjectResult:
    """The same object that is bound to ``name``: an argument, a captured one, or a fresh array."""

    name: str


@record(frozen=True, slots=True)
class ViewResult:
    """A view of the array bound to ``name``."""

    name: str
    steps: tuple[int | None, ...]
    """For each axis of the array: the step of the slice, None for an index."""
    axes: tuple[int | None, ...]
    """For each axis of the view: the axis of the array, None for a new axis."""
    numbers: tuple[int | str, ...]
    """For each axis of the array in turn: the index, or the start and the length of the slice. A
    str is the name of an i64 slot.
    """


@record(frozen=True, slots=True)
class ScalarResult:
    """The scalar in ``slot``."""

    slot: str
    weak: bool = False
    """Whether it is a Python scalar, and no NumPy scalar; unused with ``flag``."""
    flag: str | None = None
    """The bool slot that tells whether it is a Python scalar of ``weak_dtype`` or a NumPy scalar of
    ``dtype``. None: ``weak`` tells.
    """
    weak_dtype: str | None = None
    dtype: str | None = None


@record(frozen=True, slots=True)
class ComplexResult:
    """The complex number with the parts ``re`` and ``im``; ``re`` itself if ``im`` is an int."""

    re: ResultSpec
    im: ResultSpec


@record(frozen=True, slots=True)
class ListResult:
    """A list of the elements of the fresh array ``name``. If it has several axes: a list of lists
    with ``weak`` or ``flags``, else a list of its rows, which are arrays.
    """

    name: str
    count: str | None = None
    """The i64 slot with the number of items along the first axis; None: all."""
    weak: bool = False
    """Whether the items are Python scalars, and no NumPy scalars; unused with ``flags``."""
    flags: str | None = None
    """The bool array that tells for each item whether it is a Python scalar of ``weak_dtype``, and
    no NumPy scalar. None: ``weak`` tells.
    """
    weak_dtype: str | None = None


@record(frozen=True, slots=True)
class ZippedResult:
    """A list of tuples: the zip of the lists ``items``."""

    items: tuple[ListResult, ...]


@record(frozen=True, slots=True)
class ArrayResult:
    """``np.array`` of a `ListResult`: the fresh array itself, shrunk to ``count``. If it is empty
    and ``dtype`` is None, a float64 array, as ``np.array([])`` is.
    """

    name: str
    count: str | None = None
    dtype: str | None = None


@record(frozen=True, slots=True)
class TupleResult:
    """A tuple, a list, or the result of a class or function that is called with the items."""

    items: tuple[ResultSpec, ...]
    display: Callable[..., Any] = tuple
    """``tuple``, ``list``, or what is called with the items as arguments."""


@record(frozen=True, slots=True)
class DictOfValues:
    """A function that makes the dict of ``keys`` and its arguments, the values."""

    keys: tuple[Any, ...]

    def __call__(self, *values: Any) -> dict[Any, Any]:
        return dict(zip(self.keys, values, strict=True))


def as_tuple(items: list[Any]) -> tuple[Any, ...]:
    """The tuple of the items of a list."""
    return tuple(items)


def set_attributes(returned: Any, *settings: Any) -> Any:
    """`returned`, after setting attributes of arguments, as a function that stores to them does at
    its end. ``settings``: for each attribute an object, a name and a value, one after the other.
    """
    for k in range(0, len(settings), 3):
        setattr(settings[k], settings[k + 1], settings[k + 2])
    return returned


@record(frozen=True, slots=True)
class SelectResult:
    """``then`` where the bool slot ``flag`` is true, else ``orelse``."""

    flag: str
    then: ResultSpec
    orelse: ResultSpec


ResultSpec: TypeAlias = (
    NoneResult
    | ConstantResult
    | ObjectResult
    | ViewResult
    | ScalarResult
    | ComplexResult
    | ListResult
    | ZippedResult
    | ArrayResult
    | TupleResult
    | SelectResult
)
"""What a compiled call returns, as a tree: the parts of a tuple are specifications, too. For
``return out, s / n``, where the kernel has a parameter ``out`` and stores the quotient in a slot::

    TupleResult((ObjectResult("out"), ScalarResult("result", weak=True)))

A new kind of result is a record above, a case in `result_source` for the Python wrapper, and, if C
is to build it, a row in `native_result.ResultProgram`; else such calls are not performed in C.
"""


def builds_lists(result: ResultSpec) -> bool:
    """Whether a call may make a list, or anything else with an object for each item, after the
    kernel has run: this takes time for each item of the result.
    """
    match result:
        case ListResult() | ZippedResult():
            return True
        case TupleResult(items, display):
            return display is not tuple or any(map(builds_lists, items))
        case SelectResult(then=then, orelse=orelse):
            return builds_lists(then) or builds_lists(orelse)
    return False


def builds_tables(result: ResultSpec) -> bool:
    """Whether a call may make a dict or a set of a hash table of the kernel, with all its items, or
    a list of lists of several lengths.
    """
    match result:
        case TupleResult(items, display):
            tables = dict_of, counter_of, defaultdict_of, multimap_of, set_of, lists_of
            is_table = display in tables
            return is_table or any(map(builds_tables, items))
        case SelectResult(then=then, orelse=orelse):
            return builds_tables(then) or builds_tables(orelse)
    return False
