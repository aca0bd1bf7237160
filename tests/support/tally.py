"""Counts the calls that agreed with Python, by what served them, for the end of a test run."""
from __future__ import annotations

from collections import Counter

__all__ = ["AGREED"]

AGREED: Counter[str] = Counter()
"""Of this process; the workers of pytest-xdist hand theirs to the first one."""
