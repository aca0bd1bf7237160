"""Programs in which a name is one array or another: swapped buffers, and arrays of branches."""
# ruff: noqa: PERF401, PERF402, SIM108 (programs as people write them)
from __future__ import annotations

from typing import Any

import numpy as np

from .programs import Rng, program, real, whole

SOME = (0, 1, 2, 5, 9)
"""Sizes, of which some are how often a loop turns."""


def two_of(n: int, rng: Rng) -> tuple[np.ndarray, ...]:
    return whole(12, rng), whole(12, rng)


def with_turns(n: int, rng: Rng) -> tuple[Any, ...]:
    return *two_of(n, rng), n


def three_turning(n: int, rng: Rng) -> tuple[Any, ...]:
    return whole(12, rng), *two_of(n, rng), n


@program(f64=with_turns, sizes=SOME)
def swapped(u, p, n):
    for t in range(n):
        for i in range(1, len(u) - 1):
            p[i] = 0.5 * (u[i - 1] + u[i + 1]) + t
        u, p = p, u
    return u


@program(f64=with_turns, sizes=SOME, long=True)
def swapped_and_summed(u, p, n):
    for _ in range(n):
        for i in range(1, len(u) - 1):
            p[i] = u[i - 1] - u[i + 1]
        u, p = p, u
    s = 0.0
    for i in range(len(p)):
        s += p[i] * u[i]
    u[0] = s
    return s, p, u


@program(f64=with_turns, sizes=SOME, long=True)
def swapped_where(u, p, n):
    for k in range(n):
        for i in range(len(u)):
            p[i] = u[i] * 0.5 + p[i]
        if p[k] > 1:
            u, p = p, u
    return p, u


@program(f64=with_turns, sizes=SOME)
def swapped_before_a_way_out(u, p, n):
    k = 0
    while k < n:
        for i in range(len(u)):
            p[i] = u[i] * 0.5
        u, p = p, u
        if u[0] * u[0] < 1:
            break
        k += 1
    return u, k


@program(f64=with_turns, sizes=SOME)
def swapped_behind_a_way_out(u, p, n):
    for _ in range(n):
        for i in range(len(u)):
            p[i] = u[i] * 0.5
        if p[0] * p[0] < 1:
            break
        u, p = p, u
    return u


@program(f64=three_turning, sizes=SOME, long=True)
def turned_round(a, b, c, n):
    for _ in range(n):
        for i in range(len(a)):
            a[i] = b[i] * 0.5 + c[i]
        if len(a) != len(b) or a[0] > 8:
            break
        a, b, c = b, c, a
    return a, b, c


@program(f64=with_turns, sizes=SOME)
def made_anew(u, v, n):
    for _ in range(n):
        u = u + 0.25 * v
        v = v - 0.5 * u
    return u, v


@program(f64=with_turns, sizes=SOME, long=True)
def made_together(u, v, n):
    for _ in range(n):
        u, v = u + 0.25 * v, v - 0.5 * u
    return v, u


@program(f64=with_turns, sizes=SOME)
def waves(u, v, n):
    before, now = u.copy(), u.copy()
    for _ in range(n):
        after = np.zeros(len(u))
        for i in range(1, len(u) - 1):
            after[i] = 2 * now[i] - before[i] + 0.5 * (now[i + 1] + now[i - 1])
        before = now
        now = after
    return now, before


@program(f64=with_turns, sizes=SOME, long=True)
def one_row_for_the_next(x, y, n):
    old, new = np.zeros(len(y) + 1), np.zeros(len(y) + 1)
    for j in range(len(y) + 1):
        old[j] = j
    for i in range(min(n, len(x))):
        new[0] = i + 1
        for j in range(len(y)):
            cost = 0 if x[i] == y[j] else 1
            new[j + 1] = min(old[j + 1] + 1, new[j] + 1, old[j] + cost)
        old, new = new, old
    return old[len(y)]


@program(f64=with_turns, sizes=SOME)
def one_name_for_two(u, v, n):
    for k in range(n):
        for i in range(len(u)):
            v[i] = u[i] + k
        u = v
    return u, v


@program(f64=with_turns, sizes=SOME, long=True)
def nested(u, v, n):
    for a in range(n):
        for b in range(a % 3):
            for i in range(len(u)):
                v[i] = u[i] * 0.5 + b
            u, v = v, u
        for i in range(len(u)):
            u[i] = u[i] + v[i]
    return u


@program(f64=with_turns, sizes=SOME)
def either_array(u, v, n):
    if n > 2:
        w = u
    else:
        w = v
    s = 0.0
    for i in range(len(w)):
        s += w[i]
        w[i] = s
    return s, w


@program(f64=with_turns, sizes=SOME, long=True)
def doubled_or_itself(u, v, n):
    w = u
    if v[0] > n:
        w = u * 2
    s = w.sum()
    return w, s, w[1] + w[-1]


@program(f64=with_turns, sizes=SOME, long=True, python_at=(0, 1))
def bound_in_a_branch(u, v, n):
    if n > 1:
        w = u + v
    return w * 2


@program(f64=with_turns, sizes=SOME, long=True)
def bound_and_read_under_a_condition(u, v, n):
    if n > 1:
        w = u + v
    s = 0.0
    if n > 1:
        for i in range(len(w)):
            s += w[i]
    return s


@program(f32=lambda n, rng: (*(real(12, rng, np.float32) for _ in "uv"), n), sizes=SOME)
def made_in_each_of_three(u, v, n):
    if n == 0:
        d = 0.0
        w = np.zeros(u.shape)
    elif n == 1:
        d = u[0]
        w = np.ones(len(v))
    else:
        d = 2
        w = u + v
    return d, w


@program(f64=with_turns, sizes=SOME, long=True)
def returned_early(u, v, n):
    s = u.sum()
    if s > n:
        return s, np.array([0.0, 1.0])
    w = np.empty(2)
    w[0] = s
    w[1] = v[0]
    return s * 2, w


@program(f64=with_turns, sizes=SOME)
def none_or_array(u, v, n):
    w = None
    if n % 2:
        w = u * 2
    if w is None:
        return 0
    s = 0.0
    for i in range(len(w)):
        s += w[i]
    return s


@program(f64=lambda n, rng: ((a := whole(12, rng)), a, n), sizes=SOME, python_at=SOME)
def one_array_under_two_names(u, v, n):
    for t in range(n):
        for i in range(len(u)):
            v[i] = u[i] + t
        u, v = v, u
    return u


@program(f64=with_turns, sizes=SOME)
def the_last_but_one(u, v, n):
    old = v
    for _ in range(n):
        old = u
        u = u * 2 + v
    return old, u


@program(f64=with_turns, sizes=SOME, long=True)
def the_last_made(u, v, n):
    w = v
    for k in range(n):
        w = np.zeros(len(u))
        for i in range(len(u)):
            w[i] = u[i] * k
    return w


@program(f64=with_turns, sizes=SOME, long=True)
def none_or_its_sum(u, v, n):
    w = None
    if n % 2:
        w = u * 2
    if w is None:
        return 0
    return w.sum()


def longer_than_one(n: int, rng: Rng) -> tuple[Any, ...]:
    return whole(12, rng), whole(7, rng), n


@program(f64=longer_than_one, sizes=SOME)
def listed_of_one_of_two(u, p, n):
    for _ in range(n):
        u = -p
    return [v * 0.5 for v in u]


@program(f64=longer_than_one, sizes=SOME)
def chosen_of_one_of_two(u, p, n):
    if n > 1:
        u = p * 2.0
    return np.array([v for v in u if v > 0])


@program(f64=longer_than_one, sizes=SOME, long=True)
def taken_from_one_of_two(u, p, n):
    for _ in range(n):
        u, p = p, u
    taken = []
    for v in u:
        taken.append(v)
    for v in p:
        if v > 1:
            taken.append(v)
    s = 0.0
    while taken:
        s = s * 0.5 + taken.pop()
    return s


@program(
    f64=lambda n, rng: (real(n * n, rng).reshape(n, n),), sizes=(1, 2, 5, 9),
    f32=lambda n, rng: (real(n * n, rng).reshape(n, n).astype(np.float32),),
)
def rows_pivoted(A):
    A = A.copy()
    order = np.arange(len(A))
    for k in range(len(A)):
        p = k + np.argmax(np.abs(A[k:, k]))
        if p != k:
            A[[k, p]] = A[[p, k]]
            order[[k, p]] = order[[p, k]]
        for i in range(k + 1, len(A)):
            A[i, k + 1 :] -= A[i, k] * A[k, k + 1 :]
    return A, order
