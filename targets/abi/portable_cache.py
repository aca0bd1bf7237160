"""Portable inline cache: what `inline_cache.c` does, in Python, where C may not read objects.

So it is on a Python without a global interpreter lock (`layout_matches`). A call takes some
microseconds, a hundredth of what the dispatcher takes to decide it anew.
"""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from typing import Any

from .inline_cache import LAYOUT, SIZE_LIMIT, ArgumentKey, CacheRow, argument_key, size_of_call
from .native_entry import ParameterList

__all__ = ["portable_cache"]


def portable_cache(
    parameters: ParameterList, rows: Sequence[CacheRow], miss: Callable[..., Any]
) -> Callable[..., Any]:
    """A function that forwards a call as the builtin of `inline_cache` does: to the target of the
    first of `rows` that fits the arguments and has calls left, else to `miss`.

    Rows that ask for plain arguments are left out: only C can tell fast that they are. Two threads
    that use up a row at once may forward one call more than it allows.
    """
    is_simple = parameters.positional == len(parameters.names) and not parameters.takes_rest
    count = parameters.positional if is_simple else -1
    groups = [
        _Group(keys, [*of])
        for keys, of in groupby((r for r in rows if not r.asks_plain), lambda row: row.keys)
    ]

    def forward(*args: Any, **kwargs: Any) -> Any:
        values = args if len(args) == count and not kwargs else _bound(parameters, args, kwargs)
        if values is not None:
            for group in groups:
                found = group.row_for(values)
                if found is not None:
                    row, counters = found
                    if not counters[1]:
                        break
                    counters[0] += 1
                    if counters[1] > 0:
                        counters[1] -= 1
                    return row.target(*args, **kwargs)
        return miss(*args, **kwargs)

    return forward


class _Group:
    """Rows that follow one another and have the same keys, with tests of the arguments."""

    def __init__(self, keys: Sequence[ArgumentKey] | None, rows: Sequence[CacheRow]) -> None:
        self._keys, self._tests = keys or (), [*map(_test_of, keys or ())]
        self._rows = [(row, row.counters.data) for row in rows]
        self._asks_size = any(row.low > 0 or row.high < SIZE_LIMIT for row in rows)

    def row_for(self, values: Sequence[Any]) -> tuple[CacheRow, memoryview] | None:
        """The first row whose keys and sizes the arguments have, with its counters."""
        for has_key, value in zip(self._tests, values, strict=False):
            if not has_key(value):
                return None
        size = size_of_call(values, self._keys) if self._asks_size else 0
        for found in self._rows:
            row = found[0]
            if row.low <= size <= row.high:
                part = [values[k] for k in row.part]
                if not part or row.part_low <= size_of_call(part) <= row.part_high:
                    return found
        return None


def _test_of(key: ArgumentKey) -> Callable[[Any], bool]:
    """The test of whether an argument has this key."""
    kind: Any = key.kind
    if key.value is not None:
        only = key.value.value
        return lambda value: value is only
    if key.array is not None and key.item is None:
        number, rank, layout, order = *key.array[:3], chr(key.array[3])
        return lambda value: (
            type(value) is kind and value.ndim == rank and value.flags.num & LAYOUT == layout
            and value.dtype.num == number and value.dtype.byteorder == order
        )
    if key.array is None and key.item is None and key.code is None and key.items is None:
        return lambda value: type(value) is kind
    all_items, sized = key.items is not None, key.sized
    return lambda value: (
        type(value) is kind and key == argument_key(value, all_items=all_items, sized=sized)
    )


def _bound(
    parameters: ParameterList, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> Sequence[Any] | None:
    """The values of all parameters; None where the call has others, or lacks some, and where the
    function has ``*args``.
    """
    names, function = parameters.names, parameters.function
    is_extra = len(args) > parameters.positional or not kwargs.keys() <= {*names[len(args) :]}
    if is_extra or parameters.takes_rest or function.__defaults__ is not parameters.last:
        return None
    values = [*args]
    for k in range(len(args), len(names)):
        name = names[k]
        if name is not None and name in kwargs:
            values.append(kwargs[name])
        elif k in parameters.defaults:
            values.append(parameters.defaults[k])
        else:
            return None
    return values
