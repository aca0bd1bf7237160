"""Redefined functions: what function objects with one code object share, and when each is set up.

A decorated function inside another function is a new function object at each call of that one, and
each object needs a kernel of its own: bound to its captured variables, loaded from the disk cache.
This takes about a millisecond (the *setup*), a thousand times as long as a short call of Python::

    def total(x, k):
        @fuse
        def scaled(v): ...          # the same code object, another function object each time
        return scaled(x)

So from the third function object of one code object on, Python serves calls until it has taken as
long as the setup takes; then the kernel is set up. However many calls there are, that costs at most
twice what the better way would have cost (the ski rental problem). The first two function objects
are set up at once, and their calls tell how long calls take.

Two kinds of calls are never left to Python: those whose sums could have other last bits than in
compiled code (``exact_up_to``), as one call must not have two answers; and those that could take
longer than the setup (`_SetupTimes.may_be_python`). `Dispatcher` has a `DelayedSetup` for each
function, which it asks about calls of signatures that have no variant yet.

A function that is refused as a whole is refused again in each of its objects, as long as its names
mean the same; so they share the `Refusal`, with the plan of its regions. The regions' functions
then have common code objects, too, and are redefined functions themselves.
"""
from __future__ import annotations

import weakref
from collections.abc import Callable, Hashable
from dataclasses import field
from types import BuiltinFunctionType, CodeType, FunctionType
from typing import TYPE_CHECKING, Generic, TypeVar

import numpy as np

from loopir.lazy_dataclass import record
from loopir.process.signal_exceptions import failures
from targets.abi.inline_cache import SIZE_LIMIT, CacheRow, size_of_call

from ..frontend.names_read import captured_values
from ..knobs import Knobs
from ..options import Options
from ..types.value_types import WrappedFunction
from .call_selection import Trial
from .installed_call import Keys, keys_of
from .kernel_call.stub_functions import Arguments, Timed
from .specialization import Specialization, has_function_argument

if TYPE_CHECKING:
    from .refused.outlined_function import Refusal

__all__ = ["RUN_REDEFINED", "DelayedSetup"]

T = TypeVar("T")

RUN_REDEFINED = "RUN_REDEFINED"
"""The code of calls that Python serves, since setting up a kernel would take longer."""

_SET_UP_AT_ONCE = 2
"""How many function objects of one code object are set up at their first call."""

_SHORT_CALL, _SHORT_PART = 100_000, 10
"""A compiled call is short enough to try Python if it takes less than ``_SHORT_CALL`` nanoseconds,
and less than one part in ``_SHORT_PART`` of the setup. Much of this time is the overhead of a first
call, so Python seldom takes more than a few times as long. In the worst case, a long vector loop,
it takes about a hundred times as long: that is the price of one trial.
"""

_DISPATCH_TIME, _FORWARDING_TIME = 10_000, 60
"""Nanoseconds that a call which Python serves takes besides the call: in the dispatcher, and in a
row of the inline cache.
"""

_REMEMBERED = 3
"""Of how many calls of Python, for each size, the times are kept."""

_SINGLE_CALLS, _FEWEST_IN_ROW = 4, 32
"""How many calls the dispatcher times one by one before it puts a row; and the smallest number of
calls that a row is put for, since to make one takes as long as to dispatch some calls.
"""

_MAX_SIGNATURES, _MAX_MEANINGS = 64, 4
"""Of how many signatures of one code object the times and refusals are kept; and for how many
meanings of the names that it reads the refusals of a signature.
"""


@record(slots=True)
class _SetupTimes:
    """What is known of the calls of one signature, of all functions with one code object. Times are
    nanoseconds. Calls are grouped by the bit length of their size, as in `call_selection`.
    """

    setup: int  # the shortest time until a variant could be called, or was refused
    exact_up_to: int = SIZE_LIMIT
    """Up to this size compiled results have Python's bits."""
    is_refused: bool = False  # the signature is refused as a whole: Python serves all calls
    compiled: dict[int, int] = field(default_factory=dict)
    """The shortest time of a compiled call, by the bit length of its size."""
    python: dict[int, list[int]] = field(default_factory=dict)
    """The times of the last `_REMEMBERED` calls of Python, by the bit length of their size."""

    def expected_python(self, size: int) -> int | None:
        """The time of a call of this size as Python: the median of the last ones, so that a single
        one, which other work may have slowed, does not count. None: nothing is known of such calls.
        """
        times = self.python.get(size.bit_length())
        return sorted(times)[(len(times) - 1) // 2] if times else None

    def may_be_python(self, size: int, spent: int) -> bool:
        """Whether Python is to serve a call of this size, of a function that has no variant yet.
        ``spent``: the time that Python has taken for earlier calls of this function. The first that
        applies:

        - the signature is refused: yes, until ``spent`` exceeds `setup`;
        - Python's result could have other bits (`exact_up_to`): no;
        - the time of such a call as Python is known: yes, if with ``spent`` it makes no more than
          `setup`. If the answer is no even for the first call of a function (``spent`` is 0),
          Python would never be timed again; so the longest of the noted times, which other work may
          have slowed, is dropped, and a later function may try Python;
        - else yes if a compiled call of this size is known, and is short (`_SHORT_CALL`), until
          ``spent`` exceeds `setup`.
        """
        if self.is_refused:
            return spent <= self.setup
        bits = size.bit_length()
        if size > self.exact_up_to:
            return False
        if (expected := self.expected_python(size)) is not None:
            if spent + expected <= self.setup:
                return True
            noted = self.python[bits]
            if not spent and len(noted) > 1:
                noted.remove(max(noted))
            return False
        limit = min(_SHORT_CALL, self.setup // _SHORT_PART)
        return self.compiled.get(bits, limit) < limit and spent <= self.setup

    def note_compiled(self, size: int, nanoseconds: int) -> None:
        """Note the time of a compiled call."""
        bits = size.bit_length()
        self.compiled[bits] = min(self.compiled.get(bits, nanoseconds), nanoseconds)

    def note_python(self, size: int, nanoseconds: int) -> None:
        """Note the time of a call of Python."""
        times = self.python.setdefault(size.bit_length(), [])
        times[:] = [*times[1 - _REMEMBERED :], nanoseconds]


class _Redefinitions:
    """The functions that were made of one code object, and decorated."""

    def __init__(self) -> None:
        self._latest: weakref.ref[FunctionType] | None = None
        self._functions = 0
        self._times: dict[Hashable, _SetupTimes] = {}
        self._refusals: dict[Hashable, list[tuple[list[object], Refusal]]] = {}
        """By the signature and the environment variables; with what the names meant (`_meanings`).
        """

    def add(self, function: FunctionType) -> None:
        """Count a function object; one that is decorated twice in succession counts once."""
        if self._latest is None or self._latest() is not function:
            self._functions += 1
            self._latest = weakref.ref(function)

    @property
    def are_many(self) -> bool:
        """Whether so many functions were made of the code object that more are to be expected."""
        return self._functions > _SET_UP_AT_ONCE

    def times(self, signature: Hashable) -> _SetupTimes | None:
        """What is known of the calls of this signature; None if nothing was set up for it yet.
        ``signature``: the types of the arguments, and the options of the function.
        """
        return self._times.get(signature)

    def note_setup(
        self, signature: Hashable, nanoseconds: int, exact_up_to: int | None, *, is_refused: bool
    ) -> None:
        """Note how long it took until a variant of this signature could be called, or until it was
        refused. ``exact_up_to``: as in `KernelInterface`; None: any size.
        """
        limit = SIZE_LIMIT if exact_up_to is None else exact_up_to
        times = self._times.get(signature)
        if times is None:
            if len(self._times) < _MAX_SIGNATURES:
                self._times[signature] = _SetupTimes(nanoseconds, limit, is_refused)
            return
        times.setup = min(times.setup, nanoseconds)
        times.exact_up_to = min(times.exact_up_to, limit)
        times.is_refused = times.is_refused and is_refused

    def known_refusal(self, key: Hashable, function: FunctionType) -> Refusal | None:
        """The refusal that was noted for `key` when all names meant what they do in `function`;
        None if there is none.
        """
        known = self._refusals.get(key)
        if not known or (meanings := _meanings(function)) is None:
            return None
        return next((refusal for meant, refusal in known if meant == meanings), None)

    def note_refusal(self, key: Hashable, function: FunctionType, refusal: Refusal) -> None:
        """Note the refusal of `function`. ``key``: the signature, and the environment variables."""
        if key not in self._refusals and len(self._refusals) >= _MAX_SIGNATURES:
            return
        known = self._refusals.setdefault(key, [])
        is_noted = any(noted is refusal for _, noted in known)
        if not is_noted and (meanings := _meanings(function)) is not None:
            known[:] = [*known[1 - _MAX_MEANINGS :], (meanings, refusal)]


class _CodeObjectMap(Generic[T]):
    """A value for each code object, as long as that exists. Two code objects are two keys even if
    they are equal, as those of equal functions are.
    """

    def __init__(self) -> None:
        self._values: dict[int, tuple[weakref.ref[CodeType], T]] = {}  # by address

    def get(self, code: CodeType) -> T | None:
        """The value of `code`; None if it has none."""
        reference, value = self._values.get(id(code), (None, None))
        return value if reference is not None and reference() is code else None

    def put(self, code: CodeType, value: T) -> None:
        """Make `value`, which must not refer to `code`, the value of `code`."""
        key = id(code)
        self._values[key] = weakref.ref(code, lambda _: self._values.pop(key, None)), value

    def __len__(self) -> int:
        return len(self._values)

    def clear(self) -> None:
        """Forget all."""
        self._values.clear()


_known: _CodeObjectMap[_Redefinitions] = _CodeObjectMap()


def _redefinitions_of(function: FunctionType) -> _Redefinitions:
    """The functions with the code object of `function`, which is counted."""
    found = _known.get(function.__code__)
    if found is None:
        found = _Redefinitions()
        _known.put(function.__code__, found)
    found.add(function)
    return found


class _Identity:
    """An object that is compared by identity, and not kept alive."""

    def __init__(self, value: object) -> None:
        self._value = weakref.ref(value)

    def __eq__(self, other: object) -> bool:
        value = self._value()
        return value is not None and isinstance(other, _Identity) and other._value() is value

    __hash__ = None  # type: ignore[assignment]  # it changes when the object dies


def _meanings(function: FunctionType) -> list[object] | None:
    """What the names that `function` reads from outside mean, and those of the user's functions
    that it calls, as far as its refusal may depend on it: the values of ints and strs, the types of
    other data (of containers also those of their items), the code of the functions, and the
    identity of all else. None: not known (`names_of_called`).
    """
    from .cache.stored_refusals import identity_of_value, names_of_called

    found = names_of_called(function)
    if found is None:
        return None
    codes = {id(f): _Identity(f.__code__) for f, _ in found}

    def meaning(value: object) -> object:
        """Of one value; a function of `found` may be another object with the same code."""
        kind = type(value)
        inner = value.__wrapped__ if isinstance(value, WrappedFunction) else value
        if id(inner) in codes:
            return kind, codes[id(inner)]
        if kind in (bool, int, str, bytes, BuiltinFunctionType):
            return kind, value
        if isinstance(value, np.ndarray):
            return kind, value.dtype, value.ndim
        try:
            return kind if isinstance(value, np.generic) else _Identity(value)
        except failures(TypeError):  # there are no weak references to floats, lists, …
            return kind, identity_of_value(value, by_type=True)

    return [
        (codes[id(f)], {name: meaning(value) for name, value in values.items()})
        for f, values in found
    ]


PutRows = Callable[[Keys, list[CacheRow]], None]
"""Puts rows into the installed call (`Dispatcher._put_rows`)."""


class DelayedSetup:
    """Whether the setup of a kernel for `function` is delayed. ``options``: of the decorator."""

    def __init__(self, function: FunctionType, options: Options) -> None:
        self._function, self._options = function, options
        self._redefinitions = _redefinitions_of(function)

    def serve_by_python(
        self, spec: Specialization, values: Arguments, put_rows: PutRows
    ) -> Timed | None:
        """A function that is to be told the time of this call, if Python is to serve it. ``spec``:
        the specialization of the call. None in all other cases:

        - `spec` has a variant, or is refused: there is nothing to delay;
        - too few function objects were made of the code object (`_SET_UP_AT_ONCE`), or nothing was
          set up for this signature yet, so that no times are known;
        - the kernel is to be set up now (`_SetupTimes.may_be_python`).

        After `_SINGLE_CALLS` the time also decides for the next calls (`_row_before_setup`).
        """
        is_decided = bool(spec.variants) or spec.rejection is not None
        if is_decided or not self._redefinitions.are_many or not (times := self._times(spec)):
            return None
        keys = keys_of(spec.types, values)
        size, captured = size_of_call(values, keys), self._captured_size()
        if not times.may_be_python(size + captured, spec.before_setup):
            return None
        spec.before_setup += _DISPATCH_TIME  # also if the call raises
        spec.replays[RUN_REDEFINED] += 1

        def add_time(nanoseconds: int, finished: bool) -> None:
            if not finished:
                return
            times.note_python(size + captured, nanoseconds)
            spec.before_setup += nanoseconds
            row = self._row_before_setup(spec, times, keys, size, captured)
            if row is not None:
                put_rows(keys, [row])

        return add_time

    def _row_before_setup(
        self, spec: Specialization, times: _SetupTimes, keys: Keys, size: int, captured: int
    ) -> CacheRow | None:
        """A row that sends the next calls with these `keys`, of at most about this `size`, to the
        original: as many as take as long as is left until the setup. The call after them sets up
        the kernel. None: there were too few calls so far, or too few are left to be worth a row.
        """
        expected = times.expected_python(size + captured)
        assert expected is not None  # as a time was noted
        count = (times.setup - spec.before_setup) // (expected + _FORWARDING_TIME)
        if spec.replays[RUN_REDEFINED] < _SINGLE_CALLS or count < _FEWEST_IN_ROW:
            return None
        spec.before_setup = times.setup + 1  # the row spends what is left
        high = min((1 << size.bit_length()) - 1, times.exact_up_to - captured)
        counters = spec.python_calls.start(RUN_REDEFINED, count, spec.replays)
        return CacheRow(self._function, keys, 0, high, counters, is_for_these_sizes=True)

    def known_refusal(self, spec: Specialization, settings: Knobs) -> Refusal | None:
        """The refusal of an earlier function object with the signature of `spec`, if the names of
        this one mean the same; else None. ``settings``: the environment variables.
        """
        if spec.retries:
            return None
        key = self._signature(spec), settings
        return self._redefinitions.known_refusal(key, self._function)

    def note_setup(self, spec: Specialization, settings: Knobs) -> None:
        """Note how long it took until there was a variant of `spec`, or until it was refused; also
        the refusal, for `known_refusal`, if it is about the source. No time is noted of functions
        that are outlined: their regions are set up later, when they are called.
        """
        signature = self._signature(spec)
        if signature is None:
            return
        if spec.refusal is not None and spec.refusal.is_about_source:
            self._redefinitions.note_refusal((signature, settings), self._function, spec.refusal)
        if spec.outlined is None:
            limit = spec.variants[-1].interface.exact_up_to if spec.variants else None
            self._redefinitions.note_setup(
                signature, int(1e9 * spec.seconds), limit, is_refused=not spec.variants
            )

    def note_time(
        self, spec: Specialization, served: Trial, size: int, nanoseconds: int
    ) -> None:
        """Note the time of a trial of this size (``served``: in which way), for
        `Dispatcher._add_time`. The time of a kernel alone says nothing about a call.
        """
        if (times := self._times(spec)) is not None and served != "kernel":
            note = times.note_compiled if served == "compiled" else times.note_python
            note(size + self._captured_size(), nanoseconds)

    def _times(self, spec: Specialization) -> _SetupTimes | None:
        """What is known of the calls of `spec`, and of equal ones of the other functions."""
        signature = self._signature(spec)
        return None if signature is None else self._redefinitions.times(signature)

    def _signature(self, spec: Specialization) -> Hashable:
        """What functions of one code object must have in common for their calls to be alike; None
        for types that are functions, as these objects would be kept alive.
        """
        return None if has_function_argument(spec.types) else (spec.types, self._options)

    def _captured_size(self) -> int:
        """The size (`size_of_call`) of what the function captures, which its loops may run over."""
        return size_of_call([*captured_values(self._function).values()])
