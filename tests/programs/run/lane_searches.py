"""Programs whose lanes run loops: searches, products of rows; bits chosen by a bit."""
from __future__ import annotations

import numpy as np

from .nests import shaped
from .programs import F32, integers, one, program, real, whole, wild

FEW = (0, 1, 2, 3, 8, 17, 65)
TABLE = (21, 19)


@program(
    sizes=FEW,
    f64=shaped(TABLE, TABLE[1:]),
    wild=shaped(TABLE, TABLE[1:], fill=wild),
    f32=shaped(TABLE, TABLE[1:], dtype=F32),
    i64=shaped(TABLE, TABLE[1:], dtype=np.int64),
    u8=shaped(TABLE, TABLE[1:], dtype=np.uint8),
)
def least_of_each_column(x, least):
    places = np.zeros(x.shape[1], np.int64)
    for j in range(x.shape[1]):
        if x.shape[0] == 0:
            places[j] = -1
            continue
        best = x[0, j]
        k = 0
        for i in range(1, x.shape[0]):
            if x[i, j] < best:
                best = x[i, j]
                k = i
        least[j] = best
        places[j] = k
    return places


@program(sizes=FEW, f64=shaped(TABLE), wild=shaped(TABLE, fill=wild))
def last_of_the_greatest_above_zero(x):
    places = np.full(x.shape[1], -1)
    for j in range(x.shape[1]):
        best = 0.0
        for i in range(x.shape[0]):
            if x[i, j] > -2.0 and x[i, j] >= best:
                best = x[i, j]
                places[j] = i
    return places


@program(
    sizes=FEW,
    f64=shaped((19,), (19,), (7,), (7,), fill=real),
    wild=shaped((19,), (19,), (7,), (7,), fill=wild),
    long=lambda n, rng: tuple(real(k, rng) for k in (min(n, 3), min(n, 3), 1030, 1030)),
)
def nearest_points(px, py, cx, cy):
    labels = np.zeros(len(px), np.int64)
    for i in range(len(px)):
        best = np.inf
        for j in range(len(cx)):
            d = (px[i] - cx[j]) ** 2 + (py[i] - cy[j]) ** 2
            if d < best:
                best = d
                labels[i] = j
    return labels


@program(sizes=FEW, f64=shaped((9, 9), (9, 4), (12,), fill=lambda n, rng, dtype: whole(n, rng)))
def best_predecessors(moves, scores, seen):
    steps, n = len(seen), len(moves)
    best_to = np.zeros((steps + 1, n))
    came_from = np.zeros((steps + 1, n), np.int64)
    for t in range(steps):
        for j in range(n):
            best = -1.0
            place = 0
            for i in range(n):
                v = best_to[t, i] * moves[i, j] + scores[i, int(seen[t]) % scores.shape[1]]
                if v > best:
                    best = v
                    place = i
            best_to[t + 1, j] = best * 0.5
            came_from[t + 1, j] = place
    return best_to, came_from


@program(
    sizes=FEW,
    u8=one(integers, np.uint8),
    i64=one(integers, np.int64),
)
def checksum(data):
    c = 0xFFFFFFFF
    for i in range(len(data)):
        c ^= int(data[i]) & 255
        for _ in range(8):
            if c & 1:
                c = (c >> 1) ^ 0xEDB88320
            else:
                c >>= 1
    return c ^ 0xFFFFFFFF


@program(sizes=FEW, i32=one(integers, np.int32), i64=one(integers, np.int64))
def walks_by_its_own_bits(x):
    state = 1
    low = 0
    for i in range(len(x)):
        odd = (state ^ x[i]) & 4 != 0
        state = state // 2
        if odd:
            state = state + 12345
        if state % 8 > x[i] % 8:
            low = low - 3
        low = low % 1024
    return int(state), int(low)


@program(
    sizes=(0, 1, 2, 3, 31, 32, 33, 64, 511, 512, 513),
    f64=lambda n, rng: (whole(5 * n, rng).reshape(5, n), whole(7 * n, rng).reshape(7, n)),
    f32=lambda n, rng: (whole(5 * n, rng, F32).reshape(5, n), whole(n, rng, F32).reshape(1, n)),
    strided=lambda n, rng: (
        whole(6 * n, rng).reshape(n, 6).T, whole(9 * n, rng).reshape(9, n)[::-2],
    ),
)
def products_of_rows(x, y):
    z = np.zeros((x.shape[0], y.shape[0]))
    for i in range(x.shape[0]):
        for j in range(y.shape[0]):
            s = 0.0
            for k in range(x.shape[1]):
                s += x[i, k] * y[j, k]
            z[i, j] = s
    return z


ROWS = (9, 200)
"""Rows of as many terms as lanes search, each of which keeps its best term and the place of it."""


@program(
    sizes=(0, 1, 8, 16, 17, 18, 33, 65),
    f64=shaped(ROWS, fill=lambda n, rng, dtype: real(n, rng)),
    wild=shaped(ROWS, fill=wild),
    whole=shaped(ROWS),
    i64=shaped(ROWS, dtype=np.int64),
    u64=shaped(ROWS, dtype=np.uint64),
    f32=shaped(ROWS, dtype=F32),
    long=lambda n, rng: (wild(3 * 1030, rng).reshape(3, 1030),),
)
def places_along_rows(x):
    first, last, above = np.zeros(len(x), int), np.zeros(len(x), int), np.zeros(len(x), int)
    least = np.zeros(len(x), int)
    for i in range(len(x)):
        if x.shape[1] == 0:
            continue
        least[i] = np.argmin(x[i])
        at = 0
        for j in range(1, x.shape[1]):
            if x[i, j] > x[i, at]:
                at = j
        first[i] = at
        best, at = x[i, 0], -1
        for j, v in enumerate(x[i]):
            if v <= best:
                best, at = v, 2 * j + 1
        last[i] = at
        best, at = -1, -1
        for j in range(x.shape[1]):
            if x[i, j] > best and j % 3:
                best, at = x[i, j], j - 5
        above[i] = at
    return first, last, above, least


@program(sizes=(1, 17, 40), wild=shaped(ROWS, fill=wild), f64=shaped(ROWS, fill=wild))
def greatest_in_rows(x):
    out = np.zeros((len(x), 3))
    for i in range(len(x)):
        best, place, nan = -np.inf, -1, False
        for j in range(x.shape[1]):
            v = x[i, j]
            nan = nan or v != v
            if v > best:
                best, place = v, j
        out[i, 0], out[i, 1], out[i, 2] = best, place, nan
    return out


@program(sizes=(0, 1, 31, 33, 70, 600), f64=one(whole), wild=one(wild), f32=one(wild, F32))
def any_not_at_most(x):
    at = 0
    while at < len(x) and x[at] <= 2.0:
        at += 1
    c, s = 0, 0.0
    for v in x:
        c += not v < 0.5
        s += v * (v > 1.0)
    return at, not all(v <= 7.0 for v in x), c, s
