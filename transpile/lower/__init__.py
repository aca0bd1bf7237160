"""Core Python → scalar Loop IR and the plan of a call."""

from __future__ import annotations

from .function import lower
from .names import type_of

__all__ = ["lower", "type_of"]
