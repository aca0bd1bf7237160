"""Call selection: whether compiled code or Python serves a call, decided by measured time.

Compiled code can be the slower one: a call of a kernel costs 100 ns and more, a list is converted
as a whole although the loop stops at its first item, a region in a Python loop is entered again and
again. So the first calls of a specialization are timed, some compiled and some as Python, and the
faster one serves the next calls of that size (`inline_cache.size_of_call`: elements of arrays and
lists, and magnitudes of ints). A decision for one size holds for others where it must: if Python is
the faster one, it is so for smaller calls; if compiled code is, it is so for larger ones, unless it
converts lists. A small difference is looked at again after a number of calls that doubles each
time, since the work of a call depends on more than its size.

Python is not tried where the compiled call is a long one: it could take a thousand times as long.
Nor is it where its results could have other last bits (``exact_up_to``): the same call must not
have two answers.
"""
from __future__ import annotations

from typing import Literal

from loopir.lazy_dataclass import record
from targets.abi.inline_cache import SIZE_LIMIT

__all__ = ["Backoff", "CallSelection", "Served", "next_allowance"]

Served = Literal["compiled", "python"]

_COMPILED_TRIALS, _PYTHON_TRIALS = 3, 2
"""How many calls are timed before a decision. The shortest time counts."""

_LONG_CALL, _LONGEST_CALL = 20_000, 1_000_000
"""Nanoseconds of a compiled call from which Python is not tried; and if so much of it is spent for
each item (`_PER_ITEM`) that it cannot be the kernel, as where it builds nested lists.
"""

_PER_ITEM = 300
"""Nanoseconds for an item of the arguments, more than a loop over them takes in compiled code."""

_CONVERSION = 10
"""Nanoseconds in which an item of a list is surely converted."""

_SHORT_CALL = 250
"""Nanoseconds of a compiled call that is short enough for smaller calls too, whatever Python takes.
"""

_FORWARDING = 60
"""Nanoseconds that it costs to forward a call to Python: it must be faster by more than that."""

FIRST_ALLOWANCE, MAX_ALLOWANCE = 1 << 8, 1 << 16
"""How many calls are served before another look: at first, and at most."""

_LAST_BUCKET = SIZE_LIMIT.bit_length()


def next_allowance(allowance: int) -> int:
    """The number of calls to serve before another look, after `allowance` calls did not change the
    decision.
    """
    return min(2 * allowance, MAX_ALLOWANCE)


@record(slots=True)
class _Trials:
    """The times of calls of similar size, in nanoseconds."""

    compiled: list[int]
    python: list[int]


def _may_try_python(compiled_time: int, size: int, *, converts_lists: bool) -> bool:
    """Whether Python may serve a call of this size, which took so long compiled, to be timed."""
    if compiled_time < _LONG_CALL + converts_lists * size * _CONVERSION:
        return True
    return size * _PER_ITEM < compiled_time < _LONGEST_CALL


class CallSelection:
    """What serves the calls of one specialization, by their size.

    Sizes are compared by their bit length, the *bucket*. ``converts_lists``: a compiled call
    converts lists, so that its time grows with their lengths whatever the loop does.
    ``exact_up_to``: the largest size whose compiled results have Python's bits; None: any.
    ``varies``: calls of equal size may differ in work so much that a decision for compiled code
    must be looked at again.
    """

    def __init__(
        self, *, converts_lists: bool, varies: bool, exact_up_to: int | None = None
    ) -> None:
        self._converts_lists, self._varies = converts_lists, varies
        self._first_inexact = _LAST_BUCKET + 1
        if exact_up_to is not None:
            self._first_inexact = max(exact_up_to + 1, 0).bit_length()
        self._trials: dict[int, _Trials] = {}
        self._python_to = -1  # the largest bucket that Python serves
        self._compiled_from, self._compiled_to = _LAST_BUCKET + 1, _LAST_BUCKET
        self._allowance = FIRST_ALLOWANCE
        self.times: tuple[int, int] | None = None
        """The times of compiled code and Python, in ns, by which Python was preferred last."""

    def choice(self, size: int) -> tuple[Served, bool]:
        """What serves a call of this size, and whether it has to be timed for a decision."""
        bucket = size.bit_length()
        if bucket >= self._first_inexact:
            return "compiled", False
        if bucket <= self._python_to:
            return "python", False
        if self._compiled_from <= bucket <= self._compiled_to:
            return "compiled", False
        trials = self._trials.setdefault(bucket, _Trials([], []))
        return ("compiled" if len(trials.compiled) < _COMPILED_TRIALS else "python"), True

    def add_time(self, size: int, served: Served, nanoseconds: int) -> bool:
        """Adds the time of a call that `choice` wanted timed; returns whether that decides what
        serves calls of this size: Python if its shortest time is shorter by more than
        `_FORWARDING`.
        """
        trials = self._trials.get(bucket := size.bit_length())
        if trials is None:
            return False  # another thread has decided meanwhile
        getattr(trials, served).append(nanoseconds)
        if len(trials.compiled) < _COMPILED_TRIALS:
            return False
        compiled_time = min(trials.compiled)
        if _may_try_python(compiled_time, size, converts_lists=self._converts_lists):
            if len(trials.python) < _PYTHON_TRIALS:
                return False
            if min(trials.python) + _FORWARDING < compiled_time:
                self._prefer_python(bucket)
                self.times = compiled_time, min(trials.python)
                return True
        self._prefer_compiled(bucket)
        if compiled_time <= _SHORT_CALL:
            self._compiled_from = 0
        return True

    def _prefer_python(self, bucket: int) -> None:
        del self._trials[bucket]
        self._python_to = max(self._python_to, bucket)
        self._compiled_from = max(self._compiled_from, bucket + 1)

    def _prefer_compiled(self, bucket: int) -> None:
        del self._trials[bucket]
        self._python_to = min(self._python_to, bucket - 1)
        self._compiled_from = bucket
        self._compiled_to = bucket + 2 if self._converts_lists else _LAST_BUCKET

    def look_again(self, size: int) -> None:
        """Drops the decision for this size; the next one holds for twice as many calls."""
        bucket = size.bit_length()
        if bucket <= self._python_to:
            self._python_to = bucket - 1
        elif self._compiled_from <= bucket <= self._compiled_to:
            self._compiled_from = bucket + 1
        self._allowance = next_allowance(self._allowance)

    def ranges(self) -> list[tuple[Served, int, int, int]]:
        """The decisions: what serves the calls of which sizes, both bounds included, and how many
        of them before another look (-1: all).
        """
        found: list[tuple[Served, int, int, int]] = []
        if self._python_to >= 0:
            found.append(("python", 0, (1 << self._python_to) - 1, self._allowance))
        if self._compiled_from <= min(self._compiled_to, self._first_inexact - 1):
            low = 1 << self._compiled_from >> 1
            is_last = self._compiled_to >= _LAST_BUCKET
            high = SIZE_LIMIT if is_last else (1 << self._compiled_to) - 1
            is_final = not (self._varies or self._converts_lists)
            found.append(("compiled", low, high, -1 if is_final else self._allowance))
        if self._first_inexact <= _LAST_BUCKET:
            found.append(("compiled", 1 << self._first_inexact >> 1, SIZE_LIMIT, -1))
        return found

    @property
    def prefers_python(self) -> bool:
        """Whether Python was the faster one for all sizes so far, and again at another look."""
        has_compiled = (
            self._compiled_from <= self._compiled_to or self._first_inexact <= _LAST_BUCKET
        )
        return self._python_to >= 0 and not has_compiled and self._allowance > FIRST_ALLOWANCE


_MAX_FAILURES = 16
"""Consecutive calls without a compiled one after which a region backs off."""

_SHORTEST, _LONGEST = 6, 16
"""Calls of the first and the longest back-off, as powers of two; each is twice the last."""


class Backoff:
    """Exponential back-off: counts consecutive calls that no compiled code could serve."""

    def __init__(self) -> None:
        self._failures = self._compiled = 0

    def calls_to_skip(self, compiled: int) -> int:
        """Count another such call. Returns how many of the next calls to pass on without
        dispatching; 0 before `_MAX_FAILURES` of them.

        ``compiled``: the number of compiled calls so far; a new one ends the series.
        """
        self._failures = self._failures + 1 if compiled == self._compiled else 1
        self._compiled = compiled
        if self._failures < _MAX_FAILURES:
            return 0
        return 1 << min(_SHORTEST + self._failures - _MAX_FAILURES, _LONGEST)
