"""What an idiom of the bench of spellings is: a row with several functions that mean the same."""
from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import FunctionType
from typing import Any

import numpy as np

__all__ = ["Idiom", "Row", "idioms_of"]


@dataclass(frozen=True, slots=True)
class Row:
    """One idiom: its name in the names of its functions, a size, and arguments of a size."""

    prefix: str
    size: int
    make: Callable[[int, np.random.Generator], tuple[Any, ...]]
    small: int = 40
    """The size at which every spelling is compared with Python."""


@dataclass(frozen=True, slots=True)
class Idiom:
    """A row with its spellings, by the part of their names that follows the row's prefix."""

    row: Row
    spellings: Mapping[str, Callable[..., Any]]

    @property
    def name(self) -> str:
        return self.row.prefix.replace("_", " ")


def idioms_of(names: Mapping[str, Any], rows: Iterable[Row]) -> list[Idiom]:
    """The idioms of a module whose names these are: ``dot_by_index`` and ``dot_by_zip`` are two
    spellings of ``Row("dot", …)``, as no row has a longer prefix of these names. Functions whose
    names start with an underscore are helpers of spellings.

    Raises ValueError for a row with fewer than four spellings, and for a function without a row.
    """
    rows = list(rows)
    found: dict[str, dict[str, Callable[..., Any]]] = {row.prefix: {} for row in rows}
    for name, value in names.items():
        if not isinstance(value, FunctionType) or value.__module__ != names["__name__"]:
            continue
        if name.startswith("_"):
            continue
        prefixes = [prefix for prefix in found if name.startswith(f"{prefix}_")]
        if not prefixes:
            raise ValueError(f"{name} is a spelling of no idiom")
        prefix = max(prefixes, key=len)
        found[prefix][name[len(prefix) + 1 :]] = value
    for prefix, spellings in found.items():
        if len(spellings) < 4:
            raise ValueError(f"{prefix} has only {len(spellings)} spellings")
    return [Idiom(row, found[row.prefix]) for row in rows]
