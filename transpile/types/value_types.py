"""The types of one call signature: what inference computes and specialisations are keyed on."""
from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from loopir.dtypes import DTYPES, DType
from loopir.lazy_dataclass import record

if TYPE_CHECKING:
    from ..options import Options

__all__ = [
    "COMPLEX", "ELEMENTS", "PARTS", "ArgType", "ArrayType", "Constant", "Function", "GeneratorType",
    "ListType", "ObjectType", "Opaque", "RecordType", "ScalarType", "WrappedFunction",
]

PARTS = {"c64": "f32", "c128": "f64"}
"""Complex dtypes, which the compiler takes apart, and the dtype of their two parts."""

COMPLEX = {part: name for name, part in PARTS.items()}

ELEMENTS = DTYPES | {
    name: DType(name=name, numpy=np.dtype(f"c{2 * DTYPES[part].bytes}"), c="", kind="c")
    for name, part in PARTS.items()
}
"""All that arguments may hold."""


_PYTHON = {"i64": "int", "f64": "float", "bool": "bool", "c128": "complex"}


@record(frozen=True, slots=True)
class ArrayType:
    """The type of an exact, native, aligned ndarray.

    ``unit`` is the axis whose stride is one element (the last such axis), or None. ``steps`` are
    the strides of the other axes in elements, where a record type fixes them, else None. ``ones``
    are the axes of an argument that have length 1 and are broadcast.
    """

    dtype: str
    rank: int
    unit: int | None
    steps: tuple[int | None, ...] = ()
    ones: tuple[int, ...] = ()

    def __str__(self) -> str:
        lengths = ("1" if axis in self.ones else ":" for axis in range(self.rank))
        return f"{self.dtype}[{', '.join(lengths)}]"


@record(frozen=True, slots=True)
class ScalarType:
    """A scalar. ``weak`` (NEP 50): a Python int ("i64"), float ("f64"), complex ("c128") or bool;
    otherwise a NumPy scalar.
    """

    dtype: str
    weak: bool = False

    def __str__(self) -> str:
        return _PYTHON[self.dtype] if self.weak else self.dtype


@record(frozen=True, slots=True)
class ListType:
    """The type of a list, or of a list of lists of one length; of tuples where ``kinds`` say so.

    ``item`` is the type of the items: that of the first one, and of all where the list is passed as
    an array.
    """

    item: ScalarType
    kinds: tuple[type, ...] = (list,)

    @property
    def inner(self) -> ListType | ScalarType:
        """The type of an element."""
        return ListType(self.item, self.kinds[1:]) if len(self.kinds) > 1 else self.item

    def __str__(self) -> str:
        said = str(self.item)
        for kind in reversed(self.kinds):
            said = f"{kind.__name__}[{said}{', ...' if kind is tuple else ''}]"
        return said


@record(frozen=True, slots=True)
class Opaque:
    """A value that compiled code cannot touch, named by its Python type; ``code`` says why."""

    name: str
    code: str = "LOWER_TYPE"

    def __str__(self) -> str:
        return self.name


class WrappedFunction:
    """A callable that returns what its ``__wrapped__``, a Python function, would."""

    __wrapped__: Any
    __name__: str
    options: Options


@record(frozen=True, slots=True)
class Function(Opaque):
    """The type of a function. Functions with equal ``key`` behave alike; ``value`` is one of them.
    """

    key: tuple[int, ...] = ()
    value: Any = field(default=None, compare=False)

    @property
    def opaque(self) -> Opaque:
        """The type that stands for any function."""
        return Opaque("function")


@record(frozen=True, slots=True)
class GeneratorType(Opaque):
    """The type of a random number generator; two of one ``family`` draw the same numbers from equal
    states.
    """

    family: str = ""


@record(frozen=True, slots=True)
class RecordType:
    """The type of an exact ndarray of records, or of one record if the rank is 0; ``fields`` are
    the types of the arrays ``r["name"]``.
    """

    dtype: np.dtype
    rank: int
    fields: tuple[tuple[str, ArgType], ...] = ()

    def field(self, name: object) -> ArgType | None:
        """The type of ``r[name]``; None where there is no such field."""
        return next((ty for field, ty in self.fields if field == name), None)

    def __str__(self) -> str:
        of = ", ".join(
            f"{name}: {str(ty).partition('[')[0] if isinstance(ty, ArrayType) else ty}"
            for name, ty in self.fields
        )
        return f"{{{of}}}[{', '.join(':' * self.rank)}]"


@record(frozen=True, slots=True)
class Constant:
    """The type of a value that decides which code is compiled, so that each value is its own type:
    None, a short str, a class, a dtype, a member of an Enum, or an int or bool that is a static
    argument such as an axis.
    """

    value: object
    kind: type

    @property
    def opaque(self) -> Opaque | ScalarType:
        """The type that stands for any such value."""
        numbers = {int: ScalarType("i64", weak=True), bool: ScalarType("bool", weak=True)}
        return numbers.get(self.kind) or Opaque(self.kind.__name__)

    def __str__(self) -> str:
        return self.value.__name__ if isinstance(self.value, type) else repr(self.value)


Key: TypeAlias = int | str | tuple[str]
"""Of a part of an object: a subscript, an attribute, or in a tuple the text it has in a dict."""


@record(frozen=True, slots=True)
class ObjectType:
    """The type of a tuple, an object of a plain class, or a dict.

    ``parts`` are the types of what it holds, by subscript or attribute: for a named tuple the
    attributes, in the order of its items; for a dict the values of its string keys.
    """

    kind: type
    parts: tuple[tuple[Key, ArgType], ...]

    @property
    def is_tuple(self) -> bool:
        return issubclass(self.kind, tuple)

    def key(self, key: Key) -> Key | None:
        """The key of the part that ``p.key`` or ``p[key]`` is; None where there is none."""
        keys = [k for k, _ in self.parts]
        if isinstance(key, int):
            inside = self.is_tuple and -len(keys) <= key < len(keys)
            return keys[key] if inside else None
        return key if key in keys else None

    def part(self, key: Key) -> ArgType | None:
        """The type of that part."""
        known = self.key(key)
        return None if known is None else dict(self.parts)[known]

    def __str__(self) -> str:
        if self.kind is not tuple:
            return self.kind.__name__
        return f"({', '.join(str(ty) for _, ty in self.parts)})"


ArgType: TypeAlias = (
    ArrayType | ScalarType | RecordType | ListType | Constant | ObjectType | Opaque
)
