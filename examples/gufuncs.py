"""Fused functions as ufuncs: of arrays of any rank, with ``axis``, ``keepdims`` and ``out``.

    python examples/gufuncs.py
"""
from __future__ import annotations

import pickle

import numpy as np

from transpile import fuse, guvectorize, vectorize


@fuse
def dot(x, y):
    """The inner product of two arrays of one axis."""
    s = 0.0
    for i in range(len(x)):
        s += x[i] * y[i]
    return s


@vectorize
def soft(v, limit):
    """Soft thresholding of one number."""
    if v > limit:
        return v - limit
    if v < -limit:
        return v + limit
    return v * 0.0


@guvectorize("(n)->(n)")
def running_maximum(x, result):
    """The maximum so far, stored to the last argument, as numba has it."""
    most = x[0]
    for i in range(x.shape[0]):
        if x[i] > most:
            most = x[i]
        result[i] = most


def main() -> None:
    """Compare each with NumPy."""
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((2, 300, 50))
    inner = dot.gufunc("(n),(n)->()")
    print(inner, inner(a, b).shape, inner(a, b, axis=0).shape, inner(a, b, keepdims=True).shape)
    print("as NumPy:", np.allclose(inner(a, b), (a * b).sum(axis=-1)))
    print("pickled:", np.array_equal(pickle.loads(pickle.dumps(inner))(a, b), inner(a, b)))
    print("as NumPy:", np.array_equal(soft(a, 0.5), np.sign(a) * np.maximum(abs(a) - 0.5, 0.0)))
    print("as NumPy:", np.array_equal(running_maximum(a), np.maximum.accumulate(a, axis=-1)))


if __name__ == "__main__":
    main()
