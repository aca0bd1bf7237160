"""Programs on lists that are read while they grow, and shrink."""
# ruff: noqa: PERF401 (programs as people write them)
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .programs import Make, program, whole

SIZES = (0, 1, 9, 17)


def on_lists(**makes: Make) -> Callable[..., Callable[..., Any]]:
    return program(sizes=SIZES, **makes)


@on_lists(n=lambda n, rng: (n,))
def primes(n):
    found = []
    k = 2
    while len(found) < n:
        prime = True
        for q in found:
            if q * q > k:
                break
            if k % q == 0:
                prime = False
                break
        if prime:
            found.append(k)
        k += 1
    return found


@on_lists(n=lambda n, rng: (n,))
def fibonacci(n):
    f = [0, 1]
    while len(f) < n:
        f.append(f[-1] + f[-2])
    f[0] = 7
    return f, len(f)


@on_lists(f64=lambda n, rng: (whole(n, rng),))
def running(x):
    out = [0.5]
    for i in range(len(x)):
        if x[i] > 0:
            out.append(float(x[i]))
        elif len(out) > 2:
            out.pop()
        else:
            out += [out[-1] * 2, 1.0]
    total = 0.0
    for v in out:
        total += v
    return total, out


@on_lists(i64=lambda n, rng: (rng.integers(0, 2, (n, n + 1)),))
def flooded(grid):
    n, m = grid.shape
    seen = np.zeros((n, m), np.bool_)
    stack = [(0, 0)]
    count = 0
    while stack:
        i, j = stack.pop()
        if i < 0 or j < 0 or i >= n or j >= m or seen[i, j] or grid[i, j]:
            continue
        seen[i, j] = True
        count += 1
        stack.append((i + 1, j))
        stack.append((i - 1, j))
        stack.append((i, j + 1))
        stack.append((i, j - 1))
    return count, seen


@on_lists(f64=lambda n, rng: (whole(n, rng),))
def queued(x):
    q = [0]
    head = 0
    s = 0.0
    while head < len(q):
        i = q[head]
        head += 1
        if i < len(x):
            s = s * 0.5 + x[i]
            q.append(2 * i + 1)
            q.append(2 * i + 2)
    return s, np.array(q)


@on_lists(f64=lambda n, rng: (whole(n, rng),), f32=lambda n, rng: (whole(n, rng, np.float32),))
def close(x):
    pairs = []
    for i in range(len(x)):
        for j in range(i + 1, len(x)):
            if abs(x[i] - x[j]) < 2:
                pairs.append((i, x[j]))
    return pairs


@on_lists(f64=lambda n, rng: (whole(n, rng),))
def mixed_items(x):
    out = [0.0]
    for i in range(len(x)):
        out.append(x[i] if i % 2 else 2.0)
    return out


@on_lists(n=lambda n, rng: (n + 1,))
def steps_to_one(n):
    out = []
    while n != 1:
        out.append(n)
        n = n // 2 if n % 2 == 0 else 3 * n + 1
    out.append(1)
    return np.array(out)


@on_lists(n=lambda n, rng: (n,))
def anew_each_time(n):
    total = 0
    for i in range(n):
        row = [1]
        for j in range(i):
            row.append(row[j] + j)
        while row:
            total += row.pop()
        if not row:
            total += 1
    return total


@on_lists(
    i64=lambda n, rng: (whole(n, rng, np.int64), whole(n // 2, rng, np.int64)),
    list=lambda n, rng: (whole(n, rng).tolist(), whole(n, rng).tolist()),
)
def edits(x, y):
    before = list(range(len(y) + 1))
    for i, v in enumerate(x, 1):
        row = [i]
        for j, w in enumerate(y, 1):
            row.append(min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (v != w)))
        before = row
    return before[-1]


@on_lists(f64=lambda n, rng: (whole(n, rng),))
def rows_taken_over(x):
    above = [0] * (len(x) + 1)
    for v in x:
        row = [1] * (len(x) + 1)
        for j in range(len(x)):
            row[j + 1] = row[j] + above[j] + (v > 0)
        above = row
    return above[0], above[-1]


@on_lists(n=lambda n, rng: (n,))
def rows_in_turn(n):
    above, row = [1], []
    for i in range(n):
        row = [1]
        for j in range(i):
            row.append((above[j] + row[j]) % 1000)
        row.append(1)
        above, row = row, above
    return sum(above)


@on_lists(n=lambda n, rng: (n,))
def primes_by_primes(n):
    found = []
    k = 2
    while len(found) < n:
        for p in found:
            if p * p > k:
                found.append(k)
                break
            if k % p == 0:
                break
        else:
            found.append(k)
        k += 1
    return found


@on_lists(n=lambda n, rng: (n * 7,), f64=lambda n, rng: (whole(n, rng)[:1].sum(),))
def walked_while_it_grows(n):
    waiting = [n]
    s = 0
    for v in waiting:
        s += v
        if v % 5 == 4:
            continue
        if v > 1:
            waiting.append(v // 2)
            if v % 3 == 0:
                waiting.append(v // 3)
        if s > 10**6:
            break
    else:
        s = -s
    return s, len(waiting)


@on_lists(i64=lambda n, rng: (rng.integers(0, 4, (n, 4)), 2))
def traced_back(X, k):
    places = [k]
    for t in range(len(X) - 1, -1, -1):
        places.insert(0, int(X[t, places[0]]))
    return places


@on_lists(n=lambda n, rng: (n,))
def distances_in_a_graph(n):
    """Breadth-first search in a graph of n + 3 nodes, whose adjacency lists have weights, too."""
    nodes = n + 3
    near = [[] for _ in range(nodes)]
    for u in range(nodes):
        for v in (u * u % nodes, (3 * u + 1) % nodes):
            near[u].append((v, u % 5 + 1))
            near[v].append((u, v % 3 + 1))
    steps = [-1] * nodes
    steps[0] = 0
    queue = [0]
    at = 0
    weight = 0
    while at < len(queue):
        u = queue[at]
        at += 1
        for v, w in near[u]:
            if steps[v] < 0:
                steps[v] = steps[u] + 1
                queue.append(v)
                weight += w
    return steps, weight


@program(
    python_at=(0,), f64=lambda n, rng: (whole(n, rng),),
    f32=lambda n, rng: (whole(n, rng, np.float32),),
)
def lists_that_grow_evenly(x):
    smooth = [x[0]]
    for v in x[1:]:
        smooth.append(v - smooth[-1])
    sums, places = [0, 1], []
    for i in range(len(x)):
        sums.append(sums[i] + i)
        places += [len(sums), len(places)]
        places.append(places[-1] - places[i])
    return np.array(smooth), sums, places, len(places)


@program(i64=lambda n, rng: (whole(n, rng, np.int64, 0, 3), whole(n // 2, rng, np.int64, 0, 3)))
def edit_distance_of_rows(a, b):
    before = list(range(len(b) + 1))
    for i in range(len(a)):
        row = [i + 1]
        for j in range(len(b)):
            row.append(min(before[j + 1] + 1, row[j] + 1, before[j] + (a[i] != b[j])))
        before = row
    return before[-1], before


@program(i64=lambda n, rng: (whole(min(n, 40), rng, np.int64),))
def lists_that_grow_by_rows(x):
    flat, pairs = [0], [(0, 0)]
    for i in range(len(x)):
        for j in range(i):
            flat.append(flat[-1] + x[j])
        pairs.append((i, pairs[-1][0] + 1))
    rows = 0
    for i in range(len(x)):
        row = [x[i]]
        for j in range(i + 1):
            row.append(row[j] + 1)
            if j > 5:
                rows += row[j - 5]
    return flat, pairs, rows
