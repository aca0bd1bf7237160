"""Functions of another module, whose names mean something else there."""
from __future__ import annotations

import numpy
import numpy as other

__all__ = ["inverse", "scaled_by", "shifted"]

SCALE = 0.5
FEW = 4
np = None


def _inner(v):
    return v * SCALE - FEW


def shifted(v):
    t = _inner(v)
    return abs(t) if t < SCALE else t


def inverse(x):
    return 1.0 / other.maximum(x, numpy.float64(1.0))


def _made(factor):
    def scaled(v, *, also=factor + 1):
        return v * factor + also

    return scaled


scaled_by = _made(1.5)
