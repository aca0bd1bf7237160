"""Programs on words: Python ints of 64 bits without a sign, as hashes and random numbers use."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .programs import Make, Rng, program

MASK = 0xFFFF_FFFF_FFFF_FFFF
MULTIPLIER, TWO64 = 0xBF58476D1CE4E5B9, 2**64


def octets(n: int, rng: Rng) -> tuple[bytes, int]:
    return bytes(rng.integers(0, 256, n).astype(np.uint8)), int(rng.integers(0, 1 << 60))


def seeded(n: int, rng: Rng) -> tuple[int, int]:
    return n, int(rng.integers(0, 1 << 60))


def words(**makes: Make) -> Callable[..., Callable[..., Any]]:
    return program(sizes=(0, 1, 17, 40), **makes)


@words(octets=octets)
def fnv1a(data, seed):
    h = 14695981039346656037
    g = seed
    for b in data:
        h ^= b
        h = h * 1099511628211 & MASK
        g = ((g << 5) + g + b) % 2**64
    return h, g


@words(seeded=seeded)
def splitmix(n, seed):
    out = []
    x = seed
    for _ in range(n):
        x = (x + 0x9E3779B97F4A7C15) & MASK
        z = ((x ^ (x >> 30)) * MULTIPLIER) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        out.append(z ^ (z >> 31))
    return out, x


def rotated(x, k):
    return ((x << k) | (x >> (64 - k))) & MASK


@words(seeded=seeded)
def xoshiro(n, seed):
    s = [seed, 0x123456789ABCDEF0, 0xFEDCBA9876543210, 7]
    counts = [0] * 8
    floats = np.empty(n)
    for i in range(n):
        r = rotated(s[1] * 5 & MASK, 7) * 9 & MASK
        t = s[1] << 17 & MASK
        s[2] ^= s[0]
        s[3] ^= s[1]
        s[1] ^= s[2]
        s[0] ^= s[3]
        s[2] ^= t
        s[3] = rotated(s[3], 45)
        counts[r >> 61] += 1
        floats[i] = (r >> 11) * 2**-53 + r / TWO64
    return s, counts, floats


@words(octets=octets)
def crc64(data, seed):
    crc = MASK
    for b in data:
        crc ^= b << 56
        for _ in range(8):
            crc = ((crc << 1) ^ (0x42F0E1EBA9EA3693 if crc & (1 << 63) else 0)) & MASK
    return crc ^ MASK


@words(seeded=seeded)
def bitboard(n, seed):
    board = (seed * 0x9E3779B97F4A7C15) & MASK
    places, total, rest = [], 0, board
    while rest:
        low = rest & -rest
        places.append(low)
        total += low.bit_length()
        rest &= rest - 1
    near = (board << 9 & 0xFEFEFEFEFEFEFEFE) | (board >> 7 & 0x7F7F7F7F7F7F7F7F & ~board)
    return places, total, near, ~board & MASK, board.bit_count(), bin(near).count("1")


@words(seeded=seeded)
def compared(n, seed):
    low, high, above, table = MASK, 0, 0, np.zeros(16, dtype=np.uint64)
    x = seed
    for i in range(n):
        x = (6364136223846793005 * x + 1442695040888963407) & MASK
        low, high = min(low, x), max(high, x)
        above += x > 1 << 63
        above += x >= 2.0**63
        above += x != i
        table[x % 16] = x
        table[x & 15] += np.uint64(1)
        if x < 1 << 60:
            x = x * 3 if i % 2 else x + 5
    return low, high, above, table, x // 1000003, x % (n + 7), x - x // 2, float(x)
