"""Programs on arrays in another shape: reshaped, raveled, spread, with axes more or less."""
from __future__ import annotations

import numpy as np

from .arrays import PROGRAMS, fortran, on_arrays, strided
from .programs import F32, real, tall, wide

__all__ = ["PROGRAMS"]


@on_arrays(f64=wide(), f32=tall(F32), fortran=fortran(), strided=strided())
def in_another_shape(X):
    x = X.ravel()
    count = 0
    for v in X.reshape(-1):
        if v > 1:
            count += 1
    return x * 2, np.cumsum(x), X.reshape(-1)[::2] + 1, count


@on_arrays(f64=wide(), f32=tall(F32))
def an_axis_of_one_more(X):
    Y = X.reshape(len(X), X.shape[1], 1)
    return Y.sum(axis=1), Y * 2


@on_arrays(f64=wide(), f32=tall(F32))
def shapes_among_results(X):
    doubled = X * 2
    rows = np.zeros(len(X))
    return doubled.shape, (rows.shape, len(X)), X.shape, doubled


@on_arrays(f64=lambda n, rng: (real(n * n, rng).reshape(n, n), real(n, rng)))
def axes_more_or_less(X, y):
    rows = np.expand_dims(y, 0)
    one = np.squeeze(X[:, None], axis=1)
    t = np.diag(y) + np.broadcast_to(y, (len(y), len(y)))
    return X * rows, one * rows.squeeze(0), np.diag(X) * y, X.diagonal().sum(), t, X.flatten()
