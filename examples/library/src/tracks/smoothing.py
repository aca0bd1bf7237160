"""Tracks without noise, and where they stop."""
from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from transpile import fuse

from .geometry import distance

Floats = NDArray[np.float64]


@fuse
def exponential(x, weight):
    """The exponentially weighted mean of the values up to each one."""
    out = np.empty_like(x)
    mean = x[0]
    for i in range(len(x)):
        mean += weight * (x[i] - mean)
        out[i] = mean
    return out


@fuse
def without_jumps(x, most):
    """The values, each at most so far from the one before."""
    out = x.copy()
    for i in range(1, len(x)):
        step = out[i] - out[i - 1]
        if step > most:
            out[i] = out[i - 1] + most
        elif step < -most:
            out[i] = out[i - 1] - most
    return out


@fuse
def stops(lat: Floats, lon: Floats, metres: float, samples: int) -> int:
    """How often a track stays for so many samples within so many metres of a place."""
    count, start = 0, 0
    for i in range(1, len(lat)):
        if distance(lat[start], lon[start], lat[i], lon[i]) > metres:
            if i - start >= samples:
                count += 1
            start = i
    if len(lat) - start >= samples:
        count += 1
    return count
