"""Where a call in C finds values: arguments, names, what these hold, arrays made for the call."""
from __future__ import annotations

import ast
import sys
from types import CellType, FunctionType

from targets.items import Items, spec
from targets.whole import ATTRIBUTE, CHECKED, ITEM, ITEMS, SLOT, Meaning, Part, Pointer

from ..bindings import Argument, Binding, Captured, Fresh, Held, Slot, Taken
from ..signature import parameters
from .contract import Contract
from .fresh import Unfit

__all__ = ["Places"]


class Places:
    """The places of names, in order. Raises Unfit for what only Python finds."""

    def __init__(self, function: FunctionType, contract: Contract) -> None:
        code = function.__code__
        self._cells = dict(zip(code.co_freevars, function.__closure__ or (), strict=True))
        self._parameters = parameters(code)
        self.bindings: dict[str, Binding] = {b.name: b for b in contract.bindings}
        self.slots: dict[str, tuple[int, str]] = {}
        self.meanings = [self._meaning(r.expr, Pointer(r.value)) for r in contract.refs]
        self.captured: list[Meaning] = []
        self.parts: list[Part] = []
        self.places = {name: place for place, name in enumerate(self._parameters)}
        self._count = len(self._parameters)
        for k, p in enumerate(contract.params):
            match self.bindings.get(p.name):
                case Slot(name, dtype):
                    self.slots[name] = k, dtype
                case Captured(name) | Taken(text=name, captured=True) if name not in self.places:
                    self.captured.append(self._meaning(name, None))
                    self._add(name)
        self._take_parts(contract)
        self.lengths = dict(self.places)
        for b in contract.bindings:
            if isinstance(b, Taken):
                self.lengths[b.text] = self.places[b.name]
        self.fresh = [b for b in contract.bindings if isinstance(b, Fresh)]
        for b in self.fresh:
            self._add(b.name)

    def _add(self, name: str) -> int:
        self.places[name] = self._count
        self._count += 1
        return self.places[name]

    def _take_parts(self, contract: Contract) -> None:
        """Checks what objects are, and finds what they and lists hold."""
        for shape in contract.objects:
            number = -1 if shape.length is None else shape.length
            self.parts.append(Part(CHECKED, self._found(shape.expr), Pointer(shape.kind), number))
        self.constants = [(self._found(r.expr), Pointer(r.value)) for r in contract.given]
        for b in contract.bindings:
            if isinstance(b, Held):
                self.places[b.name] = self._found(b.text)
        taken = [b for b in contract.bindings if isinstance(b, Taken)]
        put = {p.name for p in contract.params if p.written} & {b.name for b in taken}
        if put and any(len(b.type.kinds) > 1 for b in taken):
            raise Unfit  # what rows are one is Python's to find
        for b in taken:
            items = Items(b.type.item.dtype, b.type.item.weak, b.type.kinds)
            row = Part(ITEMS, self._found(b.text), Pointer(spec(items)), int(b.name in put))
            self.parts.append(row)
            self._add(b.name)

    def _found(self, text: str) -> int:
        """The place of what such an expression reads."""
        if text in self.places:
            return self.places[text]
        match ast.parse(text, mode="eval").body:
            case ast.Attribute(value=of, attr=name):
                part = Part(ATTRIBUTE, self._found(ast.unparse(of)), Pointer(sys.intern(name)))
            case ast.Subscript(value=of, slice=ast.Constant(value=int(k))) if k >= 0:
                part = Part(ITEM, self._found(ast.unparse(of)), None, k)
            case _:
                raise Unfit
        self.parts.append(part)
        return self._add(text)

    def of(self, name: str) -> int:
        """What a parameter of the kernel is given."""
        match self.bindings.get(name):
            case Argument() | Captured() | Fresh() | Held() | Taken() if name in self.places:
                return self.places[name]
            case Slot() if name in self.slots:
                return SLOT
        raise Unfit

    def object(self, name: str) -> int:
        """What a name of the result is."""
        if name in self._parameters and name not in self.bindings:
            return self.places[name]
        return self.of(name)

    def pairs(self, contract: Contract) -> list[tuple[int, int]]:
        """Where two arrays stand that may be one."""
        return [(self.of(a), self.of(b)) for a, b in contract.in_place]

    def _meaning(self, expr: str, wanted: Pointer | None) -> Meaning:
        root, *attributes = expr.split(".")
        if len(attributes) > 1 or root in self._parameters or "__" in expr:
            raise Unfit
        cell: CellType | None = self._cells.get(root)
        return Meaning(root, attributes[0] if attributes else None, cell, wanted)
