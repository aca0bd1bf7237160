"""Python's integers from small ones: what is computed of bytes and words, at the ends of both."""
from __future__ import annotations

from typing import Any

import numpy as np

from .programs import Make, Rng, program

FEW = (0, 1, 7, 16, 33, 130)


def ends(n: int, rng: Rng, dtype: Any) -> np.ndarray:
    """The least and greatest of a type, those beside them, and what is about zero."""
    low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    about = [x for x in (-1, 0, 1, 2) if low <= x]
    return rng.choice(np.array([low, low + 1, high // 2, high - 1, high, *about]), n).astype(dtype)


def pair(first: Any, second: Any) -> Make:
    return lambda n, rng: (ends(n, rng, first), ends(n, rng, second))


@program(sizes=FEW, u8=pair(np.uint8, np.uint8))
def blend(a, b):
    out = np.empty_like(a)
    for i in range(len(a)):
        out[i] = (int(a[i]) * 77 + int(b[i]) * 179) >> 8
    return out


@program(
    sizes=FEW, u8=pair(np.uint8, np.uint8), i8=pair(np.int8, np.int8), i16=pair(np.int16, np.uint8),
    u16=pair(np.uint16, np.int8), bool_i16=lambda n, rng: (rng.random(n) < 0.5, ends(n, rng, "i2")),
)
def corners(a, b):
    out = np.empty((3, len(a)), np.int32)
    near = np.empty(len(a), np.float32)
    for i in range(len(a)):
        x, y = int(a[i]), int(b[i])
        out[0, i] = min(max(x - y * 3, -100), 255) if x > y else abs(y) % 7
        out[1, i] = (x * y // 5 ^ y & 15) - (x | 1)
        out[2, i] = -x // 3 + y % -5 + ~x
        near[i] = (x * x + y * y) ** 0.5
    return out, near


@program(sizes=FEW, u8=lambda n, rng: (ends(9 * n, rng, np.uint8).reshape(3, n, 3),))
def grey(image):
    h, w, _ = image.shape
    out, total = np.empty((h, w), np.uint8), 0
    for i in range(h):
        for j in range(w):
            r, g, b = int(image[i, j, 0]), int(image[i, j, 1]), int(image[i, j, 2])
            out[i, j] = (r * 299 + g * 587 + b * 114) // 1000
            total += r - g
    return out, total


@program(
    sizes=(*FEW, 70_000), u8=pair(np.uint8, np.uint8), i16=pair(np.int16, np.int16),
    u16=pair(np.uint16, np.uint16),
)
def totals(a, b):
    s = t = 0
    for i in range(len(a)):
        s += int(a[i])
        t += abs(int(a[i]) - int(b[i]))
    return s, t


def beyond(dtype: Any) -> Make:
    """With two numbers at or beyond the ends of the type, and one that it holds."""
    low, high = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)

    def made(n: int, rng: Rng) -> tuple[np.ndarray, int, int, int, np.ndarray]:
        under, over = low - 1 + int(rng.integers(3)), high - 1 + int(rng.integers(3))
        return ends(n, rng, dtype), under, over, 7, np.zeros(n, np.int64)

    return made


@program(sizes=(0, 9, 70), u8=beyond(np.uint8), i8=beyond(np.int8), u16=beyond(np.uint16),
         i32=beyond(np.int32))
def against_what_elements_cannot_hold(a, low, high, some, y):
    for i in range(len(a)):
        v = int(a[i])
        y[i] = (v < low) + (v <= high) + (v > high) + (low >= v) + (v == high) + (low != v)
    return [int(v) <= some for v in a], sum(1 for v in a if high < int(v)), (a > some).sum()


@program(sizes=(1, 9, 40), u8=lambda n, rng: (rng.integers(0, 256, (n, 3)).astype(np.uint8),))
def shares_of_colours(rgb):
    out = np.zeros((len(rgb), 2))
    for i in range(len(rgb)):
        red, green, blue = (float(c) / 256 for c in rgb[i])
        low, high = tuple(2.0 * v for v in (blue, red))
        out[i, 0] = max(red, green, blue) - low
        out[i, 1] = round(high * 0.25, 2)
    return out
