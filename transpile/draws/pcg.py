"""What the methods of NumPy's ``Generator`` draw, with PCG64.

The state: ``words``, four uint64, the low and the high half of the state and of the increment; in
``half[1]`` the second half of 64 bits, if that waits, as ``half[0]`` says. M. E. O'Neill, "PCG",
Harvey Mudd College HMC-CS-2014-0905. Where NumPy would raise, or draws otherwise, they raise.
"""
from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..ops import rotr

__all__ = ["METHODS"]

_LOW, _HIGH = 0x4385DF649FCCF645, 0x2360ED051FC65DA4
"""The halves of the multiplier."""


def _word(words: Any) -> Any:
    """The next 64 bits, as uint64: the state times the multiplier, plus the increment, folded."""
    low, high = words[0], words[1]
    a, b = low & 0xFFFFFFFF, low >> 32
    c, d = np.uint64(0x9FCCF645), np.uint64(0x4385DF64)
    first, second, third = np.multiply(a, c), np.multiply(b, c), np.multiply(a, d)
    middle = (first >> 32) + (second & 0xFFFFFFFF) + (third & 0xFFFFFFFF)
    over = np.multiply(b, d) + (second >> 32) + (third >> 32) + (middle >> 32)
    product = np.multiply(low, np.uint64(0x4385DF649FCCF645))
    high = np.add(np.multiply(high, np.uint64(0x4385DF649FCCF645)), over)
    high = np.add(high, np.multiply(low, np.uint64(0x2360ED051FC65DA4)))
    low = np.add(product, words[2])
    high = np.add(np.add(high, words[3]), np.uint64(low < product))
    words[0] = low
    words[1] = high
    return rotr(high ^ low, high >> 58)


def _half(words: Any, half: Any) -> int:
    """The next 32 bits."""
    if half[0]:
        half[0] = 0
        return int(half[1])
    both = _word(words)
    half[0] = 1
    half[1] = both >> 32
    return int(np.int64(both & 0xFFFFFFFF))


def random(words: Any) -> float:
    return float(np.int64(_word(words) >> 11)) * (1.0 / 9007199254740992.0)


def uniform(words: Any, low: Any = 0.0, high: Any = 1.0) -> float:
    first, span = float(low), float(high) - float(low)
    if not 0.0 <= span < math.inf:
        raise OverflowError("range exceeds valid bounds")
    return first + span * random(words)


def integers(words: Any, half: Any, low: Any, high: Any = None) -> Any:
    """D. Lemire, ACM TOMACS 29 (2019)."""
    first, end = (0, low) if high is None else (low, high)
    count = end - first
    if count < 1 or count > 0xFFFFFFFF:
        raise ValueError("range")
    if count == 1:
        return np.int64(first)
    product = _half(words, half) * count
    rest = product & 0xFFFFFFFF
    if rest < count:
        least = (0x100000000 - count) % count
        while rest < least:
            product = _half(words, half) * count
            rest = product & 0xFFFFFFFF
    return np.int64(first + (product >> 32))


METHODS = {f.__name__: f for f in (integers, random, uniform)}
