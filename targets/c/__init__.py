"""Legal IR as C text: one file a kind of statement, and the C that all kernels share."""
from __future__ import annotations

from .emit import emit

__all__ = ["emit"]
