"""What is known of a subscript: an element, a field, a row, a view."""
from __future__ import annotations

import ast

from ..types import ArrayType, ListType, RecordType
from .asked import Asked, answer
from .fact import INT, UNKNOWN, Fact, typed
from .samples import OPERATORS, ask, part

__all__ = ["Indexed", "may_be_bool"]


class Indexed(Asked):
    """Facts about subscripts; the slices that are ``single`` have one element."""

    single: set[ast.expr]

    def indexed(self, e: ast.Subscript) -> Fact:
        """What is known of the subscript `e`."""
        if isinstance(e.value, ast.Attribute) and e.value.attr == "shape":
            return INT if self.of(e.value.value).rank else self.outside(e)
        of = self.of(e.value)
        if of.record is not None:
            return self._of_records(of, of.record, e.slice)
        if not of.rank:
            return self.outside(e)
        if of.listed is not None:
            return self._of_list(of.listed, e.slice)
        if of.rows and not isinstance(e.slice, (ast.Slice, ast.Tuple)):
            return Fact(1, rows=of.rows - 1)
        if of.types:
            read = OPERATORS["Subscript"]
            fact = answer(read, [of.types, self.samples(e.slice, index=True)])
            if fact and fact.rank and (arrays := self._arrays(e.slice)):
                first = e.slice.elts[0] if isinstance(e.slice, ast.Tuple) else e.slice
                known = fact.rank < 3 or (of.order == "C" and first in arrays)
                known = known and all(a.order != "?" for a in arrays.values())
                return fact._replace(owner="", lies=None if known else "?")
            if fact and fact.rank:
                return fact._replace(shape=self._ones(e), owner=of.owner, lies=of.order)
            return fact or UNKNOWN
        rank = of.rank
        for index in e.slice.elts if isinstance(e.slice, ast.Tuple) else [e.slice]:
            if isinstance(index, ast.Slice):
                continue
            if self.of(index).rank != 0 or may_be_bool(index):
                return UNKNOWN
            rank -= 1
        return Fact(rank) if rank >= 0 else UNKNOWN

    def _of_list(self, ty: ListType, index: ast.expr) -> Fact:
        """An item; a slice is a list, too."""
        if isinstance(index, ast.Slice):
            return Fact(1, listed=ty)
        if self.of(index).rank != 0 or may_be_bool(index):
            return UNKNOWN
        inner = ty.inner
        return Fact(1, listed=inner) if isinstance(inner, ListType) else typed(frozenset({inner}))

    def _arrays(self, index: ast.expr) -> dict[ast.expr, Fact]:
        """The arrays among the subscripts, by which what is read is no view."""
        items = index.elts if isinstance(index, ast.Tuple) else [index]
        return {i: f for i in items if not isinstance(i, ast.Slice) and (f := self.of(i)).rank}

    def _of_records(self, of: Fact, ty: RecordType, index: ast.expr) -> Fact:
        field = ty.field(index.value) if isinstance(index, ast.Constant) else None
        if isinstance(field, ArrayType):
            return typed(frozenset({field}))
        if isinstance(field, RecordType):
            return Fact(field.rank, owner=of.owner, record=field)
        indices = self.samples(index, index=True)
        if types := ask(OPERATORS["Subscript"], [[ty], indices]):
            return typed(types)
        less = part(ty, indices)
        return UNKNOWN if less is None else Fact(less.rank or None, owner=of.owner, record=less)

    def _ones(self, e: ast.Subscript) -> tuple[str, ...] | None:
        """The lengths of a view that has new axes, or slices of one element."""
        items = e.slice.elts if isinstance(e.slice, ast.Tuple) else [e.slice]
        new = [self.is_new_axis(i) or _is_none(i) for i in items]
        one = [n or i in self.single for n, i in zip(new, items, strict=True)]
        slices = [n or isinstance(i, ast.Slice) for n, i in zip(new, items, strict=True)]
        if not any(one) or not all(slices):
            return None
        rest = (self.of(e.value).rank or 0) - new.count(False)
        return (*("1" if o else "" for o in one), *[""] * rest)


def _is_none(e: ast.expr) -> bool:
    return isinstance(e, ast.Constant) and e.value is None


def may_be_bool(e: ast.expr) -> bool:
    """Whether `e` looks like a bool, which as a subscript is a mask and adds an axis."""
    match e:
        case ast.Constant(value=bool()) | ast.Compare() | ast.BoolOp() | ast.UnaryOp(op=ast.Not()):
            return True
    return False
