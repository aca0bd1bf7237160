"""Lowering: core Python to scalar Loop IR, and the plan of a call."""
from __future__ import annotations

from .lower_function import lower

__all__ = ["lower"]
