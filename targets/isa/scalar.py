"""Target `scalar`: plain C without vectors, for any machine."""
from __future__ import annotations

from .target import Target

__all__ = ["SCALAR"]

SCALAR = Target(name="scalar", machine="any", bits=0, masks="none", registers=16)
