"""Checks of many small values as one test, since a case for each takes longer than the check."""
from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

__all__ = ["for_each"]

Value = TypeVar("Value")


def for_each(
    values: Iterable[Value], name: Callable[[Value], str] = str
) -> Callable[[Callable[[Value], None]], Callable[[], None]]:
    """Makes a test of one value a test of all `values`, which goes on after a failure.

    Its message has the `name` of each value for which the test fails, and why.
    """

    def decorate(check: Callable[[Value], None]) -> Callable[[], None]:
        def test() -> None:
            faults = [f"{name(v)}: {fault}" for v in values if (fault := _fault(check, v))]
            assert not faults, "\n".join([f"{len(faults)} fail", *faults])

        test.__name__, test.__qualname__ = check.__name__, check.__qualname__
        test.__module__, test.__doc__ = check.__module__, check.__doc__
        return test

    return decorate


def _fault(check: Callable[[Value], None], value: Value) -> str:
    """What is wrong with the value; nothing if it passes."""
    try:
        check(value)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""
