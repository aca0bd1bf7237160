"""Programs that collect arrays, or rows of numbers, in lists, and make one array of them."""
from __future__ import annotations

from typing import Any

import numpy as np

from .programs import Rng, program, whole

SIZES = (1, 2, 9, 40)


def vector(n: int, rng: Rng) -> tuple[Any, ...]:
    return (whole(n, rng, np.float64),)


def matrix(n: int, rng: Rng) -> tuple[Any, ...]:
    return (whole(3 * n, rng, np.int32).reshape(n, 3),)


@program(sizes=SIZES, f64=vector)
def frames_of_a_shift(x):
    frames = [x.copy()]
    for k in range(len(x) + 2):
        x[1:] += x[:-1] * 0.5
        x[0] = -k
        frames.append(x.copy())
    return np.array(frames), len(frames)


@program(sizes=SIZES, f64=vector)
def steps_that_were_taken(x):
    times, states = [0.0], [x * 1.0]
    t, state = 0.0, x - 1
    while t < 9:
        new = state * 0.5 + t
        if new[0] != state[-1]:
            state = new
            states.append(state)
            times.append(t)
        t += 0.75
    return np.array(times), np.array(states)


@program(sizes=SIZES, i32=matrix)
def rows_that_pass(X):
    kept = []
    for row in X:
        if row[0] >= row[1] or len(kept) == 0:
            kept.append(row * 2)
    return np.vstack(kept), np.concatenate(kept)


@program(sizes=SIZES, f64=vector)
def a_table(x):
    rows = []
    total = 0.0
    for i, v in enumerate(x):
        total += v
        rows.append([i, v, total])
    table = np.array(rows)
    return table, table[:, 2].max()


@program(sizes=SIZES, f64=vector)
def turns(x):
    signs, places = [1.0], [0]
    for i in range(1, len(x)):
        if x[i] != x[i - 1]:
            signs.append(-signs[-1])
            places.append(i)
    return np.array(signs) * 2, np.diff(places), np.sum(places), np.max(signs)
