"""Python's integers of which only low bits are used: random numbers, hashes, checksums. Those that
leave 64 bits are in test_demanded_bits.py: before that pass, a kernel replays them.
"""
from __future__ import annotations

from typing import Any

import numpy as np

from .programs import Make, program


def seeds(*values: int) -> Make:
    return lambda n, rng: (np.zeros(n), values[n % len(values)])


def octets(n: int, rng: np.random.Generator) -> tuple[Any, ...]:
    return (rng.integers(0, 256, n).astype(np.uint8).tobytes(), int(rng.integers(-9, 2**30)))


def numbers(n: int, rng: np.random.Generator) -> tuple[Any, ...]:
    return ([int(v) for v in rng.integers(-9, 9, n)], int(rng.integers(-9, 9)))


SIZES = (0, 1, 2, 7, 40)


@program(sizes=SIZES, seed=seeds(42, -7, 2**31, -(2**30), 0))
def random_numbers(out, seed):
    s = seed
    for i in range(len(out)):
        s = (1103515245 * s + 12345) & 0x7FFFFFFF
        out[i] = s / 2147483648.0
    return s


@program(sizes=SIZES, seed=seeds(42, -7, 2**31, -(2**30), 0))
def points_in_a_circle(out, seed):
    """Two random numbers an iteration; other values are carried along."""
    s, count, before = seed, 0, seed
    for i in range(len(out)):
        s = (1103515245 * s + 12345) % 2147483648
        x = s / 2147483648
        s = (1103515245 * s + 12345) % 2147483648
        y = s / 2147483648
        if x * x + y * y < 1:
            count += 1
        out[i] = before % 1000 - (s & 0xFFF)
        before = s
    return count, before


@program(sizes=SIZES, seed=lambda n, rng: (np.arange(n), 7 - n))
def shuffled(x, seed):
    s = seed
    for i in range(len(x) - 1, 0, -1):
        s = (s * 1664525 + 1013904223) % 2**32
        j = s % (i + 1)
        x[i], x[j] = x[j], x[i]
    return s


@program(sizes=SIZES, seed=seeds(1, 2**40, -(2**45) + 1))
def shifted(out, x):
    for i in range(len(out)):
        x ^= (x << 13) & 0xFFFFFFFF
        x ^= x >> 17
        x ^= (x << 5) & 0xFFFFFFFF
        out[i] = x % 1000
    return x


@program(sizes=SIZES, octets=octets)
def hashes(data, start):
    h, g, k = start, 5381, 0
    for b in data:
        h = ((h ^ b) * 16777619) % 2**32
        g = (g * 33 + b) & 0x3FFFFFFFFFFFF
        k = (k - b * start) & 0xFF
    return h, g, k


@program(sizes=(1, 2, 7), numbers=numbers)
def grown(values, a):
    """All but the low bits are dropped at the end."""
    total, product = a, 1
    for v in values:
        total = total * 31 - v
        product *= v | 1
    return total & 0xFFFF, -product & 1023


@program(sizes=(1, 2, 7), numbers=numbers)
def grown_and_kept(values, a):
    """The same, but used wholly, too."""
    total = a
    last = 0
    for v in values:
        total = total * 31 - v
        last = total & 0xFFFF
    return last, total


@program(sizes=SIZES[1:], numbers=numbers)
def asked(values, a):
    """Comparisons and quotients use all bits."""
    n = 0
    for v in values:
        t = a * v
        if t > 0:
            n += t & 15
        n += (t // 7) & 3
        a = (a + v) & 0xFFFFFFFFFFFF
    return n, a
