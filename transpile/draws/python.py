"""What the methods of Python's ``random.Random`` draw.

The state is that of `mersenne`. Where Python would raise, or draws otherwise, they raise.
"""
from __future__ import annotations

import math
from typing import Any

from .mersenne import double, word

__all__ = ["METHODS"]


def random(words: Any, at: Any) -> float:
    return double(words, at)


def uniform(words: Any, at: Any, a: Any, b: Any) -> Any:
    return a + (b - a) * double(words, at)


def getrandbits(words: Any, at: Any, k: Any) -> int:
    if k < 1 or k > 62:
        raise ValueError("number of bits")
    low = word(words, at)
    if k <= 32:
        return low >> 32 - k
    return low | word(words, at) >> 64 - k << 32


def _below(words: Any, at: Any, n: int) -> int:
    """An int in [0, n)."""
    k = 0
    while n >> k:
        k += 1
    r = getrandbits(words, at, k)
    while r >= n:
        r = getrandbits(words, at, k)
    return r


def randint(words: Any, at: Any, a: int, b: int) -> int:
    if b < a:
        raise ValueError("empty range")
    return a + _below(words, at, b - a + 1)


def normalvariate(words: Any, at: Any, mu: Any = 0.0, sigma: Any = 1.0) -> Any:
    """A. J. Kinderman and J. F. Monahan, ACM TOMS 3 (1977)."""
    z = 0.0
    while True:
        u = double(words, at)
        v = 1.0 - double(words, at)
        z = 1.7155277699214135 * (u - 0.5) / v
        if z * z / 4.0 <= -math.log(v):
            break
    return mu + z * sigma


def expovariate(words: Any, at: Any, lambd: Any = 1.0) -> Any:
    return -math.log(1.0 - double(words, at)) / lambd


METHODS = {
    f.__name__: f
    for f in (random, uniform, getrandbits, randint, normalvariate, expovariate)
}
