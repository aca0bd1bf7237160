"""Scalar Loop IR to MLIR text: the dialects func, scf, arith, math and memref."""
from __future__ import annotations

from .emit_mlir import emit

__all__ = ["emit"]
