"""Suppress warnings of the compiler's own work, and keep Python's record of those it has shown."""
from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["FILTERS_ARE_CONTEXTUAL", "suppress_warnings"]

FILTERS_ARE_CONTEXTUAL = bool(getattr(sys.flags, "context_aware_warnings", False))
"""Whether a context may have filters of its own, so that ``warnings.filters`` are not all there are
(the default of free-threaded Python 3.14).
"""


@contextmanager
def suppress_warnings(action: Any = "ignore") -> Iterator[None]:
    """A context in which each warning has this `action`: it is ignored, or raised with ``"error"``.

    ``warnings.catch_warnings`` is used only where filters are contextual: it makes Python forget
    which warnings it has shown, and a warning of the user's that is to appear once would appear
    again.
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
