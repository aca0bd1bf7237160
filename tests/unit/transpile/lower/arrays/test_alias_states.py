"""Names that are one array or another: what they overlap, what is returned, what is read on."""
from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from agree import assert_same, outcome
from written import written

from transpile import fuse

CHOICES = {
    "a conditional": "z = x if k else y",
    "a branch": "z = x\nif k:\n    z = y",
    "a loop": "z = x\nfor _ in range(k):\n    z = y",
    "swapped": "z = y\nfor _ in range(k):\n    z, y = y, z",
    "a copy": "z = x if k else y.copy()",
    "a view": "z = x[::-1] if k else y[:]",
    "one of three": "z = x if k > 1 else y if k else x + 1",
}
USES = {
    "adds": "z[1:] += y[:-1]\nreturn x, y",
    "is added": "y[1:] += z[:-1]\nreturn x, y",
    "out": "np.add(y[1:], z[:-1], out=y[1:])\nreturn x",
    "turned": "y[::-1] = z\nreturn z",
    "added turned": "y += z[::-1]\nreturn y",
    "masked": "y[y > 2] = z[::-1][y > 2]\nreturn x, y",
    "in a loop": "for i in range(3):\n    w = x if i == k else z\n    y[1:] -= w[:-1]\nreturn x, y",
    "in an expression": "return (x if k else z) * 2 + y",
    "twice": "return (x if k else y) + (y if k else z)",
    "an element": "return (x if k else z)[2] + z[0]",
    "of a function": "return np.sum(x if k else z) + len(z)",
    "returned": "return z",
    "by element":
        "s = 0.0\nfor i in range(len(z)):\n    s += z[i] * i\n    y[i] = z[-i]\nreturn s, y",
}


@pytest.mark.share(6)
@pytest.mark.parametrize("choice", CHOICES)
def test_one_or_another(choice: str, tmp_path: Path) -> None:
    for use, text in USES.items():
        body = "\n    ".join(f"{CHOICES[choice]}\n{text}".split("\n"))
        f = written(tmp_path, f"import numpy as np\ndef f(x, y, k):\n    {body}\n").f
        g = fuse(f, on_reject="silent", reassociate=False)
        x, y = np.arange(8.0), np.arange(8.0) * 10 - 3
        for k in (0, 1, 2):
            for args in ((x, y, k), (x, x, k), (y[:0], x[:0], k)):
                assert_same(outcome(g, args), outcome(f, args), f"{use}, {k}")
        assert "BUILD_FAILED" not in g.stats.replays, use


@pytest.mark.share(3)
@pytest.mark.parametrize("choice", ["a conditional", "a branch"])
def test_they_are_compiled(choice: str, tmp_path: Path) -> None:
    count = 0
    for text in USES.values():
        body = "\n    ".join(f"{CHOICES[choice]}\n{text}".split("\n"))
        f = written(tmp_path, f"import numpy as np\ndef f(x, y, k):\n    {body}\n").f
        g = fuse(f, on_reject="silent")
        g(np.arange(8.0), np.arange(8.0) * 10, 1)
        count += g.stats.compiled
    assert count >= 10, count
