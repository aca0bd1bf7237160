"""Arrays of comprehensions and lists whose items may be ints or floats; and stored into arrays."""
from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from agree import assert_same, outcome
from staged import in_parts
from written import written

from transpile import fuse

STORES = {
    "row": "y = np.zeros((n, len(x)))\n    for i in range(n): y[i] = [v * i for v in x]",
    "all": "y = np.ones(len(x))\n    y[:] = [abs(v) for v in x]",
    "part": "y = np.zeros(len(x))\n    y[: n] = [v for v in x[: n]]",
    "strided": "y = np.zeros(len(x))\n    y[::2] = [v - 1 for v in x[::2]]",
    "itself": "y = x.copy()\n    y[1:] = [y[i - 1] + y[i] for i in range(1, len(y))]",
    "rows": "y = np.zeros((n, len(x)))\n    y[:] = [[v * i for v in x] for i in range(n)]",
    "displays": "y = np.zeros((len(x), 2))\n    y[:] = [[v, 1] for v in x]",
    "sums": "y = np.zeros(n)\n    y[:] = [sum(x[:i]) for i in range(n)]",
    "with a test": "y = np.zeros(len(x))\n    y[: sum(x > 0)] = [v for v in x if v > 0]",
    "broadcast": "y = np.zeros(n)\n    y[:] = [v for v in x]",
    "ints": "y = np.zeros(len(x), int)\n    y[:] = [v * 2 for v in x]",
    "bytes": "y = np.zeros(n * 3, np.uint8)\n    y[:] = [i * 50 for i in range(n * 3)]",
    "bools": "y = np.zeros(len(x), bool)\n    y[:] = [v > 1 for v in x]",
    "singles": "y = np.zeros(len(x), np.float32)\n    y[:] = [v / 3 for v in x]",
    "masked": "y = np.zeros(len(x))\n    y[x > 0] = [v * 2 for v in x if v > 0]",
}


@pytest.mark.share(4)
@pytest.mark.parametrize("name", STORES)
def test_stored_as_numpy_stores_lists(name: str, tmp_path: Path) -> None:
    text = f"import numpy as np\ndef f(x, n):\n    {STORES[name]}\n    return y\n"
    f = written(tmp_path, text).f
    g = fuse(f, on_reject="silent")
    for items in ([1.5, -2.5, 5.0], [-1.0], [], [0.5, 3.0, -0.0, 2.0, 7.25], [np.nan, 1.0]):
        for n in (3, 0, 1, 2):
            args = np.array(items), n
            assert_same(outcome(g, args), outcome(f, args), f"{items}, {n}")
    assert g.stats.compiled
    assert not in_parts(g)


TABLE = "t = [[0] * 3 for _ in range(len(x))]\n    for i in range(len(x)):\n" \
    "        for j in range(3):\n            if x[i] > j: t[i][j] = x[i] / 2"
MADE = {
    "comprehension": ("", "np.array([max(0, v) for v in x]) * 2"),
    "nested": ("", "np.array([[sum(abs(u - v) for u, v in zip(a, b)) for b in X] for a in X])"),
    "with a test": ("", "np.array([max(v, 1) for v in x if v < 4]) - 1"),
    "displays": ("", "np.array([[min(v, 0), max(v, 0)] for v in x])"),
    "several clauses": ("", "np.array([[min(v, 0), u] for u in x for v in x])"),
    "stored": ("u = [0] * len(x)\n    for i in range(len(x)):\n        if x[i] > 1: u[i] = x[i]",
               "np.array(u)"),
    "an operand": ("u = [0] * len(x)\n    for i in range(len(x)):\n        u[i] = max(0, x[i])",
                   "np.array(u) + 1, x - u, np.mean(u) if len(x) else 0"),
    "sums": ("u = [0.0] * len(x)\n    s = sum(x[:n])\n    for i in range(len(x)):\n"
             "        s += x[i]\n        u[i] = s / 4", "np.array(u)"),
    "sums alone": ("", "np.array([sum(x[:i]) for i in range(n)])[::-1]"),
    "table": (TABLE, "np.array(t)"),
    "table of floats": (TABLE, "np.array(t, dtype=float)"),
    "appended": ("t = []\n    for i in range(n):\n        row = []\n"
                 "        for j in range(len(x)):\n            s = 0\n"
                 "            for a in x[:j]: s += a\n            row.append(s)\n"
                 "        t.append(row)", "np.array(t)"),
    "appended whole": ("t = []\n    for i in range(n):\n        t.append([max(i, v) for v in x])",
                       "np.array(t)"),
    "large ints": ("u = [10 ** 15] * len(x)\n    for i in range(len(x)):\n"
                   "        if x[i] > 1: u[i] = x[i]", "np.array(u)"),
}


@pytest.mark.share(4)
@pytest.mark.parametrize("name", MADE)
def test_the_dtype_is_that_of_the_items_that_occur(name: str, tmp_path: Path) -> None:
    before, made = MADE[name]
    text = f"import numpy as np\ndef f(x, X, n):\n    {before}\n    return {made}\n"
    f = written(tmp_path, text).f
    g = fuse(f, on_reject="silent")
    for items in ([1.5, 2.5, 5.0], [-1.0, -2.0], [-1.0, 2.0, np.nan], [0.0], [], [-0.0, 3.0]):
        for n in (2, 0, 3):
            args = np.array(items), np.arange(2.0 * n).reshape(n, 2)[:, : len(items)], n
            assert_same(outcome(g, args), outcome(f, args), f"{items}, {n}")
    assert g.stats.compiled
    assert not in_parts(g)


def test_a_list_without_floats_is_left_to_python(tmp_path: Path) -> None:
    text = "import numpy as np\ndef f(x):\n    return np.array([max(v, 0) for v in x]) * 1\n"
    g = fuse(written(tmp_path, text).f, on_reject="silent")
    assert g(np.array([-1.0, -2.0])).dtype == np.int64
    assert g(np.array([-1.0, 2.0])).dtype == np.float64
    assert g.stats.replays == {"GUARD_RAISES": 1}
    assert g.stats.compiled == 1
