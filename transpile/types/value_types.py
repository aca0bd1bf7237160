"""The types of one call signature: what inference computes and specialisations are keyed on.

`typeof.type_of` gives the type of a value. All types are frozen and hashable; values with equal
types run the same compiled code. How compiled code uses a value:

- arrays, records, numbers and lists are passed as parameters;
- an object, a tuple or a dict is taken apart (`ObjectType`);
- the value of a `Constant` is compiled in;
- of the opaque values it can use functions, which are inlined or looked up (`Function`), and random
  generators, whose state is passed as arrays (`GeneratorType`). Any other `Opaque` is refused where
  it is used.
"""
from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import field
from enum import Enum
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from loopir.dtypes import DTYPES, DType
from loopir.lazy_dataclass import record, replace
from targets.abi.parameter_specs import MemoryOrder

if TYPE_CHECKING:
    from ..options import Options

__all__ = [
    "COMPLEX", "ELEMENTS", "PARTS", "CODE_POINTS", "ArgType", "ArrayType", "CallSignature",
    "Constant", "Function", "GeneratorType", "ListType", "ObjectType", "Opaque", "RecordType",
    "ScalarType", "WrappedFunction", "is_packed", "is_str", "is_weak", "scalar_class",
    "sequence_text", "with_mixed_list",
]

PARTS = {"c64": "f32", "c128": "f64"}
"""Complex dtypes, with the dtype of their two parts: kernels have real numbers only."""

COMPLEX = {part: name for name, part in PARTS.items()}
"""The inverse of `PARTS`."""

ELEMENTS = DTYPES | {
    name: DType(name=name, numpy=np.dtype(f"c{2 * DTYPES[part].bytes}"), c="", kind="c")
    for name, part in PARTS.items()
}
"""The dtypes of arrays and scalars that can be arguments."""

_PYTHON: dict[str, type] = {"i64": int, "u64": int, "f64": float, "bool": bool, "c128": complex}
"""The class of a weak scalar of that dtype."""


@record(frozen=True, slots=True)
class ArrayType:
    """The type of an ndarray (no subclass) in native byte order."""

    dtype: str
    rank: int
    """The number of axes, 0 for a 0-d array."""
    unit: int | None
    """The axis along which neighbouring elements are neighbours in memory, so that vectors are
    loaded there (`typeof._unit_stride_axis` decides); None: there is none.
    """
    steps: tuple[int | None, ...] = ()
    """For each axis the stride in elements where a record type fixes it, else None; empty: it fixes
    none.
    """
    unit_length_axes: tuple[int, ...] = ()
    """The axes of an argument of rank 2 or more that have length 1, and may be broadcast."""
    aligned: bool = True
    """Whether all elements are aligned in memory. If not, no axis counts as one of unit stride."""
    order: MemoryOrder | Literal["?"] | None = None
    """The memory order of an aligned array of rank 2 or more by its strides (`fits_order`), "?" for
    another one: NumPy's results of operations on it have this order. None: it is the one that
    ``unit`` tells, "C" if that is the last axis, "F" if it is the first.
    """

    @property
    def axis_order(self) -> MemoryOrder | None:
        """The memory order of the axes, None if it is not known: a vector is in C order."""
        if self.rank > 1 and self.order:
            return None if self.order == "?" else self.order
        if self.unit == self.rank - 1 or self.rank == 1:
            return "C"
        return "F" if self.unit == 0 else None

    def __str__(self) -> str:
        lengths = ("1" if axis in self.unit_length_axes else ":" for axis in range(self.rank))
        return f"{self.dtype}[{', '.join(lengths)}]"


@record(frozen=True, slots=True)
class ScalarType:
    """The type of a scalar."""

    dtype: str
    weak: bool = False
    """True: a Python int ("i64", or "u64": of 0 … 2**64 - 1), float ("f64"), complex ("c128") or
    bool, weak in the sense of NEP 50. False: a NumPy scalar.
    """

    def __str__(self) -> str:
        return _PYTHON[self.dtype].__name__ if self.weak else self.dtype


def is_weak(t: ArrayType | ScalarType) -> bool:
    """Whether values of type `t` are Python's numbers, weak in the sense of NEP 50."""
    return isinstance(t, ScalarType) and t.weak


def scalar_class(t: ScalarType) -> type:
    """The class of all values of type `t`: of Python's numbers if it is weak, else of NumPy's."""
    return _PYTHON[t.dtype] if t.weak else ELEMENTS[t.dtype].numpy.type


def is_packed(kinds: Sequence[type]) -> bool:
    """Whether `kinds` (`ListType.kinds`) are those of a packed sequence, such as bytes or an
    array.array: one that stores its items as machine numbers of one format, and makes Python
    numbers of them when they are read.
    """
    return len(kinds) == 1 and kinds[0] in (bytes, bytearray, memoryview, array, str)


@record(frozen=True, slots=True)
class ListType:
    """The type of a list of scalars, of a list of lists of one length, or of the same with tuples;
    or that of bytes, a bytearray, a memoryview or an array.array, whose items are Python numbers.
    """

    item: ScalarType
    """The type of the first scalar. That all have it is checked when the list is made an array."""
    kinds: tuple[type, ...] = (list,)
    """``list`` or ``tuple``, for the outer sequence and, if there are any, the inner ones; or the
    one class of a packed sequence (`is_packed`).
    """
    is_mixed: bool = False
    """Whether the items may be ints and floats: of a list of ints in which a function puts floats.
    """
    memory: ArrayType | None = None
    """Of a memoryview or an array.array: the type of the array that shares its memory. The items of
    other sequences are copied.
    """

    @property
    def is_packed(self) -> bool:
        """Whether the items are stored as machine numbers of one format."""
        return is_packed(self.kinds)

    @property
    def stored(self) -> ScalarType:
        """The type of the elements of the array that has the items."""
        if self.memory is not None:
            return ScalarType(self.memory.dtype)
        if self.is_mixed:
            return ScalarType("f64", weak=True)
        return ScalarType("u8") if self.is_packed else self.item

    @property
    def inner(self) -> ListType | ScalarType:
        """The type of an element: of an inner sequence, or of a scalar."""
        return ListType(self.item, self.kinds[1:]) if len(self.kinds) > 1 else self.item

    def __str__(self) -> str:
        if self.is_packed:
            name = self.kinds[0].__name__
            has_format = self.memory is not None and self.kinds[0] is not str
            return f"{name}[{self.stored.dtype}]" if has_format else name
        return sequence_text(str(self.item), self.kinds)


CODE_POINTS = ListType(ScalarType("i64", weak=True), (str,), memory=ArrayType("u32", 1, 0))
"""The type of a str of which only characters are read: its array has their code points."""


def is_str(ty: ArgType) -> bool:
    """Whether it is the type of a str: of one, or of any."""
    return (isinstance(ty, Constant) and ty.kind is str) or ty == Opaque("str")


def sequence_text(item: str, kinds: Sequence[type]) -> str:
    """The text of the type of a sequence, of `kinds` from the outermost one, whose items have the
    type `item`: ``list[tuple[int, ...]]``.
    """
    for kind in reversed(kinds):
        item = f"{kind.__name__}[{item}{', ...' if kind is tuple else ''}]"
    return item


def with_mixed_list(types: Mapping[str, ArgType], name: str) -> dict[str, ArgType]:
    """`types` where the list `name` may have ints and floats (`ListType.is_mixed`)."""
    ty = types[name]
    assert isinstance(ty, ListType)
    assert not ty.is_mixed
    return {**types, name: replace(ty, is_mixed=True)}


@record(frozen=True, slots=True)
class Opaque:
    """The type of a value that compiled code cannot use, except for its subclasses `Function` and
    `GeneratorType`.
    """

    name: str
    """The name of its Python type, for messages."""
    code: str = "LOWER_TYPE"
    """The code of the rejection where it is used."""
    items: str = field(default="", compare=False)
    """Of a list, the name of the type of its first item, for messages: it makes no other signature.
    """
    is_iterator: bool = field(default=False, compare=False)
    """Whether it is an iterator, such as a generator or a ``zip``."""

    dtype_kind: str = field(default="", compare=False)
    """Of an array, the kind of its dtype as NumPy has it, such as ``O`` for objects, or ``swapped``
    for another byte order than the machine's. For messages."""
    defined_in: tuple[str, str] = field(default=("", ""), compare=False)
    """The module and the name of its Python type, where these are known."""
    is_generator: bool = field(default=False, compare=False)
    """Whether it is a random number generator of NumPy or of Python."""
    is_chunked: bool = field(default=False, compare=False)
    """Whether it is an array in chunks, of Dask."""

    def __str__(self) -> str:
        return f"{self.name}[{self.items}]" if self.items else self.name


class WrappedFunction:
    """The base class of what ``fuse`` returns: a callable that returns the same as its
    ``__wrapped__``, a Python function. It is defined here so that the front end, which may not
    import the runtime, can recognise it.
    """

    __wrapped__: Any
    __name__: str
    options: Options


@record(frozen=True, slots=True)
class Function(Opaque):
    """The type of a function or module that is an argument: it can be inlined or looked up."""

    key: tuple[int, ...] = ()
    """Ids of what determines its behaviour (code and globals, or the object): functions with equal
    keys have the same type.
    """
    value: Any = field(default=None, compare=False)
    """One function of this type, or the module."""

    @property
    def opaque(self) -> Opaque:
        """The type for any function or module, where the signature must not depend on which it is.
        """
        return Opaque(self.name.partition(" ")[0])


@record(frozen=True, slots=True)
class GeneratorType(Opaque):
    """The type of a random number generator whose draws can be compiled."""

    family: str = ""
    """"python", "legacy" or "pcg", see `generator_state`."""


@record(frozen=True, slots=True)
class RecordType:
    """The type of an ndarray of records (a structured array), or of one record."""

    dtype: np.dtype
    rank: int
    """The number of axes; 0 for one record."""
    fields: tuple[tuple[str, ArgType], ...] = ()
    """The name of each field, and the type of the array ``r["name"]``."""

    def field(self, name: object) -> ArgType | None:
        """The type of ``r[name]``; None where there is no such field."""
        return next((ty for field, ty in self.fields if field == name), None)

    def __str__(self) -> str:
        fields = ", ".join(
            f"{name if name.isidentifier() else repr(name)}: "
            f"{ty.dtype if isinstance(ty, ArrayType) else ty}"
            for name, ty in self.fields
        )
        return f"{{{fields}}}[{', '.join(':' * self.rank)}]"


@record(frozen=True, slots=True)
class Constant:
    """The type of a value that decides which code is compiled: None, a short str, a class, a dtype,
    a member of an Enum, or an int or bool that is a static argument such as an axis. Each such
    value has a type of its own.
    """

    value: object
    kind: type

    @property
    def opaque(self) -> Opaque | ScalarType:
        """The type for any such value, where the signature must not depend on the value."""
        numbers = {int: ScalarType("i64", weak=True), bool: ScalarType("bool", weak=True)}
        return numbers.get(self.kind) or Opaque(self.kind.__name__)

    def __str__(self) -> str:
        """``None``, ``'same'``, ``Color.RED``; of a class ``type[float]``: ``float`` is a number.
        """
        if isinstance(self.value, type):
            return f"type[{self.value.__name__}]"
        if isinstance(self.value, Enum):  # whose `repr` may be the user's
            return f"{self.kind.__name__}.{self.value._name_ or self.value._value_}"
        return repr(self.value)


Key: TypeAlias = int | str | tuple[str]
"""The key of a part of an aggregate: the index of an item, the name of an attribute, or a key of a
dict, in a tuple.
"""


@record(frozen=True, slots=True)
class ObjectType:
    """The type of a tuple, an object of a plain class, or a dict (see `aggregates`)."""

    kind: type
    """Its class."""
    parts: tuple[tuple[Key, ArgType], ...]
    """The key and type of each part: all items of a tuple (of a named tuple by field name), the
    attributes of an object and the string keys of a dict that the function can name.
    """

    @property
    def is_tuple(self) -> bool:
        """Whether it is a tuple or a named tuple."""
        return issubclass(self.kind, tuple)

    @property
    def opaque(self) -> Opaque:
        """The type for any object, where the signature must not depend on its class."""
        return Opaque("object")

    def key(self, key: Key) -> Key | None:
        """The key in `parts` of the part ``p.key`` or ``p[key]``: for -1 that of the last item, for
        an index of a named tuple the name of the field. None if there is no such part.
        """
        keys = [k for k, _ in self.parts]
        if isinstance(key, int):
            in_bounds = self.is_tuple and -len(keys) <= key < len(keys)
            return keys[key] if in_bounds else None
        return key if key in keys else None

    def part(self, key: Key) -> ArgType | None:
        """The type of the part ``p.key`` or ``p[key]``; None if there is no such part."""
        canonical = self.key(key)
        return None if canonical is None else dict(self.parts)[canonical]

    def __str__(self) -> str:
        if self.kind is not tuple:
            return self.kind.__name__
        comma = "," if len(self.parts) == 1 else ""
        return f"({', '.join(str(ty) for _, ty in self.parts)}{comma})"


ArgType: TypeAlias = (
    ArrayType | ScalarType | RecordType | ListType | Constant | ObjectType | Opaque
)
"""The type of an argument, of a part of one, or of a global, as signatures have it."""


class CallSignature(tuple[ArgType, ...]):
    """The types of the arguments of a call, which print as reports show them: ``(f64[:], int)``; of
    a str that is part of the signature only the type.
    """

    __slots__ = ()

    def __repr__(self) -> str:
        names = (
            "str" if isinstance(t, Constant) and isinstance(t.value, str) else str(t) for t in self
        )
        return f"({', '.join(names)})"
