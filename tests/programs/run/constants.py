"""Programs that arguments choose which are no numbers: None, strs, classes, dtypes, Enums."""
from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any

import numpy as np

from .programs import Make, program, whole

SIZES = (0, 1, 17)


class Side(Enum):
    LEFT = 1
    RIGHT = 2


def then(*given: Any) -> Make:
    """An array, and `given`."""
    return lambda n, rng: (whole(n, rng), *given)


def beside(*given: Any) -> Make:
    """Two arrays, and `given`."""
    return lambda n, rng: (whole(n, rng), whole(n, rng), *given)


def chosen(ulps: float = 0, **makes: Make) -> Callable[..., Callable[..., Any]]:
    return program(sizes=SIZES, ulps=ulps, **makes)


@chosen(none=then(None, None), weights=beside(None), out=beside(np.zeros(40)))
def perhaps(x, w, out):
    if w is None:
        w = np.ones(len(x))
    elif out is not None and len(w) > 0:
        out[0] = w[0]
    if out is None:
        out = np.empty(len(x))
    for i in range(len(x)):
        out[i] = x[i] * w[i]
    return out


@chosen(sum=then("sum"), most=then("most"), other=then("none"))
def by_name(x, mode):
    s = 0.0
    for i in range(len(x)):
        if mode == "sum":
            s += x[i]
        elif mode in ("most", "max"):
            s = max(s, x[i])
        else:
            return mode, s
    return s if mode != "sum" else (s, s)


@chosen(f4=then(np.float32), dtype=then(np.dtype("i2")), none=then(None), name=then("f8"))
def of_dtype(x, dtype):
    out = np.zeros(len(x), dtype=dtype)
    for i in range(len(x)):
        out[i] = x[i] + 1
    if dtype is np.float32:
        return out, out.dtype == np.float32
    return out


@chosen(left=then(Side.LEFT), right=then(Side.RIGHT))
def sides(x, side):
    s = 0.0
    for i in range(len(x)):
        v = x[i] if side is Side.LEFT else x[-1 - i]
        s = s * 0.5 + v if side == Side.LEFT else s - v
    return s


@chosen(
    int=then(3), float=then(2.5), bool=then(True), strong=then(np.float64(2.0)), none=then(None),
    array=beside(), matrix=lambda n, rng: (whole(n, rng), np.ones((n, 2))),
)
def by_type(x, y):
    if isinstance(y, bool):
        return y
    if isinstance(y, (int, np.integer)):
        return len(x), y // 2
    if isinstance(y, np.ndarray):
        if y.ndim == 2:
            return y[:, 0] + x
        return y.dtype == x.dtype, type(y) is type(x)
    s = 0.0
    for i in range(len(x)):
        s += x[i] * (1.0 if y is None else y)
    return s if not isinstance(y, float) else y


@chosen(none=then(None, "a", np.float64), given=beside("c", np.int8))
def by_default(x, w=None, mode="a", dtype=np.float64):
    s = 0
    for i in range(len(x)):
        if w is not None or mode not in ("a", "b"):
            s += w[i]
        s += 1
    return s, np.full(len(x), 2, dtype), w, mode
