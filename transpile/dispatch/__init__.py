"""``fuse``, and what a call of the function that it gives does."""
from __future__ import annotations

from .fused import Fused, fuse

__all__ = ["Fused", "fuse"]
