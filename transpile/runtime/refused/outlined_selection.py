"""Outlined selection: whether the outlined function or the original serves calls of a refused one.

To enter a region costs about 0.2 µs, more than compiled code can save in a loop of a few
iterations. So calls of the outlined function are timed, and then calls of the original; the faster
one serves the next calls of that size, as for a compiled function (`call_selection`), until they
are timed again.

Where the guards of all regions that are entered fail, no time is needed: the original serves a
growing number of calls (`OutlinedBackoff`).

The original serves only if it gives the same bits, for any arguments of the regions
(`OutlinedFunction.has_python_bits`), or as all regions back off that could have others
(`OutlinedFunction.may_be_skipped`): else one call could have two answers. `dispatcher` uses this.
"""
from __future__ import annotations

from collections import Counter
from types import FunctionType
from typing import TYPE_CHECKING, Literal

from targets.abi.inline_cache import SIZE_LIMIT, CacheRow

from ..call_selection import MAX_ALLOWANCE, PYTHON_FASTER, CallSelection, next_allowance
from ..installed_call import Keys
from .region_records import ForwardedCalls, OutlinedFunction, total_stats

if TYPE_CHECKING:
    from ...report.measured_choice import FasterAsPython

__all__ = ["CalleeOfRefused", "OutlinedBackoff", "OutlinedSelection"]

CalleeOfRefused = Literal["outlined", "original"]

_SHORT_CALL = 20_000
"""Nanoseconds of a call of the outlined function that is short enough to try the original."""

_SHORT_ENTRY = 2_000
"""If a call of the outlined function takes fewer nanoseconds than this for each region that it
enters, the regions do little, and the original takes at most some ten times as long: it may be
tried.
"""

_FAILING_SHARE = 8
"""If the guards of one in so many entries fail, the original may be tried, too: Python runs these
entries anyway, so that it takes at most about this many times as long as the outlined function.
"""

_MAX_ALLOWANCE, _TIME_BETWEEN_TRIALS = 1 << 10, 10_000_000
"""The largest allowance, in calls. ``_MAX_ALLOWANCE`` is small, as the size of a call does not tell
how long the loops in it are. If more calls than that take ``_TIME_BETWEEN_TRIALS`` nanoseconds, it
is that number of calls, so that the trials, some tens of microseconds, cost little.
"""

_MAX_UNFINISHED = 64
"""After so many trials of which no time was told, no calls are timed any more."""

_MANY_FAILURES, _FIRST_SKIPPED = 64, 64
"""After ``_MANY_FAILURES`` entries of regions whose guards fail, with none that helps between, the
original serves ``_FIRST_SKIPPED`` calls.
"""


class OutlinedBackoff:
    """Exponential back-off of an outlined function whose regions only fail their guards: to enter
    them costs time, and Python runs their statements anyway. So the original serves the next 64
    calls; then one call of the outlined function tries the kernels again; if none serves an entry,
    the original serves the next 128 calls, and so on, up to `MAX_ALLOWANCE`. If kernels serve
    entries in two decisions in a row, a new series begins. (`Backoff` does the same for a function,
    or a region, that is compiled as a whole.)

    `Specialization.row_without_regions` asks it at each decision about a call. ``code``: that of
    the guards that fail; ``is_trying``: whether the call that is decided tries the kernels again.
    """

    def __init__(self) -> None:
        self.code, self.is_trying = "", False
        self._allowance = _FIRST_SKIPPED
        self._largest = 0  # the bucket of the largest call that was skipped
        self._is_skipping = self._has_skipped = self._has_helped = False
        self._failures = self._helped = 0  # entries of regions so far

    def calls_to_skip(self, outlined: OutlinedFunction) -> int:
        """How many calls, with the one to be decided, the original is to serve; 0: none. By what
        the regions of `outlined` have done since this was asked last; the first that applies:

        - the original has just served calls for this reason: 0, and the call to be decided tries
          the kernels again (`is_trying`);
        - entries were of use (`Specialization.useful_entries`): 0; and if they were the last time,
          too, the back-off begins anew;
        - fewer than `_MANY_FAILURES` entries failed their guards (after a first back-off: none): 0;
        - else the allowance, which doubles each time.
        """
        self.is_trying, self._is_skipping = self._is_skipping, False
        if self.is_trying:
            for region in outlined.regions:
                region.fused.try_kernels_again()
            return 0
        guards = _failed_guards(outlined)
        failures = sum(guards.values())
        helped = sum(region.fused.useful_entries for region in outlined.regions)
        if helped != self._helped:
            if self._has_helped:
                self._allowance, self._has_skipped = _FIRST_SKIPPED, False
            self._failures, self._helped, self._has_helped = failures, helped, True
            return 0
        if failures - self._failures < (1 if self._has_skipped else _MANY_FAILURES):
            return 0
        self._failures, self.code = failures, max(guards, key=guards.__getitem__)
        self._has_helped, self._is_skipping, self._has_skipped = False, True, True
        calls, self._allowance = self._allowance, next_allowance(self._allowance)
        return calls

    def largest_size(self, size: int) -> int:
        """The largest size of calls that are skipped after one of this `size`: of the same bit
        length, or of that of an earlier one. The kernels may serve larger calls.
        """
        self._largest = max(self._largest, size.bit_length())
        return min((1 << self._largest) - 1, SIZE_LIMIT)


def _failed_guards(outlined: OutlinedFunction) -> dict[str, int]:
    """How many entries of its regions have failed their guards so far, by the codes of these."""
    stats = total_stats([region.fused.stats for region in outlined.regions])
    return {code: n for code, n in stats.replays.items() if code.startswith("GUARD_")}


class OutlinedSelection:
    """What serves the calls of one refused signature, by their size: `outlined`, or the original,
    which runs without the cost of entering regions. `Dispatcher._select_for_refused` asks `choice`,
    and tells `add_time` how long a trial took; `rows` gives the decisions to the inline cache.

    ``rejection_code``: the code of the refusal. ``codes``: for each of the two callees the code by
    which its calls count as replays; None: they do not, since all of its loops are compiled.
    """

    def __init__(self, outlined: OutlinedFunction, rejection_code: str) -> None:
        self.outlined = outlined
        self.codes: dict[CalleeOfRefused, str | None] = {
            "original": PYTHON_FASTER, "outlined": rejection_code if outlined.loops else None,
        }
        self._by_time = CallSelection(
            converts_lists=False, is_region=True, is_outlined=True,
            max_allowance=_MAX_ALLOWANCE,
        )
        self._has_tried_original = False
        self._unfinished = 0  # trials that `add_time` was not told of
        self._entries = self._failures = 0  # of its regions, before the call that is timed
        self._forwarded: dict[CalleeOfRefused, ForwardedCalls] = {
            "original": ForwardedCalls(), "outlined": ForwardedCalls(),
        }

    def choice(self, size: int, is_used_up: bool) -> tuple[CalleeOfRefused, bool]:
        """What serves a call of this size, and whether it is a trial, that is, `add_time` has to be
        told its time. ``is_used_up``: the last decision has served as many calls as it may.
        """
        if is_used_up:
            self._by_time.measure_again(size)
        served, is_trial = self._by_time.choice(size)
        if is_trial:
            self._entries = self.outlined.calls
            self._failures = sum(_failed_guards(self.outlined).values())
        self._unfinished += is_trial
        return "original" if served == "python" else "outlined", is_trial

    def add_time(
        self, size: int, served: CalleeOfRefused, nanoseconds: int, finished: bool = True
    ) -> bool:
        """Adds the time of a trial. Returns whether it has decided what serves calls of this size.
        ``finished``: the trial did not raise.

        The original is only tried if that cannot take very long: the call of the outlined function
        is short, or so short for each time that it enters a region that the regions do little; or
        the guards of many entries fail (`_FAILING_SHARE`).
        """
        self._unfinished -= 1
        calls = _TIME_BETWEEN_TRIALS // max(nanoseconds, 1)
        self._by_time.max_allowance = min(max(calls, _MAX_ALLOWANCE), MAX_ALLOWANCE)
        if served == "original":
            self._has_tried_original = True
            return self._by_time.add_time(size, "python", nanoseconds, finished=finished)
        entries = self.outlined.calls - self._entries
        failed = sum(_failed_guards(self.outlined).values()) - self._failures
        fails_often = failed > 0 and failed * _FAILING_SHARE >= entries
        may_try = fails_often or nanoseconds < max(entries * _SHORT_ENTRY, _SHORT_CALL)
        return self._by_time.add_time(
            size, "compiled", nanoseconds, may_try_python=may_try, finished=finished
        )

    @property
    def has_given_up(self) -> bool:
        """Whether the time of too many trials was not told: it will never decide."""
        return self._unfinished >= _MAX_UNFINISHED

    @property
    def prefers_python(self) -> bool:
        """Whether it decided for the original at all sizes so far, and again when one was measured
        again (`CallSelection.prefers_python`).
        """
        return self._by_time.prefers_python

    @property
    def never_tries_original(self) -> bool:
        """Whether it has decided for some size without a trial of the original, which could take
        very much longer (`add_time`). Then it takes the outlined function for granted, so that
        single regions may be dropped where Python is faster (`Dispatcher._without_slow_regions`).
        """
        return not self._has_tried_original and bool(self._by_time.ranges())

    def faster_as_python(self) -> FasterAsPython | None:
        """The calls that the original serves, for the report; None if there are none."""
        return self._by_time.faster_as_python()

    def replays(self) -> Counter[str]:
        """The calls so far that count as replays, by code, since `rows` was called last."""
        return sum((Counter(calls.replays()) for calls in self._forwarded.values()), Counter())

    @property
    def calls(self) -> int:
        """How many calls there were, without those that were timed."""
        return sum(calls.total for calls in self._forwarded.values())

    def rows(self, keys: Keys, original: FunctionType, replays: Counter[str]) -> list[CacheRow]:
        """A row for each range of sizes for which it has been decided what serves these `keys`. The
        calls so far are added to `replays`.
        """
        rows = []
        for r in self._by_time.ranges():
            served: CalleeOfRefused = "original" if r.served == "python" else "outlined"
            calls = self._forwarded[served]
            counters = calls.start(self.codes[served], r.allowance, replays)
            callee = original if served == "original" else self.outlined.function
            rows.append(CacheRow(callee, keys, r.low, r.high, counters))
        return rows
