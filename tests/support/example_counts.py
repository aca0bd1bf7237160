"""How many random examples a property test draws: ten times as many with ``--long``."""
from __future__ import annotations

__all__ = ["examples", "set_factor"]

_factor = 1


def set_factor(factor: int) -> None:
    """Called by conftest.py, before the test modules are imported."""
    global _factor
    _factor = factor


def examples(plain: int) -> int:
    """The number of examples where a plain run draws `plain`."""
    return plain * _factor
