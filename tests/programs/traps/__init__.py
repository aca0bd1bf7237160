"""Every trap of the promise as a small program, which must do what Python does in every respect."""
from __future__ import annotations

from . import (
    binding,
    control,
    evaluated,
    floats,
    integers,
    leaving,
    lengths,
    lists,
    memory,
    places,
    rebinding,
)

__all__ = ["TOPICS"]

TOPICS = (
    places, memory, integers, floats, control, binding, rebinding, leaving, lists, lengths,
    evaluated,
)
