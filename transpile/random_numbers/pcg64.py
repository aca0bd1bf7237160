"""``numpy.random.Generator`` with PCG64: its methods as plain Python.

PCG64 is a linear congruential generator with 128 bits of state, whose output is permuted
(M. E. O'Neill, "PCG", Harvey Mudd College HMC-CS-2014-0905).

State parameters of the functions: ``words``: four uint64, the low and the high half of the state,
and the low and the high half of the increment. ``half``: ``half[0]`` is 1 if 32 bits of the last
output are unused; ``half[1]`` has them. The others are tables of `ziggurat.py`.

The functions are inlined in kernels, so they are written in the subset of Python that is compiled.
Where NumPy raises, or draws by another algorithm, they raise, and the call is replayed.
"""
from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..ops import mul_high, rotr
from .integer_argument import integer_argument

__all__ = [
    "choice", "exponential", "integers", "lognormal", "normal", "random", "standard_exponential",
    "standard_normal", "uniform",
]


def _next_word(words: Any) -> Any:
    """Advances the state, and returns the next 64 bits, as uint64.

    ``state = state * multiplier + increment`` modulo 2**128, by halves of 64 bits; the output is
    the exclusive or of the halves, rotated by the top 6 bits of the state.
    """
    low, high = words[0], words[1]
    a, b = np.uint64(0x4385DF649FCCF645), np.uint64(0x2360ED051FC65DA4)  # multiplier: low, high
    product = np.multiply(low, a)
    high = np.add(np.multiply(high, a), np.multiply(low, b))
    high = np.add(high, mul_high(low, a))
    low = np.add(product, words[2])
    high = np.add(high, words[3])
    if low < product:
        high = np.add(high, np.uint64(1))
    words[0] = low
    words[1] = high
    return rotr(high ^ low, high >> 58)


def _next_half_word(words: Any, half: Any) -> Any:
    """The next 32 bits, as uint64: of each 64 bits first the low half, then the high one."""
    if half[0]:
        half[0] = 0
        return np.uint64(half[1])
    both = _next_word(words)
    half[0] = 1
    half[1] = both >> 32
    return both & 0xFFFFFFFF


def random(words: Any) -> float:
    """As ``numpy.random.Generator.random``."""
    return float(np.int64(_next_word(words) >> 11)) * (1.0 / 9007199254740992.0)


def uniform(words: Any, low: Any = 0.0, high: Any = 1.0) -> float:
    """As ``numpy.random.Generator.uniform``."""
    first, span = float(low), float(high) - float(low)
    if not 0.0 < span < math.inf:
        raise OverflowError("range exceeds valid bounds")
    return first + span * random(words)


def integers(
    words: Any, half: Any, low: Any, high: Any = None, *, endpoint: Any = False
) -> Any:
    """As ``numpy.random.Generator.integers``, for ranges of at most 2**32 - 1 integers.

    The result is the high half of the product of 32 random bits and the size of the range. Products
    whose low half would make some results more probable are rejected (D. Lemire, ACM TOMACS 29,
    2019).
    """
    if high is None:
        first, end = 0, integer_argument(low)
    else:
        first, end = integer_argument(low), integer_argument(high)
    count = end - first + (1 if endpoint else 0)
    if count < 1 or count > 0xFFFFFFFF:
        raise ValueError("range")
    if count == 1:
        return np.int64(first)
    product = np.multiply(_next_half_word(words, half), np.uint64(count))
    rest = int(np.int64(product & 0xFFFFFFFF))
    if rest < count:
        least = (0x100000000 - count) % count
        while rest < least:
            product = np.multiply(_next_half_word(words, half), np.uint64(count))
            rest = int(np.int64(product & 0xFFFFFFFF))
    return np.int64(first + int(np.int64(product >> 32)))


def standard_normal(
    words: Any, normal_limits: Any, normal_widths: Any, normal_densities: Any
) -> float:
    """As ``numpy.random.Generator.standard_normal``: the ziggurat algorithm (G. Marsaglia and
    W. W. Tsang, J. Stat. Software 5, 2000).

    Of 64 random bits, 8 select a layer, one the sign, and 52 a number in the layer. Below the limit
    of the layer the number is accepted at once; in layer 0, above it, one of the tail is drawn; in
    other layers it is accepted with the probability that the density gives.
    """
    x = 0.0
    while True:
        bits = _next_word(words)
        layer = int(np.int64(bits & 0xFF))
        number = int(np.int64(bits >> 9 & 0xFFFFFFFFFFFFF))
        x = number * float(normal_widths[layer])
        if bits & 0x100:
            x = -x
        if number < normal_limits[layer]:
            break
        if layer == 0:
            over = _normal_tail(words)
            x = -over if number & 0x100 else over
            break
        high, low = normal_densities[layer - 1], normal_densities[layer]
        if (high - low) * random(words) + low < math.exp(-0.5 * x * x):
            break
    return x


def _normal_tail(words: Any) -> float:
    """The absolute value of a normal number in the tail beyond all layers, by rejection."""
    x, y = 0.0, 0.0
    while y + y <= x * x:
        x = -0.27366123732975827203338247596 * math.log1p(-random(words))
        y = -math.log1p(-random(words))
    return 3.6541528853610087963519472518 + x


def normal(
    words: Any, normal_limits: Any, normal_widths: Any, normal_densities: Any,
    loc: Any = 0.0, scale: Any = 1.0,
) -> float:
    """As ``numpy.random.Generator.normal``."""
    if not scale > 0:
        raise ValueError("scale <= 0")
    z = standard_normal(words, normal_limits, normal_widths, normal_densities)
    return float(loc) + float(scale) * z


def standard_exponential(
    words: Any, exponential_limits: Any, exponential_widths: Any, exponential_densities: Any
) -> float:
    """As ``numpy.random.Generator.standard_exponential``: the ziggurat algorithm, see
    `standard_normal`; there is no sign.
    """
    x = 0.0
    while True:
        bits = _next_word(words)
        layer = int(np.int64(bits >> 3 & 0xFF))
        number = int(np.int64(bits >> 11))
        x = number * float(exponential_widths[layer])
        if number < exponential_limits[layer]:
            break
        if layer == 0:
            x = 7.69711747013104972 - math.log1p(-random(words))
            break
        high, low = exponential_densities[layer - 1], exponential_densities[layer]
        if (high - low) * random(words) + low < math.exp(-x):
            break
    return x


def exponential(
    words: Any, exponential_limits: Any, exponential_widths: Any, exponential_densities: Any,
    scale: Any = 1.0,
) -> float:
    """As ``numpy.random.Generator.exponential``."""
    if not scale > 0:
        raise ValueError("scale <= 0")
    x = standard_exponential(
        words, exponential_limits, exponential_widths, exponential_densities
    )
    return float(scale) * x


def lognormal(
    words: Any, normal_limits: Any, normal_widths: Any, normal_densities: Any,
    mean: Any = 0.0, sigma: Any = 1.0,
) -> float:
    """As ``numpy.random.Generator.lognormal``."""
    return math.exp(
        normal(words, normal_limits, normal_widths, normal_densities, mean, sigma)
    )


def choice(words: Any, half: Any, a: Any) -> Any:
    """As ``numpy.random.Generator.choice``."""
    if isinstance(a, (int, np.integer)):
        return int(integers(words, half, a))
    if not isinstance(a, np.ndarray):
        raise TypeError("no array")
    return a[integers(words, half, len(a))]
