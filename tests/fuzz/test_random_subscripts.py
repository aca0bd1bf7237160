"""Random subscripts that begin anew in each row, also negative ones and ones out of range."""
from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from agree import assert_same, outcome
from example_counts import examples
from written import written

from transpile import fuse

SUBSCRIPTS = (
    "a + k", "a - k", "a + 2 * k", "k + a - 1", "b[a + k]", "b[k]", "3 * k", "a + m + k",
    "a + (k + far)", "a - (far - k)", "4 * (k + a)",
    "int(k * c)", "int((k + a) / c)", "min(int(k / c) + 1, 39)", "int((0.5 + k) * c) + a",
)
STATEMENTS = (
    "s += x[{}]", "s += x[{}] * x[{}]", "y[i] = x[{}]", "s = max(s, x[{}])", "y[{}] = s",
    "s += t[img[k]]", "if x[{}] > 0.5: s += x[{}]",
)
STARTS = (0, 0, 1, 2, 5, -1, -3, 2**62, 2**62 + 1, 2**63 - 2, -(2**63), -(2**63) + 1)


def program(r: random.Random) -> str:
    """A loop over parts of arrays, as in a sparse matrix: from `p[i]` on, `n[i]` long."""
    statements = [
        form.format(*(r.choice(SUBSCRIPTS) for _ in range(2)))
        for form in r.sample(STATEMENTS, r.randrange(1, 4))
    ]
    body = "".join(f"            {s}\n" for s in statements)
    ends = r.choice(("range(n[i])", "range(n[i])", "range(len(img))", "range(1, n[i])"))
    return (
        "def f(p, n, b, x, t, img, y):\n    m = 1\n    for i in range(len(p)):\n"
        f"        a, far, s = p[i], -p[i], 0.0\n        c = b[i] * 0.3 + 0.3\n"
        f"        for k in {ends}:\n{body}"
        "        y[i] = s\n    return y"
    )


@pytest.mark.parametrize("target", ["native", "scalar", "sse2"])
def test_parts_of_arrays(
    tmp_path: Path, start: int, target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRANSPILE_SELECT", "compiled")
    if target != "native":
        monkeypatch.setenv("TRANSPILE_TARGET", target)
    r, compiled = random.Random(start), 0
    for _ in range(examples(12)):
        source = program(r)
        f = written(tmp_path, source).f
        fused = fuse(f, on_reject="silent", reassociate=False)
        for _ in range(10):
            rows, size = r.choice((0, 1, 4)), r.choice((1, 6, 40))
            few = r.random() < 0.5
            args: tuple[Any, ...] = (
                np.array([r.choice(STARTS[:5] if few else STARTS) for _ in range(rows)], np.int64),
                np.array([r.choice((0, 1, 3, 12)) for _ in range(rows)], np.int64),
                np.array([r.choice((0, 1, 2, -1)) for _ in range(50)]),
                np.array([r.random() for _ in range(size)]),
                np.array([r.random() for _ in range(r.choice((16, 256, 300)))]),
                np.array([r.choice((0, 1, 15, 200)) for _ in range(r.choice((0, 3, 8)))], np.uint8),
                np.zeros(r.choice((4, 9, 50))),
            )
            assert_same(outcome(fused, args), outcome(f, args), f"{source}\n{args}")
        compiled += fused.stats.compiled > 0
    assert compiled > 0
