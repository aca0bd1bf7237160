"""Result functions: what a call makes of the arrays that a kernel has filled, such as a view.

The source of a Python wrapper calls them (`result_source`); where C performs a call, rows of the
result do, for what C does not make itself (`native_result.ResultProgram._by_python_helper`).
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

__all__ = [
    "PYTHON_TYPES", "complex_of_parts", "first_as_python", "first_items", "head_view",
    "mixed_list", "shrunk_array", "strided_view",
]

_COMPLEX_TYPES: dict[type, type] = {np.float32: np.complex64, np.float64: np.complex128}
PYTHON_TYPES: dict[str, type] = {"f64": float, "i64": int, "bool": bool}
"""The class of Python's scalars of each dtype."""


def complex_of_parts(re: Any, im: Any) -> Any:
    """The complex number with these parts; an int as imaginary part means a real number."""
    if type(im) is int:
        return re
    z = complex(re, im)
    return z if type(im) is float else _COMPLEX_TYPES[type(im)](z)


def first_items(a: np.ndarray, count: int) -> list[Any]:
    """The first `count` elements of `a`, as a list."""
    return list(a[:count])


def first_as_python(a: np.ndarray, count: int) -> list[Any]:
    """The first `count` elements of `a`, as a list of Python scalars."""
    return a[:count].tolist()  # type: ignore[no-any-return]


def mixed_list(
    a: np.ndarray, flags: np.ndarray, python: type, weak: bool, count: int | None = None
) -> list[Any]:
    """The elements of `a` as a list, or as a list of lists: as `python` scalars where `flags` is
    true; with `weak`, all as Python's. The first `count` of them; None: all.
    """
    if count is not None:
        a, flags = a[:count], flags[:count]
    if weak:
        items = a.astype(object)
    else:
        items = np.empty(a.shape, object)
        others = list(a[~flags])
        of_numpy = np.empty(len(others), object)
        of_numpy[:] = others
        items[~flags] = of_numpy
    items[flags] = a[flags].astype(python)
    return items.tolist()  # type: ignore[no-any-return]


def shrunk_array(a: np.ndarray, count: int | None, dtype: np.dtype | None) -> np.ndarray:
    """The first `count` elements, as np.array makes an array of a list.

    The result owns its memory; an empty one without `dtype` is float64.
    """
    if count is not None:
        a.resize((count, *a.shape[1:]), refcheck=False)
    return a if a.size else np.empty(a.shape, dtype or np.float64)


def strided_view(
    a: np.ndarray, steps: Sequence[int | None], axes: Sequence[int | None], *numbers: int
) -> np.ndarray:
    """A view of `a`, as described by `ViewResult`."""
    remaining = iter(numbers)
    view = a[
        tuple(
            next(remaining) if s is None else _slice_of_length(next(remaining), next(remaining), s)
            for s in steps
        )
    ]
    order = [k for k in axes if k is not None]
    view = view if order == sorted(order) else view.transpose(order)
    return view[tuple(None if k is None else slice(None) for k in axes)] if None in axes else view


def head_view(a: np.ndarray, length: int) -> np.ndarray:
    """A view of the first `length` elements of `a`."""
    return a[:length]


def _slice_of_length(start: int, length: int, step: int) -> slice:
    """The slice with `length` elements."""
    stop = start + step * length
    return slice(start, stop if stop >= 0 else None, step) if length else slice(0, 0, step)
