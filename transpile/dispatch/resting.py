"""When a region that is of no use in a loop stands aside, and for how long."""
from __future__ import annotations

__all__ = ["Resting"]

_PATIENCE = 16
"""After so many calls in a row of which none was compiled, a region rests."""

_SHORTEST, _LONGEST = 6, 16
"""For how many calls, each time twice as many: as powers of two."""


class Resting:
    """Counts calls that were looked at in vain."""

    def __init__(self) -> None:
        self._vain = self._compiled = 0

    def turns(self, compiled: int) -> int:
        """After one more such call: how many of the next to leave to others; 0: none yet.

        ``compiled`` is how many have been, which ends a row.
        """
        self._vain = self._vain + 1 if compiled == self._compiled else 1
        self._compiled = compiled
        if self._vain < _PATIENCE:
            return 0
        return 1 << min(_SHORTEST + self._vain - _PATIENCE, _LONGEST)
