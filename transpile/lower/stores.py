"""``a[i] = value``: elements written by subscripts."""
from __future__ import annotations

import ast

from loopir.nodes import Expr, If, Span, Store

from ..infer import Num, constant
from ..pair import Pair
from ..ranges import integer
from ..source import span_of
from ..types import PARTS
from .elements import Elements
from .held import exact_in
from .refusal import refuse
from .subscripts import parts_of
from .values import ArrayRef, Cases, Scalar
from .views import places_of

__all__ = ["Stores"]


class Stores(Elements):
    """Writes of array elements; ``written`` are the arrays."""

    written: set[str]

    def store(self, target: ast.Subscript, value: Scalar, node: ast.AST) -> None:
        """``a[i] = value``."""
        array, needed, at = self._target(target)
        self.belongs_to(array, value, node)
        if array.flags is not None:
            value = self.single(value, node)
        index = places_of(self.b, array, at)
        place = span_of(target)
        stmts = self.stores(array.name, array.dtype, index, value, node, place)
        if array.flags is not None:
            assert isinstance(value, Num)
            self.belongs(value, array.dtype, node, array.python)
            stmts = (*stmts, Store(array.flags, index, value.weak_now, span=place))
        if needed is None:
            self.b.block.extend(stmts)
        else:
            self.b.emit(If(needed, stmts, span=place))
        self.written.add(array.name)

    def belongs(self, n: Num, dtype: str, node: ast.AST, python: str | None = None) -> None:
        """Refuses an item that has another type than the rest of its list, in which Python's are of
        dtype `python` if that is another; as the list has them, they must be the same numbers.
        """
        whole = python is not None and n.strong is None and n.dtype == python
        other = not whole and n.dtype != dtype
        other = other or n.strong not in (None, dtype) or n.weak not in (None, python or dtype)
        if other or n.boxed or not n.exact:
            refuse("LOWER_JOIN", "the items of a list have several types", node)
        for check in exact_in(n, dtype) if whole else ():
            self.b.require(check, "GUARD_INT_RANGE", node)

    def _target(self, target: ast.Subscript) -> tuple[ArrayRef, Expr | None, list[Num]]:
        """The array, what must hold for an element of it to be written, and which one."""
        if (item := self.items_at(target)) is not None:
            return item[0], *self._at(item[0], item[1], target)
        field = self.field(target)
        array = self.array(target.value) if field is None else field[0]
        if array is None:
            refuse("LOWER_SUBSCRIPT", f"`{ast.unparse(target.value)}` is not an array here", target)
        parts = parts_of(target) if field is None else []
        if len(parts) < array.rank or any(map(self.is_slice, parts)):
            refuse("LOWER_UNSUPPORTED", f"`{ast.unparse(target)}` is a whole row", target)
        if field is not None:
            return *field, []
        self.no_list(array, target)
        return array, *self._at(array, parts, target)

    def _at(
        self, array: ArrayRef, parts: list[ast.expr], target: ast.Subscript
    ) -> tuple[Expr | None, list[Num]]:
        at, needed = self.places(array, self.numbers(parts, array, target), target)
        return needed, at

    def stores(
        self, array: str, dtype: str, index: tuple[Expr, ...], value: Scalar, node: ast.AST,
        place: Span | None,
    ) -> tuple[Store, ...]:
        """What puts `value` into an array of `dtype`."""
        if dtype not in PARTS:
            if isinstance(value, Pair):
                refuse("LOWER_COMPLEX", "a complex number is put into an array of real ones", node)
            return (Store(array, index, self.stored(value, dtype, node), span=place),)
        parts: tuple[Num | Cases, Num]
        parts = (value.re, value.im) if isinstance(value, Pair) else (value, constant(0.0))
        exprs = [self.b.bind(self.stored(p, PARTS[dtype], node)) for p in parts]
        return tuple(
            Store(array, (*index, integer(k)), e, span=place) for k, e in enumerate(exprs)
        )

    def belongs_to(self, array: ArrayRef, value: Scalar, node: ast.AST) -> None:
        """Refuses what does not belong to a list, if `array` is one."""
        raise NotImplementedError

    def stored(self, value: Num | Cases, dtype: str, node: ast.AST) -> Expr:
        raise NotImplementedError
