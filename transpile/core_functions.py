"""Functions of core Python that have no name in the user's program: ``_core.dict_of(keys, …)``.

Macros replace a dict, a set or a list of lists by flat lists, which loops can work on. `key` makes
the int that these loops compare. Functions of `RESULT_FUNCTIONS` make Python's object again when it
is returned, once the kernel has filled the lists. `is_bool`, `is_float` and `is_int` test the type
of a number (`TYPE_TESTS`): macros put them where they do not know it, and lowering resolves them.
Public functions of the compiler's own are in `transpile.ops`.
"""
from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from itertools import pairwise
from operator import index
from typing import Any

import numpy as np

__all__ = [
    "RESULT_FUNCTIONS", "TYPE_TESTS", "counter_of", "defaultdict_of", "dict_of", "is_bool",
    "is_float", "is_int", "key", "lists_of", "multimap_of", "set_of",
]


def lists_of(items: list[Any], ends: Sequence[int]) -> list[list[Any]]:
    """The list of the lists ``items[ends[k]:ends[k + 1]]``."""
    return [items[a:b] for a, b in pairwise(ends)]


def key(e: Any) -> int:
    """The Python int that a hash table compares in place of the key `e`, an integer or bool of
    Python or NumPy. Raises TypeError for other values.
    """
    return index(bool(e) if isinstance(e, np.bool_) else e)


def is_bool(e: Any) -> bool:
    """Whether `e` is a Python bool."""
    return isinstance(e, bool)


def is_float(e: Any) -> bool:
    """Whether `e` is a Python float, and no NumPy scalar. For most values lowering knows the
    answer; of an ``if`` that asks it lowers only the branch that is taken.
    """
    return type(e) is float


def is_int(e: Any) -> bool:
    """Whether `e` is a Python int or bool."""
    return isinstance(e, int)


def dict_of(keys: Sequence[Any], values: Sequence[Any]) -> dict[Any, Any]:
    """The dict of `keys` and `values`, in that order."""
    return dict(zip(keys, values, strict=True))


def counter_of(keys: Sequence[Any], values: Sequence[Any]) -> Counter[Any]:
    """The Counter of `keys` and `values`, in that order."""
    return Counter(dict_of(keys, values))


def defaultdict_of(keys: Sequence[Any], values: Sequence[Any], start: Any) -> defaultdict[Any, Any]:
    """The defaultdict of `keys` and `values`, whose missing values are ``type(start)()``."""
    return defaultdict(type(start), dict_of(keys, values))


def multimap_of(keys: Sequence[Any], lists: Sequence[list[Any]]) -> defaultdict[Any, list[Any]]:
    """The ``defaultdict(list)`` of `keys` and `lists`, in that order."""
    return defaultdict(list, dict_of(keys, lists))


def set_of(keys: Sequence[Any]) -> set[Any]:
    """The set to which `keys` were added in this order."""
    return set(keys)


TYPE_TESTS: Collection[Any] = (is_bool, is_float, is_int)
"""The functions that test the type of a number; they raise nothing and change nothing."""

RESULT_FUNCTIONS: Collection[Any] = (
    counter_of, defaultdict_of, dict_of, lists_of, multimap_of, set_of,
)
"""The functions that make a result of the flat lists that a container was compiled to."""
