"""Local deques that are queues are compiled as lists, with Python's answers and exceptions."""
from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from agree import assert_same, outcome
from written import written

from transpile import fuse

HEAD = "import collections\nfrom collections import deque\nimport numpy as np\n\n\n"
COMPILED = {
    "grid": """
    h, w = g.shape
    dist = np.full((h, w), -1)
    dist[0, 0] = 0
    q = deque([(0, 0)])
    while q:
        y, x = q.popleft()
        for dy, dx in ((0, 1), (1, 0), (0, -1), (-1, 0)):
            a, b = y + dy, x + dx
            if 0 <= a < h and 0 <= b < w and g[a, b] and dist[a, b] < 0:
                dist[a, b] = dist[y, x] + 1
                q.append((a, b))
    return dist
""",
    "made in a loop": """
    n = 0
    for i in range(g.shape[0]):
        q = collections.deque()
        for v in g[i]:
            if v:
                q.append(i)
        while len(q) > 1:
            n += q.popleft()
            if n % 3 == 0:
                q.clear()
    return n
""",
    "largest of a window": """
    x = g.ravel() * np.arange(g.size) % 7
    q = deque()
    out = []
    for i in range(len(x)):
        while q and x[q[-1]] <= x[i]:
            q.pop()
        q.append(i)
        if q[0] <= i - 3:
            q.popleft()
        out.append(x[q[0]])
    return out
""",
    "numbers": """
    q = deque((1.5, 2.5))
    s = 0.0
    for k in range(20):
        v = q.popleft() * 0.5
        s += q.popleft()
        q.append(v)
        q.append(v + s)
        if not q or len(q) > 50:
            break
    return s, len(q)
""",
    "rotated": """
    q = deque()
    q.rotate(3)
    s = 0
    for i in range(g.shape[0]):
        for j in range(g.shape[1]):
            if g[i, j]:
                q.append(i * 8 + j)
            q.rotate(j * 5 - i * 7)
            if q and q[0] % 3 == 0:
                s = s * 3 % 1009 + q.popleft()
            q.rotate()
            q.rotate(-2)
            if len(q) > 3 and q[-1] % 5 == 0:
                s += q.pop()
            q.rotate(len(q) // 2)
    return s, len(q)
""",
    "pairs rotated": """
    q = deque([(0, 0.5), (1, 1.5), (2, 2.5)])
    s = 0.0
    for i in range(g.size):
        q.rotate(i * 7 % 11 - 5)
        a, b = q.popleft()
        s = s * 0.5 + a * b
        q.append((i, b + g[i % 9, i % 8]))
        if i % 3:
            q.append((-i, b * 0.5))
    return s
""",
    "tested": """
    q = deque([3])
    n = 0
    while q and n < 10 or n == 20:
        n += 1 if q else 2
        q.append(n)
        q.popleft()
    return n, q[0], q[-1]
""",
}
LOOP = "for k in range(3):\n       "
RAISES = {
    "popleft": "q = deque()\n    v = q.popleft()\n    return v",
    "behind the end": f"q = deque([1])\n    s = 0\n    {LOOP} s += q.popleft()\n    return s",
    "pop": f"q = deque([1, 2])\n    q.popleft()\n    {LOOP} g[0, 0] = q.pop()\n    return 1",
    "first": f"q = deque([1])\n    {LOOP} q.popleft()\n        g[0, 0] = q[0]\n    return 1",
    "last": f"q = deque([1])\n    {LOOP} q.popleft()\n        g[0, 0] = q[-1]\n    return 1",
}
OTHER = {
    "iterated": "q = deque([1, 2])\n    q.popleft()\n    return sum(v for v in q)",
    "returned": "q = deque([1, 2])\n    q.popleft()\n    return q",
    "appendleft": "q = deque([1, 2])\n    q.appendleft(3)\n    return q.popleft()",
    "bounded": "q = deque([1, 2], maxlen=2)\n    q.append(3)\n    return q.popleft()",
    "either": "q = deque([1, 2])\n    if g[0, 0]:\n        q = [5]\n    return q.pop()",
    "chosen": "q = deque([1, 2])\n    return q.popleft() if g[0, 0] else 0",
    "twice": "q = deque([1, 2])\n    return q.popleft() - q.popleft() * 10",
    "in a function": "q = deque([1, 2])\n    h = lambda: q.popleft()\n    return h() + h()",
    "of an array": "q = deque(g[0])\n    return q.popleft()",
    "rotated by an item": "q = deque([1, 2, 3])\n    q.rotate(q.popleft())\n    return q[0]",
    "rotated by a float": "q = deque()\n    q.rotate(1.5)\n    return len(q)",
    "rotated by a bool": "q = deque([1, 2])\n    q.rotate(g[0, 0])\n    return q[0]",
    "rotated in a value": "q = deque([1, 2])\n    return q.rotate(1)",
}


def given(flag: float) -> np.ndarray:
    g = np.random.default_rng(7).random((9, 8)) > flag
    g[0, 0] = True
    return g


@pytest.mark.parametrize("name", COMPILED)
def test_queues_are_compiled(name: str, tmp_path: Path) -> None:
    function = written(tmp_path, f"{HEAD}def f(g):{COMPILED[name]}").f
    fused = fuse(function, on_reject="raise")
    for flag in (0.2, 0.4, 0.9):
        assert_same(outcome(fused, (given(flag),)), outcome(function, (given(flag),)), name)
    assert fused.stats.compiled == 3


@pytest.mark.parametrize("name", [*RAISES, *OTHER])
def test_what_python_raises_and_other_uses(name: str, tmp_path: Path) -> None:
    function = written(tmp_path, f"{HEAD}def f(g):\n    {(RAISES | OTHER)[name]}\n").f
    fused = fuse(function, on_reject="silent")
    for flag in (0.2, 0.9):
        for _ in range(2):
            given_to: tuple[Any, ...] = (given(flag),)
            wanted = outcome(function, copy.deepcopy(given_to))
            assert_same(outcome(fused, given_to), wanted, name)


def test_a_name_that_is_rebound(tmp_path: Path) -> None:
    lines = (
        "def f(n):", "    q = deque([n])", "    s = 0", "    while q:", "        s += q.popleft()",
        "        if s < 50:", "            q.append(s)", "    return s", "",
    )
    text = HEAD + "\n".join(lines)
    module = written(tmp_path, text)
    fused = fuse(module.f)
    assert fused(3) == module.f(3)
    module.deque = type("Reversed", (list,), {"popleft": lambda self: -self.pop() or 60})
    assert fused(3) == module.f(3)
