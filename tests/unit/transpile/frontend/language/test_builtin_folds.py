"""Folds of lists evaluate every element first, those of generators one after another, until it is
sure: in what they give, raise and warn of, and in which order.
"""
from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from traps.trap import seen
from written import written

from transpile import fuse

FOLDS = (
    "sum({})", "sum({}, v0)", "any({})", "all({})", "max({})", "min({})", "sorted({})",
    "tuple({})", "any({}) and all({})", "sum({}) + max({})", "not all({})",
)
ELEMENTS = {
    "abs(v)": "ints", "v * v": "ints", "6 // v": "ints", "1 / v": "floats",
    "v * v * 1e300": "floats", "math.sqrt(v)": "floats", "1 / v > v * 1e308": "floats",
    "v - v > 1 / v": "floats", "math.log(v) < 1": "floats", "10 // int(v) > 2": "floats",
    "v > 3": "floats",
}
VALUES = {
    "ints": (np.iinfo(np.int64).max - 5, 4, 0, 9, np.iinfo(np.int64).min, 1, 3),
    "floats": (5.0, 1e308, 0.0, 1e-308, -1.0, np.inf, 2.0),
}
MOODS = ("always", "default", "ignore", "raise")


def in_turn(kind: str, share: int) -> list[np.ndarray[Any, Any]]:
    """Each value at each place, once."""
    values = np.array(VALUES[kind])
    turned = [np.roll(values, k) for k in range(len(values))]
    return [a for x in turned for a in (x, x[::-1].copy())][::share]


@pytest.mark.share(76)
@pytest.mark.parametrize("element", ELEMENTS)
@pytest.mark.parametrize("fold", FOLDS)
def test_folds(fold: str, element: str, tmp_path: Path) -> None:
    lists, streams = (fold.replace("{}", f"{a}{element} for v in x{b}") for a, b in ("[]", "()"))
    cases = [(x, x.dtype.type(1)) for x in in_turn(ELEMENTS[element], 3)]
    for text in (lists, streams):
        module = written(tmp_path, f"import math\n\ndef f(x, v0):\n    return {text}\n")
        fused = fuse(module.f, on_reject="silent", reassociate=False)
        for mood in (m for m in MOODS for _ in range(2)):
            for case in cases:
                names, given = vars(module), partial(tuple, case)
                wanted = seen(module.f, given, mood, names)
                assert seen(fused, given, mood, names) == wanted, (text, mood)
        checks = {"GUARD_RAISES", "GUARD_INT_RANGE", "GUARD_DIVISION"}
        assert fused.stats.compiled or checks & fused.stats.replays.keys(), fused.stats
