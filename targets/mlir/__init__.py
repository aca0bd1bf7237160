"""Scalar Loop IR to MLIR text: the dialects func, scf, arith, math and memref."""
from __future__ import annotations

from .emit_mlir import emit
from .mlir_prelude import NoMlirForm

__all__ = ["NoMlirForm", "emit"]
