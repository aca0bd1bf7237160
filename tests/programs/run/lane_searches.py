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
