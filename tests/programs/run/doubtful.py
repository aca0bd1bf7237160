"""Programs on rows whose place only the data tell, and slices that take numbers one by one."""
# ruff: noqa: B905 (programs as people write them)
from __future__ import annotations

from typing import Any

import numpy as np

from .programs import Rng, program, real, whole

FEW = (0, 1, 2, 3, 9, 17, 65)
turns = range


def rows(n: int, rng: Rng) -> tuple[Any, ...]:
    """A matrix of three columns, and places of some rows of it, from either end."""
    return whole(3 * n, rng).reshape(n, 3), rng.integers(-n, max(n, 1), n)


@program(sizes=FEW, f64=rows)
def rows_of_places(p, at):
    total = 0.0
    for i in at:
        row = p[i]
        total += row[0] * row[2]
    return total


@program(sizes=FEW, f64=rows)
def rows_beside_places(p, at):
    for i in range(len(at)):
        row = p[at[i]]
        for k in range(len(row)):
            row[k] += k
        p[i][0] = row.sum()


@program(sizes=FEW, python_at=(0,), f64=rows)
def rows_up_to_the_first(p, at):
    total, i = 0.0, len(p)
    while i > 0:
        row = p[i - 1]
        total += row[0] - row[1]
        i -= 2 if row[2] > 0 else 1
    return total


@program(
    sizes=(1, 3, 9), python_at=(1, 3, 9),
    beyond=lambda n, rng: (whole(3 * n, rng).reshape(n, 3), np.arange(n) + 1),
    before=lambda n, rng: (whole(3 * n, rng).reshape(n, 3), np.arange(n) - n - 1),
)
def rows_that_are_not_there(p, at):
    for i in at:
        row = p[i]
        row[0] = row[1] + 1


@program(
    sizes=FEW,
    i64=lambda n, rng: (real(n, rng), np.sort(rng.integers(0, n + 1, n // 2 + 1)), np.zeros(n)),
    u8=lambda n, rng: (
        real(n, rng), np.sort(rng.integers(0, n + 1, n // 2 + 1).astype(np.uint8)), np.zeros(n),
    ),
)
def counted_between_places(x, ends, out):
    for k in range(len(ends) - 1):
        for i, j in enumerate(range(ends[k], ends[k + 1])):
            out[j] = x[j] * i
        for i, v in zip(range(ends[k]), x):
            out[i] += v


@program(sizes=FEW, f64=lambda n, rng: (np.zeros((n, n)), 2))
def a_band_by_another_range(band, radius):
    for i in turns(len(band)):
        low = max(0, i - radius)
        band[low : i + 1, i] = 1.0
        band[i, low:i] += 2.0


@program(
    sizes=(2, 3, 9, 17),
    f64=lambda n, rng: (real(n, rng), np.zeros((n, 2)), np.zeros(3)),
    f32=lambda n, rng: (real(n, rng, np.float32), np.zeros((n, 2), np.float32), np.zeros(3)),
    i32=lambda n, rng: (whole(n, rng, np.int32), np.zeros((n, 2), np.int64), np.zeros(3)),
)
def taken_one_by_one(x, pairs, last):
    for i in range(1, len(x)):
        pairs[i] = x[i], x[i - 1]
        last[:-1] = (x[i], last[0])
        last[1:] = [last[2], 1]


@program(
    sizes=(2, 9), python_at=(2, 9),
    f64=lambda n, rng: (real(n, rng), np.zeros((n, 3))),
)
def taken_by_too_many(x, out):
    for i in range(len(x)):
        out[i] = x[i], 1.0


@program(
    sizes=FEW,
    f64=lambda n, rng: (real(n, rng), real(n, rng)),
    same=lambda n, rng: (x := real(n, rng), x),
)
def vectors_as_vectors(x, y):
    x = x.ravel()
    y = y.reshape(-1)
    for i in range(len(x)):
        if x[i] < 0:
            x[i] = y[i] * 2
    return x, y


@program(
    sizes=(0, 5, 50, 500),
    mixed=lambda n, rng: (n, True), python=lambda n, rng: (n, False),
)
def one_type_of_several(n, mixed):
    if mixed:
        size = max(np.int32(np.sqrt(n)), 10)
        count = n // size + 1
    else:
        size = count = 0
    return size, count, size * count


@program(sizes=(0, 2, 3, 9, 65), i64=lambda n, rng: (n,))
def a_sieve_by_slices(n):
    prime = np.ones(n + 1, dtype=np.bool_)
    prime[:2] = False
    for i in range(2, n + 1):
        if i * i > n:
            break
        if prime[i]:
            prime[i * i :: i] = False
    return prime


@program(
    sizes=FEW,
    one=lambda n, rng: (whole(n, rng), 1), three=lambda n, rng: (whole(n, rng), 3),
    far=lambda n, rng: (whole(n, rng), 1 << 40), i64=lambda n, rng: (whole(n, rng), np.int64(7)),
)
def every_so_many(x, step):
    total = x[::step].sum()
    for v in x[1::step]:
        total += v * 3
    y = x[::2]
    z = y[-4:-1:step] * 2
    y[::step] += 1
    for i in range(3):
        total += len(x[i::step])
    return total, z, x[::-1][::step].sum()


@program(
    sizes=(3, 9), python_at=(3, 9),
    back=lambda n, rng: (whole(n, rng), -1), nothing=lambda n, rng: (whole(n, rng), np.uint8(0)),
)
def every_so_many_backwards(x, step):
    return x[::step].sum()


@program(sizes=(1, 2, 3, 9, 17, 65), f64=lambda n, rng: (whole(n, rng), n))
def whiles_that_ask_arrays(x, n):
    turns = 0
    while n > 0 and np.sum(x[:n]) > 1:
        n -= 1
    while np.max(np.abs(x)) > 0.5:
        turns += 1
        if turns % 3 == 0:
            x[0] = 0.0
            continue
        x *= 0.5
        if turns > 20 or np.any(x == 0.25):
            break
    return n, turns


@program(
    sizes=(2, 9, 33), python_at=(2, 9, 33),
    f64=lambda n, rng: (whole(n, rng), np.zeros(n, np.int64), np.zeros(n)),
)
def elements_of_views_far_beyond(x, at, out):
    for i in range(len(at)):
        v = x[i << 26 :]
        out[i] = v[at[i]] + x[0]


@program(
    sizes=(1, 2, 9, 33), f64=lambda n, rng: (whole(n, rng), rng.integers(0, 3, n), np.zeros(n)),
)
def elements_of_views(x, at, out):
    for i in range(len(at)):
        v = x[i:]
        out[i] = v[at[i] - 1 if at[i] < len(v) else -1]
