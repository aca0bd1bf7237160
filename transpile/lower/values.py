"""What a name can stand for while a function is lowered."""
from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import field
from enum import Enum
from typing import Any, TypeAlias

from loopir.nodes import Expr, Var
from loopir.record import record

from ..infer import Num
from ..pair import Pair
from ..ranges import Linear
from ..returned import Returned
from ..types import RecordType

__all__ = [
    "Absent", "Along", "ArrayRef", "Case", "Cases", "Frame", "ListRef", "Made", "RecordsRef",
    "Scalar", "Unbound", "Value",
]


@record(frozen=True, slots=True)
class Along:
    """A subscript that goes along an axis of a view: ``start + step * i``. A step that only the
    call knows is a number.
    """

    axis: int
    start: Num
    step: int | Num = 1


@record(frozen=True, slots=True)
class ArrayRef:
    """An array parameter of the kernel, or a view of it, whose ``places`` say for each axis of the
    parameter which subscript it has. ``shape`` is the view's. ``weak``: its elements are Python's;
    with ``flags``, a bool array, those for which it holds, of dtype ``python`` if that is another.
    ``kinds``, where it stands for lists: list or tuple, of each axis.
    """

    name: str
    dtype: str
    unit: int | None
    shape: tuple[Num, ...] = field(hash=False)
    places: tuple[Num | Along, ...] = field(default=(), hash=False)
    weak: bool = False
    flags: str | None = None
    python: str | None = None
    kinds: tuple[type, ...] = ()

    @property
    def rank(self) -> int:
        return len(self.shape)


@record(frozen=True, slots=True)
class RecordsRef:
    """An array of records; or a view of it, or a record, which is what ``view`` is of one of its
    fields. What is read in it is there where ``needed`` holds (None: always). ``path`` are the
    fields by which it lies in those of that name.
    """

    name: str
    type: RecordType
    view: ArrayRef | None = None
    needed: Expr | None = None
    path: tuple[str, ...] = ()

    @property
    def is_whole(self) -> bool:
        """Whether it is the array of that name itself."""
        return self.view is None and not self.path


@record(frozen=True, slots=True)
class ListRef:
    """A list under construction."""

    name: str


@record(frozen=True, slots=True)
class Made:
    """What was made of a finished list: how it is returned, and the array that it reads as."""

    returned: Returned
    array: ArrayRef | None


@record(frozen=True, slots=True)
class Unbound:
    """A name that may have no value here; if ``needed`` (a bool) holds, it has ``value``."""

    value: Num | None = None
    needed: Expr | None = None


class Absent(Enum):
    """What a name stands for that has no number."""

    NONE = "None"
    UNBOUND = "unbound"


@record(frozen=True, slots=True)
class Case:
    """What a value is where ``when`` holds: a number of one type, an array, or none of both."""

    value: Num | ArrayRef | Absent
    when: Expr


@record(frozen=True, slots=True)
class Cases:
    """A value whose type, or which array it is, depends on the data: one of the cases holds."""

    cases: tuple[Case, ...]


Scalar: TypeAlias = Num | Pair | Cases
Value: TypeAlias = (
    "Scalar | ArrayRef | RecordsRef | ListRef | Made | Unbound | tuple[Any, ...]"
)


@record(frozen=True, slots=True)
class Frame:
    """A loop being lowered: its statement, the number of the iteration, what the source's name is
    in it, the trip count, the linear form of the count where it is positive, whether there is an
    iteration. One that ``exits`` makes that many at most.
    """

    node: ast.For | ast.While
    var: Var
    element: Callable[[Linear], Num] | None
    trips: Expr
    linear: Linear
    some: Expr
    exits: bool = False
