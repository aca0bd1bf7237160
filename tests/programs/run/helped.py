"""Functions of another module, whose names mean something else there."""
from __future__ import annotations

import numpy
import numpy as other

__all__ = ["inverse", "kind_of", "scaled_by", "shifted"]

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


def kind_of(v, scale=None):
    if isinstance(v, (float, other.floating)):
        return 1
    if scale is None:
        return 2
    return scale


def _made(factor):
    def scaled(v, *, also=factor + 1):
        return v * factor + also

    return scaled


scaled_by = _made(1.5)
