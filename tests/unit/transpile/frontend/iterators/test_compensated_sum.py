"""Sums of floats in the digits of Python 3.12 and later, whatever version runs the tests."""
from __future__ import annotations

import math
import random
from collections.abc import Iterable
from pathlib import Path

import pytest
from written import written

from transpile import fuse
from transpile.frontend.iterators import compensated_sum


def compensated(items: Iterable[float], start: float = 0) -> float:
    """The sum as Python 3.12 and later compute it."""
    total, lost = start, 0.0
    for item in items:
        partial = total + item
        if abs(total) >= abs(item):
            lost += (total - partial) + item
        else:
            lost += (item - partial) + total
        total = partial
    return total + lost if lost and math.isfinite(lost) else total


SUMS = (
    "sum(x)", "sum(v * v for v in x)", "sum(v for v in x if v > 0.3)",
    "sum([v - 0.1 for v in x], 1.5)",
    "sum(v * w for v in x for w in x)", "sum(x[k] for k in range(len(x)))",
    "sum(-0.0 for v in x)", "sum(x, -0.0)", "[sum((v, 0.1, -v)) for v in x]",
)
NUMBERS = (
    0.1, 0.7, -0.3, 1e16, -1e16, 3e-9, math.inf, -math.inf, math.nan, 0.0, -0.0, 1e308, 5e-324,
)


@pytest.mark.parametrize("text", SUMS)
def test_sums_of_floats_are_compensated(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To the last digit, however many terms there are."""
    monkeypatch.setattr(compensated_sum, "SUMS_ARE_COMPENSATED", True)
    f = written(tmp_path, f"def f(x):\n    return {text}\n").f
    names = vars(written(tmp_path, f"def f(x):\n    return {text}\n"))
    names["sum"] = compensated
    wanted = names["f"]
    fused = fuse(f, on_reject="raise", cache=False)
    rng = random.Random(4)
    for number in range(200):
        x = [rng.choice(NUMBERS) if number % 2 else rng.gauss(0, 1) for _ in range(number % 7)]
        assert repr(fused(x)) == repr(wanted(x)), x
    assert fused.stats.replays == {}
    x = [rng.choice((0.1, 0.7, 1e10, -1e10)) for _ in range(300)]
    assert repr(fused(x)) == repr(wanted(x))
