"""Programs on whole arrays: folds over axes, broadcasting, views, copies, products."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .programs import F32, F64, Program, Rng, program, real, tall, whole, wide

__all__ = ["PROGRAMS"]

PROGRAMS: list[Program] = []

EMPTY = (0,)
SMALL = (0, 1, 3, 9, 17)


def on_arrays(**makes: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A program on the first of the arguments given; on others, or if so said, it takes long."""
    options = {k: makes.pop(k) for k in ("python_at", "ulps") if k in makes}
    late = makes.pop("long", False)

    def keep(function: Callable[..., Any]) -> Callable[..., Any]:
        for k, (name, make) in enumerate(makes.items()):
            add = program(into=PROGRAMS, sizes=SMALL, long=late or k > 0, **options, **{name: make})
            add(function)
        return function

    return keep


def fortran(dtype=F64):
    return lambda n, rng: (np.asfortranarray(whole(4 * n, rng, dtype).reshape(n, 4)),)


def strided(dtype=F64):
    return lambda n, rng: (whole(12 * n, rng, dtype).reshape(2 * n, 6)[::2, ::-2],)


def cube(dtype=F64):
    return lambda n, rng: (whole(6 * n, rng, dtype).reshape(2, n, 3),)


def matrix_and_row(n: int, rng: Rng, dtype=F64):
    return real(3 * n, rng, dtype).reshape(3, n), real(n, rng, dtype)


# -- folds

@on_arrays(
    f64=wide(), f32=tall(F32), fortran=fortran(), strided=strided(F32), i8=wide(np.int8),
    u16=tall(np.uint16), bool=wide(bool),
)
def axis_sums(X):
    return X.sum(axis=0), np.sum(X, axis=1, keepdims=True), np.sum(X), X.prod(axis=-1)


@on_arrays(long=True, f64=cube(), i32=cube(np.int32))
def axes_of_three(X):
    return X.sum(axis=1), X.sum(axis=(0, 2)), X.sum(axis=(1, 2), keepdims=True), X.any(axis=0)


@on_arrays(python_at=EMPTY, f64=tall(), f32=fortran(F32), i64=wide(np.int64))
def extremes_over_axes(X):
    return X.min(axis=0), np.max(X, axis=1), X.max(), np.min(X, axis=(0, 1), keepdims=True)


@on_arrays(f64=wide(), f32=fortran(F32), i32=tall(np.int32))
def folds_from_a_number_of_some(X):
    high, low = X.max(axis=1, initial=-9), np.min(X, initial=2)
    some = X.max(axis=0, initial=-2, where=X > 1)
    return high, low, X.sum(initial=3), some, np.sum(X, axis=1, where=X < 2, keepdims=True)


@on_arrays(long=True, python_at=EMPTY, ulps=4, f64=tall(), i16=tall(np.int16))
def means(X):
    return X.mean(), np.mean(X, axis=0), X.mean(axis=1), np.var(X, axis=0), X.std(axis=1)


@on_arrays(long=True, f64=wide(), bool=tall(bool))
def truths(X):
    return np.any(X), X.all(axis=0), np.all(X > 0, axis=1), np.count_nonzero(X, axis=0)


# -- elementwise, broadcasting

@on_arrays(f64=matrix_and_row, f32=lambda n, rng: matrix_and_row(n, rng, F32))
def broadcasting(X, y):
    scaled = (X - y) * 2.0 + y[None, :] ** 2
    return scaled, scaled > X, np.where(y < X, X, -y), np.maximum(X[:, ::-1], 0.5)


@on_arrays(
    long=True,
    ulps=64, f64=lambda n, rng: (real(3 * n, rng).reshape(n, 3),)
)
def softmax(X):
    e = np.exp(X - X.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def points(n: int, rng: Rng):
    return whole(2 * n, rng).reshape(n, 2), whole(6, rng).reshape(3, 2)


@on_arrays(long=True, f64=points)
def squared_distances(x, y):
    return ((x[:, None, :] - y[None, :, :]) ** 2).sum(-1)


# -- in place

@on_arrays(f64=matrix_and_row)
def stored_and_shifted(X, y):
    X[1:] = X[:-1]
    X += y
    X[:, 1:] *= 2.0
    X[0] = 0.5
    y[1:] -= y[:-1]
    y[::2] = 1.0
    return X[::-1] - y


# -- products

def two_matrices(dtype=F64):
    return lambda n, rng: (
        whole(3 * n, rng, dtype).reshape(n, 3), whole(5 * n, rng, dtype).reshape(n, 5)
    )  # fmt: skip


@on_arrays(python_at=EMPTY, f64=two_matrices(), f32=two_matrices(F32), i8=two_matrices(np.int8))
def products(X, Y):
    u = X.T @ Y
    return u, np.dot(X, u), X @ Y[0, :3], Y[:, 0] @ X, np.inner(X, X), Y[:, 1].dot(Y[:, 2])


# -- put together

@on_arrays(f64=matrix_and_row, f32=lambda n, rng: matrix_and_row(n, rng, F32))
def put_together(X, y):
    u = np.concatenate((y, y[1:], 2.0 * y))
    v, w = np.vstack((X, X[::-1])), np.stack([y, -y], axis=1)
    z = np.hstack((X, X * 0.5))
    return u, v, w, z, np.diff(X), np.roll(y, 2), np.trace(X), np.eye(3), np.outer(y, y[:2])
