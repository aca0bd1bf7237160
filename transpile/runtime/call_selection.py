"""Call selection: whether compiled code or Python serves a call, decided by measured time.

Compiled code can be slower than Python: a call of a kernel costs 100 ns and more, a list argument
is converted as a whole even if the loop stops at its first item, a region in a Python loop is
called in each iteration. So the first calls of a specialization are *trials*: some run compiled,
some as Python, and are timed. The faster way then serves the calls of that size
(`inline_cache.size_of_call`: elements of arrays and lists, plus magnitudes of ints). A decision for
one size implies others: where Python is faster, it serves smaller calls, too; where compiled code
is faster, it serves larger calls, too, unless it converts lists.

The work of a call depends on more than its size. So some decisions hold for a limited number of
calls, the *allowance*: those by which Python runs, those about a region or about calls that convert
lists, and close ones. Then the calls are timed again, and the next decision has twice the
allowance.

A single call that the dispatcher runs takes up to twice as long as one of many consecutive calls.
So short calls are also timed in C, in a series of consecutive ones (`CallSeries`): calls of
compiled code, and then calls of Python if a single one took less than `_FAR` times as long.

When is Python not tried?

- If the compiled call is long: as Python it could take a hundred times as long. But a call that
  converts lists may be long only because of the conversion. So its kernel is timed alone, and
  Python is tried if the kernel takes a small part of the call, as it reads few items of a long
  list. Else Python is tried once compiled calls have taken so long that a trial adds little
  (`_calls_before_trial`).
- If the call is larger than ``exact_up_to``: Python's sums could have other last bits there, and
  one call must not have two answers. That limit is for the *exact size* (`exact_size`), the size of
  those arguments that determine how many terms a sum has. A long list of which few items are read
  does not count.
"""
from __future__ import annotations

from dataclasses import field
from itertools import groupby
from typing import TYPE_CHECKING, Literal

import numpy as np

from loopir.lazy_dataclass import record
from targets.abi.inline_cache import SIZE_LIMIT

if TYPE_CHECKING:
    from ..report.measured_choice import FasterAsPython

__all__ = [
    "FIRST_ALLOWANCE", "MAX_ALLOWANCE", "PYTHON_FASTER", "CallSelection", "CallSeries", "Served",
    "SizeRange", "Trial", "next_allowance",
]

PYTHON_FASTER = "RUN_PYTHON_FASTER"
"""The code of calls that Python serves since it was measured to be the faster one."""

Served = Literal["compiled", "python"]
Trial = Literal["compiled", "python", "kernel"]
"""How a timed call is run: compiled, as Python, or (``kernel``) compiled, and only the time that
the kernel takes counts.
"""

_COMPILED_TRIALS, _PYTHON_TRIALS = 3, 2
"""How many calls are timed before a decision. The shortest time counts."""

_MAX_RAISED = 16
"""How many calls that raised are left out, of those that are timed before a decision: where an
exception is rare, the time of such a call says nothing about others. The times of further ones
count, as the function seems to raise always.
"""

_LONG_CALL, _LONGEST_CALL = 20_000, 1_000_000
"""Nanoseconds. A call as Python may take a hundred times as long as compiled: nobody notices that
if the compiled call, or the kernel in it, takes less than ``_LONG_CALL``. Calls of which Python
seems to save the largest part (`_PER_ITEM`, `_KERNEL_SHARE_OF_TABLES`) are tried as Python if they
take less than ``_LONGEST_CALL``. `_may_try_python` has all conditions.
"""

_PER_ITEM = 300
"""If a compiled call takes more nanoseconds than this for each item of its arguments (its size),
most of the time must be conversions, of the arguments or to a result of nested lists: a compiled
loop takes less for an item. The estimate is high, and that of `_CONVERSION` low: so Python is tried
too seldom rather than too often.
"""

_KERNEL_SHARE, _KERNEL_SHARE_OF_SHORT, _QUITE_SHORT_CALL = 200, 20, 10_000_000
"""Python may be tried if the kernel takes less than one part in ``_KERNEL_SHARE`` of a call, and
the rest is conversions: Python takes some hundred times as long as a kernel, so about as long as
the call. One part in ``_KERNEL_SHARE_OF_SHORT`` for a call of less than ``_QUITE_SHORT_CALL``
nanoseconds, whose trial may take some five times as long.
"""

_KERNEL_SHARE_OF_TABLES = 2
"""As ``_KERNEL_SHARE``, for a call of less than ``_LONGEST_CALL`` nanoseconds that makes a dict or
a set of a hash table. Python takes some ten times as long as such a kernel, not a hundred times;
and most of the time both ways is spent on making an object for each item.
"""

_LONG_CALL_OF_ARRAYS = 200_000
"""As ``_LONG_CALL``, where the original runs no loops: NumPy takes some ten times as long at most.
"""

_RATIO, _RATIO_OF_TABLES, _RATIO_OF_ARRAYS = 200, 10, 20
_LONGEST_TRIAL, _PAID_BY, _PAID_TRIALS = 500_000_000, 8, 3
"""How many times as long as a kernel Python may take, in general, for one that makes hash tables or
lists of lists, and where the original runs no loops. ``_LONGEST_TRIAL``: the nanoseconds that a
call as Python may take at most; ``_PAID_BY``: how many times as long compiled calls must have taken
before (`_calls_before_trial`); ``_PAID_TRIALS``: how often Python is tried so where it was far
slower, as other work on the machine may slow a call. Each time takes four times the calls.
"""

_CONVERSION = 10
"""Nanoseconds that the conversion of an item of a list takes at least."""

_SHORT_CALL = 250
"""Nanoseconds: if a compiled call takes no longer, and Python is not faster, compiled code serves
all smaller calls, too, and the decision does not count as close.
"""

_FORWARDING_COST = 60
"""Nanoseconds that it costs to forward a call to Python: it must be faster by more than that."""

_CALL_SAVED = 120
"""Nanoseconds that Python saves over its trial where a region's statements can be put beside its
call (`original_in_place`): these then run after a test, without a call.
"""

REGION_ENTRY = 200
"""Nanoseconds that Python saves over its trial where a region can be dropped, so that its
statements stand in place of a call: the arguments, the call and the tuple of results.
"""

FIRST_ALLOWANCE, MAX_ALLOWANCE = 1 << 8, 1 << 16
"""How many calls a decision serves before they are timed again: the first decision, and at most."""

_CLEARLY, _ALLOWANCE_OF_CLOSE = 2, 1 << 11
"""A decision for compiled code is *close* if it is faster by less than the factor ``_CLEARLY``:
other work on the machine may have slowed the few trials of Python. So the calls are timed again,
and again after twice as many calls, until the allowance is greater than ``_ALLOWANCE_OF_CLOSE``.
"""

_HARDLY = 1.15
"""A decision for compiled code is *doubtful* if it is faster by less than the factor ``_HARDLY``,
or even slower, but by less than it costs to forward a call to Python. Then it is for calls of this
size only, and they are timed again for ever: other work on the machine may have caused it.
"""

_SERIES, _FAR, _LONGEST_IN_SERIES = 10, 4, 200_000
"""``_SERIES``: how many calls a series has; more than eight, as Python 3.11 specializes a
function's bytecode after eight calls. No series is timed if a single call took more than
``_LONGEST_IN_SERIES`` nanoseconds; none of Python if that took more than ``_FAR`` times as long as
a compiled call.
"""

_NEVER = int(np.iinfo(np.int64).max)
"""The shortest time of a series in which no call has ended yet; and the time of Python where it was
not tried.
"""

_BUCKETS = SIZE_LIMIT.bit_length() + 1
"""The number of buckets: sizes are put together by their bit length, from 0 on."""


def next_allowance(allowance: int) -> int:
    """The allowance of the decision that follows one with this allowance: twice as many calls, up
    to `MAX_ALLOWANCE`.
    """
    return min(2 * allowance, MAX_ALLOWANCE)


@record(frozen=True, slots=True)
class SizeRange:
    """A decision: what serves calls whose size is from ``low`` to ``high``, and whose exact size is
    from ``exact_low`` to ``exact_high``, all included. (Exact size: that of the arguments which
    decide how many terms a sum has, and so whether compiled code has Python's bits.)
    """

    served: Served
    low: int
    high: int
    allowance: int  # how many calls are served before they are timed again; -1: all
    exact_low: int = 0
    exact_high: int = SIZE_LIMIT


@record(frozen=True, slots=True, eq=False)
class CallSeries:
    """Consecutive calls of one size range that the inline cache times, in C."""

    range: SizeRange
    counters: np.ndarray  # how many so far, and how many more
    shortest: np.ndarray  # nanoseconds of the shortest


@record(slots=True)
class _Trials:
    """The times of calls of similar size, in nanoseconds."""

    compiled: list[int]
    python: list[int]
    in_series: bool = False  # whether the inline cache can time calls
    only_series: bool = False  # no single calls are timed, as an earlier decision has done that
    series: dict[Served, CallSeries] = field(default_factory=dict)
    running: CallSeries | None = None  # the one of them that has not ended
    kernel: int | None = None  # of the kernel alone, in a compiled call
    needs_kernel: bool = False  # whether `kernel` decides if Python may be tried
    may_try_python: bool | None = None  # as told to `add_time`; None: `_may_try_python` decides
    raised: int = 0  # how many timed calls have raised

    @property
    def needs_compiled(self) -> bool:
        """Whether there are too few times of compiled calls."""
        return len(self.compiled) < (1 if self.only_series else _COMPILED_TRIALS)

    @property
    def needs_python(self) -> bool:
        """Whether there are too few times of calls as Python."""
        return len(self.python) < (1 if self.only_series else _PYTHON_TRIALS)


def _may_try_python(
    compiled_time: int, kernel_time: int | None, size: int, *, converts_lists: bool,
    makes_tables: bool, runs_loops: bool,
) -> bool:
    """Whether Python may serve a call of this size as a trial. Python could take a hundred times
    as long as compiled code, and the user would notice that one call. If False, `CallSelection`
    decides for compiled code without a trial of Python.

    ``compiled_time``, ``kernel_time``: nanoseconds of a compiled call, and of the kernel alone in
    it (None: not measured). One of these is enough:

    - the kernel takes a small fraction of the call (`_KERNEL_SHARE`). The rest is conversions,
      which Python does not need, so that the trial takes at most a few times as long as the call;
    - the kernel takes less than half of the call, and ``makes_tables`` (`_KERNEL_SHARE_OF_TABLES`);
    - the kernel itself is shorter than `_LONG_CALL`: a hundred times as long is not noticed;
    - the call is shorter than `_LONG_CALL`, not counting the least time for the conversion of its
      lists (`_CONVERSION`), for the same reason; or than `_LONG_CALL_OF_ARRAYS`, if the original
      runs no loops;
    - the call takes so long for each item (`_PER_ITEM`) that conversions must be most of it, and
      less than `_LONGEST_CALL` in all.
    """
    if kernel_time is not None:
        is_quite_short = compiled_time < _QUITE_SHORT_CALL
        share = _KERNEL_SHARE_OF_SHORT if is_quite_short else _KERNEL_SHARE
        if kernel_time * share < compiled_time or kernel_time < _LONG_CALL:
            return True
        of_tables = kernel_time * _KERNEL_SHARE_OF_TABLES
        if makes_tables and of_tables < compiled_time < _LONGEST_CALL:
            return True
    conversion = size * _CONVERSION if converts_lists else 0
    is_short = compiled_time < (_LONG_CALL if runs_loops else _LONG_CALL_OF_ARRAYS) + conversion
    is_spent_on_conversion = size * _PER_ITEM < compiled_time < _LONGEST_CALL
    return is_short or is_spent_on_conversion


def _calls_before_trial(compiled_time: int, kernel_time: int, ratio: int) -> int:
    """After how many compiled calls Python is tried where `_may_try_python` forbids it, so that the
    trial takes at most a small part of the time that these took (`_PAID_BY`); -1: never, as it
    could take longer than `_LONGEST_TRIAL`: `ratio` times the kernel, and the rest of the call.
    """
    longest = compiled_time + (ratio - 1) * min(kernel_time, compiled_time)
    return -1 if longest > _LONGEST_TRIAL else -(-_PAID_BY * longest // max(compiled_time, 1))


class CallSelection:
    """Whether compiled code or Python serves the calls of one variant, by their size: the sizes of
    one bit length (a *bucket*) share one decision.

    `choice` says what serves a call. If the call is a trial, the dispatcher tells `add_time` how
    long it took. After a few trials `add_time` decides for the bucket, and for other buckets where
    that follows. `ranges` gives the decisions, of which the dispatcher makes rows of the inline
    cache. When a row has served as many calls as it may, the dispatcher calls `measure_again`.

    - ``converts_lists``: a compiled call converts lists, or builds them for its result. Its time
      grows with their lengths, even if the loop reads few items; ``makes_tables``: it makes a
      dict or a set of a hash table, or a list of lists of several lengths;
    - ``runs_loops``: the original runs loops in Python. Else NumPy does, so that it may be faster
      at any size, as for the product of large matrices, and is not a hundred times slower;
    - ``exact_up_to``: the largest size for which Python may be chosen, since up to there compiled
      results have Python's bits; None: any. ``in_part``: it limits the exact size, that of some
      arguments only, which `choice` is given as ``exact_size``;
    - ``is_region``: the function is an outlined region, whose calls of equal size may differ much
      in work, so that decisions for compiled code have an allowance, too. If Python is faster for
      all sizes, the region is dropped, which also saves its call (`REGION_ENTRY`); if
      ``exact_up_to`` is given, its statements are put beside the call (`_CALL_SAVED`);
    - ``is_outlined``: selected is between an outlined function and the original. Calls of both are
      forwarded in the same way, so that neither has a cost that the other has not. Used with
      ``is_region``, for the allowances.
    """

    def __init__(
        self, *, converts_lists: bool, is_region: bool, exact_up_to: int | None = None,
        in_part: bool = False, is_outlined: bool = False, max_allowance: int = MAX_ALLOWANCE,
        makes_tables: bool = False, runs_loops: bool = True,
    ) -> None:
        self._makes_tables, self._runs_loops = makes_tables, runs_loops
        self._converts_lists, self._is_region = converts_lists, is_region
        if is_outlined:
            self._python_cost = 0
        elif is_region:
            saved = REGION_ENTRY - _FORWARDING_COST if exact_up_to is None else _CALL_SAVED
            self._python_cost = -saved
        else:
            self._python_cost = _FORWARDING_COST
        self._exact_up_to = SIZE_LIMIT if exact_up_to is None else exact_up_to
        self._in_part = in_part
        self._decisions: list[Served | None] = [None] * _BUCKETS  # of exact calls, by bucket
        self._trials: dict[int, _Trials] = {}
        self._is_close = [False] * _BUCKETS  # of a decision for compiled code, by bucket
        self._is_doubtful = [False] * _BUCKETS  # of one by which it is `_HARDLY` faster
        self._implied_by = [*range(_BUCKETS)]  # the bucket whose times have decided, by bucket
        self._only_series = [False] * _BUCKETS  # when the calls of a bucket are timed again
        self._waits: dict[int, int] = {}  # by bucket, `_calls_before_trial` while these are made
        self._paid: set[int] = set()  # the buckets for which such calls have been made
        self._tried: dict[int, int] = {}  # by bucket, how often Python was tried after them
        self._python_in_ended_series = 0
        self._allowance, self.max_allowance = FIRST_ALLOWANCE, max_allowance
        self._times = 0, 0  # compared when Python was chosen last: compiled, and as Python

    def is_exact(self, size: int) -> bool:
        """Whether a call has Python's bits; ``size``: of the arguments that they depend on."""
        return size <= self._exact_up_to

    def choice(
        self, size: int, exact_size: int | None = None, *, in_series: bool = False
    ) -> tuple[Trial, bool]:
        """What serves a call of this size, and whether the call is a trial, whose time `add_time`
        must be told. ``exact_size``: if it is not `size`; ``in_series``: the inline cache can time
        calls. The first that applies:

        - compiled code, if Python's result could have other bits (not `is_exact`);
        - what has been decided for the bucket, maybe now, by a series that has ended;
        - the way of which a series is being timed (by the inline cache, of `running_series`);
        - a trial: the first ones compiled, then the kernel alone if that matters, then Python.
        """
        if not self.is_exact(size if exact_size is None else exact_size):
            return "compiled", False
        bucket = size.bit_length()
        if self._decisions[bucket] is None:
            trials = self._trials.setdefault(bucket, _Trials([], []))
            trials.in_series = in_series
            trials.only_series = in_series and self._only_series[bucket]
            self._decide_if_known(bucket, trials, size)
        decision = self._decisions[bucket]
        if decision is not None:
            return decision, False
        if trials.running is not None:
            return trials.running.range.served, False
        if trials.needs_compiled:
            return "compiled", True
        return ("kernel" if trials.needs_kernel and trials.kernel is None else "python"), True

    def add_time(
        self, size: int, served: Trial, nanoseconds: int, *, may_try_python: bool | None = None,
        finished: bool = True,
    ) -> bool:
        """Adds the time of a trial; decides what serves calls of this size, if the times so far are
        enough for that. Returns whether it has decided. ``may_try_python``: whether the caller
        knows that Python would not take far longer; None: `_may_try_python` estimates that.
        ``finished``: whether the trial did not raise; the first `_MAX_RAISED` others do not count.

        The shortest time of each way counts, as other work on the machine only adds. In this order:

        - fewer than `_COMPILED_TRIALS` compiled calls, or a series of them runs: no decision yet;
        - Python may not be tried, as it could take far longer (`_may_try_python`), but the time of
          the kernel alone could change that: no decision, the next trial takes that time
          (``served`` is "kernel" then);
        - Python may be tried, and was not `_PYTHON_TRIALS` times, or a series runs: no decision;
        - Python is faster, after the cost of forwarding a call to it is added, or for a region the
          cost of its call is taken off (`_FORWARDING_COST`, `REGION_ENTRY`): Python, also for all
          smaller sizes, where compiled code has even less to gain;
        - else compiled code (`_decide_for_compiled`).
        """
        trials = self._trials.get(bucket := size.bit_length())
        if trials is None:
            return False  # another thread has decided meanwhile
        trials.raised += not finished
        if not finished and trials.raised <= _MAX_RAISED:
            return False
        if may_try_python is not None:  # the work of the first calls may be that of compiling
            trials.may_try_python = trials.may_try_python or may_try_python
        if served == "kernel":
            trials.kernel = nanoseconds
        else:
            (trials.compiled if served == "compiled" else trials.python).append(nanoseconds)
        return self._decide_if_known(bucket, trials, size)

    def _decide_if_known(self, bucket: int, trials: _Trials, size: int) -> bool:
        """As `add_time`, for the times so far: decides, unless more are needed. Short calls need
        a series (`_awaits_series`).
        """
        if self._awaits_series(bucket, trials, "compiled") or trials.needs_compiled:
            return False
        compiled_time = min(trials.compiled)
        may_try = True if bucket in self._paid else trials.may_try_python
        if may_try is None:
            may_try = _may_try_python(
                compiled_time, trials.kernel, size, converts_lists=self._converts_lists,
                makes_tables=self._makes_tables, runs_loops=self._runs_loops,
            )
        may_wait = not may_try and self._python_may_win_when_large and bucket not in self._tried
        if may_wait and self._converts_lists and trials.kernel is None:
            trials.needs_kernel = True
            return False
        if may_try and self._awaits_python(bucket, trials, compiled_time):
            return False
        self._trials.pop(bucket, None)  # another thread may have decided
        python_time = min(trials.python) if may_try else _NEVER  # untried: surely far longer
        if may_wait:
            kernel_time = compiled_time if trials.kernel is None else trials.kernel
            self._waits[bucket] = _calls_before_trial(compiled_time, kernel_time, self._ratio)
        elif bucket in self._paid and python_time >= _FAR * compiled_time:
            self._paid.discard(bucket)
            self._tried[bucket] = tries = self._tried.get(bucket, 0) + 1
            if tries < _PAID_TRIALS:
                self._waits[bucket] = (_PAID_BY << 2 * tries) * python_time // compiled_time
        self._only_series[bucket] = may_try and python_time < _FAR * compiled_time
        if may_try and python_time + self._python_cost < compiled_time:
            self._times = compiled_time, max(python_time + self._python_cost, 0)
            self._decide("python", 0, bucket, bucket)
            self._drop_implied(bucket)
        else:
            self._decide_for_compiled(bucket, compiled_time, python_time)
        return True

    @property
    def _python_may_win_when_large(self) -> bool:
        """Whether Python may be faster for calls of a size although it is slower for smaller ones.
        """
        return self._converts_lists or not self._runs_loops

    @property
    def _ratio(self) -> int:
        """How many times as long as a kernel Python may take."""
        if self._makes_tables:
            return _RATIO_OF_TABLES
        return _RATIO if self._runs_loops else _RATIO_OF_ARRAYS

    def _awaits_python(self, bucket: int, trials: _Trials, compiled_time: int) -> bool:
        """Whether a decision waits for calls as Python; one far slower call is enough if paid for.
        """
        if bucket in self._paid and any(t >= _FAR * compiled_time for t in trials.python):
            return False
        return self._awaits_series(bucket, trials, "python") or trials.needs_python

    def _awaits_series(self, bucket: int, trials: _Trials, served: Served) -> bool:
        """Whether a decision has to wait for a series of calls that are `served` in this way.

        The series is started here, if the inline cache can time calls, once single calls were timed
        and are short (`_LONGEST_IN_SERIES`); without single calls if ``trials.only_series``. One of
        Python only after one of compiled code, to compare it with, and if single calls of Python
        took less than `_FAR` times as long. When a series has ended, its shortest time joins those
        of single calls.
        """
        times = trials.compiled if served == "compiled" else trials.python
        series = trials.series.get(served)
        if series is None:
            needs_times = trials.needs_compiled if served == "compiled" else trials.needs_python
            limit, may_be = _LONGEST_IN_SERIES, trials.in_series
            if served == "python":
                compiled = trials.compiled[:_COMPILED_TRIALS]  # single ones, as long as these are
                limit, may_be = min(limit, _FAR * min(compiled)), "compiled" in trials.series
            is_long = bool(times) and min(times) > limit
            if not may_be or is_long or (needs_times and not trials.only_series):
                return False
            low, high = 1 << bucket >> 1, min((1 << bucket) - 1, SIZE_LIMIT)
            exact = self._exact_up_to
            of = SizeRange(served, low, high, _SERIES, 0, exact) if self._in_part else (
                SizeRange(served, low, min(high, exact), _SERIES))
            counters, shortest = np.array([0, _SERIES], np.int64), np.array([_NEVER], np.int64)
            trials.running = trials.series[served] = CallSeries(of, counters, shortest)
        elif trials.running is series and series.counters[1] == 0:
            trials.running = None
            self._python_in_ended_series += int(series.counters[0]) if served == "python" else 0
            if series.shortest[0] < _NEVER:
                times.append(int(series.shortest[0]))
        return trials.running is trials.series[served]

    def running_series(self) -> list[CallSeries]:
        """The series of calls that the inline cache is to time."""
        trials = list(self._trials.values())  # other threads may add some
        return [t.running for t in trials if t.running is not None]

    @property
    def python_in_series(self) -> int:
        """How many calls Python has served in series so far."""
        running = sum(
            int(s.counters[0]) for s in self.running_series() if s.range.served == "python"
        )
        return self._python_in_ended_series + running

    def _decide_for_compiled(self, bucket: int, compiled_time: int, python_time: int) -> None:
        """Record that compiled code serves the calls of this bucket, and of

        - all smaller sizes, if the call is so short that Python can gain nothing there;
        - all greater sizes, where compiled code has more to gain. If it converts lists, only of the
          next bucket (up to four times the size): conversions grow with the size, and Python may
          be faster again where a loop stops early. So may NumPy be, if it runs all loops.

        If the call is not so short, the decision is noted as close if Python was not clearly slower
        (`_CLEARLY`), and then has an allowance; and as doubtful if compiled code was hardly faster
        (`_HARDLY`), and then it is for no other sizes.
        """
        is_short = compiled_time <= _SHORT_CALL
        is_doubtful = not is_short and python_time < _HARDLY * compiled_time
        first = 0 if is_short else bucket
        last = min(bucket + 1 if self._python_may_win_when_large else _BUCKETS - 1, _BUCKETS - 1)
        last = bucket if is_doubtful else last
        self._decide("compiled", first, last, bucket)
        is_close = not is_short and python_time < _CLEARLY * compiled_time
        self._is_close[first : last + 1] = [is_close] * (last + 1 - first)
        self._is_doubtful[first : last + 1] = [is_doubtful] * (last + 1 - first)

    def _decide(self, served: Served, first: int, last: int, measured: int) -> None:
        """Record what serves the exact calls of the buckets from `first` to `last`, both included.
        ``measured``: the one of them whose calls were timed.
        """
        for bucket in range(first, min(last + 1, _BUCKETS)):
            self._decisions[bucket], self._implied_by[bucket] = served, measured

    def _drop_implied(self, bucket: int) -> None:
        """Drop the decisions for larger sizes that an earlier one for this bucket, or for smaller
        sizes, has implied: these were for compiled code, and now Python was chosen.
        """
        for k in range(bucket + 1, _BUCKETS):
            if self._implied_by[k] <= bucket:
                self._decisions[k] = None

    def measure_again(self, size: int) -> None:
        """Drops the decision for this size, so that calls are timed again; the next decision has
        twice the allowance. Without a decision they are being timed, and nothing changes.
        """
        bucket = size.bit_length()
        if self._decisions[bucket] is not None:
            self._paid |= {bucket} if self._waits.pop(bucket, -1) > 0 else set()
            self._decisions[bucket] = None
            self._allowance = min(next_allowance(self._allowance), self.max_allowance)

    def ranges(self) -> list[SizeRange]:
        """The decisions so far, for each run of sizes with the same one; and compiled code for all
        sizes where results could differ from Python's in the last bits.
        """
        found, exact = [], self._exact_up_to
        rows = [(served, self._allowance_of(k)) for k, served in enumerate(self._decisions)]
        for (served, allowance), run in groupby(range(_BUCKETS), key=rows.__getitem__):
            if served is not None:
                buckets = [*run]
                low = 1 << buckets[0] >> 1  # the least number of this bit length; 0 for 0
                high = min((1 << buckets[-1]) - 1, SIZE_LIMIT)
                if self._in_part:
                    found.append(SizeRange(served, low, high, allowance, 0, exact))
                elif low <= exact:
                    found.append(SizeRange(served, low, min(high, exact), allowance))
        if exact >= SIZE_LIMIT:
            return found
        if self._in_part:
            return [*found, SizeRange("compiled", 0, SIZE_LIMIT, -1, exact + 1)]
        return [*found, SizeRange("compiled", max(exact + 1, 0), SIZE_LIMIT, -1)]

    def _allowance_of(self, bucket: int) -> int:
        """How many calls the decision for this bucket serves before they are timed again; -1: all.
        It is -1 for compiled code, except if

        - the function is a region, or converts lists, as calls of equal size may differ in work;
        - the decision is doubtful (`_HARDLY`);
        - it is close, and the allowance is at most `_ALLOWANCE_OF_CLOSE`;
        - Python is to be tried later (`_calls_before_trial`).
        """
        if self._decisions[bucket] == "compiled" and (wait := self._waits.get(bucket, -1)) > 0:
            return wait
        may_be_wrong = self._is_close[bucket] and self._allowance <= _ALLOWANCE_OF_CLOSE
        may_be_wrong = may_be_wrong or self._is_doubtful[bucket]
        may_change = self._is_region or self._converts_lists or self._decisions[bucket] == "python"
        may_change = may_change or may_be_wrong
        return self._allowance if may_change else -1

    def faster_as_python(self) -> FasterAsPython | None:
        """The calls for which Python was chosen, for the report; None if there are none."""
        from ..report.measured_choice import FasterAsPython

        largest = max((r.high for r in self.ranges() if r.served == "python"), default=None)
        return None if largest is None else FasterAsPython(largest, *self._times, self._in_part)

    @property
    def prefers_python(self) -> bool:
        """Whether all decisions so far are for Python, and one of them was measured again. (The
        allowance has grown then, see `measure_again`.)
        """
        served = {r.served for r in self.ranges()}
        return served == {"python"} and self._allowance > FIRST_ALLOWANCE
