"""The targets that the machine this process runs on can run."""
from __future__ import annotations

from functools import cache

from .cpu import features, machine
from .isa import TARGETS, Target

__all__ = ["available", "best", "features", "machine"]

@cache
def available() -> tuple[Target, ...]:
    """The targets whose code runs here, the best first."""
    runs = [t for t in TARGETS.values() if t.machine in ("any", machine()) and t.cpu <= features()]
    return tuple(sorted(runs, key=lambda t: -t.bits))


def best() -> Target:
    """The target with the widest vectors among those available."""
    return available()[0]
