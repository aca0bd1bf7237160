"""``numpy.random.RandomState`` (legacy generator, MT19937): its methods as plain Python.

State parameters of the functions: ``words`` and ``at`` as in `mersenne_twister.py`. ``waits``:
``waits[0]`` is 1 if the second number of a pair of normal numbers is unused; ``spare[0]`` is that
number.

The functions are inlined in kernels, so they are written in the subset of Python that is compiled.
Where NumPy raises, or draws by another algorithm, they raise, and the call is replayed.
"""
from __future__ import annotations

import math
from typing import Any

import numpy as np

from .integer_argument import integer_argument
from .mersenne_twister import next_double, next_two_doubles, next_word

__all__ = [
    "choice", "exponential", "lognormal", "normal", "rand", "randint", "randn", "random",
    "random_sample", "standard_exponential", "standard_normal", "uniform",
]


def random_sample(words: Any, at: Any) -> float:
    """As ``numpy.random.RandomState.random_sample``."""
    return next_double(words, at)


def uniform(words: Any, at: Any, low: Any = 0.0, high: Any = 1.0) -> float:
    """As ``numpy.random.RandomState.uniform``."""
    first, span = float(low), float(high) - float(low)
    if not abs(span) < math.inf:
        raise OverflowError("range exceeds valid bounds")
    return first + span * next_double(words, at)


def randint(words: Any, at: Any, low: Any, high: Any = None) -> int:
    """As ``numpy.random.RandomState.randint``, for spans below 2**32 - 1: random bits, as many as
    the span has, are rejected while they are greater than it.
    """
    if high is None:
        first, end = 0, integer_argument(low)
    else:
        first, end = integer_argument(low), integer_argument(high)
    span = end - first - 1
    if span < 0 or span >= 0xFFFFFFFF:
        raise ValueError("range")
    if span == 0:
        return first
    mask = span | span >> 1
    mask |= mask >> 2
    mask |= mask >> 4
    mask |= mask >> 8
    mask |= mask >> 16
    value = span + 1
    while value > span:
        value = next_word(words, at) & mask
    return first + value


def standard_normal(words: Any, at: Any, waits: Any, spare: Any) -> float:
    """As ``numpy.random.RandomState.standard_normal``: Marsaglia's polar method (G. Marsaglia and
    T. A. Bray, SIAM Review 6, 1964), which makes two numbers; the second one is kept for the next
    call.
    """
    if waits[0]:
        waits[0] = 0
        z = float(spare[0])
        spare[0] = 0.0
        return z
    a = b = r = 0.0
    while not 0.0 < r < 1.0:
        u, v = next_two_doubles(words, at)
        a, b = 2.0 * u - 1.0, 2.0 * v - 1.0
        r = a * a + b * b
    f = math.sqrt(-2.0 * math.log(r) / r)
    waits[0] = 1
    spare[0] = f * a
    return f * b


def normal(words: Any, at: Any, waits: Any, spare: Any, loc: Any = 0.0, scale: Any = 1.0) -> float:
    """As ``numpy.random.RandomState.normal``."""
    if not scale > 0:
        raise ValueError("scale <= 0")
    return float(loc) + float(scale) * standard_normal(words, at, waits, spare)


def exponential(words: Any, at: Any, scale: Any = 1.0) -> float:
    """As ``numpy.random.RandomState.exponential``."""
    if not scale > 0:
        raise ValueError("scale <= 0")
    return float(scale) * -math.log(1.0 - next_double(words, at))


def standard_exponential(words: Any, at: Any) -> float:
    """As ``numpy.random.RandomState.standard_exponential``."""
    return -math.log(1.0 - next_double(words, at))


def lognormal(
    words: Any, at: Any, waits: Any, spare: Any, mean: Any = 0.0, sigma: Any = 1.0
) -> float:
    """As ``numpy.random.RandomState.lognormal``."""
    return math.exp(normal(words, at, waits, spare, mean, sigma))


def choice(words: Any, at: Any, a: Any) -> Any:
    """As ``numpy.random.RandomState.choice``."""
    if isinstance(a, (int, np.integer)):
        return randint(words, at, a)
    if not isinstance(a, np.ndarray):
        raise TypeError("no array")
    return a[randint(words, at, len(a))]


rand = random = random_sample
randn = standard_normal
