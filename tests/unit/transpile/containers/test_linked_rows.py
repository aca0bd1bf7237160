"""Lists of growing rows (adjacency lists): what is compiled agrees with Python, and what is not."""
from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from agree import assert_same, outcome
from written import written

from transpile import fuse

GROW = "g = [[] for _ in range(n)]\nfor u, v in zip(us, vs):\n    g[u].append(v)\n"
BOTH = GROW + "    g[v].append(u)\n"

COMPILED = {
    "breadth-first search": BOTH + "d = [-1] * n\nd[0] = 0\nq = [0]\nh = 0\nwhile h < len(q):\n"
    "    u = q[h]\n    h += 1\n    for v in g[u]:\n        if d[v] < 0:\n"
    "            d[v] = d[u] + 1\n            q.append(v)\nreturn d",
    "components": BOTH + "seen = [False] * n\nc = 0\nfor s in range(n):\n    if seen[s]:\n"
    "        continue\n    c += 1\n    st = [s]\n    seen[s] = True\n    while st:\n"
    "        u = st.pop()\n        for v in g[u]:\n            if not seen[v]:\n"
    "                seen[v] = True\n                st.append(v)\nreturn c",
    "pairs": "g = [[] for _ in us]\nfor i in range(len(us)):\n    g[i // 2].append((vs[i], i))\n"
    "s = 0.0\nfor u in range(len(us)):\n    for v, w in g[u]:\n        s += v * w\n"
    "        if s > 20:\n            break\n    else:\n        s += 1\nreturn s",
    "lengths and tests": GROW + "m = 0\nfor i in range(n):\n    if g[i] and len(g[i]) > m:\n"
    "        m = len(g[i]) + sum(g[i]) - max(g[i])\n    if not g[i] or m > 9:\n        m += 1\n"
    "i = 0\nwhile i < n and g[i]:\n    i += 1\nreturn m, len(g), i, sum(g[0]) if g[0] else -1",
    "returned": GROW + "return g, len(g[0])",
    "comprehensions": GROW + "t = [sum(g[i]) for i in range(n)]\nw = [v + 1 for v in g[0]]\n"
    "k = max(range(n), key=lambda i: len(g[i]))\nreturn t, w, k, sum(v * v for v in g[n - 1])",
    "ints and floats": "g = [list() for _ in range(n)]\nfor u in us:\n    if not g[u] or u % 2:\n"
    "        g[u].append(1.5)\n    else:\n        g[u].append(2)\nreturn g",
    "sorted buckets": GROW + "out = []\nfor i in range(n):\n    for v in sorted(g[i]):\n"
    "        out.append(v)\nreturn out",
    "from the end": "g = [[] for _ in range(n)]\nfor u in us:\n    g[-u - 1].append(u)\nreturn g",
    "made anew": "out = []\nfor k in range(3):\n    g = [[] for _ in range(n)]\n    for u in us:\n"
    "        g[u].append(u + k)\n    for u in range(n):\n        for v in g[u]:\n"
    "            out.append(v)\nreturn out",
    "continue": GROW + "s = 0\nfor u in us:\n    for v in g[u]:\n        if v % 2:\n"
    "            continue\n        s += v\n        u = v\nreturn s, u",
}
PYTHONS = {
    "appended to while it is read": GROW + "for u in us:\n    for v in g[u]:\n"
    "        if len(g[u]) < 5:\n            g[u].append(v)\nreturn g",
    "bound while it is read": GROW + "s = 0\nfor u in us:\n    for v in g[u]:\n        s += v\n"
    "        if s > 10:\n            g = [[] for _ in range(n)]\nreturn s",
    "returned twice": GROW + "return g, g",
    "a row with a name": GROW + "h = g[0]\nh.append(7)\nreturn g",
    "a row with another owner": GROW + "h = [g[0]]\ng[0].append(7)\nreturn h",
    "an item of a row": GROW + "g[0].append(1)\nreturn g[0][0]",
    "pairs and numbers": GROW + "g[0].append((1, 2))\nreturn len(g)",
}
OUT_OF_RANGE = GROW + "g[n].append(1)\nreturn len(g)"


def function(body: str, folder: Path) -> Callable[..., Any]:
    lines = "".join(f"    {line}\n" for line in body.split("\n"))
    made: Callable[..., Any] = written(folder, f"def f(n, us, vs):\n{lines}").f
    return made


def graphs() -> list[tuple[int, list[int], list[int]]]:
    rng = random.Random(5)
    sizes = (1, 1), (3, 5), (9, 8), (40, 150)
    return [
        (n, [rng.randrange(n) for _ in range(m)], [rng.randrange(n) for _ in range(m)])
        for n, m in sizes
    ]


@pytest.mark.parametrize("name", COMPILED)
def test_it_is_compiled(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRANSPILE_FALLBACK", "error")
    f = function(COMPILED[name], tmp_path)
    fused = fuse(f)
    for given in graphs():
        assert_same(outcome(fused, given), outcome(f, given), f"{name} {given[0]}")
    assert fused.stats.compiled == len(graphs())


@pytest.mark.parametrize("name", PYTHONS)
def test_it_is_left_to_python(name: str, tmp_path: Path) -> None:
    f = function(PYTHONS[name], tmp_path)
    fused = fuse(f, on_reject="silent")
    for given in graphs():
        assert_same(outcome(fused, given), outcome(f, given), f"{name} {given[0]}")
    assert fused.stats.compiled == 0
    if name == "returned twice":
        first, second = fused(*graphs()[0])
        assert first is second


def test_a_row_that_there_is_not_raises(tmp_path: Path) -> None:
    f = function(OUT_OF_RANGE, tmp_path)
    fused = fuse(f, on_reject="silent")
    for given in graphs():
        assert_same(outcome(fused, given), outcome(f, given), "out of range")
