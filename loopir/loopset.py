"""The analysis view of a loop: its accesses, their strides and the dependences it carries."""
from __future__ import annotations

from .access import Access, accesses, advance, unit_stride
from .affine import Affine, affine, constant, variable
from .dependence import Alias, Dependence, Overlap, alias, dependences, distance, trip_count

__all__ = [
    "Access", "Affine", "Alias", "Dependence", "Overlap", "accesses", "advance", "affine", "alias",
    "constant", "dependences", "distance", "trip_count", "unit_stride", "variable",
]
