"""Distances on the ground, and what is inside of an outline."""
from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from transpile import fuse

RADIUS = 6_371_000.0  # of the earth, in metres

Floats = NDArray[np.float64]


@fuse
def distance(lat: float, lon: float, lat2: float, lon2: float) -> float:
    """The metres between two places."""
    a = math.sin(math.radians(lat2 - lat) / 2.0)
    b = math.sin(math.radians(lon2 - lon) / 2.0)
    h = a * a + math.cos(math.radians(lat)) * math.cos(math.radians(lat2)) * b * b
    return 2.0 * RADIUS * math.asin(math.sqrt(h))


@fuse
def length(lat: Floats, lon: Floats) -> float:
    """The metres along a track."""
    total = 0.0
    for i in range(1, len(lat)):
        total += distance(lat[i - 1], lon[i - 1], lat[i], lon[i])
    return total


@fuse
def inside(lat: Floats, lon: Floats, corners: Floats) -> NDArray[np.bool_]:
    """Which places are inside of the outline whose corners are rows of latitude and longitude."""
    found = np.zeros(len(lat), dtype=np.bool_)
    for i in range(len(lat)):
        crossings = 0
        for k in range(len(corners)):
            y, x, y2, x2 = corners[k, 0], corners[k, 1], corners[k - 1, 0], corners[k - 1, 1]
            if (y > lat[i]) != (y2 > lat[i]) and lon[i] < (x2 - x) * (lat[i] - y) / (y2 - y) + x:
                crossings += 1
        found[i] = crossings % 2 == 1
    return found
