"""Programs on lists that are sorted, and lists from whose middle items are taken."""
from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np

from .programs import Rng, program, real, whole

SIZES = (0, 1, 9, 17, 70)


@program(
    sizes=(2, 9, 33), f64=lambda n, rng: (real(n, rng),),
    i64=lambda n, rng: (whole(n, rng, np.int64),),
)
def median_of_five(x):
    y = np.zeros(len(x))
    for i in range(len(x)):
        w = sorted(x[max(0, i - 2) : i + 3])
        y[i] = w[len(w) // 2]
    return y


@program(
    sizes=SIZES, f64=lambda n, rng: (whole(n, rng),),
    list=lambda n, rng: (whole(n, rng).tolist(),),
)
def inequality(x):
    s = 0.0
    for i, v in enumerate(sorted(x)):
        s += (2 * i - len(x) + 1) * v
    return s


@program(
    sizes=SIZES, f64=lambda n, rng: (np.round(real(n, rng)), 3),
    i32=lambda n, rng: (whole(n, rng, np.int32), 2),
)
def largest(x, k):
    best = []
    for v in x:
        best.append(v)
        best.sort(reverse=True)
        if len(best) > k:
            del best[-1]
    return best


def grid(n: int, rng: Rng) -> tuple[Any, ...]:
    return (rng.integers(0, 4, (n, n)),)


@program(sizes=(1, 2, 9), i64=grid)
def breadth_first(m):
    rows, columns = m.shape
    at = np.full((rows, columns), -1)
    at[0, 0] = 0
    queue = [(0, 0)]
    while queue:
        i, j = queue.pop(0)
        for k in range(4):
            a = i + (1, -1, 0, 0)[k]
            b = j + (0, 0, 1, -1)[k]
            if 0 <= a < rows and 0 <= b < columns and at[a, b] < 0 and m[a, b] > 0:
                at[a, b] = at[i, j] + 1
                queue.append((a, b))
    return at


@program(sizes=(1, 2, 9, 17), int=lambda n, rng: (n, n % 4 + 2))
def counted_out(n, k):
    left = list(range(n))
    order = []
    i = 0
    while left:
        i = (i + k - 1) % len(left)
        order.append(left.pop(i))
    return order


@program(sizes=(3, 9, 70), int=lambda n, rng: (n,))
def sieved(n):
    left = list(range(2, n))
    found = []
    while left:
        p = left.pop(0)
        found.append(p)
        left = [q for q in left if q % p]
    return found


@program(sizes=SIZES, f64=lambda n, rng: (real(n, rng),))
def put_in_order(x):
    placed = []
    for v in x:
        j = 0
        while j < len(placed) and placed[j] < v:
            j += 1
        placed.insert(j, v)
    return placed


@program(
    sizes=(3, 4, 9), f64=lambda n, rng: (real(4 * n, rng).reshape(n, 4),),
    f32=lambda n, rng: (real(4 * n, rng).astype(np.float32).reshape(4, n),),
    u8=lambda n, rng: (rng.integers(0, 255, (n, n)).astype(np.uint8),),
)
def smoothed_by_medians(X):
    out = X.copy()
    for i in range(1, X.shape[0] - 1):
        for j in range(1, X.shape[1] - 1):
            out[i, j] = np.median(X[i - 1 : i + 2, j - 1 : j + 2])
    return out, np.median(X), np.median(X[0])


@program(
    sizes=(0, 1, 2, 9, 65),
    small=lambda n, rng: (n, rng.integers(-3, 4, n)),
    far=lambda n, rng: (n, rng.integers(-99, 99, n)),
)
def circle(n, steps):
    queue = deque()
    for i in range(n):
        queue.append(i)
    order = []
    for step in steps:
        queue.rotate(step)
        order.append(queue.popleft())
        queue.rotate()
        if step % 2:
            queue.append(-step)
    return order, len(queue)
