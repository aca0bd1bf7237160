"""Programs of places in grids, of what is around an array, and of products of stacks."""
from __future__ import annotations

import numpy as np

from .arrays import PROGRAMS, on_arrays
from .programs import F32, whole

__all__ = ["PROGRAMS"]


@on_arrays(
    f64=lambda n, rng: (whole(n + 3, rng), n % 3),
    f32=lambda n, rng: (whole(n + 3, rng, F32), 2),
    i16=lambda n, rng: (whole(n + 3, rng, np.int16), 1),
)
def around(x, r):
    u = np.pad(x, r, mode="reflect")
    for i in range(len(x)):
        x[i] = u[i] + u[i + r]
    wrapped = np.pad(x, (r, 0), "wrap")
    return np.pad(x[:, None] * x[:4], ((r, 1), (0, 2)), "symmetric"), wrapped


@on_arrays(
    f64=lambda n, rng: (whole(6 * n, rng).reshape(2, 3, n), whole(4 * n, rng).reshape(n, 4)),
    i32=lambda n, rng: (whole(6 * n, rng, np.int32).reshape(2, 3, n),
                        whole(4 * n, rng, np.int32).reshape(n, 4)),
)
def stacks(A, X):
    out = np.einsum("bij,jk->bik", A, X) + A @ X
    return out, np.einsum("bij,ik->kj", A, A[0]), np.kron(X, out[0])


@on_arrays(f64=lambda n, rng: (whole(9 * n + 9, rng).reshape(n + 1, 9), n % 4 - 2))
def triangles(X, k):
    i, j = np.triu_indices(len(X), k, 9)
    total = 0.0
    for at in range(len(i)):
        total += X[i[at], j[at]] * at
    u, v = np.meshgrid(X[:, 0], X[0])
    return X[i, j], total, u * v, np.insert(i, 0, 7), np.diff(X, axis=0, prepend=0)
