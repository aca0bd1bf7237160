"""Ziggurat tables of NumPy's ``Generator`` for normal and exponential numbers.

G. Marsaglia and W. W. Tsang, J. Stat. Software 5 (2000), of 256 layers. The tables are NumPy's
own: a generator of PCG64 is made to give chosen words, and what it draws of them tells the
width of a layer, and which words are taken at once.
"""
from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

import numpy as np

from ..types.generator_state import parts

__all__ = ["ZIGGURAT_TABLES", "table"]

_LCG_MULTIPLIER = 0x2360ED051FC65DA44385DF649FCCF645
_MASK_128 = (1 << 128) - 1
_STEP_INVERSE = pow(_LCG_MULTIPLIER, -1, 1 << 128)

ZIGGURAT_TABLES = (
    "normal_limits", "normal_widths", "normal_densities",
    "exponential_limits", "exponential_widths", "exponential_densities",
)
"""Of each layer: the number below which one is taken at once, its width, and the density there."""


@cache
def table(name: str) -> np.ndarray:
    """One of `ZIGGURAT_TABLES`."""
    return _layers(name.startswith("normal"))[ZIGGURAT_TABLES.index(name) % 3]


@cache
def _layers(normal: bool) -> tuple[np.ndarray, ...]:
    """Normal numbers have 52 bits, which come behind 9 others; exponential ones 53, behind 11."""
    if normal:
        return _probe_table("standard_normal", 52, 0, 9, lambda x: math.exp(-0.5 * x * x))
    return _probe_table("standard_exponential", 53, 3, 11, lambda x: math.exp(-x))


def _probe_table(
    name: str, bits: int, low: int, shift: int, density: Callable[[float], float]
) -> tuple[np.ndarray, ...]:
    generator = np.random.default_rng(1)
    words, draw = parts("pcg", generator)["words"], getattr(generator, name)
    increment = int(words[2]) | int(words[3]) << 64

    def drawn(layer: int, number: int) -> tuple[float, bool]:
        """What is drawn of a number in a layer, and whether it took nothing more."""
        word = layer << low | number << shift
        before = (word - increment) * _STEP_INVERSE & _MASK_128
        words[0], words[1] = before & (1 << 64) - 1, before >> 64
        value = draw()
        return value, (int(words[0]), int(words[1])) == (word, 0)

    widths = [drawn(layer, 1)[0] for layer in range(256)]
    ends = [width * 2.0**bits for width in widths]
    limits = []
    for layer in range(256):
        inner = ends[layer - 1] if layer != 1 else 0.0
        limit = int(inner / ends[layer] * 2.0**bits)
        while drawn(layer, limit)[1]:
            limit += 1
        while limit > 0 and not drawn(layer, limit - 1)[1]:
            limit -= 1
        limits.append(limit)
    densities = [1.0, *map(density, ends[1:])]
    return np.array(limits, np.int64), np.array(widths), np.array(densities)
