"""Converts lists and bytes to arrays at each call, and back: by `items.c` in C, else by NumPy.

The array of a memoryview, or of an array.array, shares its memory, so nothing is copied.

Which lists are converted is decided by `transpile.lower.lists.list_arguments`.
"""
from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from loopir.dtypes import DTYPES
from loopir.lazy_dataclass import record
from loopir.process.signal_exceptions import failures

from .c_api import opened_trampoline
from .parameter_specs import scalar_spec

__all__ = [
    "SHARING", "ItemsWords", "SequenceSpec", "converter_words", "packed_dtype",
    "sequence_converter", "shared_array",
]

SHARING = memoryview, array
"""The classes whose memory the arrays of their items share."""

_BY_PYTHON = *SHARING, str
"""The classes of which `SequenceSpec.take` makes the array, also where C converts the others."""

_PYTHON: dict[str, type] = {"f64": float, "i64": int, "bool": bool}

_DTYPE_OF_FORMAT = {
    code: next(
        name for name, d in DTYPES.items()
        if (d.numpy.kind, d.numpy.itemsize) == (np.dtype(code).kind, np.dtype(code).itemsize)
    )
    for code in "?bBhHiIlqfd"
}
"""The dtype of the items of each format of the `struct` module that is supported. An unsigned int
of 64 bits may be larger than what compiled ints hold.
"""


def packed_dtype(value: Any) -> str | None:
    """The name of the dtype of the items of a memoryview or an array.array; None where these have
    another format, or the memoryview has several axes, or was released.
    """
    if type(value) is str:
        return "u32"
    if isinstance(value, array):
        return _DTYPE_OF_FORMAT.get(value.typecode)
    try:
        return _DTYPE_OF_FORMAT.get(value.format) if value.ndim == 1 else None
    except failures(ValueError):
        return None


def shared_array(value: Any, dtype: str) -> np.ndarray:
    """An array that shares the memory of `value`, a memoryview or an array.array, instead of a
    copy: what the kernel stores is stored in `value`. ``dtype``: its `packed_dtype`.

    As long as the array lives, an array.array cannot change its length (BufferError), so wrappers
    drop it before they call the original (`python_wrapper._WrapperSource.release_memory`). Of a
    str, which no code can change, an array of the code points of its characters.
    """
    if type(value) is str:
        return np.frombuffer(value.encode("utf-32-le", "surrogatepass"), np.uint32)
    return np.asarray(value).view(DTYPES[dtype].numpy)


@record(frozen=True, slots=True)
class SequenceSpec:
    """The type of a list or tuple of scalars, or of rows of scalars; of a bytes object or a
    bytearray, whose items are uint8; or of a memoryview or an array.array.
    """

    dtype: str
    weak: bool  # the items are Python scalars
    kinds: tuple[type[Any], ...]
    """The class of the value; of a list or tuple that has rows, also the class of each row."""

    @property
    def is_bytes(self) -> bool:
        """Whether it is a bytes object or a bytearray."""
        return self.kinds[0] in (bytes, bytearray)

    @property
    def shares_memory(self) -> bool:
        """Whether Python makes the array: of the items themselves, or of the code points of a str.
        """
        return self.kinds[0] in _BY_PYTHON

    @property
    def scalar(self) -> type:
        """The class of each item."""
        return _PYTHON[self.dtype] if self.weak else DTYPES[self.dtype].numpy.type

    def take(self, value: Any) -> np.ndarray | None:
        """The items of the list `value` as a new array, or the array that shares the memory of a
        memoryview or an array.array. None if `value` does not fit the specification, so that Python
        serves the call: it or a row is of another class, an item is of another type (an int in a
        list of floats), an int does not fit in 64 bits, or rows differ in length::

            [[1.0, 2.0], [3.0, 4.0]]    →   np.array([[1.0, 2.0], [3.0, 4.0]])
            [[1.0, 2.0], [3.0]]         →   None

        In C, `take` of `items.c` does the same; `sequence_converter` selects one of the two.
        """
        dtype = DTYPES[self.dtype].numpy
        if self.kinds[0] is not type(value):
            return None
        if self.shares_memory:
            return shared_array(value, self.dtype) if packed_dtype(value) == self.dtype else None
        if self.is_bytes:
            return np.frombuffer(value, dtype).copy() if value else np.empty(0, dtype)
        rows = [value] if len(self.kinds) == 1 else [*value]
        first: Any = rows[0] if rows else None
        count = len(first) if type(first) is self.kinds[-1] else 0
        is_regular = all(type(r) is self.kinds[-1] and len(r) == count for r in rows)
        if not is_regular or any(type(item) is not self.scalar for r in rows for item in r):
            return None
        try:
            array = np.array(rows, dtype).reshape(len(rows), count)
        except failures(OverflowError):
            return None
        return array[0] if len(self.kinds) == 1 else array

    def put(self, value: Any, array: np.ndarray) -> None:
        """Store the elements of `array`, which the kernel has changed, back into the list `value`,
        or the lists in it, from which `take` has made it::

            value: [a, b]; array: [1.0, 9.0]; a is 1.0, b is 2.0    →    value: [a, 9.0]

        Items that have not changed stay the same objects, as they would in Python. Bits are
        compared, since ``-0.0 == 0.0`` and ``nan != nan``. A bytearray, which has no objects, is
        overwritten as a whole. Called after a kernel whose result is valid.
        """
        if self.is_bytes:
            value[:] = array.tobytes()
            return
        rows = [value] if len(self.kinds) == 1 else value
        as_bytes = f"V{array.itemsize}"
        for old, new in zip(rows, array.reshape(len(rows), -1), strict=True):
            old_items = np.array(old, new.dtype)
            for k in np.flatnonzero(old_items.view(as_bytes) != new.view(as_bytes)):
                old[k] = new[k].item() if self.weak else new[k]

    def take_mixed(self, value: Any) -> tuple[np.ndarray | None, np.ndarray | None]:
        """The items of a list of ints and floats as floats, and which of them are ints; (None,
        None) if one is anything else, or an int beyond 2**53, since not every such int is a float.
        """
        if type(value) is not list:
            return None, None
        is_int = [type(item) is int for item in value]
        fits = (
            -_EXACT <= item <= _EXACT if int_ else type(item) is float
            for item, int_ in zip(value, is_int, strict=True)
        )
        if not all(fits):
            return None, None
        return np.array(value, np.float64), np.array(is_int, bool)

    def put_mixed(self, value: Any, array: np.ndarray, is_int: np.ndarray) -> None:
        """Store the elements of `array` back into `value`, the list of ints and floats from which
        `take_mixed` has made it: those that now have another value or type (``is_int``).
        """
        old, was_int = self.take_mixed(value)
        if old is None or was_int is None:
            changed = np.ones(len(array), bool)
        else:
            changed = (old.view(np.int64) != array.view(np.int64)) | (is_int != was_int)
        for k in np.flatnonzero(changed).tolist():
            value[k] = int(array[k]) if is_int[k] else float(array[k])


_EXACT = 1 << 53
"""The ints up to this one are exactly floats."""


class ItemsWords(np.ndarray):
    """The words of an ``items`` struct for sequences of the type ``items``; ``kept`` keeps the
    objects alive that they point to.
    """

    items: SequenceSpec
    kept: tuple[object, ...]


def sequence_converter(items: SequenceSpec, stores: bool) -> Callable[..., Any]:
    """The function that converts a sequence of the type `items` to an array; with `stores`, the one
    that stores the array back. That is a C builtin (`items.c`) if the trampoline is open and the
    array does not share the sequence's memory; else `SequenceSpec.take`, or `SequenceSpec.put`.
    """
    native = opened_trampoline()
    if native is None or items.shares_memory:
        return items.put if stores else items.take
    definition = native.put if stores else native.take
    converter: Callable[..., Any] = native.builtin(definition, converter_words(items))
    return converter


def converter_words(items: SequenceSpec) -> ItemsWords:
    """The fields of the C struct ``items`` (`items.c`), each a word of 64 bits."""
    descr, kinds = DTYPES[items.dtype].numpy, [*map(id, items.kinds), 0][:2]
    item_spec = scalar_spec(items.dtype, items.weak)
    share = items.take if items.shares_memory else None
    words: Sequence[int] = [
        *item_spec.fields(), len(items.kinds), *kinds, id(descr), id(share) if share else 0
    ]
    words_ = np.array(words, np.int64).view(ItemsWords)
    words_.items = items
    words_.kept = items.kinds, descr, item_spec, share
    return words_
