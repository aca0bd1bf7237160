"""Names that are shadowed, or bound anew between calls."""

from __future__ import annotations

import math

import numpy as np

from .given import case, floats, ints
from .trap import trap

F = floats(9)
FACTOR, TABLE, LIMIT = 2.0, np.arange(9.0), 3


def double(v):
    """A helper."""
    return v * FACTOR


@trap("shadowed builtins", case(F), case(ints(3)), compiled=False)
def shadowed(len):
    s = 0.0
    for v in len:
        s += v
    return s


@trap("shadowed builtins", case(F, 3), case(F, 0), compiled=False)
def shadowed_range(x, range):
    n = 0
    for v in x:
        if v > range:
            n += 1
    return n


@trap("globals are read at each call", case(F), case(ints(9)), case(floats(0)))
def scaled(x):
    out = np.empty(len(x))
    for i in range(len(x)):
        out[i] = x[i] * FACTOR + TABLE[i]
    return out


@trap("helpers", case(F), case(ints(9)), compiled=False)
def helped(x):
    s = 0.0
    for v in x:
        s += double(v)
    return s


@trap("a rebound math.sin", case(F), case(ints(3)), near=1e-15)
def waves(x):
    s = 0.0
    for i in range(len(x)):
        s = max(s, math.sin(x[i]))
    return s


@trap("a global that is not there", case(F), case(floats(0)), compiled=False)
def missing(x):
    s = 0.0
    for v in x:
        s += v * NOT_THERE  # noqa: F821 (the trap)
    return s


def _inner():
    k = 3.0

    @trap("closures", case(F), case(ints(2)))
    def closed(x):
        return [v * k for v in x]

    return closed


closed = _inner()


@trap("global statement", case(F), compiled=False)
def counting(x):
    global LIMIT
    LIMIT = 3
    for v in x:
        if v > 0:
            LIMIT += 1
    return LIMIT
