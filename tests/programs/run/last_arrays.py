"""Programs that read behind a loop the arrays that its last iteration has made."""
from __future__ import annotations

from typing import Any

import numpy as np

from .programs import Rng, program, whole


def vector(n: int, rng: Rng) -> tuple[Any, ...]:
    return (whole(n, rng, np.float64),)


def points(n: int, rng: Rng) -> tuple[Any, ...]:
    return whole(2 * n, rng, np.float64).reshape(n, 2), whole(6, rng, np.float64).reshape(3, 2)


@program(sizes=(3, 9, 40), f64=points)
def nearest_centres(X, centres):
    labels = np.full(len(X), -1)
    for _ in range(10):
        distances = ((X[:, None, :] - centres[None, :, :]) ** 2).sum(axis=2)
        new = distances.argmin(axis=1)
        if np.array_equal(new, labels):
            break
        labels = new
        for c in range(len(centres)):
            members = X[labels == c]
            if len(members) > 0:
                centres[c] = members[0] + members[-1]
    return labels, distances.max(), distances


@program(python_at=(0,), sizes=(0, 1, 9, 40), f64=vector)
def the_last_shift(x):
    for k in range(len(x)):
        moved = x * k
        both = moved
        moved = both + 1
        if x[k] > 1e6:
            break
    both[0] = 7
    return moved, both


@program(sizes=(1, 9, 40), f64=vector)
def while_it_halves(x):
    step = 8
    while step > 1:
        halves = x / step
        step //= 2
    before = halves
    for k in range(3):
        halves = before * k
    return before, halves


@program(sizes=(1, 9, 40), f64=vector)
def made_in_an_inner_loop(x):
    total = 0.0
    for k in range(1, 4):
        for j in range(k):
            scaled = x * j + k
        total += scaled[0] * k
    return total
