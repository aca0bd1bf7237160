"""Lists and tuples that are given, or known by name: arrays of what they hold at the call."""
from __future__ import annotations

import ast

from loopir.nodes import Dim

from ..bindings import Taken
from ..macros.names import used
from ..pair import Pair
from ..ranges import LENGTH
from ..returned import Returned, Same
from ..types import ArrayType, ListType
from .fixed import outside
from .refusal import refuse
from .repeated import Repeated
from .values import ArrayRef, Scalar

__all__ = ["TakenLists"]


class TakenLists(Repeated):
    """Lowers such lists."""

    def take(self, name: str, ty: ListType, node: ast.AST, *, captured: bool = False) -> ArrayRef:
        """The array of the list `name`, of which a loop reads items, and nothing else is asked."""
        b = self.b
        known = (k.name for k in b.bindings.values() if isinstance(k, Taken) and k.text == name)
        array = next(known, None) or self._new(name, ty, node, captured)
        rank = len(ty.kinds)
        shape = tuple(b.integer_num(Dim(array, k), LENGTH) for k in range(rank))
        return ArrayRef(array, ty.item.dtype, rank - 1, shape, weak=ty.item.weak, kinds=ty.kinds)

    def _new(self, name: str, ty: ListType, node: ast.AST, captured: bool) -> str:
        for use in outside(name, self.tree, returned=True, sliced=True):
            refuse("LOWER_TYPE", f"`{name}` is of type {ty}, of which all is taken at once", use)
        if name not in _in_loops(self.tree):
            said = f"`{name}` is of type {ty}, and no loop goes through it"
            refuse("LOWER_TYPE", said, node)
        array, rank = self.array_name(f"{name}_items"), len(ty.kinds)
        self.b.take(Taken(array, name, ty, captured), ArrayType(ty.item.dtype, rank, rank - 1))
        return array

    def _list_of(self, array: ArrayRef) -> Taken | None:
        binding = self.b.bindings.get(array.name)
        return binding if isinstance(binding, Taken) else None

    def belongs_to(self, array: ArrayRef, value: Scalar, node: ast.AST) -> None:
        taken = self._list_of(array)
        if taken is None:
            super().belongs_to(array, value, node)
            return
        value = self.single(value, node)
        if isinstance(value, Pair):
            refuse("LOWER_COMPLEX", "a complex number is put into a list of others", node)
        self.belongs(value, array.dtype, node)
        if value.either or (value.strong is None) is not array.weak:
            refuse("LOWER_JOIN", f"the items of `{taken.text}` have several types", node)
        if array.kinds[-1] is tuple:
            refuse("LOWER_TYPE", "a tuple is written", node)

    def whole_list(self, node: ast.expr) -> Returned | None:
        array = self.array(node)
        taken = self._list_of(array) if array is not None else None
        if array is None or taken is None:
            return super().whole_list(node)
        if array.places:
            said = f"`{ast.unparse(node)}` is a list in a list, and is returned"
            return refuse("LOWER_UNSUPPORTED", said, node)
        return Same(taken.text)


def _in_loops(tree: ast.AST) -> set[str]:
    """The names in loops that may be worth an array: not those that a search only skips through."""
    names: set[str] = set()
    for n in ast.walk(tree):
        match n:
            case ast.For():
                names |= used(n)
            case ast.While():
                steps = {name for s in ast.walk(n) if (name := _stepped(s))}
                at = (s for s in ast.walk(n) if isinstance(s, ast.Subscript))
                names |= {x for s in at if steps & used(s.slice) for x in used(s.value)}
            case ast.Assign(value=ast.Subscript(value=of, slice=ast.Slice())):
                names |= used(of)
    return names


def _stepped(s: ast.AST) -> str:
    """The name that goes on by a constant."""
    match s:
        case ast.AugAssign(target=ast.Name(id=name), op=ast.Add() | ast.Sub(), value=by):
            pass
        case ast.Assign(
            targets=[ast.Name(id=name)],
            value=ast.BinOp(left=ast.Name(id=same), op=ast.Add() | ast.Sub(), right=by),
        ) if name == same:
            pass
        case _:
            return ""
    return name if isinstance(by, ast.Constant) else ""
