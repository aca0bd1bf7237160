"""A contract to a Python function: checks, allocations, one call of the kernel, the result.

It is written as source and stands in for the user's function, so that every name is read anew. For
``scale(x, k)``, which returns a new array:

    nonlocal _tp_calls
    try:
        if not (len is _tp_r0 and _tp_type(x) is _tp_ndarray):
            raise _tp_mismatch
        out = _np.empty(len(x), _np.float64)
        _tp_fits = True
    except _tp_Exception:
        _tp_fits = False
    if not _tp_fits:
        return _tp_other("", (x, k, ))(x, k)
    _tp_status = _tp_fast(x, out, k)
    if _tp_status:
        _tp_code = _tp_why(_tp_status, (x, out, k, ), ())
    if _tp_status and _tp_code is not None:
        return _tp_other(_tp_code, (x, k, ))(x, k)
    _tp_calls += 1
    return out
"""
from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from types import CellType, FunctionType
from typing import Any

import numpy as np

from loopir.types import DTYPES

from ..bindings import Captured, Field, Taken
from ..signature import outer_type, type_of
from .contract import Contract
from .entry import Entry, sources
from .floats import CALM, errstate, nervous
from .result import result_text
from .saved import Saved, copies, share, size
from .standin import Values, condition, stand_in

__all__ = ["applies", "wrapper"]


def applies(function: FunctionType, contract: Contract) -> Callable[[Values], bool]:
    """Tells whether the names that the contract relies on still mean what they did, in a call with
    these arguments.
    """
    text = _Text(function, contract)
    conditions = text.refs()
    for b in sources(contract.bindings):
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


class _Text(Entry):
    """The source of one wrapper, and the values of the helper names in it."""

    def body(self) -> Iterator[str]:
        yield "nonlocal _tp_calls"
        yield from self.before()
        if self.slots:
            yield from self._take_slots()
        generators = [home.generator for home in self.contract.homes if home.generator]
        if generators:
            yield f"with _draws.locked({', '.join(generators)}):"
        yield from (f"    {line}" if generators else line for line in self._call())
        yield "if _tp_status and _tp_code is not None:"
        if self.contract.short is not None:
            yield f"    if _tp_more(_tp_status, {self.name(self.contract.short)}, _tp_room):"
            yield f"        return _tp_again({self.again})"
        yield f"    return _tp_other(_tp_code, {self.rest}"
        yield "_tp_calls += 1"
        yield from (home.after for home in self.contract.homes if home.after)
        yield from (f"{self.mover(b, True)}({b.text}, {b.name})" for b in self.put())
        result = result_text(self.contract.returned, self)
        if self.slots:
            yield f"_tp_result = {result}"
            yield f"_tp_pool.append({self._slot_names()})"
            result = "_tp_result"
        yield f"return {result}"

    def _call(self) -> Iterator[str]:
        """The call of the kernel; what it has overwritten is as before where it does not stand."""
        saved = self._saved()
        if saved != "()":
            yield f"_tp_saved = {saved}"
            saved = "_tp_saved"
        given = "".join(f"{self.name(p.name)}, " for p in self.contract.params)
        yield f"_tp_status = _tp_fast({given})"
        yield "if _tp_status:"
        yield f"    _tp_code = _tp_why(_tp_status, ({given}), {saved})"

    def _take_slots(self) -> Iterator[str]:
        """Slots serve again and again, for making an array is the costliest part of a small fold.

        Two calls never hold the same ones.
        """
        dtypes = [DTYPES[b.dtype].numpy for b in self.slots]
        make = self.helper("f", lambda: tuple(np.empty((), dtype) for dtype in dtypes))
        self.helpers["_tp_pool"] = []
        yield "try:"
        yield f"    {self._slot_names()} = _tp_pool.pop()"
        yield f"except {self.helper('e', IndexError)}:"
        yield f"    {self._slot_names()} = {make}()"

    def _slot_names(self) -> str:
        return f"({''.join(f'_tps_{b.name}, ' for b in self.slots)})"

    def _saved(self) -> str:
        """Copies of what the kernel writes, where Python may have to run after it has."""
        contract = self.contract
        if not contract.writes or not (contract.snapshot or contract.sources):
            return "()"
        written = "".join(f"{self.name(n)}, " for n in contract.writes)
        saved = f"{self.helper('f', copies)}(({written}))"
        if contract.snapshot:
            return saved
        self.helpers |= {"_tp_warnings": warnings, "_tp_calm": CALM, "_tp_errstate": errstate}
        mood = "(_tp_errstate(), _tp_warnings.filters)"
        condition = f"{mood} != _tp_calm.mood and {self.helper('f', nervous)}()"
        if contract.copied_up_to and (contract.rewrites or contract.in_place):
            condition += f" or {self._cheap(written)}"
        return f"{saved} if {condition} else ()"

    def _cheap(self, written: str) -> str:
        """Whether the kernel overwrites what it reads, and not too much of it to copy."""
        contract = self.contract
        cheap = f"{self.helper('f', size)}(({written})) <= {contract.copied_up_to}"
        pairs = "".join(f"({self.name(a)}, {self.name(b)}), " for a, b in contract.in_place)
        return cheap if contract.rewrites else f"{cheap} and {self.helper('f', share)}(({pairs}))"
