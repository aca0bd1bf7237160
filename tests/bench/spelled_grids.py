"""Spellings of idioms of images, grids and points: stencils, resampling, pairs, escape loops."""
# ruff: noqa: B905 (functions as people write them)
from __future__ import annotations

import math

import numpy as np

from .spelled import Row, idioms_of

__all__ = ["IDIOMS"]


def five_point_subscripts(a):
    out = np.zeros_like(a)
    for i in range(1, a.shape[0] - 1):
        for j in range(1, a.shape[1] - 1):
            out[i, j] = (a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1]) * 0.25
    return out


def five_point_chained_subscripts(a):
    out = np.zeros(a.shape)
    for i in range(1, len(a) - 1):
        for j in range(1, len(a[i]) - 1):
            out[i][j] = (a[i - 1][j] + a[i + 1][j] + a[i][j - 1] + a[i][j + 1]) * 0.25
    return out


def five_point_columns(a):
    out = np.zeros_like(a)
    for j in range(1, a.shape[1] - 1):
        for i in range(1, a.shape[0] - 1):
            out[i, j] = (a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1]) * 0.25
    return out


def five_point_offsets(a):
    out = np.zeros_like(a)
    for i in range(1, a.shape[0] - 1):
        for j in range(1, a.shape[1] - 1):
            s = 0.0
            for di, dj in ((-1, 0), (1, 0), (0, -1), (0, 1)):
                s += a[i + di, j + dj]
            out[i, j] = s * 0.25
    return out


def five_point_slices(a):
    out = np.zeros_like(a)
    out[1:-1, 1:-1] = (a[:-2, 1:-1] + a[2:, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:]) * 0.25
    return out


def five_point_rows(a):
    out = np.zeros_like(a)
    for i in range(1, a.shape[0] - 1):
        out[i, 1:-1] = (a[i - 1, 1:-1] + a[i + 1, 1:-1] + a[i, :-2] + a[i, 2:]) * 0.25
    return out


def five_point_while(a):
    n, m = a.shape
    out = np.zeros((n, m))
    i = 1
    while i < n - 1:
        j = 1
        while j < m - 1:
            out[i, j] = (a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1]) / 4
            j += 1
        i += 1
    return out


def blur_loops(a):
    w = (0.0625, 0.25, 0.375, 0.25, 0.0625)
    n, m = a.shape
    out = np.zeros((n, m))
    for i in range(n):
        for j in range(2, m - 2):
            s = 0.0
            for k in range(5):
                s += w[k] * a[i, j + k - 2]
            out[i, j] = s
    return out


def blur_in_array(a):
    w = np.array([0.0625, 0.25, 0.375, 0.25, 0.0625])
    out = np.zeros_like(a)
    for i in range(a.shape[0]):
        for j in range(2, a.shape[1] - 2):
            for k in range(-2, 3):
                out[i, j] += w[k + 2] * a[i, j + k]
    return out


def blur_written_out(a):
    out = np.zeros_like(a)
    for i in range(a.shape[0]):
        for j in range(2, a.shape[1] - 2):
            out[i, j] = (
                0.0625 * (a[i, j - 2] + a[i, j + 2]) + 0.25 * (a[i, j - 1] + a[i, j + 1])
                + 0.375 * a[i, j]
            )
    return out


def blur_rows(a):
    out = np.zeros_like(a)
    for row, to in zip(a, out):
        for j in range(2, len(row) - 2):
            to[j] = (
                0.0625 * row[j - 2] + 0.25 * row[j - 1] + 0.375 * row[j] + 0.25 * row[j + 1]
                + 0.0625 * row[j + 2]
            )
    return out


def blur_slices(a):
    out = np.zeros_like(a)
    out[:, 2:-2] = (
        0.0625 * (a[:, :-4] + a[:, 4:]) + 0.25 * (a[:, 1:-3] + a[:, 3:-1]) + 0.375 * a[:, 2:-2]
    )
    return out


def blur_shifted_sums(a):
    w = [0.0625, 0.25, 0.375, 0.25, 0.0625]
    m = a.shape[1]
    out = np.zeros_like(a)
    for k in range(5):
        out[:, 2 : m - 2] += w[k] * a[:, k : m - 4 + k]
    return out


def grey_subscripts(a):
    out = np.empty(a.shape[:2])
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            out[i, j] = 0.299 * a[i, j, 0] + 0.587 * a[i, j, 1] + 0.114 * a[i, j, 2]
    return out


def grey_chained_subscripts(a):
    out = np.zeros((len(a), len(a[0])))
    for i in range(len(a)):
        for j in range(len(a[0])):
            out[i][j] = 0.299 * a[i][j][0] + 0.587 * a[i][j][1] + 0.114 * a[i][j][2]
    return out


def grey_unpacked(a):
    out = np.empty(a.shape[:2])
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            r, g, b = a[i, j]
            out[i, j] = 0.299 * r + 0.587 * g + 0.114 * b
    return out


def grey_weights(a):
    w = (0.299, 0.587, 0.114)
    out = np.zeros(a.shape[:2])
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            for k in range(3):
                out[i, j] += w[k] * a[i, j, k]
    return out


def grey_planes(a):
    return 0.299 * a[:, :, 0] + 0.587 * a[..., 1] + 0.114 * a[..., 2]


def grey_product(a):
    return a @ np.array([0.299, 0.587, 0.114])


def grey_sum_of_products(a):
    return (a * np.array([0.299, 0.587, 0.114])).sum(axis=2)


def nearest_pixels_floor_division(a, f):
    out = np.empty((a.shape[0] * f, a.shape[1] * f))
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            out[i, j] = a[i // f, j // f]
    return out


def nearest_pixels_int_of_quotient(a, f):
    out = np.empty((a.shape[0] * f, a.shape[1] * f))
    for i in range(out.shape[0]):
        y = int(i / f)
        for j in range(out.shape[1]):
            out[i, j] = a[y, int(j / f)]
    return out


def nearest_pixels_four_loops(a, f):
    out = np.empty((a.shape[0] * f, a.shape[1] * f))
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            for p in range(f):
                for q in range(f):
                    out[i * f + p, j * f + q] = a[i, j]
    return out


def nearest_pixels_index_arrays(a, f):
    y = np.arange(a.shape[0] * f) // f
    x = np.arange(a.shape[1] * f) // f
    return a[y[:, None], x]


def nearest_pixels_repeat(a, f):
    return np.repeat(np.repeat(a, f, axis=0), f, axis=1)


def nearest_pixels_blocks(a, f):
    out = np.empty((a.shape[0] * f, a.shape[1] * f))
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            out[i * f : i * f + f, j * f : j * f + f] = a[i, j]
    return out


def bilinear_inline(a, n):
    out = np.empty((n, n))
    sy, sx = (a.shape[0] - 1) / n, (a.shape[1] - 1) / n
    for i in range(n):
        for j in range(n):
            y, x = i * sy, j * sx
            p, q = int(y), int(x)
            v, u = y - p, x - q
            out[i, j] = (
                (1 - v) * ((1 - u) * a[p, q] + u * a[p, q + 1])
                + v * ((1 - u) * a[p + 1, q] + u * a[p + 1, q + 1])
            )
    return out


def bilinear_hoisted(a, n):
    out = np.empty((n, n))
    sy, sx = (a.shape[0] - 1) / n, (a.shape[1] - 1) / n
    for i in range(n):
        y = i * sy
        p = int(y)
        v = y - p
        for j in range(n):
            x = j * sx
            q = int(x)
            u = x - q
            top = a[p, q] + u * (a[p, q + 1] - a[p, q])
            low = a[p + 1, q] + u * (a[p + 1, q + 1] - a[p + 1, q])
            out[i, j] = top + v * (low - top)
    return out


def _between(a, y, x):
    p, q = math.floor(y), math.floor(x)
    v, u = y - p, x - q
    top = a[p, q] * (1 - u) + a[p, q + 1] * u
    low = a[p + 1, q] * (1 - u) + a[p + 1, q + 1] * u
    return top * (1 - v) + low * v


def bilinear_helper(a, n):
    out = np.empty((n, n))
    sy, sx = (a.shape[0] - 1) / n, (a.shape[1] - 1) / n
    for i in range(n):
        for j in range(n):
            out[i, j] = _between(a, i * sy, j * sx)
    return out


def bilinear_chained_subscripts(a, n):
    out = np.empty((n, n))
    sy, sx = (len(a) - 1) / n, (len(a[0]) - 1) / n
    for i in range(n):
        for j in range(n):
            p, q = int(i * sy), int(j * sx)
            v, u = i * sy - p, j * sx - q
            out[i][j] = (
                (1 - v) * (1 - u) * a[p][q] + (1 - v) * u * a[p][q + 1]
                + v * (1 - u) * a[p + 1][q] + v * u * a[p + 1][q + 1]
            )
    return out


def bilinear_whole(a, n):
    y = np.arange(n) * ((a.shape[0] - 1) / n)
    x = np.arange(n) * ((a.shape[1] - 1) / n)
    p, q = y.astype(np.int64)[:, None], x.astype(np.int64)
    v, u = y[:, None] - p, x - q
    top = (1 - u) * a[p, q] + u * a[p, q + 1]
    low = (1 - u) * a[p + 1, q] + u * a[p + 1, q + 1]
    return (1 - v) * top + v * low


def distances_full(p):
    n = len(p)
    out = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            out[i, j] = math.sqrt((p[i, 0] - p[j, 0]) ** 2 + (p[i, 1] - p[j, 1]) ** 2)
    return out


def distances_coordinates(p):
    n = p.shape[0]
    out = np.empty((n, n))
    for i in range(n):
        for j in range(n):
            s = 0.0
            for k in range(p.shape[1]):
                d = p[i][k] - p[j][k]
                s += d * d
            out[i][j] = s ** 0.5
    return out


def distances_hypot(p):
    n = len(p)
    out = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            out[i, j] = math.hypot(p[i, 0] - p[j, 0], p[i, 1] - p[j, 1])
    return out


def distances_rows(p):
    out = np.empty((len(p), len(p)))
    for i in range(len(p)):
        out[i] = np.sqrt(((p - p[i]) ** 2).sum(axis=1))
    return out


def distances_unpacked(p):
    out = np.empty((len(p), len(p)))
    for i, (x, y) in enumerate(p):
        for j, (u, v) in enumerate(p):
            out[i, j] = math.sqrt((x - u) * (x - u) + (y - v) * (y - v))
    return out


def distances_broadcast(p):
    return np.sqrt(((p[:, None, :] - p[None, :, :]) ** 2).sum(axis=2))


def close_pairs_half(x, y, r):
    c = 0
    for i in range(len(x)):
        for j in range(i + 1, len(x)):
            if (x[i] - x[j]) ** 2 + (y[i] - y[j]) ** 2 < r * r:
                c += 1
    return c


def close_pairs_lower(x, y, r):
    c = 0
    for i in range(len(x)):
        for j in range(i):
            dx, dy = x[i] - x[j], y[i] - y[j]
            c += dx * dx + dy * dy < r * r
    return c


def _are_close(dx, dy, r):
    return dx * dx + dy * dy < r * r


def close_pairs_helper(x, y, r):
    c = 0
    for i in range(len(x)):
        for j in range(i + 1, len(x)):
            if _are_close(x[i] - x[j], y[i] - y[j], r):
                c += 1
    return c


def close_pairs_generator(x, y, r):
    n = len(x)
    return sum(
        1 for i in range(n) for j in range(i + 1, n)
        if (x[i] - x[j]) ** 2 + (y[i] - y[j]) ** 2 < r * r
    )


def close_pairs_slices(x, y, r):
    c = 0
    for i in range(len(x)):
        c += np.count_nonzero((x[i + 1 :] - x[i]) ** 2 + (y[i + 1 :] - y[i]) ** 2 < r * r)
    return c


def life_modulo(a):
    n, m = a.shape
    out = np.zeros((n, m), np.int64)
    for i in range(n):
        for j in range(m):
            s = -a[i, j]
            for di in (-1, 0, 1):
                for dj in (-1, 0, 1):
                    s += a[(i + di) % n, (j + dj) % m]
            out[i, j] = 1 if s == 3 or (s == 2 and a[i, j]) else 0
    return out


def life_written_out(a):
    n, m = a.shape
    out = np.zeros((n, m), np.int64)
    for i in range(n):
        up, low = (i - 1) % n, (i + 1) % n
        for j in range(m):
            left, right = (j - 1) % m, (j + 1) % m
            s = (
                a[up, left] + a[up, j] + a[up, right] + a[i, left] + a[i, right]
                + a[low, left] + a[low, j] + a[low, right]
            )
            if a[i, j] == 1:
                out[i, j] = s in (2, 3)
            else:
                out[i, j] = s == 3
    return out


def life_if_self(a):
    n, m = a.shape
    out = np.zeros_like(a)
    for i in range(n):
        for j in range(m):
            s = 0
            for di in range(-1, 2):
                for dj in range(-1, 2):
                    if di != 0 or dj != 0:
                        s += a[(i + di) % n, (j + dj) % m]
            if s == 3 or (s == 2 and a[i, j] == 1):
                out[i, j] = 1
    return out


def life_roll(a):
    s = np.zeros_like(a)
    for di in (-1, 0, 1):
        for dj in (-1, 0, 1):
            if di or dj:
                s += np.roll(np.roll(a, di, axis=0), dj, axis=1)
    return np.where((s == 3) | ((s == 2) & (a == 1)), 1, 0)


def mandelbrot_while(x, y):
    out = np.empty(len(x), np.int64)
    for i in range(len(x)):
        p = q = 0.0
        c = 0
        while c < 50 and p * p + q * q <= 4.0:
            p, q = p * p - q * q + x[i], 2.0 * p * q + y[i]
            c += 1
        out[i] = c
    return out


def mandelbrot_break(x, y):
    out = np.empty(len(x), np.int64)
    for i in range(len(x)):
        p, q, c = 0.0, 0.0, 0
        for _ in range(50):
            if p * p + q * q > 4.0:
                break
            p, q = p * p - q * q + x[i], 2.0 * p * q + y[i]
            c += 1
        out[i] = c
    return out


def mandelbrot_complex(x, y):
    out = np.empty(len(x), np.int64)
    for i in range(len(x)):
        z, c = 0j, 0
        point = complex(x[i], y[i])
        while c < 50 and abs(z) <= 2.0:
            z = z * z + point
            c += 1
        out[i] = c
    return out


def mandelbrot_complex_squares(x, y):
    out = np.empty(len(x), np.int64)
    for i in range(len(x)):
        z, c = 0j, 0
        while c < 50 and z.real * z.real + z.imag * z.imag <= 4.0:
            z = z * z + (x[i] + y[i] * 1j)
            c += 1
        out[i] = c
    return out


def _escape(x, y):
    p = q = 0.0
    for c in range(50):
        if p * p + q * q > 4.0:
            return c
        p, q = p * p - q * q + x, 2.0 * p * q + y
    return 50


def mandelbrot_helper(x, y):
    out = np.empty(len(x), np.int64)
    for i in range(len(x)):
        out[i] = _escape(x[i], y[i])
    return out


def mandelbrot_named_squares(x, y):
    out = np.empty(len(x), np.int64)
    for i, (u, v) in enumerate(zip(x, y)):
        p = q = p2 = q2 = 0.0
        c = 0
        while p2 + q2 <= 4.0 and c < 50:
            q = 2 * p * q + v
            p = p2 - q2 + u
            p2, q2 = p * p, q * q
            c += 1
        out[i] = c
    return out


def halved_slices(a):
    return (a[::2, ::2] + a[::2, 1::2] + a[1::2, ::2] + a[1::2, 1::2]) / 4


def halved_inner(a):
    n, m = a.shape
    out = np.zeros((n // 2, m // 2))
    for i in range(n // 2):
        for j in range(m // 2):
            s = 0.0
            for di in range(2):
                for dj in range(2):
                    s += a[2 * i + di, 2 * j + dj]
            out[i, j] = s / 4
    return out


def halved_block(a):
    n, m = a.shape
    out = np.empty((n // 2, m // 2))
    for i in range(n // 2):
        for j in range(m // 2):
            out[i, j] = a[2 * i : 2 * i + 2, 2 * j : 2 * j + 2].mean()
    return out


def halved_sum_block(a):
    n, m = a.shape
    out = np.empty((n // 2, m // 2))
    for i in range(n // 2):
        for j in range(m // 2):
            out[i, j] = np.sum(a[2 * i : 2 * i + 2, 2 * j : 2 * j + 2]) / 4
    return out


IDIOMS = idioms_of(globals(), (
    Row("five_point", 128, lambda n, r: (r.random((n, n)),), 9),
    Row("blur", 128, lambda n, r: (r.random((n, n)),), 9),
    Row("grey", 96, lambda n, r: (r.random((n, n, 3)),), 9),
    Row("nearest_pixels", 64, lambda n, r: (r.random((n, n)), 2), 9),
    Row("bilinear", 96, lambda n, r: (r.random((n // 2, n // 2)), n), 10),
    Row("distances", 128, lambda n, r: (r.random((n, 2)),), 9),
    Row("close_pairs", 300, lambda n, r: (r.random(n), r.random(n), 0.2), 12),
    Row("life", 96, lambda n, r: (r.integers(0, 2, (n, n)),), 9),
    Row("mandelbrot", 4_000, lambda n, r: (r.random(n) * 3 - 2, r.random(n) * 2 - 1)),
    Row("halved", 128, lambda n, r: (r.random((n, n)),), 10),
))
