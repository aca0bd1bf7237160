"""A contract to a Python function: checks, allocations, one call of the kernel, the result.

It is written as source and stands in for the user's function, so that every name is read anew. For
``scale(x, k)``, which returns a new array:

    nonlocal _tp_calls
    try:
        if not (len is _tp_r0 and _tp_type(x) is _tp_ndarray):
            raise _tp_mismatch
        out = _np.empty(len(x), _np.float64)
    except _tp_Exception:
        return _tp_other("", (x, k, ))(x, k)
    _tp_status = _tp_fast(x, out, k)
    if _tp_status:
        _tp_code = _tp_why(_tp_status, (x, out, k, ), ())
        if _tp_code is not None:
            return _tp_other(_tp_code, (x, k, ))(x, k)
    _tp_calls += 1
    return out
"""
from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from types import CellType, FunctionType
from typing import Any

import numpy as np

from loopir.types import DTYPES
from targets.items import Items, mover

from ..bindings import Argument, Binding, Captured, Field, Fresh, Held, Part, Slot, Taken
from ..macros.fields import indexed_by
from ..plan import Ref, Shape
from ..signature import outer_type, type_of
from ..types import ELEMENTS, ArrayType
from .contract import Contract
from .floats import CALM, errstate, nervous
from .result import result_text
from .standin import Values, condition, forward_text, stand_in, values_text

__all__ = ["Saved", "applies", "apart", "copies", "more", "share", "wrapper"]

Saved = tuple[tuple[np.ndarray, np.ndarray], ...]
"""Arrays that the kernel writes, each with a copy made before."""


class _Mismatch(Exception):
    """The call is not of the kind that the contract was made for."""


def applies(function: FunctionType, contract: Contract) -> Callable[[Values], bool]:
    """Tells whether the names that the contract relies on still mean what they did, in a call with
    these arguments.
    """
    text = _Text(function, contract)
    conditions = text.refs()
    for b in _sources(contract.bindings):
        match b:
            case Captured(name, ty) | Field(array=name, of=ty, captured=True):
                read = text.helper("f", type_of)
                conditions.append(f"{read}({name}) == {text.helper('t', ty)}")
            case Taken(_, name, ty, captured=True):
                read = text.helper("f", outer_type)
                conditions.append(f"{read}({name}) == {text.helper('t', ty)}")
    return condition(function, text.homes(), " and ".join(conditions) or "True", text.cells())


def wrapper(
    function: FunctionType,
    contract: Contract,
    fast: Callable[..., int],
    *,
    other: Callable[[str, Values], Callable[..., Any]],
    why: Callable[[int, tuple[Any, ...], Saved], str | None],
    calls: CellType,
) -> FunctionType:
    """`function` compiled: `fast` is its kernel.

    ``why(status, given, saved)`` tells why the result of `fast`, given these arguments, does not
    stand; ``other(code, values)`` is then called instead. `calls` counts the results given here.
    """
    text = _Text(function, contract)
    given = {"_tp_fast": fast, "_tp_other": other, "_tp_why": why}
    body = [*text.body()]
    helpers = text.cells() | {name: CellType(f) for name, f in given.items()}
    again = CellType()
    made = stand_in(function, body, helpers | {"_tp_calls": calls, "_tp_again": again})
    again.cell_contents = made
    return made


class _Text:
    """The source of one wrapper, and the values of the helper names in it."""

    def __init__(self, function: FunctionType, contract: Contract) -> None:
        code = function.__code__
        self._contract = contract
        self._code = code
        self._rest = f"{values_text(code)})({forward_text(code)})"
        self._helpers: dict[str, Any] = {"_np": np, "_max": max, "_min": min, "_type": type}
        if contract.short is not None:
            self._helpers |= {"_tp_room": [LITTLE], "_tp_more": more}
        used = {p.name for p in contract.params}
        self._bindings = [b for b in contract.bindings if b.name in used or isinstance(b, Fresh)]
        self._slots = [b for b in self._bindings if isinstance(b, Slot)]
        self.dtypes = {b.name: b.dtype for b in self._slots}

    def helper(self, kind: str, value: Any) -> str:
        """A name for `value`."""
        name = f"_tp_{kind}{len(self._helpers)}"
        self._helpers[name] = value
        return name

    def cells(self) -> dict[str, CellType]:
        return {name: CellType(value) for name, value in self._helpers.items()}

    def body(self) -> Iterator[str]:
        yield "nonlocal _tp_calls"
        yield from self._before()
        saved = self._saved()
        if saved != "()":
            yield f"_tp_saved = {saved}"
            saved = "_tp_saved"
        given = "".join(f"{self.name(p.name)}, " for p in self._contract.params)
        yield f"_tp_status = _tp_fast({given})"
        yield "if _tp_status:"
        yield f"    _tp_code = _tp_why(_tp_status, ({given}), {saved})"
        yield "    if _tp_code is not None:"
        if self._contract.short is not None:
            yield f"        if _tp_more(_tp_status, {self.name(self._contract.short)}, _tp_room):"
            yield f"            return _tp_again({forward_text(self._code)})"
        yield f"        return _tp_other(_tp_code, {self._rest}"
        yield "_tp_calls += 1"
        yield from (f"{self._mover(b, True)}({b.text}, {b.name})" for b in self._put())
        result = result_text(self._contract.returned, self)
        if self._slots:
            yield f"_tp_result = {result}"
            yield f"_tp_pool.append({self._slot_names()})"
            result = "_tp_result"
        yield f"return {result}"

    # -- before the call

    def refs(self) -> list[str]:
        return [f"{ref.expr} is {self.helper('r', ref.value)}" for ref in self._contract.refs]

    def homes(self) -> list[str]:
        return [f"{home.name} = {home.expr}" for home in self._contract.homes]

    def _before(self) -> Iterator[str]:
        lines = [*self.homes(), *self._conditions()]
        given = _sources(self._bindings)
        lines += (f"_tpc_{b.name} = {b.name}" for b in given if isinstance(b, Captured))
        lines += self._held()
        lines += self._taken()
        fields = (b for b in self._bindings if isinstance(b, Field))
        lines += (f"{b.name} = {b.array}{indexed_by(b.path)}" for b in fields)
        lines += (f"{b.name} = {b.expr}" for b in self._bindings if isinstance(b, Fresh))
        lines += self._taken_apart()
        if lines:
            yield "try:"
            yield from (f"    {line}" for line in lines)
            yield f"except {self.helper('e', Exception)}:"
            yield f"    return _tp_other('', {self._rest}"
        if self._slots:
            yield from self._take_slots()

    def _conditions(self) -> Iterator[str]:
        contract = self._contract
        conditions = [*map(self._is_shaped, contract.objects), *map(self._is_given, contract.given)]
        conditions += self.refs()
        records = {b.array: b.of.dtype for b in self._bindings if isinstance(b, Field)}
        if records:
            of, array = self.helper("f", type), self.helper("t", np.ndarray)
            conditions += (
                f"{of}({name}) is {array} and {name}.dtype == {self.helper('t', dtype)}"
                for name, dtype in records.items()
            )
        if any(isinstance(b, Fresh) for b in self._bindings):
            # what is allocated is asked of arrays alone: another type's methods may do anything
            of, array = self.helper("f", type), self.helper("t", np.ndarray)
            bound = (b for b in self._bindings if isinstance(b, Argument))
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
        for b in self._bindings:
            if isinstance(b, Held):
                yield f"{b.name} = {b.text}"
                if isinstance(b.type, ArrayType):
                    yield f"if {of}({b.name}) is not {array}:"
                    yield f"    raise {self.helper('e', _Mismatch)}"

    def _taken(self) -> Iterator[str]:
        """What lists hold; those of which one is written, and all in them, must be different."""
        taken = [b for b in self._bindings if isinstance(b, Taken)]
        yield from (f"{b.name} = {self._mover(b, False)}({b.text})" for b in taken)
        if any(True for _ in self._put()):
            whole = "".join(f"{b.text}, " for b in taken)
            inner = "".join(f"*{b.text}, " for b in taken if b.type.kinds[1:] == (list,))
            unfit = "".join(f"{b.name} is None or " for b in taken)
            yield f"if {unfit}not {self.helper('f', apart)}(({whole}{inner})):"
            yield f"    raise {self.helper('e', _Mismatch)}"

    def _put(self) -> Iterator[Taken]:
        """Lists that the kernel writes."""
        written = {p.name for p in self._contract.params if p.written}
        return (b for b in self._bindings if isinstance(b, Taken) and b.name in written)

    def _mover(self, b: Taken, back: bool) -> str:
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
        parts = [b for b in self._bindings if isinstance(b, Part)]
        for name, ty in dict.fromkeys((b.of.name, b.type) for b in parts):
            kind = complex if ty.weak else ELEMENTS[ty.dtype].numpy.type
            known = f"{self.helper('f', type)}({self.object(name)})"
            yield f"if {known} is not {self.helper('t', kind)}:"
            yield f"    raise {self.helper('e', _Mismatch)}"
        yield from (f"_tpv_{b.name} = {self.object(b.of.name)}.{b.part}" for b in parts)

    def _take_slots(self) -> Iterator[str]:
        """Slots serve again and again, for making an array is the costliest part of a small fold.

        Two calls never hold the same ones.
        """
        dtypes = [DTYPES[b.dtype].numpy for b in self._slots]
        make = self.helper("f", lambda: tuple(np.empty((), dtype) for dtype in dtypes))
        self._helpers["_tp_pool"] = []
        yield "try:"
        yield f"    {self._slot_names()} = _tp_pool.pop()"
        yield f"except {self.helper('e', IndexError)}:"
        yield f"    {self._slot_names()} = {make}()"

    def _slot_names(self) -> str:
        return f"({''.join(f'_tps_{b.name}, ' for b in self._slots)})"

    def _saved(self) -> str:
        """Copies of what the kernel writes, where Python may have to run after it has."""
        contract = self._contract
        if not contract.writes or not (contract.snapshot or contract.sources):
            return "()"
        written = "".join(f"{self.name(n)}, " for n in contract.writes)
        saved = f"{self.helper('f', copies)}(({written}))"
        if contract.snapshot:
            return saved
        self._helpers |= {"_tp_warnings": warnings, "_tp_calm": CALM, "_tp_errstate": errstate}
        mood = "(_tp_errstate(), _tp_warnings.filters)"
        condition = f"{mood} != _tp_calm.mood and {self.helper('f', nervous)}()"
        if contract.risky and contract.rewrites:
            condition += " or True"  # the call in C must know the mood all the same
        elif contract.risky and contract.in_place:
            pairs = "".join(f"({self.name(a)}, {self.name(b)}), " for a, b in contract.in_place)
            condition += f" or {self.helper('f', share)}(({pairs}))"
        return f"{saved} if {condition} else ()"

    def name(self, name: str) -> str:
        """What the wrapper calls what it gives the kernel for `name`."""
        match next((b for b in self._bindings if b.name == name), None):
            case Slot():
                return f"_tps_{name}"
            case Part():
                return f"_tpv_{name}"
            case _:
                return self.object(name)

    def object(self, name: str) -> str:
        """What the wrapper calls the object bound to `name`."""
        given = (b.name for b in _sources(self._bindings) if isinstance(b, Captured))
        return f"_tpc_{name}" if name in given else name


def _sources(bindings: Iterable[Binding]) -> list[Binding]:
    """The bindings, each complex number in the place of its parts."""
    return list(dict.fromkeys(b.of if isinstance(b, Part) else b for b in bindings))


def share(pairs: Iterable[tuple[Any, Any]]) -> bool:
    """Whether two arrays of a pair are one: the kernel sees to it that others share nothing."""
    arrays = ((a, b) for a, b in pairs if type(a) is type(b) is np.ndarray)
    places = ([x.__array_interface__["data"][0] for x in pair] for pair in arrays)
    return any(a == b for a, b in places)


LITTLE, MUCH = 1 << 12, 1 << 28
"""Items that lists have room for at first, and at most."""


def more(status: int, short: np.ndarray, room: list[int]) -> bool:
    """Whether a kernel had too little room for its lists, and there is more from now on."""
    wanted = 0 < status < 1 << 8 and bool(short) and room[0] < MUCH
    if wanted:
        room[0] *= 8
    return wanted


def apart(lists: Iterable[object]) -> bool:
    """Whether each is another object."""
    ids = [*map(id, lists)]
    return len({*ids}) == len(ids)


def copies(given: Iterable[Any]) -> Saved:
    """Of arrays; what is none has not been turned down yet, and its methods may do anything."""
    return tuple((a, a.copy()) for a in given if type(a) is np.ndarray)
