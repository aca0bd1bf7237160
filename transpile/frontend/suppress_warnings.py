"""Suppress the warnings of the compiler's own work; which ones Python has shown is not reset."""
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
    """Every warning has this `action` within.

    ``warnings.catch_warnings`` is avoided where possible: it makes Python forget which warnings it
    has shown, so that those which are to be shown once would be shown once more.
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
