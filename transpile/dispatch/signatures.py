"""The call signatures of one function: the types of its arguments, and what some of them are."""
from __future__ import annotations

from collections.abc import Collection
from types import FunctionType
from typing import TYPE_CHECKING

from ..signature import parameters, types_in
from ..types import Constant, Function, ScalarType
from .standin import Values

if TYPE_CHECKING:
    from ..types import ArgType

__all__ = ["MOST_CHOSEN", "Signatures"]

MOST_CHOSEN = 32
"""Signatures with constants or functions that are compiled at most: what comes in so many values
chooses no code.
"""


class Signatures:
    """Of `function`; which of its parameters decide by value is found where there may be one."""

    def __init__(self, function: FunctionType) -> None:
        self._function = function
        self._decisive: frozenset[str] | None = None

    def of(self, values: Values) -> tuple[ArgType, ...]:
        """The types of these arguments; of those that decide, what they are."""
        code = self._function.__code__
        types = types_in(values, code)
        if self._decisive == frozenset() or not any(map(_may_decide, types)):
            return types
        from ..decisive import decisive, with_values

        if self._decisive is None:
            self._decisive = decisive(self._function)
        return with_values(types, parameters(code), values, self._decisive)

    def among(
        self, values: Values, known: Collection[tuple[ArgType, ...]]
    ) -> tuple[ArgType, ...]:
        """The signature of a call with these arguments, where there were those `known`."""
        types = self.of(values)
        if types not in known and sum(map(_chosen, known)) >= MOST_CHOSEN:
            return tuple(t.opaque if isinstance(t, (Constant, Function)) else t for t in types)
        return types


def _may_decide(ty: ArgType) -> bool:
    return isinstance(ty, ScalarType) and ty.weak


def _chosen(types: tuple[ArgType, ...]) -> bool:
    return any(isinstance(t, (Constant, Function)) for t in types)
