"""Guard back-off: after many failed guards in a row, Python serves calls without trying the kernel.
"""
from __future__ import annotations

__all__ = ["Backoff"]

_MAX_FAILURES = 16
"""Consecutive calls whose guards failed, without a compiled call of any signature between, after
which the function (or region) backs off.
"""

_SHORTEST, _LONGEST = 6, 16
"""Calls of the first and the longest back-off, as exponents of two; each is twice the last."""


class Backoff:
    """Exponential back-off of one function whose guards fail again and again: after
    `_MAX_FAILURES` failures in a row (16), the next 64 calls go to Python without trying the
    kernel; if the call after these fails, too, the next 128; and so on, up to 65,536. One call
    that compiled code serves ends the series. `Dispatcher._python_after_failed_guard` asks it.
    """

    def __init__(self) -> None:
        self._failures = self._compiled = 0

    def calls_to_skip(self, compiled: int) -> int:
        """Count a call whose guard failed. Returns how many of the next calls go to Python at once;
        0: none, as there were fewer than `_MAX_FAILURES` in a row.

        ``compiled``: how many calls compiled code has served so far. If that has changed since the
        last failure, a new series begins.
        """
        self._failures = self._failures + 1 if compiled == self._compiled else 1
        self._compiled = compiled
        if self._failures < _MAX_FAILURES:
            return 0
        return 1 << min(_SHORTEST + self._failures - _MAX_FAILURES, _LONGEST)
