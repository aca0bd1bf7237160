"""What is done under a mask, of every dtype, on every target that runs here: built, and right."""
from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from agree import assert_same, outcome
from written import written

from targets.isa.target_registry import runnable_targets
from transpile import fuse

FORMS = {
    "in place": "x[x >= a] -= a\nreturn x",
    "behind another": "y[0] = a\ny[:] += x[::-1]\ny[y >= a] -= a\nreturn y",
    "set": "x[x > a] = a\nreturn x",
    "chosen": "return np.where(x > y, x, y)",
    "two": "return np.where(x > a, x + y, x - y)",
    "in a loop": "for i in range(len(x)):\n    if x[i] > y[i]:\n        y[i] = x[i] + a\nreturn y",
    "filtered": "return x[x > a], y[x <= a]",
    "counted": "k = 0\nfor v in x:\n    if v > a:\n        k += 1\nreturn k",
    "clipped": "return np.clip(x, a, 3), np.minimum(x, y)",
    "appended": "l = []\nfor v in x:\n    if v != a:\n        l.append(v)\nreturn np.array(l)",
    "backwards": "return np.where(x[::-1] > a, x, y[::-1])",
    "every other": "return np.where(x[::2] > a, x[::2], y[::2])",
}
DTYPES = ("?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8")


@pytest.mark.share(48)
@pytest.mark.parametrize("target", [t.name for t in runnable_targets()])
@pytest.mark.parametrize("form", FORMS)
def test_under_a_mask(form: str, target: str, tmp_path: Path) -> None:
    body = "\n    ".join(FORMS[form].split("\n"))
    f = written(tmp_path, f"import numpy as np\ndef f(x, y, a):\n    {body}\n").f
    g = fuse(f, on_reject="silent", target=target, reassociate=False)
    for dtype in DTYPES:
        for n in (0, 1, 7, 16, 70):
            x = (np.arange(n) * 7 % 5).astype(dtype)
            y = (np.arange(n) * 3 % 7).astype(dtype)
            for a in (1, 2.0, True):
                assert_same(outcome(g, (x, y, a)), outcome(f, (x, y, a)), f"{dtype}, {n}, {a}")
    assert "BUILD_FAILED" not in g.stats.replays, g.report(x, y, a)
    assert g.stats.compiled > 60, g.stats
