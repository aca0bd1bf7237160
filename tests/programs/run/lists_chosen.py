"""Programs that choose by a key or among pairs, and that stack the rows of a comprehension."""
from __future__ import annotations

from typing import Any

import numpy as np

from .programs import Rng, program, real, whole

SIZES = (3, 4, 9, 17)


def arrays(n: int, rng: Rng) -> tuple[Any, ...]:
    return real(n, rng), n % 3 + 1


@program(
    sizes=SIZES, f64=lambda n, rng: (real(n, rng),), i32=lambda n, rng: (whole(n, rng, np.int32),),
    list=lambda n, rng: (whole(n, rng).tolist(),),
)
def chosen_of_lists(x):
    i = min(range(len(x)), key=lambda k: abs(x[k]))
    v, j = max((v, k) for k, v in enumerate(x))
    return i, v, j, max(x, key=abs), min(x, key=lambda e: (e - 1) ** 2), min((e, 2) for e in x)[1]


@program(sizes=SIZES, f64=arrays, f32=lambda n, rng: (real(n, rng).astype(np.float32), 2))
def stacked(x, w):
    a = np.array([x[i : i + w] for i in range(len(x) - w + 1)])
    b = np.vstack([x[i : i + 2] * 2 for i in range(0, len(x) - 1, 2)])
    c = np.column_stack([x[i : len(x) - w + i] for i in range(w)])
    return a, b, c, np.stack([a[i] for i in range(2)])
