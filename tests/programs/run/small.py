"""Programs with small arrays of fixed length, which live in registers where they can."""

from __future__ import annotations

from typing import Any

import numpy as np

from .programs import Make, Rng, program, whole

SIZES = (0, 1, 3, 17, 65)


def points(dtype: Any = np.float64) -> Make:
    def make(n: int, rng: Rng) -> tuple[np.ndarray, ...]:
        p, q = (whole(3 * n, rng, dtype).reshape(n, 3) for _ in range(2))
        return p, q, np.zeros(n, dtype)

    return make


@program(sizes=SIZES, f64=points(), f32=points(np.float32), i32=points(np.int32))
def made_in_a_loop(p, q, out):
    for i in range(len(p)):
        d = np.zeros(3)
        for k in range(len(d)):
            d[k] += p[i, k] - q[i, k]
        if d[0] > d.max() - 1:
            d[0] = d[1] * 2
        w = np.array([d[2], d[0], 1.0])
        w = np.array([w[1], w[0], w[2]])
        out[i] = int((d * w).sum()) + w[1]


@program(sizes=SIZES, f64=points(), f32=points(np.float32))
def crossed(p, q, out):
    for i in range(len(p)):
        n = np.cross(p[i], q[i])
        out[i] = np.dot(n, n) + n[0]
        p[i] = np.cross(n, q[0])
    return np.cross(p, q), np.cross(q, np.array([1, 2, 3]))


def taps(n: int, rng: Rng) -> tuple[np.ndarray, np.ndarray]:
    return whole(n, rng), np.zeros(n)


@program(sizes=SIZES, f64=taps)
def carried_through_loops(x, out):
    w, state = np.array([0.25, 0.5, 0.25]), np.ones(2)
    m = np.array([[1.0, 2.0], [0.0, 0.5]])
    turns = np.zeros(4, np.int64)
    for i in range(1, len(x) - 1):
        s = 0.0
        for k in range(3):
            s += w[k] * x[i + k - 1]
        if s > 0:
            state[0], state[1] = state[1], m[0, 1] * 0.5 + s
        else:
            state[1] = m[1, 1]
        out[i] = s + state[0]
        turns[i % 4] += 1
    return state, turns


@program(sizes=SIZES, f64=taps)
def chosen_as_it_goes(x, out):
    last = 0.0
    for i in range(len(x)):
        bins = np.full(5, 2.0)
        places = np.empty(2, np.int32)
        places[0], places[1] = i % 5, int(abs(x[i]))
        for k in range(2):
            bins[places[k] % 5] += x[i]
        j = 0
        while bins[j] < 2.0 and j < 4:
            j += 1
        out[i] = bins[j] + bins[-1]
        last = bins[0]
    return last


def two_and_out(n: int, rng: Rng) -> tuple[np.ndarray, ...]:
    return whole(n, rng), whole(n, rng), np.zeros(n)


@program(sizes=SIZES, f64=two_and_out)
def lists_and_tuples(x, y, out):
    weights, total, seen = (0.25, 0.5, 0.25), [0, 0], [False] * 3
    for i in range(len(x)):
        v = [0.0] * 4
        for k in range(4):
            v[k] += x[i] * k
        pair = [x[i], y[i]]
        if pair[0] > pair[1]:
            pair[0], pair[1] = pair[1], pair[0]
        total[i % 2] += 1
        for k, w in enumerate(weights):
            seen[k] = seen[k] or x[i] * w > 1
        out[i] = v[1] + (v[2] - v[3]) * weights[2] + pair[1] - pair[-2]
    return total[0], total[1], seen[0], seen[1] and seen[2]
