"""Suppress warnings of the compiler's own work; what the caller has been shown stays shown."""
from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["FILTERS_ARE_CONTEXTUAL", "suppress_warnings"]

FILTERS_ARE_CONTEXTUAL = bool(getattr(sys.flags, "context_aware_warnings", False))
"""``warnings.filters`` does not tell all (free-threaded Python 3.14)."""


@contextmanager
def suppress_warnings(action: Any = "ignore") -> Iterator[None]:
    """All warnings have this `action` within.

    After ``warnings.catch_warnings`` every warning that shows once would show once more.
    """
    if FILTERS_ARE_CONTEXTUAL:
        with warnings.catch_warnings():
            warnings.simplefilter(action)
            yield
        return
    before, warnings.filters = warnings.filters, [(action, None, Warning, None, 0)]
    try:
        yield
    finally:
        warnings.filters = before
