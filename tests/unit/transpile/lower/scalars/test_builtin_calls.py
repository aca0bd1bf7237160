"""``round(v, digits)`` of Python floats: what is nearest to the number itself, to the last bit."""
from __future__ import annotations

import math
import random
import struct
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from agree import assert_same, outcome
from written import written

from transpile import fuse

DIGITS = (0, 1, 2, 3, 7, 15, 22)
SPECIAL = (0.0, -0.0, 5e-324, 1e-310, 0.5, 1.5, 2.5, 0.05, 0.15, 0.25, 0.35, 2.675, 1.005, 1e-5)
SOURCE = """
def f(x):
    out = []
    for v in x:
        out.append(round(v, {}))
    return out
"""


def numbers(digits: int, rng: random.Random) -> Iterator[float]:
    """In the middle of two decimals, beside it, exactly there, and anywhere."""
    for _ in range(3000):
        m = rng.randrange(1, 10 ** rng.randrange(1, 9))
        middle = (2 * m + 1) / 2 / 10**digits
        yield rng.choice((-1, 1)) * rng.choice((
            m / 10 ** min(digits + 1, 22), middle, (2 * m + 1) / 2 ** rng.randrange(1, 12),
            math.nextafter(middle, 0.0), math.nextafter(middle, math.inf), m * 0.01,
            rng.random() * 10.0 ** rng.randrange(-6, 14), rng.choice(SPECIAL),
        ))


@pytest.mark.parametrize("digits", DIGITS)
def test_round(digits: int, tmp_path: Path) -> None:
    f = written(tmp_path, SOURCE.format(digits)).f
    fused = fuse(f, on_reject="raise")
    x = [v for v in numbers(digits, random.Random(digits)) if abs(v) * 10**digits < 2**52]
    wanted, got = f(x), fused(x)
    assert fused.stats.compiled == 1
    assert {type(v) for v in got} == {float}
    for given, a, b in zip(x, wanted, got, strict=True):
        assert struct.pack("d", a) == struct.pack("d", b), given


def test_what_is_too_large_is_python_s(tmp_path: Path) -> None:
    f = written(tmp_path, SOURCE.format(2)).f
    fused = fuse(f, on_reject="silent")
    for v in (1e300, math.inf, math.nan, -5e13, 4e13, 1.7e308):
        assert repr(outcome(fused, ([v],)).value) == repr(outcome(f, ([v],)).value)
    assert (fused.stats.compiled, sum(fused.stats.replays.values())) == (1, 5)


def rounded(x, k, c):
    s = k if c else x[0]
    return math.floor(s), math.ceil(s)


def test_floor_of_an_int_that_is_numpys_on_another_path() -> None:
    """NumPy's is rounded to a float first, Python's is not."""
    compiled = fuse(rounded, on_reject="raise", target="scalar")
    for k in (2**53 + 1, 7):
        for c in (False, True):
            args = (np.array([2**53 + 1, 5]), k, c)
            assert_same(outcome(compiled, args), outcome(rounded, args), f"{args}")
    assert compiled.stats.compiled == 4
