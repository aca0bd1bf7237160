"""What a call returns, as Python source over the arrays that the kernel has filled."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from loopir.exhaustive import unhandled
from loopir.types import DTYPES

from ..returned import (
    Chosen,
    Filled,
    Listed,
    Literal,
    Nothing,
    Paired,
    Returned,
    Same,
    Tupled,
    Value,
    Viewed,
    Zipped,
)
from ..types import ELEMENTS

__all__ = ["Names", "filled", "first", "head", "result_text", "tolist", "viewed", "whole_number"]

_COMPLEX: dict[type, type] = {np.float32: np.complex64, np.float64: np.complex128}
_PYTHON: dict[str, type] = {"f64": float, "i64": int, "bool": bool}


class Names(Protocol):
    """The names of a wrapper: `dtypes` of its slots, what it calls a binding, and new ones."""

    @property
    def dtypes(self) -> Mapping[str, str]: ...
    def name(self, name: str) -> str: ...
    def object(self, name: str) -> str: ...
    def helper(self, kind: str, value: Any) -> str: ...


def result_text(returned: Returned, names: Names) -> str:
    """The expression that gives `returned`."""
    match returned:
        case Nothing():
            return "None"
        case Literal(value):
            return names.helper("v", value)
        case Same(name):
            return names.object(name)
        case Viewed(name, (1,), (0,), (0, str(length))):
            return f"{names.helper('f', head)}({names.object(name)}, {_item(length, names)})"
        case Viewed(name, steps, axes, numbers):
            said = (_item(n, names) if isinstance(n, str) else str(n) for n in numbers)
            given = ", ".join([names.object(name), str(steps), str(axes), *said])
            return f"{names.helper('f', viewed)}({given})"
        case Value():
            return _value(returned, names)
        case Paired(re, im):
            parts = f"{result_text(re, names)}, {result_text(im, names)}"
            return f"{names.helper('f', whole_number)}({parts})"
        case Listed(name, count, weak, str(flags), str(dtype)):
            python = names.helper("p", _PYTHON[dtype])
            part = f"[:{_item(count, names)}]" if count else ""
            given = f"{name}{part}, {flags}{part}, {python}, {weak}"
            return f"{names.helper('f', _mixed)}({given})"
        case Zipped(items):
            lists = ", ".join(result_text(item, names) for item in items)
            return f"[*{names.helper('f', zip)}({lists})]"
        case Listed(name, count, python):
            if count:
                function = names.helper("f", tolist if python else first)
                return f"{function}({name}, {_item(count, names)})"
            return f"{name}.tolist()" if python else f"{names.helper('f', list)}({name})"
        case Filled(name, count, dtype):
            wanted = names.helper("d", ELEMENTS[dtype].numpy if dtype else None)
            length = _item(count, names) if count else "None"
            return f"{names.helper('f', filled)}({name}, {length}, {wanted})"
        case Tupled(items, display) if display is list:
            return f"[{', '.join(result_text(item, names) for item in items)}]"
        case Tupled(items, display) if display is not tuple:
            given = ", ".join(result_text(item, names) for item in items)
            return f"{names.helper('f', display)}({given})"
        case Tupled(items):
            return f"({''.join(f'{result_text(item, names)}, ' for item in items)})"
        case Chosen(flag, then, orelse):
            either = f"{result_text(then, names)} if {_item(flag, names)}"
            return f"({either} else {result_text(orelse, names)})"
        case _:
            return unhandled(returned)


def _item(slot: str, names: Names) -> str:
    return f"{names.name(slot)}.item()"


def _value(value: Value, names: Names) -> str:
    scalar = f"{names.name(value.slot)}[()]"
    if value.weak:
        return _item(value.slot, names)
    if value.flag is None:
        return scalar
    if value.dtype not in (None, names.dtypes[value.slot]):  # wide enough for Python's too
        scalar = f"{names.helper('d', DTYPES[value.dtype].numpy.type)}({scalar})"
    python = names.helper("p", _PYTHON[value.weak_dtype or "f64"])
    weak = f"{python}({_item(value.slot, names)})"
    return f"({weak} if {_item(value.flag, names)} else {scalar})"


def whole_number(re: Any, im: Any) -> Any:
    """The complex number of these parts; a real one has an int."""
    if type(im) is int:
        return re
    z = complex(re, im)
    return z if type(im) is float else _COMPLEX[type(im)](z)


def first(a: np.ndarray, count: int) -> list[Any]:
    """The first elements of `a`."""
    return list(a[:count])


def tolist(a: np.ndarray, count: int) -> list[Any]:
    """The first elements of `a`, as Python's."""
    return a[:count].tolist()  # type: ignore[no-any-return]


def _mixed(a: np.ndarray, flags: np.ndarray, python: type, weak: bool) -> list[Any]:
    """The elements of `a`, as `python`'s where `flags` says so; if `weak`, all as Python's."""
    if a.ndim > 1:
        return [_mixed(row, of, python, weak) for row, of in zip(a, flags, strict=True)]
    out: list[Any] = a.tolist() if weak else list(a)
    for k in np.flatnonzero(flags):
        out[k] = python(out[k])
    return out


def filled(a: np.ndarray, count: int | None, dtype: np.dtype | None) -> np.ndarray:
    """The first `count` elements as np.array makes them of a list.

    They have memory of their own; without any, and without a `dtype`, it is float64.
    """
    if count is not None:
        a.resize((count, *a.shape[1:]), refcheck=False)
    return a if a.size else np.empty(a.shape, dtype or np.float64)


def viewed(
    a: np.ndarray, steps: Sequence[int | None], axes: Sequence[int | None], *numbers: int
) -> np.ndarray:
    """A view of `a`, as `Viewed` says."""
    given = iter(numbers)
    out = a[tuple(next(given) if s is None else _span(next(given), next(given), s) for s in steps)]
    order = [k for k in axes if k is not None]
    out = out if order == sorted(order) else out.transpose(order)
    return out[tuple(None if k is None else slice(None) for k in axes)] if None in axes else out


def head(a: np.ndarray, length: int) -> np.ndarray:
    """A view of the first elements of `a`."""
    return a[:length]


def _span(start: int, length: int, step: int) -> slice:
    """As many subscripts."""
    stop = start + step * length
    return slice(start, stop if stop >= 0 else None, step) if length else slice(0, 0, step)
