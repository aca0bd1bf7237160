"""Scalar Loop IR as MLIR text: the dialects func, scf, arith, math and memref."""
from __future__ import annotations

from .emit import emit

__all__ = ["emit"]
