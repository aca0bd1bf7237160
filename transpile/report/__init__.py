"""What became of a function, as data and as text."""
from __future__ import annotations

from .report import LoopInfo, Report

__all__ = ["LoopInfo", "Report"]
