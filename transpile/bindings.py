"""Where each parameter of a kernel comes from: that of the same name."""
from __future__ import annotations

from typing import TypeAlias

from loopir.record import record

from .types import ArrayType, ListType, RecordType, ScalarType

__all__ = [
    "Argument",
    "Binding",
    "Captured",
    "Field",
    "Fresh",
    "Held",
    "Part",
    "Slot",
    "Taken",
]


@record(frozen=True, slots=True)
class Argument:
    """The function's own parameter ``name``."""

    name: str
    type: ArrayType | ScalarType


@record(frozen=True, slots=True)
class Captured:
    """A global or closure variable ``name``, read at each call under the type it had."""

    name: str
    type: ArrayType | ScalarType


@record(frozen=True, slots=True)
class Field:
    """``array["at"]["x"]`` of an array of records, a parameter of the function or ``captured``;
    ``path`` are the fields.
    """

    name: str
    array: str
    path: tuple[str, ...]
    type: ArrayType
    of: RecordType
    captured: bool = False


@record(frozen=True, slots=True)
class Held:
    """What an object holds that is an argument; ``text`` is Python that reads it."""

    name: str
    text: str
    type: ArrayType | ScalarType


@record(frozen=True, slots=True)
class Taken:
    """An array of what the list ``text`` holds at each call, a parameter of the function or
    ``captured``. What the kernel writes into it is put back into the list.
    """

    name: str
    text: str
    type: ListType
    captured: bool = False


@record(frozen=True, slots=True)
class Part:
    """The ``part`` (``"real"`` or ``"imag"``) of a complex number of this type."""

    name: str
    of: Argument | Captured
    part: str
    type: ScalarType


@record(frozen=True, slots=True)
class Fresh:
    """An array made for this call by ``expr``: Python source over the function's parameters and
    globals, ``_np`` being NumPy, ``_max``, ``_int``, ``_math`` and their like Python's own,
    ``_greatest`` and ``_least`` those of ints, ``_tp_room[0]`` what is tried first.
    """

    name: str
    expr: str
    type: ArrayType


@record(frozen=True, slots=True)
class Slot:
    """A rank-0 array that receives a scalar result."""

    name: str
    dtype: str


Binding: TypeAlias = Argument | Captured | Field | Held | Taken | Part | Fresh | Slot
