"""Runtime: ``fuse``, and what a call of the function that it returns does."""
from __future__ import annotations

from .fuse_decorator import Fused, fuse

__all__ = ["Fused", "fuse"]
