"""Lengths, distances and stops of recorded tracks: arrays of latitudes and longitudes, in degrees.
"""
from .geometry import distance, inside, length
from .matching import alignment, edits
from .smoothing import exponential, stops, without_jumps

__all__ = [
    "alignment", "distance", "edits", "exponential", "inside", "length", "stops", "without_jumps",
]
__version__ = "1.0"
