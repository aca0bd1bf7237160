"""Nests of loops over matrices; the size is the length of each axis."""
from __future__ import annotations

from typing import Any

import numpy as np

from .harness import Case, Make

__all__ = ["CASES"]

SIZES = (64, 256, 768)


def matmul(a, b, c):
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            s = 0.0
            for k in range(a.shape[1]):
                s += a[i, k] * b[k, j]
            c[i, j] = s


def matmul_ikj(a, b, c):
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            c[i, j] = 0.0
        for k in range(a.shape[1]):
            for j in range(b.shape[1]):
                c[i, j] += a[i, k] * b[k, j]


def matvec(a, x, y):
    for i in range(a.shape[0]):
        s = 0.0
        for k in range(a.shape[1]):
            s += a[i, k] * x[k]
        y[i] = s


def jacobi(f, x, y):
    for i in range(1, x.shape[0] - 1):
        for j in range(1, x.shape[1] - 1):
            y[i, j] = (x[i, j] + x[i - 1, j] + x[i + 1, j] + x[i, j - 1] + x[i, j + 1]) * f


def conv(x, w, y):
    for i in range(x.shape[0] - 2):
        for j in range(x.shape[1] - 2):
            s = 0.0
            for p in range(3):
                for q in range(3):
                    s += x[i + p, j + q] * w[p, q]
            y[i, j] = s


def transpose(x, y):
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            y[j, i] = x[i, j]


def distances(x, d):
    for i in range(x.shape[0]):
        for j in range(x.shape[0]):
            s = x[i, 0] - x[i, 0]
            for k in range(x.shape[1]):
                t = x[i, k] - x[j, k]
                s += t * t
            d[i, j] = np.sqrt(s)


def np_jacobi(f, x, y):
    y[1:-1, 1:-1] = (x[1:-1, 1:-1] + x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:]) * f


def np_conv(x, w, y):
    windows = np.lib.stride_tricks.sliding_window_view(x, (3, 3))
    y[:-2, :-2] = np.einsum("ijpq,pq->ij", windows, w)


def np_transpose(x, y):
    y[...] = x.T


def np_distances(x, d):
    np.sqrt(((x[:, None] - x[None]) ** 2).sum(-1), out=d)


def arrays(*shapes: tuple[int, ...], first: tuple[Any, ...] = ()) -> Make:
    """Scalars, then random arrays of those shapes, where 0 stands for the size."""

    def make(n: int, dtype: str, rng: np.random.Generator) -> tuple[Any, ...]:
        found = (rng.random([k or n for k in shape]).astype(dtype) for shape in shapes)
        return (*(np.dtype(dtype).type(s) for s in first), *found)

    return make


CASES = (
    Case(name="matmul", loop=matmul, array=lambda a, b, c: np.matmul(a, b, out=c), c="matmul",
         hand="gemm", sizes=SIZES, make=arrays((0, 0), (0, 0), (0, 0)),
         work=lambda n: 2 * n**3, aim=".88 peak; 1.7 NumPy"),
    Case(name="matmul, ikj", loop=matmul_ikj, array=lambda a, b, c: np.matmul(a, b, out=c),
         c="matmul_ikj", hand="gemm", sizes=SIZES, make=arrays((0, 0), (0, 0), (0, 0)),
         work=lambda n: 2 * n**3, aim=".88 peak; 1.7 NumPy"),
    Case(name="matvec", loop=matvec, array=lambda a, x, y: np.matmul(a, x, out=y), c="matvec",
         hand="gemv", sizes=SIZES, make=arrays((0, 0), (0,), (0,)), limit="sum",
         work=lambda n: 2 * n**2, aim=".91 limit"),
    Case(name="jacobi 2d", loop=jacobi, array=np_jacobi, c="jacobi", hand="stencil",
         sizes=SIZES, make=arrays((0, 0), (0, 0), first=(0.2,)), limit="copy",
         work=lambda n: 5 * n**2, aim=".87 limit"),
    Case(name="conv 3x3", loop=conv, array=np_conv, c="conv", sizes=SIZES,
         make=arrays((0, 0), (3, 3), (0, 0)), work=lambda n: 18 * n**2, aim="2 numba"),
    Case(name="transpose", loop=transpose, array=np_transpose, c="transpose", hand="transpose",
         sizes=SIZES, make=arrays((0, 0), (0, 0)), limit="copy", aim="2 numba"),
    Case(name="distances, d=8", loop=distances, array=np_distances, c="distances",
         sizes=SIZES, make=arrays((0, 8), (0, 0)), work=lambda n: 24 * n**2, aim="2 numba"),
)
