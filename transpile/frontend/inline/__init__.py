"""Inlining of Python functions: before macro expansion, and where macros uncover more calls."""
from __future__ import annotations

from .inline_origins import bind_captures, plan_with_captures, refusal_in_source
from .inliner import Inliner

__all__ = ["Inliner", "plan_with_captures", "refusal_in_source", "bind_captures"]
