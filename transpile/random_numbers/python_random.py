"""Python's ``random.Random``: its methods as plain Python.

State parameters of the functions: ``words`` and ``at`` as in `mersenne_twister.py`. ``spare``:
``spare[0]`` is 1.0 if the second number of a pair of normal numbers is unused; ``spare[1]`` is that
number.

The functions are inlined in kernels, so they are written in the subset of Python that is compiled.
Where Python raises, or draws by another algorithm, they raise, and the call is replayed.
"""
from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np

from ..ops import popcount
from .integer_argument import integer_argument
from .mersenne_twister import next_double, next_two_doubles, next_word

__all__ = [
    "choice", "expovariate", "gauss", "getrandbits", "lognormvariate", "normalvariate", "randint",
    "random", "randrange", "uniform",
]

_DEFAULT_RATE: Any = 1.0 if sys.version_info >= (3, 12) else None
"""The default of `expovariate`'s argument; None: it has none."""


def random(words: Any, at: Any) -> float:
    """As ``random.Random.random``."""
    return next_double(words, at)


def uniform(words: Any, at: Any, a: Any, b: Any) -> Any:
    """As ``random.Random.uniform``."""
    return a + (b - a) * next_double(words, at)


def getrandbits(words: Any, at: Any, k: Any) -> int:
    """As ``random.Random.getrandbits``, for 1 to 62 bits: the low bits first, 32 at a time."""
    count = integer_argument(k)
    if count < 1 or count > 62:
        raise ValueError("number of bits")
    value = taken = 0
    while taken < count:
        bits = next_word(words, at)
        if count - taken < 32:
            bits >>= 32 - (count - taken)
        value |= bits << taken
        taken += 32
    return value


def _below(words: Any, at: Any, n: int) -> int:
    """An int in ``0 … n - 1``: random bits, as many as `n` has, are rejected while they are not
    below it. The mask has all bits below the highest one of `n` set, so its population count is
    that number.
    """
    mask = n | n >> 1
    mask |= mask >> 2
    mask |= mask >> 4
    mask |= mask >> 8
    mask |= mask >> 16
    count = int(popcount(np.int64(mask | mask >> 32)))
    r = n
    while r >= n:
        r = getrandbits(words, at, count)
    return r


def randint(words: Any, at: Any, a: Any, b: Any) -> int:
    """As ``random.Random.randint``."""
    first, last = integer_argument(a), integer_argument(b)
    if last < first:
        raise ValueError("empty range")
    return first + _below(words, at, last - first + 1)


def gauss(words: Any, at: Any, spare: Any, mu: Any = 0.0, sigma: Any = 1.0) -> Any:
    """As ``random.Random.gauss``: G. E. P. Box and M. E. Muller, Ann. Math. Statist. 29 (1958). It
    makes two numbers; the second one is kept for the next call.
    """
    if spare[0]:
        z = float(spare[1])
        spare[0] = 0.0
    else:
        u, v = next_two_doubles(words, at)
        angle = u * 6.283185307179586
        radius = math.sqrt(-2.0 * math.log(1.0 - v))
        z = math.cos(angle) * radius
        spare[0] = 1.0
        spare[1] = math.sin(angle) * radius
    return mu + z * sigma


def lognormvariate(words: Any, at: Any, mu: Any = 0.0, sigma: Any = 1.0) -> Any:
    """As ``random.Random.lognormvariate``."""
    return math.exp(normalvariate(words, at, mu, sigma))


def choice(words: Any, at: Any, seq: Any) -> Any:
    """As ``random.Random.choice``."""
    return seq[_below(words, at, len(seq))]


def normalvariate(words: Any, at: Any, mu: Any = 0.0, sigma: Any = 1.0) -> Any:
    """As ``random.Random.normalvariate``: by rejection (A. J. Kinderman and J. F. Monahan, ACM TOMS
    3, 1977).
    """
    z = 0.0
    while True:
        u, v = next_two_doubles(words, at)
        v = 1.0 - v
        z = 1.7155277699214135 * (u - 0.5) / v
        if z * z / 4.0 <= -math.log(v):
            break
    return mu + z * sigma


def expovariate(words: Any, at: Any, lambd: Any = _DEFAULT_RATE) -> Any:
    """As ``random.Random.expovariate``."""
    if lambd is None:
        raise TypeError("no argument")
    return -math.log(1.0 - next_double(words, at)) / lambd


def randrange(words: Any, at: Any, start: Any, stop: Any = None, step: Any = 1) -> int:
    """As ``random.Random.randrange``."""
    by = integer_argument(step)
    if stop is None:
        first, end = 0, integer_argument(start)
        if by != 1:
            raise TypeError("a step, and no stop")
    else:
        first, end = integer_argument(start), integer_argument(stop)
    if by == 0:
        raise ValueError("zero step")
    count = (end - first + by - (1 if by > 0 else -1)) // by
    if count <= 0:
        raise ValueError("empty range")
    return first + by * _below(words, at, count)
