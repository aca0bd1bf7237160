"""How many calls have agreed with Python, by what ran them; the end of a test run says it."""
from __future__ import annotations

from collections import Counter

__all__ = ["AGREED"]

AGREED: Counter[str] = Counter()
"""Of this process; the workers of pytest-xdist hand theirs to the first one."""
