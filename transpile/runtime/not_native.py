"""Not native: why a call, or a part of it, cannot be performed in C, as an exception."""
from __future__ import annotations

__all__ = ["NotNative"]


class NotNative(Exception):
    """A call, or a part of it, that only the Python wrapper can perform. ``reason`` is a clause
    without a full stop: what of the call C cannot do.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
