"""Programs that search: places among sorted numbers, bins, and lines between points."""
from __future__ import annotations

import numpy as np

from .arrays import PROGRAMS, on_arrays
from .programs import F32, Rng, real, whole, wild

__all__ = ["PROGRAMS"]


def edges(n: int, rng: Rng, dtype=np.float64):
    return np.sort(whole(n // 2 + 1, rng, dtype))


@on_arrays(
    f64=lambda n, rng: (edges(n, rng), real(n, rng)),
    sorted=lambda n, rng: (edges(n, rng, F32), np.sort(whole(n, rng, F32))),
    unsorted=lambda n, rng: (whole(n + 1, rng, np.int32), whole(n, rng, np.int64)),
    nan=lambda n, rng: (wild(n + 1, rng), wild(n, rng)),
)
def places(e, x):
    total = 0
    for i in range(len(x)):
        total += np.searchsorted(e, x[i])
    return np.searchsorted(e, x), e.searchsorted(x, "right"), total


@on_arrays(
    long=True, f64=lambda n, rng: (edges(n, rng), real(n, rng)),
    down=lambda n, rng: (edges(n, rng)[::-1], wild(n, rng)),
    mixed=lambda n, rng: (edges(n, rng, np.int16), real(n, rng, F32)),
)
def bins(e, x):
    inside = 0
    for v in x:
        if 0 < np.digitize(v, e) < len(e):
            inside += 1
    return np.digitize(x, e), np.digitize(x, e, right=True), inside


def points(n: int, rng: Rng):
    return wild(n, rng), np.cumsum(rng.integers(1, 3, n // 2 + 2) / 2) - 3, whole(n // 2 + 2, rng)


@on_arrays(
    f64=points,
    unsorted=lambda n, rng: (real(n, rng), real(n + 1, rng), whole(n + 1, rng, np.int64)),
    near=lambda n, rng: (np.sort(real(n, rng, F32)), *points(n, rng)[1:]),
)
def between(x, xp, fp):
    total = 0.0
    for i in range(len(x)):
        if x[i] > -3:
            total += np.interp(x[i] * 0.5, xp, fp)
    return np.interp(x, xp, fp), np.interp(x, xp, fp, left=-1, right=xp[0]), total


@on_arrays(
    f64=lambda n, rng: (real(n, rng), whole(n, rng)),
    f32=lambda n, rng: (real(n, rng, F32), whole(n, rng, F32)),
)
def of_each_number(x, y):
    near = 0
    for i in range(len(x)):
        y[i] = np.round(x[i], 1) + np.fmax(y[i], x[i].astype(np.int32)) * x[i].clip(0, 1)
        if np.isclose(y[i], y[i - 1]):
            near += 1
    return y, near, np.divmod(y, 2), np.modf(x)[0]
