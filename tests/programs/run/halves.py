"""Programs on float16: every operation computes in float32 and rounds once, in Python's order."""
from __future__ import annotations

from typing import Any

import numpy as np

from .programs import Rng, program

__all__: list[str] = []

F16 = np.float16
FEW = (0, 1, 7, 16, 65)


def halves(n: int, rng: Rng) -> np.ndarray:
    """Of many sizes, some of them subnormal; their squares do not overflow."""
    return (rng.choice([-1, 1], n) * 2.0 ** rng.uniform(-16, 7, n)).astype(F16)


def bounded(n: int, rng: Rng) -> np.ndarray:
    """Not near zero."""
    return rng.uniform(0.5, 8, n).astype(F16)


@program(
    sizes=FEW,
    plain=lambda n, rng: (F16(1.1), halves(n, rng), bounded(n, rng), np.zeros(n, F16)),
    strided=lambda n, rng: (F16(-3), halves(2 * n, rng)[::2], bounded(n, rng), np.zeros(n, F16)),
)
def arithmetic(a: Any, x: Any, y: Any, out: Any) -> Any:
    for i in range(len(x)):
        v = a * x[i] + y[i] / 3 - 0.1
        w = abs(v) // y[i] + v % y[i]
        out[i] = -v if w > a else np.sqrt(np.abs(w)) + min(v, w) * max(x[i], y[i])
    return a


@program(
    sizes=FEW,
    small=lambda n, rng: (halves(n, rng), rng.integers(-99, 99, n).astype("i1"), rng.random(n)),
    wide=lambda n, rng: (halves(n, rng), rng.integers(-999, 999, n).astype("i2"), rng.random(n)),
    single=lambda n, rng: (halves(n, rng), halves(n, rng).astype("f4"), rng.random(n)),
)
def promoted(x: Any, k: Any, y: Any) -> Any:
    same = [x[i] * 2.5 + 1 for i in range(len(x))]
    mixed = [x[i] + k[i] for i in range(len(x))]
    wide = [x[i] * y[i] for i in range(len(x))]
    return same, mixed, wide


@program(
    sizes=FEW,
    it=lambda n, rng: (rng.integers(-40, 40, n).astype(F16) * F16(1000), bounded(n, rng)),
)
def folds(x: Any, y: Any) -> Any:
    total = F16(0.0)
    low = high = F16(1.5)
    dot = 0.0
    for i in range(len(x)):
        total += x[i]
        low = min(low, x[i])
        high = np.maximum(high, x[i])
        dot = dot + y[i] * y[i]
    return total, low, high, dot


@program(sizes=FEW, it=lambda n, rng: (
    1 + rng.choice([-1, 0, 1], n) * 2.0**-11 + rng.choice([-1, 0, 1], n) * 2.0**-40,
    rng.integers(-9999, 9999, n).astype("i4"), np.zeros(n, F16), np.zeros(n, F16),
))
def stored(x: Any, k: Any, a: Any, b: Any) -> None:
    for i in range(len(x)):
        a[i] = x[i]  # by way of float32 it would be rounded twice
        b[i] = k[i]


@program(sizes=FEW, it=lambda n, rng: (halves(n, rng),))
def kept(x: Any) -> Any:
    return [v + v for v in x if v > 0.25], any(v > 100 for v in x), np.array([float(v) for v in x])


@program(sizes=FEW, ulps=1, it=lambda n, rng: (halves(n, rng), np.zeros(n, F16)))
def running(x: Any, out: Any) -> None:
    s = F16(0)
    for i in range(len(x)):
        s = s * F16(0.5) + x[i]
        out[i] = s
    for i in range(len(x)):
        out[i] = np.exp(out[i] * F16(0.001)) if out[i] < 2 else F16(7)
