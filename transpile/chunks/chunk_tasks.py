"""Chunk tasks: what runs on one chunk, and what combines the results of chunks.

All of them are small records that can be pickled, with a fused function in them. A part of a fold
of floats is not one number: it is the results of blocks of 4096 items, or of each item where an
item is the result of a loop inside (`block_functions`). These are combined in the order in which
compiled code combines them (`passes.reduce.blocked_summation`), so that the bits do not depend on
the chunks, if these end where blocks end.
"""
from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from loopir.analysis.decomposition.chunk_axes import FoldOrder
from loopir.lazy_dataclass import record

__all__ = [
    "FIRST", "Call", "CandidateTask", "CombineTask", "CombineTuples", "EmptyCall", "InObject",
    "ItemOf", "JoinTuples", "Number", "PickTask", "SkipTask", "TrimTask",
    "joined_candidates", "ordered_fold", "passed_on",
]

FIRST = "first"
"""The operation of a fold all of whose parts are the same."""

_BLOCKS_PER_GROUP = 64  # as BLOCKS_PER_GROUP of `passes.reduce.blocked_summation`


@record(frozen=True, slots=True)
class Call:
    """A call of `function` with chunks in place of some of its arguments."""

    function: Any
    """A fused function."""
    arguments: tuple[Any, ...]
    """All arguments in the order of the parameters; None for those in `places`."""
    places: tuple[int, ...]
    """Where the chunks go, in their order."""
    keywords: tuple[str, ...] = ()
    """The names of the last arguments, which are passed by name."""
    numbers: tuple[tuple[int, bool], ...] = ()
    """The places whose chunks are numbers, and whether these are Python's."""

    def __call__(self, *chunks: Any) -> Any:
        values = self.with_chunks(chunks)
        first = len(values) - len(self.keywords)
        named = dict(zip(self.keywords, values[first:], strict=True))
        return self.function(*values[:first], **named)

    def with_chunks(self, chunks: Iterable[Any]) -> list[Any]:
        """All arguments, with these chunks in their places."""
        values = [*self.arguments]
        for place, chunk in zip(self.places, chunks, strict=True):
            values[place] = chunk
        for place, is_weak in self.numbers:
            number = np.asarray(values[place])
            values[place] = number.item() if is_weak else number[()]
        return values


@record(frozen=True, slots=True)
class EmptyCall:
    """A call on arrays of these shapes and dtypes, which have no elements."""

    call: Call
    arrays: tuple[tuple[tuple[int, ...], Any], ...]

    def result(self, k: int | None) -> np.ndarray:
        """Its result `k`; None: it has one."""
        found = self.call(*(np.zeros(shape, dtype) for shape, dtype in self.arrays))
        return np.asarray(found if k is None else found[k])


@record(frozen=True, slots=True)
class TrimTask:
    """`call` on chunks with a halo: elements of the results that belong to it are dropped. The last
    arguments are the number of the chunk along each of `axes`.
    """

    call: Call
    axes: tuple[tuple[int, int, int, int, int], ...]
    """For each axis with a halo: how many chunks there are, how many elements the halo has before
    and after one, and which argument, and which of its axes, tells the length."""
    results: tuple[tuple[int | None, ...], ...]
    """For each result and each of `axes`, the axis of the result; None: it has no such axis."""
    is_tuple: bool

    def __call__(self, *given: Any) -> Any:
        chunks, numbers = given[: -len(self.axes)], given[-len(self.axes) :]
        found = self.call(*chunks)
        results = [*found] if self.is_tuple else [found]
        for k, (count, before, after, array, axis) in enumerate(self.axes):
            at = int(numbers[k][0])
            start = before if at else 0
            stop = None if at == count - 1 else chunks[array].shape[axis] - after
            for r, axes in enumerate(self.results):
                if (of := axes[k]) is not None:
                    results[r] = results[r][(slice(None),) * of + (slice(start, stop),)]
        return tuple(results) if self.is_tuple else results[0]


@record(frozen=True, slots=True)
class SkipTask:
    """`task` on chunks without the NaNs with which they start, along an axis, but for the first:
    a fold that starts at its first item keeps a NaN there, and would not replace that of a chunk.
    The last argument is the number of the chunk.
    """

    task: Any
    array: int
    """The chunk that the fold is about."""
    axes: tuple[int | None, ...]
    """For each chunk the axis that is cut."""

    def __call__(self, *given: Any) -> Any:
        *chunks, number = given
        if number[0]:
            skipped = _leading_nans(chunks[self.array])
            chunks = [*_sliced(chunks, self.axes, slice(skipped, None))]
        return self.task(*chunks)


@record(frozen=True, slots=True)
class InObject:
    """`task`, whose result becomes the only element of an array of objects with `rank` axes."""

    task: Any
    rank: int

    def __call__(self, *chunks: Any) -> np.ndarray:
        return _in_object(self.task(*chunks), self.rank)


def _in_object(value: object, rank: int) -> np.ndarray:
    found = np.empty(1, object)
    found[0] = value
    return found.reshape((1,) * rank)


@record(frozen=True, slots=True)
class ItemOf:
    """Item `k` of the tuple that `InObject` has stored."""

    k: int
    dtype: np.dtype[Any]

    def __call__(self, chunk: np.ndarray) -> np.ndarray:
        return np.asarray(chunk.item()[self.k], self.dtype)


@record(frozen=True, slots=True)
class Number:
    """The number that `task` returns, which may be of another type for other values, as an array.
    """

    task: Any
    dtype: np.dtype[Any]

    def __call__(self, *chunks: Any) -> np.ndarray:
        return np.asarray(self.task(*chunks), self.dtype)


# -- folds


_UFUNCS: Mapping[str, np.ufunc] = {
    "add": np.add, "mul": np.multiply, "minimum": np.minimum, "maximum": np.maximum,
    "ieee_minimum": np.minimum, "ieee_maximum": np.maximum,  # of NumPy where lowering makes them
    "and": np.logical_and, "or": np.logical_or,
}


def ordered_fold(op: str, parts: np.ndarray, axis: int, order: FoldOrder) -> np.ndarray:
    """`parts` combined by `op` along an axis, one after the other; with ``blocks`` first 64 of them
    each. There is at least one part.
    """
    parts = np.moveaxis(parts, axis, 0)
    if order == "blocks" and len(parts) > _BLOCKS_PER_GROUP:
        starts = range(0, len(parts), _BLOCKS_PER_GROUP)
        parts = np.stack([_in_order(op, parts[k : k + _BLOCKS_PER_GROUP]) for k in starts])
    return _in_order(op, parts)


def _in_order(op: str, parts: np.ndarray) -> np.ndarray:
    """The parts along the first axis combined one after the other."""
    if op in _UFUNCS:  # `reduce` would add floats in pairs
        found: np.ndarray = _UFUNCS[op].accumulate(parts, axis=0, dtype=parts.dtype)[-1]
        return found
    best = parts[0]
    if op == FIRST:
        return np.asarray(best)
    for part in parts[1:]:  # as Python's `max`: a NaN never replaces anything
        best = np.where(part > best if op == "max" else part < best, part, best)
    return np.asarray(best)


def passed_on(
    parts: Any, axis: Any = None, keepdims: Any = None, computing_meta: bool = False
) -> Any:
    """The parts as they are: they are side by side, and are combined at the end."""
    return parts


@record(frozen=True, slots=True)
class CombineTask:
    """Combines the parts of one result, from all chunks side by side."""

    op: str
    orders: tuple[FoldOrder, ...]
    """For each axis in front."""
    chosen: tuple[bool, bool] | None
    """As `Output.chosen`."""
    empty: EmptyCall
    """What the function is called with if there are no parts."""
    k: int | None
    """Which of the results of the function it is; None: it has one."""

    def __call__(
        self, parts: Any, axis: Any = None, keepdims: Any = None, computing_meta: bool = False
    ) -> Any:
        if computing_meta:  # Dask only asks for the type
            return np.empty((0,) * (parts.ndim - len(self.orders)), parts.dtype)
        if 0 in parts.shape[: len(self.orders)]:
            return self.empty.result(self.k).astype(parts.dtype, copy=False)
        if self.chosen is not None:
            parts = parts == self.chosen[0]  # whether each chunk has found something
        items = self.orders.count("items")  # the first ones, whose order is that of a nest
        for k in reversed(range(items, len(self.orders))):
            parts = ordered_fold(self.op, parts, k, self.orders[k])
        if items:
            parts = parts.reshape(-1, *parts.shape[items:])
            parts = ordered_fold(self.op, parts, 0, "items")
        return parts if self.chosen is None else np.where(parts, *self.chosen)


@record(frozen=True, slots=True)
class JoinTuples:
    """Puts tuples of parts that chunks give (`InObject`), in nested lists along the axes in front,
    side by side: one tuple, in an array of objects with `rank` axes.
    """

    rank: int

    def __call__(
        self, parts: Any, axis: Any = None, keepdims: Any = None, computing_meta: bool = False
    ) -> np.ndarray:
        if computing_meta:  # Dask only asks for the type
            return np.empty((0,) * self.rank, object)
        return _in_object(_side_by_side(parts, 0), self.rank)


def _side_by_side(parts: Any, axis: int) -> Any:
    """The tuples in nested lists as one, whose items are concatenated along their first axes."""
    if isinstance(parts, np.ndarray):
        return parts.item()
    tuples = [_side_by_side(part, axis + 1) for part in parts]
    return tuple(np.concatenate(of, axis) for of in zip(*tuples, strict=True))


@record(frozen=True, slots=True)
class CombineTuples:
    """Combines the parts of several results, in tuples as for `JoinTuples`: the tuple of what the
    tasks give, in an array of objects with `rank` axes.
    """

    tasks: tuple[tuple[int, CombineTask], ...]
    """For each result its place in the tuples, and what combines its parts."""
    rank: int

    def __call__(
        self, parts: Any, axis: Any = None, keepdims: Any = None, computing_meta: bool = False
    ) -> np.ndarray:
        if computing_meta:
            return np.empty((0,) * self.rank, object)
        joined = _side_by_side(parts, 0)
        return _in_object(tuple(task(joined[k]) for k, task in self.tasks), self.rank)


# -- extrema with their places


@record(frozen=True, slots=True)
class CandidateTask:
    """The place of the extremum of a chunk, and the elements there: the only element of an array of
    objects is a list of at most one such pair. The last argument is the first place of the chunk.
    """

    call: Call
    k: int | None
    """The result that is the place; None: the function has one."""
    axes: tuple[int | None, ...]
    """For each array the axis along which it is cut."""
    starts_at: int | None
    """The array at whose first element the search starts, which a NaN there would end."""

    def __call__(self, *given: Any) -> np.ndarray:
        *chunks, start = given
        offset, candidates = int(start[0]), list[object]()
        if self.starts_at is not None and offset:
            skipped = _leading_nans(chunks[self.starts_at])
            chunks = [*_sliced(chunks, self.axes, slice(skipped, None))]
            offset += skipped
        lengths = (c.shape[a] for c, a in zip(chunks, self.axes, strict=True) if a is not None)
        if next(lengths):
            result = self.call(*chunks)
            place = int(result if self.k is None else result[self.k])
            if place >= 0:
                elements = tuple(_sliced(chunks, self.axes, slice(place, place + 1)))
                candidates.append((offset + place, elements))
        return _in_object(candidates, 1)


def _leading_nans(values: np.ndarray) -> int:
    """How many NaNs are in front."""
    is_number = values == values
    return int(is_number.argmax()) if is_number.any() else len(values)


def _sliced(chunks: Iterable[Any], axes: Sequence[int | None], part: slice) -> Iterator[Any]:
    """The chunks cut along the axes."""
    for chunk, axis in zip(chunks, axes, strict=True):
        yield chunk if axis is None else chunk[(slice(None),) * axis + (part,)]


def joined_candidates(
    parts: Any, axis: Any = None, keepdims: Any = None, computing_meta: bool = False
) -> np.ndarray:
    """The candidates of several chunks in one list."""
    if computing_meta:
        return np.empty(0, object)
    return _in_object(_candidates(parts), 1)


def _candidates(parts: Any) -> list[Any]:
    """The candidates in an array of lists, or in nested lists of such arrays."""
    if isinstance(parts, np.ndarray) and parts.dtype == object:
        return [c for part in parts.reshape(-1) for c in part]
    return [c for part in parts for c in _candidates(part)]


@record(frozen=True, slots=True)
class PickTask:
    """Selects among the candidates of all chunks, by a call of the function on their elements."""

    call: Call
    k: int | None
    """The result that is the place; None: the function has one."""
    wanted: int | None
    """The result that is wanted, the place or the extremum itself."""
    axes: tuple[int | None, ...]
    """For each array the axis along which it is cut."""
    empty: EmptyCall
    """What the function is called with if there are no candidates."""

    def __call__(
        self, parts: Any, axis: Any = None, keepdims: Any = None, computing_meta: bool = False
    ) -> Any:
        if computing_meta:  # Dask only asks for the type
            return np.empty(())
        candidates = _candidates(parts)
        if not candidates:
            return self.empty.result(self.wanted)
        columns = [*zip(*(elements for _, elements in candidates), strict=True)]
        found = self.call(*(
            column[0] if axis is None else np.concatenate(column, axis)
            for column, axis in zip(columns, self.axes, strict=True)
        ))
        if self.wanted != self.k:
            return np.asarray(found[self.wanted])
        place = found if self.k is None else found[self.k]
        return np.asarray(candidates[int(place)][0])
