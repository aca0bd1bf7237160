"""Ranges that have a name, items of ranges and their sums are compiled, with Python's answers."""
from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from agree import assert_same, outcome
from written import written

from transpile import fuse

COMPILED = {
    "in a loop": """
    s = 0
    for y in range(n):
        rows = range(max(0, y - 1), min(y + 2, n))
        for x in range(n):
            columns = range(max(0, x - 1), min(x + 2, n))
            near = [a[q] * r for q in rows for r in columns if (q, r) != (x, y)]
            s += sum(near) + len(rows)
    return s
""",
    "of a branch": """
    if n > 3:
        r = range(n)
    else:
        r = range(1, n + 5)
    s = 0
    for i in reversed(r):
        s = s * 2 + i
    for k, i in enumerate(r):
        s += k * i
    return s, len(r), n in r, r[0]
""",
    "pair": """
    p, s, q = range(n), 0, range(2, n + 3, 2)
    for i, j in zip(p, q):
        s += i * j
    return s, sum(p), max(q), 4 in q, 3 not in q, any(p)
""",
    "bound again": """
    m, s = n, 0
    r = range(m)
    m = 2
    for i in r:
        r = range(m)
        for j in r:
            s += i * j + 1
        m += 1
    return s, len(r)
""",
    "down": """
    s = 0
    for i in range(n, -n, -1):
        r = range(i, -i, -3)
        for j in r:
            s += i * j
        s += len(r) + (n in r)
    return s
""",
    "numbers of NumPy": """
    r = range(a[0], a[1] + n)
    s = 0
    for i in r:
        s += i
    return s, len(r), sum(r), n in range(a[0], 40, 3), range(a[0], 40)[a[1]]
""",
    "items": """
    r = range(2, n + 9, 3)
    s = 0
    for k in range(-len(r), len(r)):
        s = s * 3 + r[k]
    return s, range(5)[-1]
""",
    "unused": """
    r = range(n)
    return n + 1 if n < 99 else len(r)
""",
}
RAISES = {
    "no int": "    r = range(2.5)\n    for i in range(n): a[i] = 1\n    return 3 if n else len(r)",
    "item behind": "    r = range(2, n)\n    for i in range(3): a[i] = 7\n    return r[n - 2]",
    "item before": "    r = range(2, n)\n    for i in range(3): a[i] = 7\n    return r[1 - n]",
    "not bound": "    if n > 99:\n        r = range(n)\n    return sum(r)",
    "no bound": "    s = 0\n    for i in range(3): s += -1 in range(0, 7 // (n - 4))\n    return s",
    "no bound down":
        "    s = 0\n    for i in range(3): s += 9 in range(7 // (n - 4), 0, -1)\n    return s",
    "largest of none": "    r = range(n, 0)\n    for i in range(3): a[i] = 7\n    return max(r)",
}
OTHER = {
    "compared by identity": "    r = range(n)\n    s = r\n    return r is s, sum(s)",
    "in a function": "    r = range(n)\n    h = lambda: sum(r)\n    r = range(3)\n    return h()",
    "returned": "    r = range(n)\n    return r, sum(r)",
    "attribute": "    r = range(n)\n    return r.stop + sum(r)",
    "of two": "    r = q = range(n)\n    return sum(r) + len(q)",
    "either": "    r = range(n)\n    if n > 2:\n        r = [5, n]\n    return sum(r)",
    "steps": "    r = range(0, n, 2)\n    if n > 2:\n        r = range(n)\n    return sum(r)",
    "deleted": "    r = range(n)\n    s = sum(r)\n    del r\n    return s",
    "shadowed": "    range = lambda k: [k, 1]\n    r = range(n)\n    return sum(r)",
    "target": "    r = range(n)\n    for r in r:\n        pass\n    return r",
}


def given(n: int) -> tuple[int, np.ndarray]:
    return n, np.arange(n, 0, -1)


@pytest.mark.parametrize("name", COMPILED)
def test_ranges_with_a_name_are_compiled(name: str, tmp_path: Path) -> None:
    function = written(tmp_path, f"def f(n, a):{COMPILED[name]}").f
    fused = fuse(function, on_reject="raise")
    for n in (4, 9, 5):
        assert_same(outcome(fused, given(n)), outcome(function, given(n)), name)
    assert fused.stats.compiled == 3


@pytest.mark.parametrize("name", [*RAISES, *OTHER])
def test_what_python_raises_and_other_uses(name: str, tmp_path: Path) -> None:
    function = written(tmp_path, f"def f(n, a):\n{(RAISES | OTHER)[name]}\n").f
    fused = fuse(function, on_reject="silent")
    for n in (4, 4, 7):
        assert_same(outcome(fused, given(n)), outcome(function, given(n)), name)


def test_another_function_called_range(tmp_path: Path) -> None:
    module = written(tmp_path, "def f(n, a):\n    r = range(n)\n    return sum(r), len(r)\n")
    fused = fuse(module.f)
    assert fused(*given(5)) == (10, 5)
    assert fused.stats.compiled == 1
    module.range = lambda n: [n, n]
    assert fused(*given(5)) == (10, 2)


@pytest.mark.parametrize("item", ["x[1, r]", "x[r, w[0]]", "x[w[-1], r] + x[0, 0]"])
def test_items_of_lists_as_subscripts_select_elements(item: str, tmp_path: Path) -> None:
    text = f"""
def f(x, n):
    total = 0.0
    for k in range(n):
        w = [v for v in [k - 1, k, k + 1] if 0 <= v < n]
        near = [{item} for r in w]
        total += sum(near) + max(near)
    return total
"""
    function = written(tmp_path, text).f
    fused = fuse(function, on_reject="raise")
    x = np.arange(30.0).reshape(5, 6)
    assert fused(x, 5) == function(x, 5)
    assert fused.stats.compiled == 1


def test_bools_as_subscripts_select_rows(tmp_path: Path) -> None:
    text = "def f(x):\n    w = []\n    for v in x[0]:\n        w.append(v > 2)\n"
    text += "    return [x[0, r] for r in w]\n"
    function = written(tmp_path, text).f
    x = np.arange(12.0).reshape(3, 4)
    fused = fuse(function, on_reject="silent")
    assert [v.shape for v in fused(x)] == [v.shape for v in function(x)] == [(0, 4)] * 3 + [(1, 4)]
