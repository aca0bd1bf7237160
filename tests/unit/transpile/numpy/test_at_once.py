"""What NumPy does at once is done wholly or not at all: index arrays that point beyond an end, in
statements one after another, some in a loop; memory and errors are Python's.
"""
from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from written import written

from transpile import fuse

STATEMENTS = (
    "y[:] = x[:3] * 2", "z[:] = x[p]", "z[p] = y[:3]", "y[:] = x[p] + 1", "w = x[p]", "w = y * 2",
    "y[0] = z[1]", "z[:] = np.sqrt(x[:3])[p[::-1]]", "y[:] = w = x[p]", "y[p] = 0.25",
    "z[1:] = y[p][1:]", "for i in range(3): z[i] = x[i] + 1", "for i in range(3): y[i] = x[p[i]]",
    "z += x[p]", "np.multiply(x[p], 2, out=z)", "y[y > 1] = x[p[0]]", "w = [x[i] for i in p]",
    "y[0] = x[p][1]", "z[:2] = (x[p] * 2)[:2]", "w = x[p][::-1]", "y[1] = x[p].sum()",
    "z[1] = x[p].shape[0]", "z[:1] = np.abs(x[p])[1:2]", "y[p] += 1", "np.add.at(z, p, 1)",
    "np.take(x, p, out=y)", "z[:] = np.where(p > 0, x[p], 0)", "z[x[p] > 2] = 5",
)
PLACES = ([0, 1, 2], [0, 1, 7], [1, -9, 0], [2, 1, -1], [3, 0, 1])


def program(rng: random.Random) -> str:
    lines = rng.choices(STATEMENTS, k=rng.choice((2, 3, 4)))
    if rng.random() < 0.3:
        lines = ["for k in range(2):", *(f"    {line}" for line in lines)]
    return "import numpy as np\n\ndef f(x, p, y, z):\n" + "".join(f"    {line}\n" for line in lines)


def seen(function: Any, places: list[int]) -> tuple[str | None, list[Any]]:
    x, y, z = np.arange(1.0, 5) ** 2, np.array([5.0, 6, 7]), np.array([0.5, 0.25, 2])
    error = None
    try:
        function(x, np.array(places), y, z)
    except IndexError as e:
        error = str(e)
    return error, [a.tolist() for a in (x, y, z)]


def test_nothing_is_half_done(
    tmp_path: Path, start: int, request: pytest.FixtureRequest
) -> None:
    rng, compiled = random.Random(start), 0
    count = 1000 if request.config.getoption("--long") else 30
    for _ in range(count):
        text = program(rng)
        function = written(tmp_path, text).f
        fused = fuse(function, on_reject="silent")
        for places in PLACES:
            wanted = seen(function, places)
            for _ in range(2):
                assert seen(fused, places) == wanted, f"{text}\n{places}"
        compiled += fused.stats.compiled > 0
    assert compiled > 0.6 * count
