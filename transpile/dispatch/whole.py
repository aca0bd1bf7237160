"""A contract to one builtin that does the whole call, where it can: what the wrapper does, in C.

Fields of records, complex numbers, lists that grow and generators are the wrapper's.
"""
from __future__ import annotations

from collections.abc import Callable
from inspect import CO_VARARGS, CO_VARKEYWORDS
from types import FunctionType
from typing import Any

import numpy as np

from loopir.types import DTYPES
from targets.load import Entry
from targets.whole import (
    CALLED,
    CHOSEN,
    GIVEN,
    LIST,
    LITERAL,
    PYTHON,
    SCALAR,
    SLOT,
    TUPLE,
    Call,
    Copying,
    Pointer,
    Program,
    whole,
)

from ..returned import (
    Chosen,
    Filled,
    Listed,
    Literal,
    Nothing,
    Paired,
    Returned,
    Same,
    Tupled,
    Value,
    Viewed,
)
from ..signature import parameters
from ..types import ELEMENTS
from .contract import Contract
from .floats import watched
from .fresh import Unfit, add_fresh
from .places import Places
from .result import filled, first, head, tolist, viewed, whole_number
from .saved import Saved
from .shelf import Shelf
from .standin import Values

__all__ = ["Ended", "whole_call"]

Ended = Callable[[int, Saved, tuple[Any, ...], Values], Callable[..., Any] | None]
"""What a status means, given copies of what the kernel has overwritten, its arguments and the
call's; None: the result stands.
"""

_LETTERS = {
    "f64": "d", "f32": "f", "i64": "q", "i32": "i", "i16": "h", "i8": "b",
    "u32": "I", "u16": "H", "u8": "B", "bool": "?",
}


def whole_call(
    function: FunctionType, contract: Contract, entry: Entry, python: FunctionType,
    ended: Ended, calls: np.ndarray,
) -> Callable[..., Any] | None:
    """The builtin in place of `python`, the wrapper, which it calls in doubt; None: there is none.

    `calls` counts its results.
    """
    try:
        call = _call(function, contract, python, ended, calls)
    except Unfit:
        return None
    return whole(entry, call)


def _call(
    function: FunctionType, contract: Contract, python: FunctionType, ended: Ended,
    calls: np.ndarray,
) -> Call:
    code, names = function.__code__, function.__globals__
    builtins = getattr(python, "__builtins__", None)
    keyed = code.co_kwonlyargcount or code.co_flags & (CO_VARARGS | CO_VARKEYWORDS)
    wary = bool(contract.writes and contract.sources)
    if keyed or (contract.writes and contract.snapshot) or (wary and not watched()):
        raise Unfit
    if any(home.generator for home in contract.homes):
        raise Unfit
    if not type(names) is type(builtins) is dict:
        raise Unfit
    places, program = Places(function, contract), Program()
    _Result(places, program).add(contract.returned)
    refs = {ref.expr: ref.value for ref in contract.refs}
    fresh = [add_fresh(program, b, places.lengths, refs) for b in places.fresh]
    sources = [places.of(p.name) for p in contract.params]
    written = [k for k, p in enumerate(contract.params) if p.name in contract.writes]
    given = function.__defaults__ or ()
    first = code.co_argcount - len(given)
    count = code.co_posonlyargcount
    shelf = Shelf()

    def over(values: Values) -> Values:
        return tuple(values[sources[k]] for k in written)

    copying = Copying(
        writes=written,
        pairs=() if contract.rewrites else places.pairs(contract),
        most=contract.copied_up_to,
        shelf=shelf.state,
        saves=lambda *values: shelf.copies(over(values)),
    )

    def ends(status: int, saved: Any, *values: Any) -> Callable[..., Any] | None:
        copied = shelf.found(over(values)) if saved is True else saved or ()
        given = tuple(None if k == SLOT else values[k] for k in sources)
        return ended(status, copied, given, values)

    return Call(
        name=function.__name__,
        parameters=[None if i < count else p for i, p in enumerate(parameters(code))],
        defaults={first + i: value for i, value in enumerate(given)},
        constants=places.constants,
        names=names, builtins=builtins, meanings=places.meanings, captured=places.captured,
        parts=places.parts, fresh=fresh, sources=sources, program=program,
        wary=wary, python=python,
        ended=ends,
        copying=copying if contract.copied_up_to else None,
        calls=calls,
    )


class _Result:
    """The rows of a result."""

    def __init__(self, places: Places, program: Program) -> None:
        self._places, self._words, self._row = places, program.words, program.row

    def add(self, returned: Returned) -> int:
        """Adds the rows of `returned`, and tells where they begin."""
        match returned:
            case Nothing():
                return self._row(LITERAL, Pointer(None))
            case Literal(value):
                return self._row(LITERAL, Pointer(value))
            case Same(name):
                return self._row(GIVEN, self._places.object(name))
            case Value(slot, weak=True):
                return self._python(slot, self._places.slots[slot][1])
            case Value(slot, flag=None):
                return self._scalar(slot, self._places.slots[slot][1])
            case Value(slot, flag=str(flag), weak_dtype=weak, dtype=dtype):
                row = self._row(CHOSEN, self._place(flag), 0, 0)
                self._words[row + 2] = self._python(slot, weak or "f64")
                self._words[row + 3] = self._scalar(slot, dtype or self._places.slots[slot][1])
                return row
            case Chosen(flag, then, orelse):
                row = self._row(CHOSEN, self._place(flag), 0, 0)
                self._words[row + 2 : row + 4] = self.add(then), self.add(orelse)
                return row
            case Tupled(items, display) if display not in (list, tuple):
                return self._called(display, *items)
            case Tupled(items, display):
                return self._all(LIST if display is list else TUPLE, *items)
        return self._helped(returned)

    def _helped(self, returned: Returned) -> int:
        """What a function in Python makes."""
        match returned:
            case Viewed(name, (1,), (0,), (0, str(stop))):
                return self._called(head, Same(name), Value(stop, weak=True))
            case Viewed(name, steps, axes, numbers):
                given = (Value(n, weak=True) if isinstance(n, str) else Literal(n) for n in numbers)
                return self._called(viewed, Same(name), Literal(steps), Literal(axes), *given)
            case Paired(re, im):
                return self._called(whole_number, re, im)
            case Listed(name, None, weak, None):
                return self._called(np.ndarray.tolist if weak else list, Same(name))
            case Listed(name, str(count), weak, None):
                return self._called(tolist if weak else first, Same(name), Value(count, weak=True))
            case Filled(name, count, dtype):
                length = Value(count, weak=True) if count else Literal(None)
                wanted = Literal(ELEMENTS[dtype].numpy if dtype else None)
                return self._called(filled, Same(name), length, wanted)
        raise Unfit

    def _called(self, function: Callable[..., Any], *items: Returned) -> int:
        row = self._row(CALLED, Pointer(function), 0)
        self._words[row + 2] = self._all(TUPLE, *items)
        return row

    def _all(self, kind: int, *items: Returned) -> int:
        row = self._row(kind, len(items), *[0] * len(items))
        for k, item in enumerate(items, row + 2):
            self._words[k] = self.add(item)
        return row

    def _place(self, slot: str) -> int:
        return self._places.slots[slot][0]

    def _python(self, slot: str, dtype: str) -> int:
        place, kept = self._places.slots[slot]
        if not {dtype, kept} <= _LETTERS.keys():
            raise Unfit
        return self._row(PYTHON, ord(_LETTERS[dtype]), place, ord(_LETTERS[kept]))

    def _scalar(self, slot: str, dtype: str) -> int:
        place, kept = self._places.slots[slot]
        narrow = (kept, dtype) == ("f64", "f32")
        if kept != dtype and not narrow:
            raise Unfit
        return self._row(SCALAR, Pointer(DTYPES[dtype].numpy), place, narrow)
