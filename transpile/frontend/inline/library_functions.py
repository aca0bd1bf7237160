"""Library functions: functions of C modules of the standard library, written in Python.

A call of one is inlined like a call of the user's own function (`inliner._find_callee`)::

    bisect.bisect_left(ends, v)    →    bisect_left(ends, v), inlined: a loop over `ends`

Each gives the results of the C function for every list or array that it compiles for, also where
the items are in no order. Where the C function raises, so does a check of the compiled loop, and
Python's own function runs. The heaps have the algorithms of CPython's ``Modules/_heapqmodule.c``,
since the order of the items of a heap is a result: an item that is taken out is replaced from the
bottom, by the smaller child at each level.
"""
from __future__ import annotations

from collections.abc import Callable
from types import BuiltinFunctionType, FunctionType
from typing import Any, TypeAlias

__all__ = [
    "LIBRARY_MODULES", "Heap", "Key", "bisect_left", "bisect_right", "heapify", "heappop",
    "heappush", "heappushpop", "heapreplace", "insort_left", "insort_right", "library_function_of",
]

Heap: TypeAlias = "list[Any]"
Key: TypeAlias = "Callable[[Any], Any] | None"


def bisect_left(
    a: Any, x: Any, lo: int = 0, hi: int | None = None, *, key: Key = None
) -> int:
    """The place in the sorted `a` before all items that are not less than `x`."""
    if lo < 0:
        raise ValueError("lo must be non-negative")
    lo = int(lo | 0)  # an int, also of a bool; a float has no ``|``
    hi = len(a) if hi is None or hi == -1 else int(hi | 0)
    while lo < hi:
        middle = (lo + hi) >> 1
        if (a[middle] if key is None else key(a[middle])) < x:
            lo = middle + 1
        else:
            hi = middle
    return lo


def bisect_right(
    a: Any, x: Any, lo: int = 0, hi: int | None = None, *, key: Key = None
) -> int:
    """The place in the sorted `a` behind all items that `x` is not less than."""
    if lo < 0:
        raise ValueError("lo must be non-negative")
    lo = int(lo | 0)
    hi = len(a) if hi is None or hi == -1 else int(hi | 0)
    while lo < hi:
        middle = (lo + hi) >> 1
        if x < (a[middle] if key is None else key(a[middle])):
            hi = middle
        else:
            lo = middle + 1
    return lo


def insort_left(
    a: list[Any], x: Any, lo: int = 0, hi: int | None = None, *, key: Key = None
) -> None:
    """Inserts `x` at `bisect_left`."""
    a.insert(bisect_left(a, x if key is None else key(x), lo, hi, key=key), x)


def insort_right(
    a: list[Any], x: Any, lo: int = 0, hi: int | None = None, *, key: Key = None
) -> None:
    """Inserts `x` at `bisect_right`."""
    a.insert(bisect_right(a, x if key is None else key(x), lo, hi, key=key), x)


def heappush(heap: Heap, item: Any, /) -> None:
    """Adds `item`."""
    heap.append(item)
    _move_up(heap, 0, len(heap) - 1)


def heappop(heap: Heap, /) -> Any:
    """Takes the smallest item out."""
    last = heap.pop()
    if len(heap) == 0:
        return last
    smallest = heap[0]
    heap[0] = last
    _move_to_leaf(heap, 0)
    return smallest


def heapreplace(heap: Heap, item: Any, /) -> Any:
    """Takes the smallest item out, then adds `item`."""
    if not isinstance(heap, list):
        raise TypeError("argument 1 must be list")
    smallest = heap[0]
    heap[0] = item
    _move_to_leaf(heap, 0)
    return smallest


def heappushpop(heap: Heap, item: Any, /) -> Any:
    """Adds `item`, then takes the smallest one out."""
    if not isinstance(heap, list):
        raise TypeError("argument 1 must be list")
    if len(heap) == 0 or not heap[0] < item:
        return item
    smallest = heap[0]
    heap[0] = item
    _move_to_leaf(heap, 0)
    return smallest


def heapify(heap: Heap, /) -> None:
    """Makes a list a heap."""
    if not isinstance(heap, list):
        raise TypeError("argument must be list")
    for place in range(len(heap) // 2 - 1, -1, -1):
        _move_to_leaf(heap, place)


def _move_up(heap: Heap, top: int, place: int) -> None:
    """Moves the item at `place` up, at most to `top`, past all that it is less than."""
    item = heap[place]
    while place > top:
        parent = (place - 1) >> 1
        if not item < heap[parent]:
            break
        heap[place] = heap[parent]
        place = parent
    heap[place] = item


def _move_to_leaf(heap: Heap, place: int) -> None:
    """Moves the item at `place` down to a leaf, along the smaller children, then up again."""
    top, item = place, heap[place]
    while place < len(heap) >> 1:
        child = 2 * place + 1
        if child + 1 < len(heap) and not heap[child] < heap[child + 1]:
            child += 1
        heap[place] = heap[child]
        place = child
    heap[place] = item
    _move_up(heap, top, place)


LIBRARY_MODULES = {
    "_bisect": ("bisect_left", "bisect_right", "insort_left", "insort_right"),
    "_heapq": ("heapify", "heappop", "heappush", "heappushpop", "heapreplace"),
}
"""The names of the C functions of each module, which are those of the functions here."""


def library_function_of(value: object) -> FunctionType | None:
    """The Python function that does what the builtin function `value` does; None if none is here.
    """
    if type(value) is not BuiltinFunctionType:
        return None
    names = LIBRARY_MODULES.get(value.__module__, ())
    return globals()[value.__name__] if value.__name__ in names else None
