"""Ziggurat tables of NumPy's ``Generator`` for normal and exponential numbers.

The ziggurat algorithm (G. Marsaglia and W. W. Tsang, J. Stat. Software 5, 2000) covers the density
by 256 layers of equal area. NumPy's tables are not accessible, so they are measured: the state of a
PCG64 generator is set so that its next output is a chosen word, and the number that NumPy draws
from it gives the width of a layer; whether NumPy draws a second word gives the limit of the layer.
"""
from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

import numpy as np

from ..types.generator_state import state_arrays

__all__ = ["ZIGGURAT_TABLES", "table"]

_LCG_MULTIPLIER = 0x2360ED051FC65DA44385DF649FCCF645
"""The multiplier of PCG64's linear congruential generator."""

_MASK_128 = (1 << 128) - 1
_INVERSE_MULTIPLIER = pow(_LCG_MULTIPLIER, -1, 1 << 128)

ZIGGURAT_TABLES = (
    "normal_limits", "normal_widths", "normal_densities",
    "exponential_limits", "exponential_widths", "exponential_densities",
)
"""For each layer: the limit below which a number is accepted at once, the width of the layer for
each unit of the number, and the density at its end.
"""


@cache
def table(name: str) -> np.ndarray:
    """The table of the name `name`, one of `ZIGGURAT_TABLES`: 256 int64 (limits) or float64."""
    return _layers(name.startswith("normal"))[ZIGGURAT_TABLES.index(name) % 3]


@cache
def _layers(normal: bool) -> tuple[np.ndarray, ...]:
    """The limits, widths and densities of the normal or the exponential distribution.

    A normal number is made of 52 bits above 9 other ones, of which the lowest 8 are the layer; an
    exponential one of 53 bits above 11, of which the layer begins at bit 3.
    """
    if normal:
        return _probe_table("standard_normal", 52, 0, 9, lambda x: math.exp(-0.5 * x * x))
    return _probe_table("standard_exponential", 53, 3, 11, lambda x: math.exp(-x))


def _probe_table(
    name: str, bits: int, layer_shift: int, shift: int, density: Callable[[float], float]
) -> tuple[np.ndarray, ...]:
    """The limits, widths and densities of the method `name` of a generator. A number has `bits`
    bits, which begin at bit `shift` of a word; the layer begins at bit `layer_shift`.
    """
    generator = np.random.default_rng(1)
    words, draw = state_arrays("pcg", generator)["words"], getattr(generator, name)
    increment = int(words[2]) | int(words[3]) << 64

    def draw_from(layer: int, number: int) -> tuple[float, bool]:
        """The value drawn from `number` in `layer`, and whether it was accepted at once, without a
        second word. The state is set to the one before an output of that word: a state whose high
        half is 0 is its own output.
        """
        word = layer << layer_shift | number << shift
        before = (word - increment) * _INVERSE_MULTIPLIER & _MASK_128
        words[0], words[1] = before & (1 << 64) - 1, before >> 64
        value = draw()
        return value, (int(words[0]), int(words[1])) == (word, 0)

    widths = [draw_from(layer, 1)[0] for layer in range(256)]
    ends = [width * 2.0**bits for width in widths]
    limits = []
    for layer in range(256):
        inner = ends[layer - 1] if layer != 1 else 0.0
        limit = int(inner / ends[layer] * 2.0**bits)  # an estimate, exact but for rounding
        while draw_from(layer, limit)[1]:
            limit += 1
        while limit > 0 and not draw_from(layer, limit - 1)[1]:
            limit -= 1
        limits.append(limit)
    densities = [1.0, *map(density, ends[1:])]
    return np.array(limits, np.int64), np.array(widths), np.array(densities)
