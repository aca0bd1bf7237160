"""Loop fusion: neighbouring loops become one pass over memory, or the reason why not."""
from __future__ import annotations

from .fusing import Fusion, fuse_kernel

__all__ = ["Fusion", "fuse_kernel"]
