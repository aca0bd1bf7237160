"""Costs of parallel regions in nanoseconds: from which work on threads pay, for C and reports.

The work of a region is its additions (`loopir.analysis.work_estimate`) times the nanoseconds that
an addition takes. The numbers are the same for all machines: how long it takes to wake a thread
differs less between them than between two moments on one of them.
"""
from __future__ import annotations

__all__ = ["COUNTING_FIRST", "FIRST_RATE", "PAYS_ASLEEP", "PAYS_AWAKE", "WORTH"]

FIRST_RATE = 1.0
"""Nanoseconds of an addition, as long as no call of a region has been measured. It is chosen too
large on purpose: the pool only measures calls whose estimate reaches `WORTH`, and corrects the
number by them. If it were too small, the estimate of a long call would stay below `WORTH`: it would
never be measured, nor get threads."""

WORTH = 2000.0
"""Nanoseconds of work from which a kernel asks the pool: ``TP_WORTH`` in its C code. Below that it
runs the loop itself, and the question would take longer than it can save."""

PAYS_AWAKE = 8000.0
"""Nanoseconds of work from which the pool uses a second thread, if one is awake: it spins for a
moment after a call, so calls in quick succession find it."""

PAYS_ASLEEP = 60000.0
"""The same if the second thread sleeps, and has to be woken by the system. Reports tell this
one."""

COUNTING_FIRST = 3.0
"""By which factor the work must be greater for a second thread to pay, if a chunk goes over its
elements twice, first to count what it appends: by two threads such a loop takes about three
quarters of its time by one, not a half."""
