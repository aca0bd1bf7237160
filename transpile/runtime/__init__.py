"""Runtime: the decorator ``fuse``, and everything that happens in a call of a fused function."""
from __future__ import annotations

from .fuse_decorator import Fused, fuse

__all__ = ["Fused", "fuse"]
