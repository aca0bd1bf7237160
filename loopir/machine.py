"""What a machine has that passes choose by: registers, their size, latencies, caches. No names."""
from __future__ import annotations

from .record import record

__all__ = ["COMMON", "Machine"]


@record(frozen=True, slots=True, kw_only=True)
class Machine:
    """A core to plan for. It decides tiles and shapes of loops, never the order of a fold.

    ``registers``: vector registers of ``bytes`` each. ``latency``: cycles until an addition can be
    used; ``pipes``: additions that start in one. ``caches``: bytes of L1, L2 and L3.
    """

    registers: int = 16
    bytes: int = 32
    latency: int = 4
    pipes: int = 2
    caches: tuple[int, int, int] = (32 << 10, 512 << 10, 16 << 20)


COMMON = Machine()
"""What most machines have."""
