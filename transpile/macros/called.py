"""What is known of what a call gives: its types, its lengths, and whose memory it is."""
from __future__ import annotations

import ast
from collections.abc import Sequence

import numpy as np

from ..draws.sized import Sized, sized
from ..ops import key
from ..types import ArgType, ArrayType, ScalarType
from . import calls
from .asked import answer
from .fact import INT, SCALAR, UNKNOWN, Fact, either, typed
from .integers import integer_constant
from .samples import is_pure, method, modest
from .shapes import Shapes
from .tupled import Tuples

__all__ = ["Called"]

_CONVERTED = {int: "i64", float: "f64", bool: "bool"}
_NEW = ""
"""The owner of an array that was just made."""


class Called(Shapes, Tuples):
    """Facts about calls."""

    def called(self, e: ast.Call) -> Fact:
        """What is known of what the call `e` gives."""
        target = self._function(e.func)
        if target is len or target is key:
            return INT
        if isinstance(target, type) and target in _CONVERTED and len(e.args) == 1:
            return typed(frozenset({ScalarType(_CONVERTED[target], weak=True)}))
        if (found := calls.reshaping(e, target)) is not None:
            return self._reshaped(*found)
        if calls.is_squeezed(e, target):
            return UNKNOWN  # its lengths tell how many axes are left
        if target is np.broadcast_to and len(e.args) == 2 and not e.keywords:
            return self._reshaped(e.args[0], getattr(e.args[1], "elts", e.args[1:]))
        if (many := sized(e, self.type_of, self.resolve)) is not None:
            return self._drawn(many)
        facts = [self.of(a) for a in e.args]
        if target in (np.real, np.imag) and len(facts) == 1 and not e.keywords:
            return self.component(facts[0], target.__name__) or UNKNOWN
        if target in (min, max) and len(facts) > 1 and not e.keywords:
            return either(facts)
        function = target
        operands = [[modest(target, s) for s in self.samples(a)] for a in e.args]
        if target is None and isinstance(e.func, ast.Attribute):
            of = self.of(e.func.value)
            function, operands = method(e.func.attr), [list(of.types), *operands]
            rank = calls.rank_of_method(e.func.attr, e, of.rank)
        else:
            rank = None if target is None else calls.rank_of(target, e, [f.rank for f in facts])
        named = {
            k.arg: [modest(target, s) for s in self.samples(k.value)] for k in e.keywords if k.arg
        }
        pure = callable(function) and (target is None or is_pure(function))
        if pure and callable(function) and len(named) == len(e.keywords):
            fact = answer(function, [*operands, *named.values()], *named)
            if fact is not None:
                shape = self.shape_of_call(target, e)
                shape = shape if shape and len(shape) == fact.rank else None
                return fact._replace(shape=shape, owner=self._owner(e, target))
        if target in (sum, min, max) and [(f.rank, f.rows) for f in facts] == [(1, 0)]:
            return self._of_items(facts[0])
        known = self._of_list_method(e.func) if rank is None else Fact(rank)
        return self.outside(e) if known is None else known

    def _of_list_method(self, func: ast.expr) -> Fact | None:
        match func:
            case ast.Attribute(value=value, attr="pop" | "count" | "index" as name):
                of = self.of(value)
                if of.rank == 1 and not of.rows and not of.types:
                    return self._of_items(of) if name == "pop" else INT
        return None

    def _of_items(self, of: Fact) -> Fact:
        """A number that is an item of a list, or a sum of items."""
        ints = of.listed is not None and of.listed.inner == ScalarType("i64", weak=True)
        return INT if ints else SCALAR

    def _drawn(self, many: Sized) -> Fact:
        if not all(self.of(n).is_int for n in many.lengths):
            return UNKNOWN
        rank = len(many.lengths)
        ty = ArrayType(many.dtype, rank, rank - 1)
        return Fact(rank, frozenset({ty}), self.spelled(many.lengths), _NEW)

    def type_of(self, e: ast.expr) -> ArgType | None:
        """The type of what is given, or known by name."""
        raise NotImplementedError

    def _reshaped(self, array: ast.expr, lengths: Sequence[ast.expr]) -> Fact:
        lengths = self.spread(lengths)
        of, rank = self.of(array), len(lengths) or 1
        if of.array is None or not all(self.of(n).is_int for n in lengths):
            return UNKNOWN
        dense = of.array.unit == of.array.rank - 1 or not lengths
        ty = ArrayType(of.array.dtype, rank, rank - 1 if dense else None)
        known = [integer_constant(n, None) == 1 for n in lengths]
        shape = tuple("1" if one else "" for one in known) if any(known) else None
        return Fact(rank, frozenset({ty}), shape, of.owner)

    def spread(self, lengths: Sequence[ast.expr]) -> Sequence[ast.expr]:
        """What a name has as items, where that is all there is."""
        named = len(lengths) == 1 and isinstance(lengths[0], ast.Name)
        return (self.items(lengths[0]) if named else None) or lengths

    def _owner(self, e: ast.Call, target: object | None) -> str | None:
        """Whose memory what a call gives is."""
        name = e.func.attr if isinstance(e.func, ast.Attribute) else getattr(target, "__name__", "")
        if name not in calls.VIEWING:
            return _NEW
        first = e.args[0] if target is not None else getattr(e.func, "value", None)
        return self.of(first).owner if first is not None else None

    def _function(self, func: ast.expr) -> object | None:
        """The function that `func` stands for; None where it is a method of an argument."""
        if isinstance(func, ast.Attribute) and func.attr in ("accumulate", "outer", "reduce"):
            ufunc = self.resolve(func.value)
            if isinstance(ufunc, np.ufunc):
                return getattr(ufunc, func.attr)  # type: ignore[no-any-return]
        return self.resolve(func)
