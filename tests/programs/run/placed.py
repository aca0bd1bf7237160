"""Programs of elements by place: taken, chosen, and with some around."""
from __future__ import annotations

import numpy as np

from .arrays import PROGRAMS, on_arrays
from .programs import F32, real, whole

__all__ = ["PROGRAMS"]


@on_arrays(
    f64=lambda n, rng: (whole(3 * n + 3, rng).reshape(n + 1, 3), rng.integers(-n, n + 1, n)),
    u8=lambda n, rng: (whole(3 * n + 3, rng, np.uint8, 0).reshape(n + 1, 3), np.arange(n)),
)
def by_place(X, k):
    x = X[:, 1]
    clipped, wrapped = np.take(x, k * 2, mode="clip"), np.take(X, k * 3, 0, mode="wrap")
    return np.take(X, k, axis=0), clipped, wrapped, np.compress(x > 0, x), np.append(x, x[0])


@on_arrays(
    python_at=(0,),
    f64=lambda n, rng: (real(4 * n, rng).reshape(n, 4),),
    f32=lambda n, rng: (real(4 * n, rng, F32).reshape(n, 4),),
)
def with_some_around(X):
    return np.pad(X, 1), np.pad(X, ((0, 2), (1, 0)), mode="edge"), np.pad(X[:, 0], (3, 0)) * 2
