"""Names that are bound again and again, each time of themselves twice: compiled at all."""
from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from agree import assert_same, outcome
from written import written

from transpile import fuse

LINES = {
    "a minimum": "s = min(s + {k}, x[i] - s)",
    "a choice": "s = s * 0.5 if s > {k} else s + x[i]",
    "a line": "s = s * 0.5 + x[i] * s",
    "two names": "a = x[i] * {k} + s; s = s * 0.25 + a * 0.5",
    "ints": "n = (n * 3 + (n >> {k} % 7)) & 65535",
    "places": "j = min(j + {k}, (j * 3 + i) % 9); s += x[j]",
    "bits": "n = (n >> 1) ^ 0xA001 if n & 1 else n >> 1",
    "a branch": "if n & 1:\n            n = (n >> 1) ^ 0xA001\n        else:\n            n >>= 1",
    "a helper": "s = step(s, x[i])",
    "a flag": "b = (b and x[i] > s) or (not b and x[i] < {k})",
}
HEADS = {
    "carried": "    s, n, j, b = 1.0, 40961, 0, k > 2\n    for i in range(len(x)):\n",
    "alone": "    s, n, j, b = 1.0, 40961, 0, k > 2\n    for i in range(len(x)):\n"
             "        s, n, j, b = x[i], i, i, x[i] > k\n",
    "searched": "    s, n, j, b = 1.0, 40961, 0, k > 2\n    for i in range(len(x)):\n"
                "        if s > 1e300:\n            break\n",
}
STEP = "def step(s, v):\n    s = s * 0.5 + v * s\n    return s if s < 3 else s - 1\n\n\n"


@pytest.mark.share(12)
@pytest.mark.parametrize("line", LINES)
@pytest.mark.parametrize("head", HEADS)
def test_long_bodies(head: str, line: str, tmp_path: Path) -> None:
    body = "".join(f"        {LINES[line].format(k=k)}\n" for k in range(30))
    text = f"{STEP}def f(x, k):\n{HEADS[head]}{body}    return s, n, j, b\n"
    f = written(tmp_path, text).f
    g = fuse(f, on_reject="raise", reassociate=False)
    for x in (np.linspace(-1, 1, 9), np.zeros(9), np.zeros(0)):
        assert_same(outcome(g, (x, 3)), outcome(f, (x, 3)), f"{head}, {line}")
    assert g.stats.compiled, g.stats


@pytest.mark.share(3)
@pytest.mark.parametrize("count", [3, 8, 16])
@pytest.mark.parametrize("items", [list, lambda x: np.array([*x]), lambda x: np.array([*x], "u1")])
def test_a_checksum(items: object, count: int, tmp_path: Path) -> None:
    text = (
        "def f(x):\n    c = 0xFFFF\n    for b in x:\n        c ^= int(b)\n"
        f"        for _ in range({count}):\n"
        "            c = (c >> 1) ^ 0xA001 if c & 1 else c >> 1\n"
        "    return c\n")
    f = written(tmp_path, text).f
    g = fuse(f, on_reject="raise")
    x = items(range(50))  # type: ignore[operator]
    assert g(x) == f(x)
    assert g.stats.compiled == 1
