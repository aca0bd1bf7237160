"""Names read: what a function reads from outside, its globals and closure cells."""
from __future__ import annotations

from collections.abc import Collection, Iterator
from types import CodeType, FunctionType, ModuleType
from typing import Any

from loopir.process.signal_exceptions import suppress_failures

from .bytecode_check import nested_codes

__all__ = [
    "captured_values", "global_names", "identities_read", "types_read", "values_read",
]


def global_names(code: CodeType) -> Iterator[str]:
    """The global names that a function and its inner functions may look up."""
    for part in (code, *nested_codes(code)):
        yield from part.co_names


def values_read(function: FunctionType) -> dict[str, Any]:
    """The values of the global names and the closure cells that `function` reads; without empty
    cells.
    """
    namespace = function.__globals__
    values = {n: namespace[n] for n in global_names(function.__code__) if n in namespace}
    return values | captured_values(function)


def captured_values(function: FunctionType) -> dict[str, Any]:
    """What the closure cells of `function` contain, by name; without the empty ones."""
    values = dict[str, Any]()
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        with suppress_failures(ValueError):  # not bound yet
            values[name] = cell.cell_contents
    return values


class _Identity:
    """An object, which is kept, so that no other one gets its id. Equal to that of the same one."""

    __slots__ = ("value",)

    def __init__(self, value: object) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Identity) and self.value is other.value

    def __hash__(self) -> int:
        return id(self.value)


def identities_read(
    function: FunctionType, seen: Collection[object] = ()
) -> tuple[tuple[str, object], ...]:
    """The objects that `function`, or one that it reads, reads from outside, by name. Equal as long
    as nothing was rebound.
    """
    found: list[tuple[str, object]] = []
    for name, value in values_read(function).items():
        found.append((name, _Identity(value)))
        inner = getattr(value, "__wrapped__", value)
        if isinstance(inner, FunctionType) and inner not in (*seen, function):
            found.append((name, identities_read(inner, (*seen, function))))
    return tuple(found)


def types_read(function: FunctionType, seen: Collection[object] = ()) -> tuple[object, ...]:
    """On what the types of results depend besides those of the arguments: the types of the data
    that `function`, or one that it reads, reads from outside, and the other objects.
    """
    found: list[object] = [function.__code__]
    for name, value in values_read(function).items():
        inner = getattr(value, "__wrapped__", value)
        if isinstance(inner, FunctionType):
            if inner not in seen:
                found.append((name, types_read(inner, (*seen, function, inner))))
        elif callable(value) or isinstance(value, ModuleType):
            found.append((name, _Identity(value)))
        else:
            found.append((name, type(value), str(getattr(value, "dtype", ""))))
    return tuple(found)
