"""Calls of Python functions → their statements: before the macros, and where these uncover more."""
from __future__ import annotations

from .inliner import Inliner
from .joined import joined, told, with_homes

__all__ = ["Inliner", "joined", "told", "with_homes"]
