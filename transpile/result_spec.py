"""Result specification: what a compiled call returns, in terms of the arrays its kernel filled."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from loopir.lazy_dataclass import record

__all__ = [
    "SelectResult", "ArrayResult", "DictOfValues", "ListResult", "ConstantResult", "NoneResult",
    "ComplexResult", "ResultSpec", "ObjectResult", "TupleResult", "ScalarResult", "ViewResult",
    "ZippedResult", "as_tuple", "set_attributes",
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
    """The very object bound to ``name`` (argument, captured or fresh)."""

    name: str


@record(frozen=True, slots=True)
class ViewResult:
    """A view of the array bound to ``name``. ``steps`` are those along each of its axes, None where
    the view is at one subscript of it; ``axes`` are the view's in order: the axis of the array
    (from 0) that each is, None for a new one. ``numbers``: for each axis of the array the
    subscript, or the first one and the length; what is no constant is in an i64 slot.
    """

    name: str
    steps: tuple[int | None, ...]
    axes: tuple[int | None, ...]
    numbers: tuple[int | str, ...]


@record(frozen=True, slots=True)
class ScalarResult:
    """The scalar in ``slot``: a NumPy scalar, or a Python one where ``weak``.

    With ``flag``, another (bool) slot decides: true means a Python scalar of dtype ``weak_dtype``,
    false a NumPy one of ``dtype``; the slot's own dtype holds both exactly.
    """

    slot: str
    weak: bool = False
    flag: str | None = None
    weak_dtype: str | None = None
    dtype: str | None = None


@record(frozen=True, slots=True)
class ComplexResult:
    """The complex number of two scalars; ``re`` alone where ``im`` is an int."""

    re: ResultSpec
    im: ResultSpec


@record(frozen=True, slots=True)
class ListResult:
    """A list of the first ``count`` elements (an i64 slot; all when None) of the fresh rank-1 array
    ``name``: NumPy scalars, or Python ones where ``weak``; with ``flags``, a bool array, Python
    ones of dtype ``weak_dtype`` where it holds.
    """

    name: str
    count: str | None = None
    weak: bool = False
    flags: str | None = None
    weak_dtype: str | None = None


@record(frozen=True, slots=True)
class ZippedResult:
    """A list of tuples of the elements of lists."""

    items: tuple[ListResult, ...]


@record(frozen=True, slots=True)
class ArrayResult:
    """``np.array`` of that list: the fresh array itself, shrunk to ``count``; float64 when empty,
    as np.array([]) is, unless ``dtype`` was given.
    """

    name: str
    count: str | None = None
    dtype: str | None = None


@record(frozen=True, slots=True)
class TupleResult:
    """A tuple, a list, or what a class or a function makes that is called with the results."""

    items: tuple[ResultSpec, ...]
    display: Callable[..., Any] = tuple


@record(frozen=True, slots=True)
class DictOfValues:
    """Makes a dict of values, by these keys."""

    keys: tuple[Any, ...]

    def __call__(self, *values: Any) -> dict[Any, Any]:
        return dict(zip(self.keys, values, strict=True))


def as_tuple(items: list[Any]) -> tuple[Any, ...]:
    """What a list holds."""
    return tuple(items)


def set_attributes(returned: Any, *settings: Any) -> Any:
    """`returned`, after objects have been set attributes: threes of object, name and value."""
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
