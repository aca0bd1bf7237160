"""Optimisation reports (LLVM: remarks): what became of a function's loops, as data and text."""
from __future__ import annotations

from .loop_report import LoopInfo, Report

__all__ = ["LoopInfo", "Report"]
