"""Loop fusion: neighbouring loops become one pass over memory, or a rejection says why not."""
from __future__ import annotations

from .fuse_loops import Fusion, fuse_kernel

__all__ = ["Fusion", "fuse_kernel"]
