"""Core Python → scalar Loop IR and the plan of a call."""
from __future__ import annotations

from .function import lower

__all__ = ["lower"]
