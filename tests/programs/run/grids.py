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
def around_by(x, r):
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


@on_arrays(
    f64=lambda n, rng: (whole(5 * n + 5, rng).reshape(n + 1, 5), np.arange(-3.0, 4.0)),
    f32=lambda n, rng: (whole(5 * n + 5, rng, F32).reshape(n + 1, 5), np.arange(-4, 5)),
)
def told_apart(X, edges):
    h, e = np.histogram(X, edges)
    i, j = np.unravel_index(X.argmax(), X.shape)
    top = np.take_along_axis(X, np.argmax(X, axis=1, keepdims=True), axis=1)
    some = np.isin(X, [0, 1, -2.0])
    near = np.polyval([0.5, 0.0, -2.0], X)
    return h, e, X[i, j] + i * j, top, some, near, np.mean(X, axis=0, where=X > -20)


@on_arrays(
    i64=lambda n, rng: (rng.integers(0, 1 << 40, 3 * n + 3).reshape(n + 1, 3), n),
    u8=lambda n, rng: (rng.integers(0, 255, 3 * n + 3, np.uint8).reshape(n + 1, 3), 1),
)
def bits(K, n):
    total = np.bitwise_xor.reduce(K[0])
    for i in range(len(K)):
        total ^= np.bitwise_or.reduce(K[i]) & n
    return total, np.bitwise_and.reduce(K, axis=0), np.subtract.accumulate(K, axis=1), K.ravel("F")


def spins(dtype, *values):
    """Of a size that no sum or product of a few exceeds, mostly; or of one that some exceed."""
    return lambda n, rng: (rng.choice(np.array(values, dtype), (5, n + 2)),)


@on_arrays(
    small=spins(np.int64, -1, 1, 0), large=spins(np.int64, 2**30, -(2**30), 5),
    at_the_bound=spins(np.int64, -(2**30), 2**30 - 1), beyond=spins(np.int64, 2**31, -(2**32) - 1),
    over=spins(np.int64, 2**62, 2**61, -3), i32=spins(np.int32, 1, -1, 2**13),
    i32_over=spins(np.int32, 2**15, -(2**15), 2**30),
)
def neighbours_of_integers(s):
    """Sums and products that need no checks where the elements are small."""
    n, m = s.shape
    energy, out = 0, np.zeros_like(s)
    for i in range(n):
        for j in range(m):
            energy -= s[i, j] * (s[(i + 1) % n, j] + s[i, (j + 1) % m])
    for i in range(1, n - 1):
        for j in range(1, m - 1):
            c = s[i - 1, j] + s[i + 1, j] + s[i, j - 1] + s[i, j + 1] - s[i, j]
            out[i, j] = c if c > 3 else -1
    return energy, out
