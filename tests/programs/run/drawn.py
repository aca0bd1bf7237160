"""Programs that draw random numbers from generators that are given."""
from __future__ import annotations

import math
import random

import numpy as np

from .programs import program, whole

SMALL = (0, 1, 5, 17)
MANY = (0, 1, 400)


def python(n, rng):
    return random.Random(n + 3), n


def legacy(n, rng):
    return np.random.RandomState(n + 3), n


def pcg(n, rng):
    return np.random.default_rng(n + 3), n


def with_items(make):
    return lambda n, rng: (*make(n, rng), whole(5, rng))


@program(python=python, legacy=legacy, pcg=pcg, sizes=MANY)
def inside_the_circle(rng, n):
    count = 0
    for _ in range(n):
        x, y = rng.random(), rng.random()
        if x * x + y * y < 1.0:
            count += 1
    return count, rng.random()


@program(python=python, legacy=legacy, pcg=pcg, sizes=SMALL)
def uniforms(rng, n):
    return [rng.uniform(i, 2 * i + 1.5) for i in range(n)]


@program(legacy=legacy, pcg=pcg, sizes=(0, 1, 5, 700), ulps=4)
def normals(rng, n):
    out = np.empty((n, 3))
    for i in range(n):
        out[i] = rng.standard_normal(), rng.normal(i, 0.5), rng.exponential(2.0)
    return out


@program(legacy=legacy, pcg=pcg, sizes=SMALL, ulps=4)
def lognormals(rng, n):
    return [rng.lognormal(0.1, 0.2) + rng.standard_exponential() for _ in range(n)]


@program(python=python, sizes=(0, 1, 4, 35), ulps=4)
def of_python(rng, n):
    s = 0.0
    for i in range(n):
        s += rng.gauss(i, 2.0) * rng.expovariate(0.5)
        s += rng.normalvariate(0.0, 1.0) + rng.lognormvariate(0.0, 0.25)
    return s, n and rng.gauss(0, 1)


@program(python=python, sizes=SMALL)
def whole_numbers(rng, n):
    counts = np.zeros(64, int)
    for _ in range(n):
        counts[rng.randint(0, 9)] += rng.randrange(5) + rng.randrange(2, 40, 3)
        counts[rng.getrandbits(6)] += rng.randint(-(1 << 40), 1 << 40)
    return counts


@program(legacy=legacy, sizes=SMALL)
def legacy_numbers(rng, n):
    counts = [0] * 7
    for _ in range(n):
        counts[rng.randint(7)] += rng.randint(-3, 1 << 31)
    return counts, [rng.randint(i, i + 1) for i in range(n)]


@program(pcg=pcg, sizes=SMALL)
def integers(rng, n):
    m = np.zeros((7, 3), int)
    for _ in range(n):
        m[rng.integers(7), rng.integers(1, 3)] += rng.integers(3 << 30)
        m[0, 0] -= rng.integers(2, 9, endpoint=True)
    return m, rng.integers(1 << 31)


@program(
    python=with_items(python), legacy=with_items(legacy), pcg=with_items(pcg), sizes=SMALL
)
def chosen(rng, n, x):
    return [rng.choice(x) for _ in range(n)]


@program(python=python, legacy=legacy, pcg=pcg, sizes=SMALL)
def drawn_where_it_is_asked(rng, n):
    s, tries = 0.0, 0
    for i in range(n):
        if rng.random() < 0.5 and rng.random() < 0.75:
            s += rng.random() if i % 3 else 2.0
        while rng.random() < 0.6:
            tries += 1
    some = any(rng.random() < 0.2 for _ in range(n))
    return s, tries, some, sum(rng.random() < 0.5 for _ in range(2))


def step(rng, x, width):
    """One of the Metropolis algorithm, of a normal density."""
    y = x + rng.uniform(-width, width)
    return y if rng.random() < math.exp((x * x - y * y) / 2) else x


@program(python=python, legacy=legacy, pcg=pcg, sizes=SMALL, ulps=64)
def metropolis(rng, n):
    x, out = 0.0, np.empty(n)
    for i in range(n):
        out[i] = x = step(rng, x, 1.5)
    return out


class Cloud:
    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.x = np.zeros(8)

    def move(self, k):
        self.x[k] += self.rng.random() - 0.5


@program(held=lambda n, rng: (Cloud(n), n), sizes=SMALL)
def moved(cloud, n):
    for k in range(n):
        cloud.move(k % 8)
    return cloud.x.copy()


@program(legacy=with_items(legacy), pcg=with_items(pcg), sizes=SMALL)
def disturbed(rng, n, x):
    for _ in range(n):
        for k in range(len(x)):
            x[k] = x[k] * 0.5 + rng.random()
    return x
