"""Programs on arrays made in branches, of lengths that loops change, and like others made here."""
from __future__ import annotations

import numpy as np

from .arrays import PROGRAMS, on_arrays
from .programs import F32, one, real, two, whole, wide

__all__ = ["PROGRAMS"]


@on_arrays(f64=two(whole), f32=two(whole, F32))
def one_of_two(x, y):
    if len(x) > 3:
        h, g = np.full(len(x), 0.5), np.zeros(x.shape)
    else:
        g, h = np.ones(x.shape), np.full(len(x), 2.0)
        h[:1] = 7
    doubled = x.copy() if y.sum() > 0 else x * 2
    doubled += 1
    return g, doubled, h.sum()


@on_arrays(f64=wide(), f32=wide(np.float32), i16=wide(np.int16))
def chosen_for_each_row(X):
    out = np.zeros_like(X)
    for i, row in enumerate(X):
        if i % 2:
            t = np.zeros(row.shape)
            t[::2] = 3
        elif len(row) > 3:
            t = np.full(row.shape, 0.5)
        else:
            t = np.empty(row.shape)
            t[:] = i
        out[i] = row * 2 - t.sum()
    return out


@on_arrays(f64=lambda n, rng: (whole(n * n, rng).reshape(n, n),))
def shrinking(A):
    n = len(A)
    lost = np.zeros(n)
    for k in range(n):
        A[k, k:] = A[k, k:] * 2
        A[k + 1 :, k] = A[k + 1 :, k] - A[k, k]
        part = A[k:, k:] + 1
        part[0] = 0
        lost[k] = part.sum()
        for i in range(k, -1, -1):
            t = np.zeros(k - i + 1)
            t[-1] = A[i, k]
            lost[i] += t.sum() + len(t)
    return A, lost


@on_arrays(
    long=True, f64=lambda n, rng: (real(n, rng), 3), f32=lambda n, rng: (real(n, rng, F32), 9)
)
def windows_of_their_own(x, w):
    out = np.zeros(len(x), x.dtype)
    for i in range(len(x)):
        part = x[max(i - w, 0) : i + w] * 2
        part[:1] -= part[-1:]
        out[i] = part.max() - len(part)
    return out


@on_arrays(long=True, f64=one(real), u8=one(whole, np.uint8))
def like_what_was_made_here(x):
    u = x * 2
    v, w = np.empty_like(u), np.zeros_like(u[1:])
    ready, full = np.ones_like(x > 1), np.full_like(u, 3)
    for _ in range(3):
        v[:] = u
        u[1:-1] = v[1:-1] + v[2:] - v[:-2]
        w += v[1:]
    return u, w, ready, full


@on_arrays(python_at=(0,), f64=lambda n, rng: (whole(n, rng), n // 3 + 1))
def computed_lengths(x, k):
    s = 0.0
    for v in x:
        s += v
    rows = len(x) // max(k, 1)
    out = np.zeros((rows, k))
    for i in range(rows):
        for j in range(k):
            out[i, j] = x[i * k + j] + s
    rest = [v for v in x[rows * k :]]
    bins = np.full(len(x) % k + rows, 2.0)
    return out, rest, bins
