"""Programs that make arrays inside their loops."""
from __future__ import annotations

import numpy as np

from .arrays import PROGRAMS, fortran, matrix_and_row, on_arrays
from .programs import F32, program, tall, whole, wide

__all__ = ["PROGRAMS"]


@on_arrays(f64=matrix_and_row, f32=lambda n, rng: matrix_and_row(n, rng, F32))
def one_for_each_row(X, y):
    sums, out = np.zeros(len(X)), np.zeros_like(X)
    for i in range(len(X)):
        t = X[i] * 2 + y
        sums[i] = len(t) + (t * 0).sum()
        turned = t[::-1] - y
        t -= 1
        out[i] = t * turned if i else y + t
    return sums, out


@on_arrays(f64=wide(), i32=tall(np.int32), fortran=fortran())
def filled_for_each_pair(X):
    total = np.float64(0)
    for i in range(len(X)):
        for j in range(i):
            d, e = np.zeros_like(X[0] * 1), np.full(3, 2.0)
            d[::2] = X[i, ::2] - X[j, ::2]
            e[0] = i - j
            total += (d * d).sum() * e.sum()
    return total


@on_arrays(f64=lambda n, rng: (whole(n, rng), n))
def until_it_is_large(x, n):
    rounds = 0
    while rounds < n:
        t = x + 1
        x[:] = t[::-1] if rounds % 2 else t * 2
        rounds += 1
    return rounds


@on_arrays(f64=wide(), f32=wide(F32))
def made_in_a_branch_and_made_again(X):
    """What the branch has made is not read again: in each loop a name has an array of its own."""
    out = np.zeros_like(X)
    for k in range(len(X)):
        if k == 0:
            up = X[k] * 0.5
            out[k] = up
            scale = 4.0 - up
            flux = -up * X[k]
            out[k] = out[k] / scale + flux
    for k in range(1, len(X)):
        down = X[k - 1] * 0.25
        up = X[k] * 0.5
        scale = 4.0 - down - up
        flux = -down * X[k] - up * X[k - 1]
        out[k] = (flux - out[k - 1] * down) / scale
    return out


@on_arrays(f64=wide())
def made_in_one_branch_and_read_behind_the_loop(X):
    t = X[0] * 2.0
    for k in range(len(X)):
        if X[k].sum() > 0.5:
            u = X[k] * 3.0
            X[k] = u + t
        u = X[k] - 1.0
        X[k] = u * 0.5
    return u + t


@on_arrays(f64=lambda n, rng: (whole(n + 1, rng), n))
def numbers_bound_anew(x, n):
    """Numbers of other types: in a branch, behind a ``break``, and bound again before a read."""
    s = 0.0
    for i in range(n):
        if x[i] > 0.5:
            k = 1
            s += k
        if x[i] < -3.0:
            break
        k = x[i] * 0.5
        s += k
    for j in range(n):
        if j % 2:
            k = j
            s += k
        k = True
        s += k
    return s


@program(**{
    dtype: lambda n, rng, dtype=dtype: (whole(n, rng, dtype, 0), int(rng.integers(-1, 9)))
    for dtype in ("f8", "f4", "i8", "i4", "i2", "u1")
})
def kept_in_new_arrays(x, t):
    n = len(x)
    high, low, at = np.empty_like(x), np.empty(n, x.dtype), np.empty(n, np.int64)
    h = k = c = 0
    for i in range(n):
        if x[i] > t:
            high[h] = x[i]
            h += 1
        else:
            low[k] = x[i]
            k += 1
    for i in range(n):
        if x[i] != 4:
            at[c] = i
            c += 1
    low[k:] = 1
    return high[:h], low, at[:c]


@program(f64=lambda n, rng: (whole(n, rng), 2.0), f32=lambda n, rng: (whole(n, rng, F32), F32(1)))
def kept_after_others(x, t):
    out = np.empty(len(x) + 3)
    out[0], out[2] = 5.0, 7.0
    n = 0
    for k in range(2):
        n = k
        for v in x:
            if v > t:
                out[n] = v
                n += 1
    return out[:n], out[2]
