"""What a wrapper does before it calls the kernel: checks, taking what it is given, allocations."""
from __future__ import annotations

import ast
import math
from collections.abc import Iterable, Iterator
from types import CellType, FunctionType
from typing import Any

import numpy as np

from targets.items import Items, mover

from .. import draws
from ..bindings import Argument, Binding, Captured, Field, Fresh, Held, Part, Slot, Taken
from ..macros.fields import indexed_by
from ..plan import Ref, Shape
from ..types import ELEMENTS, ArrayType, ScalarType
from .contract import Contract
from .saved import LITTLE, apart, greatest, least, more
from .standin import forward_text, values_text

__all__ = ["Entry", "sources"]


_OURS: tuple[Any, ...] = (abs, bool, float, greatest, int, least, math, max, min, round, type)
"""What `Fresh` arrays are made by."""


_NUMBERS = frozenset({bool, int, float, complex, *np.sctypeDict.values()})


class _Mismatch(Exception):
    """The call is not of the kind that the contract was made for."""


class Entry:
    """The source of what a wrapper does first, and the values of the helper names in it."""

    def __init__(self, function: FunctionType, contract: Contract) -> None:
        code = function.__code__
        self.contract = contract
        self.again = forward_text(code)
        self.rest = f"{values_text(code)})({self.again})"
        self.helpers: dict[str, Any] = {f"_{f.__name__}": f for f in _OURS} | {"_np": np}
        if contract.short is not None:
            self.helpers |= {"_tp_room": [LITTLE], "_tp_more": more}
        if any(home.generator for home in contract.homes):
            self.helpers["_draws"] = draws
        used = {p.name for p in contract.params}
        self.bindings = [b for b in contract.bindings if b.name in used or isinstance(b, Fresh)]
        self.slots = [b for b in self.bindings if isinstance(b, Slot)]
        self.dtypes = {b.name: b.dtype for b in self.slots}

    def helper(self, kind: str, value: Any) -> str:
        """A name for `value`."""
        name = f"_tp_{kind}{len(self.helpers)}"
        self.helpers[name] = value
        return name

    def cells(self) -> dict[str, CellType]:
        return {name: CellType(value) for name, value in self.helpers.items()}

    def name(self, name: str) -> str:
        """What the wrapper calls what it gives the kernel for `name`."""
        match next((b for b in self.bindings if b.name == name), None):
            case Slot():
                return f"_tps_{name}"
            case Part():
                return f"_tpv_{name}"
            case _:
                return self.object(name)

    def object(self, name: str) -> str:
        """What the wrapper calls the object bound to `name`."""
        given = (b.name for b in sources(self.bindings) if isinstance(b, Captured))
        return f"_tpc_{name}" if name in given else name

    def refs(self) -> list[str]:
        return [f"{ref.expr} is {self.helper('r', ref.value)}" for ref in self.contract.refs]

    def homes(self) -> list[str]:
        return [f"{home.name} = {home.expr}" for home in self.contract.homes]

    def before(self) -> Iterator[str]:
        """The statements before the call of the kernel."""
        lines = [*self.homes(), *self._conditions()]
        given = sources(self.bindings)
        lines += (f"_tpc_{b.name} = {b.name}" for b in given if isinstance(b, Captured))
        lines += self._held()
        lines += self._taken()
        fields = (b for b in self.bindings if isinstance(b, Field))
        lines += (f"{b.name} = {b.array}{indexed_by(b.path)}" for b in fields)
        lines += self._made()
        lines += self._taken_apart()
        if lines:
            yield "try:"
            yield from (f"    {line}" for line in lines)
            yield "    _tp_fits = True"
            yield f"except {self.helper('e', Exception)}:"
            yield "    _tp_fits = False"
            yield "if not _tp_fits:"  # not in the handler: what is raised there has a context
            yield f"    return _tp_other('', {self.rest}"

    def _conditions(self) -> Iterator[str]:
        contract = self.contract
        conditions = [*map(self._is_shaped, contract.objects), *map(self._is_given, contract.given)]
        conditions += self.refs()
        records = {b.array: b.of.dtype for b in self.bindings if isinstance(b, Field)}
        if records:
            of, array = self.helper("f", type), self.helper("t", np.ndarray)
            conditions += (
                f"{of}({name}) is {array} and {name}.dtype == {self.helper('t', dtype)}"
                for name, dtype in records.items()
            )
        if any(isinstance(b, Fresh) for b in self.bindings):
            # what is allocated is asked of arrays alone: another type's methods may do anything
            of, array = self.helper("f", type), self.helper("t", np.ndarray)
            bound = (b for b in self.bindings if isinstance(b, Argument))
            names = (b.name for b in bound if isinstance(b.type, ArrayType))
            conditions += [f"{of}({name}) is {array}" for name in names]
        if conditions:
            yield f"if not ({' and '.join(conditions)}):"
            yield f"    raise {self.helper('e', _Mismatch)}"

    def _is_shaped(self, shape: Shape) -> str:
        of = f"{self.helper('f', type)}({shape.expr}) is {self.helper('t', shape.kind)}"
        if shape.length is None:
            return of
        return f"{of} and {self.helper('f', len)}({shape.expr}) == {shape.length}"

    def _held(self) -> Iterator[str]:
        """What objects hold, under names of its own."""
        of, array = self.helper("f", type), self.helper("t", np.ndarray)
        for b in self.bindings:
            if isinstance(b, Held):
                yield f"{b.name} = {b.text}"
                if isinstance(b.type, ArrayType):
                    yield f"if {of}({b.name}) is not {array}:"
                    yield f"    raise {self.helper('e', _Mismatch)}"

    def _made(self) -> Iterator[str]:
        """The arrays that are made; their lengths are asked of numbers alone, as of arrays."""
        made = [b for b in self.bindings if isinstance(b, Fresh)]
        named = {n.id for b in made for n in ast.walk(ast.parse(b.expr)) if isinstance(n, ast.Name)}
        scalars = (b for b in self.bindings if isinstance(b, Argument | Captured | Held))
        asked = [b.name for b in scalars if isinstance(b.type, ScalarType) and b.name in named]
        if asked:
            of, kinds = self.helper("f", type), self.helper("t", _NUMBERS)
            yield f"if not ({' and '.join(f'{of}({name}) in {kinds}' for name in asked)}):"
            yield f"    raise {self.helper('e', _Mismatch)}"
        yield from (f"{b.name} = {b.expr}" for b in made)

    def _taken(self) -> Iterator[str]:
        """What lists hold; those of which one is written, and all in them, must be different."""
        taken = [b for b in self.bindings if isinstance(b, Taken)]
        yield from (f"{b.name} = {self.mover(b, False)}({b.text})" for b in taken)
        if any(True for _ in self.put()):
            whole = "".join(f"{b.text}, " for b in taken)
            inner = "".join(f"*{b.text}, " for b in taken if b.type.kinds[1:] == (list,))
            unfit = "".join(f"{b.name} is None or " for b in taken)
            yield f"if {unfit}not {self.helper('f', apart)}(({whole}{inner})):"
            yield f"    raise {self.helper('e', _Mismatch)}"

    def put(self) -> Iterator[Taken]:
        """Lists that the kernel writes."""
        written = {p.name for p in self.contract.params if p.written}
        return (b for b in self.bindings if isinstance(b, Taken) and b.name in written)

    def mover(self, b: Taken, back: bool) -> str:
        items = Items(b.type.item.dtype, b.type.item.weak, b.type.kinds)
        return self.helper("m", mover(items, back))

    def _is_given(self, ref: Ref) -> str:
        wanted, name = self.helper("r", ref.value), ref.expr
        if ref.value is None:
            return f"{name} is None"
        of = f"{self.helper('f', type)}({name}) is {self.helper('t', type(ref.value))}"
        return f"({name} is {wanted} or ({of} and {name} == {wanted}))"

    def _taken_apart(self) -> Iterator[str]:
        """The parts of complex numbers that are what they were."""
        parts = [b for b in self.bindings if isinstance(b, Part)]
        for name, ty in dict.fromkeys((b.of.name, b.type) for b in parts):
            kind = complex if ty.weak else ELEMENTS[ty.dtype].numpy.type
            known = f"{self.helper('f', type)}({self.object(name)})"
            yield f"if {known} is not {self.helper('t', kind)}:"
            yield f"    raise {self.helper('e', _Mismatch)}"
        yield from (f"_tpv_{b.name} = {self.object(b.of.name)}.{b.part}" for b in parts)


def sources(bindings: Iterable[Binding]) -> list[Binding]:
    """The bindings, each complex number in the place of its parts."""
    return list(dict.fromkeys(b.of if isinstance(b, Part) else b for b in bindings))
