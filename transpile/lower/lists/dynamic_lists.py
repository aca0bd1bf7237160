"""Dynamic lists, read while they grow or shrink: buffers with a capacity, and a count of items.

The capacity that is needed is not known. Where it is too small the kernel reports it, and the
call is repeated with a larger one.
"""
from __future__ import annotations

import ast
from collections.abc import Mapping

from loopir.dtypes import DTYPES
from loopir.nodes import Call, Dim, Expr, If, Param, Stmt, Store

from ...call_plan import ResultSlot
from ...frontend.refusal import refuse
from ...frontend.source import span_of
from ...result_spec import ListResult, ResultSpec, ZippedResult
from ...types.linear_form import LENGTH, int_constant
from ...types.typed_values import FALSE, TRUE, ComplexPair, Num, constant
from ...types.value_types import ArrayType
from ..state.symbol_values import ArrayRef, Scalar, UnionValue
from .expand_dynamic_lists import POP_CALL, PUSH_CALL, buffer_names, counter_name
from .fixed_size_lists import TakenLists
from .list_item_types import BufferType, buffer_type_for, encode_item, item_types

__all__ = ["CAPACITY_TEXT", "NewBufferType", "NeedsTriedCapacity", "Stacks"]

CAPACITY_TEXT = "_tp_room[0]"
"""Python that tells how many items each such list may have."""


class NewBufferType(Exception):
    """The buffer of this name holds that."""

    def __init__(self, name: str, held: BufferType) -> None:
        super().__init__(name)
        self.name, self.held = name, held


class NeedsTriedCapacity(Exception):
    """How much room an array needs is tried, too."""


class Stacks(TakenLists):
    """Lowers such lists: ``growing``, with the number of places of their tuples. ``held``: what
    their buffers hold; ``short``: the slot that tells of too little room, of lists, and of arrays
    where that is ``tried``.
    """

    growing: Mapping[str, int]
    holds: Mapping[str, BufferType]
    short: str | None
    tried: bool
    buffers: dict[str, str]

    def start_lists(self) -> None:
        """Before the first statement there is room, and nothing in the lists."""
        b = self.b
        for name in self.growing:
            self.counters.add(counter_name(name))
            b.env[counter_name(name)] = constant(0)
        if self.growing or self.tried:
            self.short = b.name("short")
            b.params[self.short] = Param(self.short, "bool", 0, None, written=True)
            b.bindings[self.short] = ResultSlot(self.short, "bool")
            b.emit(Store(self.short, (), FALSE))

    def is_short(self, enough: Expr, node: ast.AST) -> None:
        """Tells of too little room where there is not `enough`."""
        if self.short is None:
            raise NeedsTriedCapacity
        told = Store(self.short, (), TRUE)
        self.b.emit(If(enough, (), (told,), span=span_of(node)))

    def _part_of(self, name: str) -> str:
        """The list whose buffer this is; "" for other names."""
        lists = (n for n, width in self.growing.items() if name in buffer_names(n, width))
        return next(lists, "")

    def array(self, node: ast.expr) -> ArrayRef | None:
        if isinstance(node, ast.Name) and (of := self._part_of(node.id)):
            count = self.b.env[counter_name(of)]
            assert isinstance(count, Num)
            return self._buffer_now(node.id, count)
        return super().array(node)

    def _buffer_now(self, name: str, count: Num) -> ArrayRef:
        held = self.holds.get(name)
        if held is None:
            raise NewBufferType(name, BufferType(sure=False))
        array = self._room_for(name, held.dtype)
        flags = self._room_for(f"{name}_py", "bool") if held.mixed else None
        shape = (self.b.integer_num(count.ir, LENGTH),)
        return ArrayRef(
            array, held.dtype, 0, shape, weak=held.weak, flags=flags, python=held.python,
            kinds=(list,),
        )

    def _room_for(self, name: str, dtype: str) -> str:
        b, text = self.b, f"_np.empty({CAPACITY_TEXT}, {DTYPES[dtype].numpy.str!r})"
        array = f"{name.replace('.', '_')}_items"
        if array not in b.params:
            array = self.buffers.get(name) or self.array_name(array)
            self.buffers[name] = array
        if array not in b.params:
            b.names.add(array)
            b.allocate(array, text, ArrayType(dtype, 1, 0))
        return array

    def belongs_to(self, array: ArrayRef, value: object, node: ast.AST) -> None:
        name = next((n for n, a in self.buffers.items() if a == array.name), None)
        if name is None or not array.kinds:
            super().belongs_to(array, value, node)  # type: ignore[arg-type]
        elif isinstance(value, (Num, UnionValue)):
            self._takes(name, value, node)
        elif isinstance(value, ComplexPair):
            refuse("LOWER_COMPLEX", "a complex number is put into a list", node)
        else:
            refuse("LOWER_JOIN", "the items of a list have several types", node)

    def _takes(self, name: str, value: Scalar, node: ast.AST) -> None:
        """Notes what is put into a buffer; where that is new, all is done again."""
        held = self.holds.get(name)
        types, before = item_types(value), held.types if held else frozenset()
        wanted = None if types is None else buffer_type_for(types | before)
        if wanted is None:
            refuse("LOWER_JOIN", "the items of a list have several types", node)
        if wanted != held:
            raise NewBufferType(name, wanted)

    def is_counted(self, name: str, value: ast.expr, stmt: ast.stmt) -> bool:
        """Lowers what changes the count `name`; whether it is such."""
        match value:
            case ast.Call(func=ast.Name(id=function)) if function == PUSH_CALL:
                self._push(name, value, stmt)
            case ast.Call(func=ast.Name(id=function)) if function == POP_CALL:
                count = self.b.env[name]
                assert isinstance(count, Num)
                less = Call("sub", (count.ir, int_constant(1)), "i64")
                rest = self.b.bind(Call("max", (less, int_constant(0)), "i64"), "count")
                self.b.env[name] = self.b.integer_num(rest, LENGTH)
            case _:
                return False
        return True

    def _push(self, target: str, call: ast.Call, stmt: ast.stmt) -> None:
        """Items go behind the last ones, if there is room.

        The count is within the buffers whatever happens: a kernel may go on after a failed check.
        """
        b = self.b
        at = next(k for k, a in enumerate(call.args) if getattr(a, "id", "") == target)
        names = [n.id for n in call.args[:at] if isinstance(n, ast.Name)]
        items = [self.rebound(self._item(e), "item") for e in call.args[at + 1 :]]
        for name, item in zip(names, items, strict=True):
            self._takes(name, item, stmt)
        count = b.env[target]
        assert isinstance(count, Num)
        assert self.short is not None
        arrays = [self._buffer_now(name, count) for name in names]
        room = Call("lt", (count.ir, Dim(arrays[0].name, 0)), "bool")
        ok = b.bind(room, "fits")
        stores: list[Stmt] = []
        for name, array, item in zip(names, arrays, items, strict=True):
            value, apart, checks = encode_item(item, self.holds[name])
            for check in checks:
                b.require(check, "GUARD_INT_RANGE", stmt)
            stores.append(Store(array.name, (count.ir,), value, span=span_of(stmt)))
            if array.flags is not None:
                stores.append(Store(array.flags, (count.ir,), apart, span=span_of(stmt)))
        b.emit(If(ok, tuple(stores), (Store(self.short, (), TRUE),), span=span_of(stmt)))
        b.require(ok, "GUARD_BOUNDS", stmt)
        step = Call("select", (ok, int_constant(1), int_constant(0)), "i64")
        more = b.bind(Call("add", (count.ir, step), "i64"), "count")
        b.env[target] = b.integer_num(more, LENGTH)

    def _item(self, e: ast.expr) -> Scalar:
        """What is put into a list: one number, maybe of several types."""
        value = self.scalar(e)
        return (
            UnionValue(tuple(self.present(value, e)))
            if isinstance(value, UnionValue)
            else self.num(e)
        )

    def returned_list(self, name: str, slot: str, node: ast.AST) -> ResultSpec:
        """Such a list as a result."""
        items = []
        count = self.b.env[counter_name(name)]
        assert isinstance(count, Num)
        for part in buffer_names(name, self.growing[name]):
            array = self._buffer_now(part, count)
            dtype = array.python or array.dtype if array.flags else None
            items.append(ListResult(array.name, slot, array.weak, array.flags, dtype))
        return ZippedResult(tuple(items)) if self.growing[name] else items[0]
