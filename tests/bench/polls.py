"""What it costs that kernels look for signals: each kernel is timed with its polls and without.

    python -m tests.bench.polls [KERNEL …] [--rounds 15] [--target avx2]

Both versions are compiled in this process, the one without twice, and batches of calls of them take
turns on one core. A line has the time of a call with polls, and that time divided by the time
without (above 1: the polls cost something); the best of all batches is taken. The last column tells
how far the two versions without polls are apart, which is what else the machine did.
"""
from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any
from unittest import mock

import numpy as np

from targets.c import emit_c
from transpile import fuse

from .harness import measure, pin, pretty

__all__ = ["KERNELS", "main"]

Kernel = Callable[..., Any]


def search(x: Any, wanted: float) -> int:
    for i in range(len(x)):
        if x[i] == wanted:
            return i
    return -1


def search_in_rows(a: Any, wanted: float) -> int:
    found = 0
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            if a[i, j] == wanted:
                found += 1
                break
    return found


def search_by_while(x: Any, wanted: float) -> int:
    i = 0
    while i < len(x) and x[i] != wanted:
        i += 1
    return i


def binary_search(x: Any, keys: Any) -> int:
    total = 0
    for k in range(len(keys)):
        lo, hi = 0, len(x)
        while lo < hi:
            mid = (lo + hi) // 2
            if x[mid] < keys[k]:
                lo = mid + 1
            else:
                hi = mid
        total += lo
    return total


def row_sums(a: Any, out: Any) -> None:
    for i in range(a.shape[0]):
        s = 0.0
        for j in range(a.shape[1]):
            s += a[i, j]
        out[i] = s


def row_norms(a: Any, out: Any) -> None:
    for i in range(a.shape[0]):
        out[i] = np.sqrt(a[i, 0] * a[i, 0] + a[i, 1] * a[i, 1] + a[i, 2] * a[i, 2])


def matmul(a: Any, b: Any, c: Any) -> None:
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            s = 0.0
            for k in range(a.shape[1]):
                s += a[i, k] * b[k, j]
            c[i, j] = s


def matvec(a: Any, x: Any, y: Any) -> None:
    for i in range(a.shape[0]):
        s = 0.0
        for j in range(a.shape[1]):
            s += a[i, j] * x[j]
        y[i] = s


def stencil(a: Any, b: Any) -> None:
    for i in range(1, a.shape[0] - 1):
        for j in range(1, a.shape[1] - 1):
            b[i, j] = 0.25 * (a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1])


def stencil_in_time(a: Any, b: Any, steps: int) -> None:
    for _ in range(steps):
        for i in range(1, len(a) - 1):
            b[i] = 0.5 * (a[i - 1] + a[i + 1])
        for i in range(1, len(a) - 1):
            a[i] = b[i]


def gauss_seidel(a: Any) -> None:
    for i in range(1, a.shape[0] - 1):
        for j in range(1, a.shape[1] - 1):
            a[i, j] = 0.25 * (a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1])


def saxpy(x: Any, y: Any) -> None:
    for i in range(len(x)):
        y[i] += 1.5 * x[i]


def total(x: Any) -> float:
    s = 0.0
    for i in range(len(x)):
        s += x[i]
    return s


def largest(x: Any) -> tuple[float, int]:
    best, at = x[0], 0
    for i in range(len(x)):
        if x[i] > best:
            best, at = x[i], i
    return best, at


def prefix_sums(x: Any, out: Any) -> None:
    s = 0.0
    for i in range(len(x)):
        s += x[i]
        out[i] = s


def recurrence(x: Any, out: Any) -> None:
    s = 0.0
    for i in range(len(x)):
        s = s * 0.9 + x[i]
        out[i] = s if s < 100.0 else 0.0


def congruence(n: int) -> int:
    s = 0
    for i in range(n):
        s = (s * 31 + i) % 1000003
    return s


def histogram(k: Any, counts: Any) -> None:
    for i in range(len(k)):
        counts[k[i]] += 1


def selected(x: Any) -> Any:
    out = []
    for i in range(len(x)):
        if x[i] > 0.5:
            out.append(x[i])  # noqa: PERF401 (the loop is what is timed)
    return out


def collatz(n: int) -> int:
    best = 0
    for i in range(1, n):
        v, c = i, 0
        while v != 1:
            v = v // 2 if v % 2 == 0 else 3 * v + 1
            c += 1
        best = max(best, c)
    return best


def gcds(a: Any, b: Any) -> int:
    s = 0
    for i in range(len(a)):
        x, y = a[i], b[i]
        while y:
            x, y = y, x % y
        s += x
    return s


def escape(re: Any, im: Any, out: Any) -> None:
    for i in range(len(re)):
        x = y = 0.0
        count = 0
        while count < 100 and x * x + y * y <= 4.0:
            x, y = x * x - y * y + re[i], 2.0 * x * y + im[i]
            count += 1
        out[i] = count


def bubble_sort(unsorted: Any, x: Any) -> None:
    for i in range(len(x)):
        x[i] = unsorted[i]
    for i in range(len(x)):
        for j in range(len(x) - 1 - i):
            if x[j] > x[j + 1]:
                x[j], x[j + 1] = x[j + 1], x[j]


def insertion_sort(unsorted: Any, x: Any) -> None:
    for i in range(len(x)):
        x[i] = unsorted[i]
    for i in range(1, len(x)):
        v = x[i]
        j = i - 1
        while j >= 0 and x[j] > v:
            x[j + 1] = x[j]
            j -= 1
        x[j + 1] = v


def sieve(is_prime: Any) -> int:
    n = len(is_prime)
    for i in range(2, n):
        is_prime[i] = True
    for i in range(2, n):
        if is_prime[i]:
            for j in range(i * i, n, i):
                is_prime[j] = False
    return int(is_prime.sum())


def nearest(p: Any, q: Any, out: Any) -> None:
    for i in range(p.shape[0]):
        best, at = np.inf, 0
        for j in range(q.shape[0]):
            d = 0.0
            for k in range(p.shape[1]):
                d += (p[i, k] - q[j, k]) ** 2
            if d < best:
                best, at = d, j
        out[i] = at


def edit_distance(a: Any, b: Any, row: Any) -> int:
    for j in range(len(b) + 1):
        row[j] = j
    for i in range(len(a)):
        before = row[0]
        row[0] = i + 1
        for j in range(len(b)):
            cost = before + (0 if a[i] == b[j] else 1)
            before = row[j + 1]
            row[j + 1] = min(cost, before + 1, row[j] + 1)
    return row[len(b)]


def linked_list(following: Any, start: int) -> int:
    k, n = start, 0
    while k >= 0:
        k = following[k]
        n += 1
    return n


def newton_roots(x: Any, out: Any) -> None:
    for i in range(len(x)):
        r = x[i] + 1.0
        while abs(r * r - x[i]) > 1e-9:
            r = 0.5 * (r + x[i] / r)
        out[i] = r


def sparse_product(indptr: Any, indices: Any, data: Any, x: Any, y: Any) -> None:
    for i in range(len(y)):
        s = 0.0
        for k in range(indptr[i], indptr[i + 1]):
            s += data[k] * x[indices[k]]
        y[i] = s


def triangular(a: Any) -> float:
    s = 0.0
    for i in range(a.shape[0]):
        for j in range(i):
            s += a[i, j]
    return s


def floyd_warshall(d: Any) -> None:
    n = d.shape[0]
    for k in range(n):
        for i in range(n):
            for j in range(n):
                if d[i, k] + d[k, j] < d[i, j]:
                    d[i, j] = d[i, k] + d[k, j]


def short_rows(x: Any, counts: Any) -> float:
    s = 0.0
    for i in range(len(counts)):
        for j in range(counts[i]):
            s = s * 0.5 + x[j]
    return s


def short_nests(counts: Any) -> int:
    s = 0
    for t in range(len(counts)):
        for i in range(counts[t]):
            for j in range(counts[t]):
                s ^= i * j + t
    return s


def small_products(a: Any, b: Any, c: Any) -> None:
    for t in range(a.shape[0]):
        for i in range(a.shape[1]):
            for j in range(a.shape[1]):
                s = 0.0
                for k in range(a.shape[1]):
                    s += a[t, i, k] * b[t, k, j]
                c[t, i, j] = s


def short_chains(following: Any, starts: Any) -> int:
    n = 0
    for i in range(len(starts)):
        k = starts[i]
        while k >= 0:
            k = following[k]
            n += 1
    return n


def floats(*shape: int) -> Any:
    return np.random.default_rng(1).random(shape)


def _ring(n: int) -> Any:
    order = np.random.default_rng(1).permutation(n)
    following = np.full(n, -1)
    following[order[:-1]] = order[1:]
    return following, int(order[0])


def _sparse(n: int) -> tuple[Any, ...]:
    rng = np.random.default_rng(1)
    counts = rng.integers(0, 8, n)
    indptr = np.concatenate(([0], np.cumsum(counts)))
    m = int(indptr[-1])
    return indptr, rng.integers(0, n, m), rng.random(m), rng.random(n), np.zeros(n)


def _integers(most: int, n: int, seed: int = 1) -> Any:
    return np.random.default_rng(seed).integers(0, most, n)


def _chains(n: int) -> tuple[Any, ...]:
    following = np.arange(-1, n - 1)
    return following, _integers(min(n, 30), n)


KERNELS: dict[Kernel, tuple[Callable[[int], tuple[Any, ...]], tuple[int, ...]]] = {
    search: (lambda n: (floats(n), 2.0), (30, 1000, 100_000)),
    search_in_rows: (lambda n: (floats(n, 10), 2.0), (100, 10_000)),
    search_by_while: (lambda n: (np.append(floats(n), 2.0), 2.0), (30, 1000, 100_000)),
    binary_search: (lambda n: (np.sort(floats(n)), floats(1000)), (100, 100_000)),
    row_sums: (lambda n: (floats(n, 3), np.zeros(n)), (30, 1000, 100_000)),
    row_norms: (lambda n: (floats(n, 3), np.zeros(n)), (30, 1000, 100_000)),
    matmul: (lambda n: (floats(n, n), floats(n, n), np.zeros((n, n))), (3, 8, 20, 64, 200)),
    matvec: (lambda n: (floats(n, n), floats(n), np.zeros(n)), (4, 20, 100, 1000)),
    stencil: (lambda n: (floats(n, n), np.zeros((n, n))), (5, 20, 100, 1000)),
    stencil_in_time: (lambda n: (floats(n), np.zeros(n), 100), (10, 100, 1000)),
    gauss_seidel: (lambda n: (floats(n, n),), (5, 20, 300)),
    saxpy: (lambda n: (floats(n), np.zeros(n)), (100, 10_000, 1_000_000)),
    total: (lambda n: (floats(n),), (100, 10_000, 1_000_000)),
    largest: (lambda n: (floats(n),), (100, 10_000)),
    prefix_sums: (lambda n: (floats(n), np.zeros(n)), (100, 10_000)),
    recurrence: (lambda n: (floats(n), np.zeros(n)), (30, 10_000)),
    congruence: (lambda n: (n,), (100, 100_000)),
    histogram: (lambda n: (_integers(256, n), np.zeros(256, np.int64)), (100, 100_000)),
    selected: (lambda n: (floats(n),), (100, 10_000)),
    collatz: (lambda n: (n,), (50, 10_000)),
    gcds: (lambda n: (_integers(10_000, n), _integers(10_000, n, 2)), (30, 1000)),
    escape: (
        lambda n: (floats(n) * 3 - 2, floats(n)[::-1] - 0.5, np.zeros(n, np.int64)), (30, 3000)
    ),
    bubble_sort: (lambda n: (floats(n), np.zeros(n)), (10, 300)),
    insertion_sort: (lambda n: (floats(n), np.zeros(n)), (10, 1000)),
    sieve: (lambda n: (np.zeros(n, np.bool_),), (100, 100_000)),
    nearest: (lambda n: (floats(n, 3), floats(20, 3), np.zeros(n, np.int64)), (10, 1000)),
    edit_distance: (
        lambda n: (_integers(4, n), _integers(4, n, 2), np.zeros(n + 1, np.int64)), (10, 500)
    ),
    linked_list: (lambda n: _ring(n), (30, 10_000)),
    newton_roots: (lambda n: (floats(n), np.zeros(n)), (30, 3000)),
    sparse_product: (_sparse, (30, 10_000)),
    triangular: (lambda n: (floats(n, n),), (10, 300)),
    short_rows: (lambda n: (floats(30), _integers(30, n) + 1), (10, 10_000)),
    short_nests: (lambda n: (_integers(6, n),), (10, 10_000)),
    small_products: (
        lambda n: (floats(n, 3, 3), floats(n, 3, 3), np.zeros((n, 3, 3))), (3, 3000)
    ),
    short_chains: (_chains, (30, 3000)),
    floyd_warshall: (lambda n: (floats(n, n),), (4, 60)),
}
"""The kernels, with what makes their arguments from a size, and the sizes."""


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.polls", description=__doc__)
    parser.add_argument("kernels", nargs="*", help="parts of their names; all if none")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--target", default="auto")
    options = parser.parse_intermixed_args(argv)
    pin()
    ratios: list[float] = []
    for function, (make, sizes) in KERNELS.items():
        name = function.__name__
        if options.kernels and not any(part in name for part in options.kernels):
            continue
        for n, times in _times(function, make, sizes, options):
            without = min(times["without"], times["again"])
            noise = max(times["without"], times["again"]) / without
            ratios.append(times["with"] / without)
            print(
                f"{name:18}{n:9}{pretty(times['with']):>10}{ratios[-1]:8.3f}{noise:8.3f}",
                flush=True,
            )
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    above = sum(ratio > 1.01 for ratio in ratios)
    print(f"geometric mean of {len(ratios)} ratios: {mean:.4f}; {above} above 1.01")


def _times(
    function: Kernel, make: Callable[[int], tuple[Any, ...]], sizes: Sequence[int],
    options: argparse.Namespace,
) -> Iterator[tuple[int, dict[str, float]]]:
    """The seconds of a call of each size, with polls and twice without."""
    compiled = {}
    for name in ("with", "without", "again"):
        fused = fuse(function, cache=False, on_reject="raise", target=options.target)
        with mock.patch.object(emit_c, "polls_of", emit_c.polls_of if name == "with" else _none):
            fused(*make(sizes[0]))
        compiled[name] = fused
    for n in sizes:
        args = make(n)
        yield n, measure({name: partial(f, *args) for name, f in compiled.items()}, options.rounds)
        assert all(f.stats.compiled for f in compiled.values())


def _none(body: Any) -> dict[Any, Any]:
    return {}


if __name__ == "__main__":
    main()
