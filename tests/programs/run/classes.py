"""Programs in which types decide what is called: classes, dtypes and functions under a name."""
from __future__ import annotations

import math

import numpy as np

from .programs import F32, Make, program, whole

FEW = (0, 1, 2, 7, 16, 33)


def of(dtype: type) -> Make:
    return lambda n, rng: (whole(n, rng, dtype),)


TYPES: dict[str, Make] = {"f64": of(np.float64), "f32": of(F32), "i64": of(np.int64)}


def density(z):
    T = type(z)
    return -T(0.5) * (z * z + T(math.log(2 * math.pi)))


def shifted(x, by):
    z = (x - by) * (type(by)(1) / by)
    for i in range(len(z)):
        z[i] = density(z[i])
    return z


@program(sizes=FEW, ulps=4, **TYPES)
def densities(x):
    out = np.empty(len(x), np.float64)
    for i in range(len(x)):
        out[i] = density(x[i])
    return out, density(0.5), density(3)


@program(sizes=FEW, ulps=4, python=lambda n, rng: (whole(n, rng), 2.0),
         numpy=lambda n, rng: (whole(n, rng), np.float32(2)),
         int=lambda n, rng: (whole(n, rng), 2))
def by_the_class_of_an_argument(x, by):
    return shifted(x, by)


@program(sizes=FEW, **TYPES)
def of_the_elements(x):
    T = x.dtype.type
    kind = x.dtype
    total = T(0)
    out = np.zeros(len(x), kind)
    for i in range(len(x)):
        total = total + T(2)
        out[i] = total if x.dtype.kind == "f" else x[i]
    if np.issubdtype(kind, np.integer) and x.dtype.itemsize == 8:
        return total, out
    return out


@program(sizes=FEW, f64=of(np.float64))
def functions_under_names(x):
    root = np.sqrt
    magnitude = math.fabs
    Int = np.int64
    for i in range(len(x)):
        f = np.floor
        x[i] = f(x[i]) + root(abs(x[i])) + magnitude(x[i]) + Int(3)
    return x


@program(sizes=FEW, f64=lambda n, rng: (whole(n * 4, rng).reshape(n, 4),))
def arrays_like_others_in_loops(X):
    out = np.empty_like(X, dtype=np.float32)
    for i in range(X.shape[0]):
        row = np.empty(shape=X.shape[1])
        pair = np.zeros(shape=(2, X.shape[1]), dtype=np.int32)
        more = np.empty_like(row, dtype=X.dtype)
        for k in range(X.shape[1]):
            row[k] = X[i, k]
            pair[1, k] += k
            more[k] = X[i, k] * 2
        for k in range(X.shape[1]):
            out[i, k] = row[k] + pair[0, k] - pair[1, k] + more[-1 - k]
    return out


def in_order(x, y):
    if x.shape[0] < y.shape[0]:
        return -in_order(y, x)
    s = 0.0
    for i in range(min(x.shape[0], y.shape[0])):
        s += x[i] * y[i] * i
    return s


def divisor(a, b):
    if a < b:
        return divisor(b, a)
    while b:
        a, b = b, a % b
    return a


@program(sizes=FEW, f64=lambda n, rng: (whole(n, rng), whole(7, rng)))
def calls_that_swap_their_arguments(x, y):
    return in_order(x, y) + in_order(y, x), divisor(len(x), 12), divisor(12, len(x))
