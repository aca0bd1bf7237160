"""Folds that begin with None: after the first element they run in vectors."""
from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from agree import assert_same, outcome
from written import written

from transpile import fuse

FOLDS = {
    "largest": "if best is None or v > best:\n            best = v",
    "least": "if best is None or best >= v:\n            best = v",
    "of some": "if v > 1:\n            if best is None or v < best:\n                best = v",
    "of some in one test": "if v > 1 and (best is None or v < best):\n            best = v",
    "the other way round": "if not (best is not None and best >= v):\n            best = v",
    "with a sum":
        "s += v\n        if best is None:\n            best = v\n        elif v > best:\n"
        "            best = v",
}
DTYPES = ("f8", "f4", "i8", "i4", "u1")


def arguments(dtype: str, n: int) -> Any:
    x = (np.arange(n) * 37 % 91).astype(dtype)
    yield x
    yield x[::-1].copy()
    yield np.zeros(n, dtype)
    if dtype[0] == "f":
        for place in {0, n // 2, n - 1} if n else ():
            y = x.copy()
            y[place] = np.nan
            yield y
        yield -x * 0
        yield np.full(n, -np.inf, dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", FOLDS)
def test_as_python(name: str, dtype: str, tmp_path: Path) -> None:
    text = f"def f(x):\n    best = None\n    s = 0\n    for v in x:\n        {FOLDS[name]}\n"
    plain = written(tmp_path, f"{text}    return best, s\n").f
    compiled = fuse(plain, on_reject="raise", reassociate=False)
    for n in (0, 1, 2, 3, 17, 64, 100):
        for x in arguments(dtype, n):
            assert_same(outcome(compiled, (x,)), outcome(plain, (x,)), f"{dtype}, {n}: {x}")
    assert compiled.stats.compiled > 10, compiled.stats


@pytest.mark.parametrize("name", ["largest", "least", "of some", "of some in one test"])
def test_the_rest_runs_in_vectors(name: str, tmp_path: Path) -> None:
    text = f"def f(x):\n    best = None\n    for v in x:\n        {FOLDS[name]}\n    return best\n"
    report = fuse(written(tmp_path, text).f, target="sse2").report(np.ones(9))
    assert report.vectorized == 1, report
