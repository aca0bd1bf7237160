"""Programs that count: how often, how much, and in which bin."""
from __future__ import annotations

import numpy as np

from .arrays import PROGRAMS, on_arrays
from .programs import F32, real, whole, wild

__all__ = ["PROGRAMS"]


@on_arrays(
    f64=lambda n, rng: (rng.integers(0, 9, n), real(n, rng)),
    u8=lambda n, rng: (rng.integers(0, 9, n).astype(np.uint8), whole(n, rng, F32)),
)
def counted_up(k, w):
    h = np.bincount(k, minlength=9)
    if len(w) == 0:
        return h, w
    return h, np.bincount(k, w, 9)


@on_arrays(
    f64=lambda n, rng: (real(n + 1, rng), 5),
    i16=lambda n, rng: (whole(n + 1, rng, np.int16), 7),
    wild=lambda n, rng: (np.where(rng.random(n + 1) < 0.9, real(n + 1, rng), wild(n + 1, rng)), 4),
)
def in_bins(x, bins):
    h, edges = np.histogram(x, bins, (-3, 3.5))
    return h, edges, np.histogram(x, bins=8, range=(0, 4))[0]


@on_arrays(f64=lambda n, rng: (real(n + 2, rng), real(n + 2, rng)))
def spread(x, w):
    return np.histogram(x), np.histogram(x, 6, weights=w)[0]
