"""Plain C: one lane at a time, for any machine."""
from __future__ import annotations

from .target import Target

__all__ = ["SCALAR"]

SCALAR = Target(name="scalar", machine="any", bits=0, masks="none", registers=16)
