"""Types of annotations: ``list[float]``, ``NDArray[np.float64]``, ``tuple[int, ...]`` and others.

An annotation says less than a call: NumPy's state no rank, ``np.ndarray`` alone no dtype, a dict no
keys. What is missing is taken from the uses of the parameter (`Uses`).
"""
from __future__ import annotations

import collections.abc
import enum
import numbers
import types
import typing
from array import array
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from ...types.typeof import opaque_type, type_of
from ...types.value_types import (
    ELEMENTS,
    PARTS,
    ArgType,
    ArrayType,
    Constant,
    ListType,
    ObjectType,
    Opaque,
    ScalarType,
    is_packed,
)

__all__ = ["SCALARS", "Uses", "annotated_type", "array_of", "leaves_dtype_open", "sample_of"]

SCALARS: dict[Callable[[Any], Any], ScalarType] = {
    int: ScalarType("i64", weak=True),
    float: ScalarType("f64", weak=True),
    bool: ScalarType("bool", weak=True),
    complex: ScalarType("c128", weak=True),
}
"""The types of Python's numbers."""

_NUMBERS: dict[Any, type] = {
    numbers.Integral: int, numbers.Real: float, numbers.Number: float, numbers.Complex: complex,
    typing.SupportsFloat: float, typing.SupportsIndex: int, typing.SupportsInt: int,
}
"""For each abstract class of numbers the class that is assumed."""

_ABSTRACT_DTYPES: dict[Any, str] = {
    np.floating: "f64", np.inexact: "f64", np.number: "f64", np.generic: "f64", Any: "f64",
    np.integer: "i64", np.signedinteger: "i64", np.unsignedinteger: "u64",
    np.complexfloating: "c128",
}
"""For each class of several dtypes the one that is assumed."""

_SEQUENCES = (
    list, collections.abc.Sequence, collections.abc.MutableSequence, collections.abc.Collection,
    collections.abc.Iterable,
)
"""Classes and protocols that are taken for lists."""

_FOREIGN = (str, list, tuple, dict, set, frozenset, range)
_BYTES: dict[Any, ArgType] = {
    bytes: type_of(b""), bytearray: type_of(bytearray()), memoryview: type_of(memoryview(b"")),
}

Spelled: TypeAlias = Callable[[object], "ArgType | None"]
"""The type that a str in ``Annotated[…]`` spells; None for other objects."""


class Uses(NamedTuple):
    """What the uses of a parameter say about its type."""

    rank: int
    """The number of axes; 0 if nothing says that it is an array."""
    has_integers: bool
    """Whether the elements of the array are used as ints."""
    keys: Sequence[str]
    """The keys that a dict may be read by."""


def array_of(dtype: str, rank: int) -> ArrayType:
    """The type of an array in C order."""
    return ArrayType(dtype, rank, rank - 1)


def annotated_type(hint: Any, uses: Uses, spelled: Spelled) -> ArgType | None:
    """The type of an annotation; Opaque for one that is known and not compiled, None for others.

    - classes: Python's and NumPy's numbers, bytes, str, containers without items;
    - ``Annotated[…, "f64[:, :]"]``: what the str spells, else the type that is annotated;
    - unions: the first type that is known, of arrays or lists if the uses say so;
    - arrays, lists, tuples, dicts and ``array.array`` with the types of their items.
    """
    hint = _without_aliases(hint)
    if isinstance(hint, type) and (known := _type_of_class(hint, uses)) is not None:
        return known
    if hint == _without_aliases(npt.ArrayLike):
        return _assumed_array(None, uses)
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Annotated:
        types_ = (t for extra in hint.__metadata__ if (t := spelled(extra)) is not None)
        return next(types_, None) or annotated_type(hint.__origin__, uses, spelled)
    if origin is typing.Union or origin is types.UnionType:
        parts = [a for a in args if a is not type(None)]
        return _first_known([annotated_type(a, uses, spelled) for a in parts], uses)
    if origin is typing.Literal:
        return type_of(args[0])
    if origin is np.ndarray:
        return _array_type(args, uses)
    if isinstance(origin, type) and not args:  # ``typing.List``
        return annotated_type(origin, uses, spelled)
    if origin in (tuple, dict, array, *_SEQUENCES):
        whole = Uses(0, uses.has_integers, uses.keys)
        return _container(origin, [
            a if a is ... else annotated_type(a, whole, spelled) for a in args
        ], uses)
    return None


def leaves_dtype_open(hint: Any, spelled: Spelled) -> bool:
    """Whether the annotation is that of an array, and its dtype is assumed."""
    hint = _without_aliases(hint)
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Annotated:
        is_spelled = any(spelled(extra) is not None for extra in hint.__metadata__)
        return not is_spelled and leaves_dtype_open(hint.__origin__, spelled)
    if origin is typing.Union or origin is types.UnionType:
        is_array_like = hint == _without_aliases(npt.ArrayLike)
        return is_array_like or any(leaves_dtype_open(a, spelled) for a in args)
    if origin is np.ndarray:
        item = (*typing.get_args((*args, None)[1]), None)[0]
        return item is None or item in _ABSTRACT_DTYPES
    return hint is np.ndarray


def _type_of_class(hint: type, uses: Uses) -> ArgType | None:
    """The type of an annotation that is a class."""
    hint = _NUMBERS.get(hint, hint)
    if hint in SCALARS:
        return SCALARS[hint]
    if hint in _BYTES:
        return _BYTES[hint]
    if hint in _FOREIGN:
        return Opaque(hint.__name__)
    if issubclass(hint, enum.Enum) and hint.__members__:
        return type_of(next(iter(hint.__members__.values())))
    if hint is np.ndarray:
        return _assumed_array(None, uses)
    element = None if hint in _ABSTRACT_DTYPES else _element(hint)
    if element is None:
        return None
    return ScalarType(element) if element in ELEMENTS else opaque_type(hint)


def _assumed_array(element: object, uses: Uses) -> ArrayType:
    """The type of an array of unknown dtype, or of the abstract class `element` of dtypes."""
    dtype = _ABSTRACT_DTYPES.get(element)
    if dtype is None or (element in (Any, np.generic, np.number) and uses.has_integers):
        dtype = "i64" if uses.has_integers else "f64"
    return array_of(dtype, max(uses.rank, 1))


def _array_type(args: Sequence[Any], uses: Uses) -> ArgType | None:
    """The type of ``np.ndarray[shape, np.dtype[T]]``. `Uses.rank` is the rank if none is stated."""
    shape, dtype = (*args, None)[:2]
    axes = typing.get_args(shape)
    item = (*typing.get_args(dtype), None)[0]
    rank = max(uses.rank, 0 if ... in axes else len(axes), 1)
    uses = uses._replace(rank=rank)
    if item is None or item in _ABSTRACT_DTYPES or isinstance(item, typing.TypeVar):
        return _assumed_array(item, uses)
    element = _element(item)
    if element is None:
        return None
    if element in ELEMENTS:
        return array_of(element, rank)
    return Opaque(f"array of {element}", "GUARD_DTYPE")


def _first_known(found: Sequence[ArgType | None], uses: Uses) -> ArgType | None:
    """One of the types of a union: an array or list if the uses say so, else the first."""
    known = [t for t in found if t is not None]
    whole = [t for t in known if isinstance(t, (ArrayType, ListType))]
    compiled = [t for t in known if not isinstance(t, Opaque)]
    return next(iter([*(whole if uses.rank else ()), *compiled, *known]), None)


def _container(origin: Any, items: Sequence[Any], uses: Uses) -> ArgType:
    """The type of a list, tuple, dict or array.array with items of these types."""
    name = "list" if origin in _SEQUENCES else origin.__name__
    try:
        if origin is array:
            return type_of(array("q" if items[0] == SCALARS[int] else "d"))
        if origin is dict:
            return type_of({key: sample_of(items[1]) for key in uses.keys or [""]})
        if origin is tuple and ... not in items:
            return type_of(tuple(map(sample_of, items)))
    except (ValueError, IndexError):
        return Opaque(name)
    kind = tuple if origin is tuple else list
    match items[0]:
        case ScalarType(dtype) as item if dtype not in PARTS:
            return ListType(item, (kind,))
        case ListType(item, (inner,), memory=None) if inner in (list, tuple):
            return ListType(item, (kind, inner))
        case ObjectType(is_tuple=True, parts=[(_, ScalarType() as item), *others]) if all(
            t == item for _, t in others
        ):
            return ListType(item, (kind, tuple))
        case Opaque(item_name):
            return Opaque(name, items=item_name)
        case Constant(kind=item_kind):
            return Opaque(name, items=item_kind.__name__)
    return Opaque(name)


def sample_of(ty: ArgType | None) -> Any:
    """A value of this type. Raises ValueError for one that is no number, array or list of numbers.
    """
    match ty:
        case ScalarType(weak=True):
            return next(kind for kind, scalar in SCALARS.items() if scalar == ty)(1)
        case ScalarType(dtype=dtype):
            return ELEMENTS[dtype].numpy.type(1)
        case ArrayType(dtype=dtype, rank=rank):
            return np.zeros((2,) * rank, ELEMENTS[dtype].numpy)
        case ListType(item, kinds) if not is_packed(kinds):
            value = sample_of(item)
            for kind in reversed(kinds):
                value = kind([value] * 17)  # a tuple that is no aggregate
            return value
    raise ValueError


def _without_aliases(hint: Any) -> Any:
    """What a ``NewType``, a constrained type variable, or the alias of a ``type`` statement stands
    for; from NumPy 2.5 on ``NDArray`` and ``ArrayLike`` are such aliases.
    """
    alias_type = getattr(typing, "TypeAliasType", ())
    if isinstance(hint, alias_type):
        return _without_aliases(hint.__value__)
    origin = typing.get_origin(hint)
    if isinstance(origin, alias_type):
        return _without_aliases(origin.__value__[typing.get_args(hint)])
    if isinstance(hint, typing.NewType):
        return _without_aliases(hint.__supertype__)
    if isinstance(hint, typing.TypeVar):
        return _without_aliases(hint.__bound__ or (*hint.__constraints__, None)[0])
    return hint


def _element(hint: object) -> str | None:
    """The dtype name of ``np.float64`` etc.: ours, or NumPy's where we have none."""
    if not (isinstance(hint, type) and issubclass(hint, np.generic)):
        return None
    try:
        dtype = np.dtype(hint)
    except TypeError:  # an abstract class
        return None
    return next((name for name, d in ELEMENTS.items() if d.numpy == dtype), dtype.name)
