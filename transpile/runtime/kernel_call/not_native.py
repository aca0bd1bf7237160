"""Not native: why a call, or a part of it, cannot be performed in C, as an exception."""
from __future__ import annotations

__all__ = ["NotNative"]


class NotNative(Exception):
    """A call, or a part of it, that only the Python wrapper can perform.

    Raised in `native_call` and `native_result`, by whichever part of the interface has no row for C
    (a random generator, a field of an array of records), and caught in `Variant.attach`, which
    keeps ``reason`` in `Variant.not_native`: a clause without a full stop that says what of the
    call C cannot do.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
