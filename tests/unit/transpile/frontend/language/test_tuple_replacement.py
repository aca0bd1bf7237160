"""Tuples that are taken apart: as states, as arguments that may be None, and of arrays."""
from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from agree import assert_same, outcome
from staged import in_parts
from written import written

from transpile import fuse

GIVEN = (
    "lo, hi = t if t else (0.0, 1.0)\nreturn hi - lo + x[0]",
    "if t is None:\n    t = (x.min(), x.max())\nlo, hi = t\nreturn hi - lo + x[0]",
    "if t is None:\n    lo, hi = x[0], x[1]\nelse:\n    lo, hi = t\nreturn hi - lo",
    "if t:\n    lo, hi = t\nelse:\n    lo, hi = 0.0, 1.0\nreturn hi - lo + x[0]",
    "lo, hi = t if t is not None else (0.0, 1.0)\nreturn hi - lo + x[0]",
    "lo, hi = t or (0.0, 1.0)\nreturn hi - lo + x[0]",
    "if t is None:\n    t = (0.5, 2)\nelse:\n    t = (t[1], t[0])\nreturn t[0] + x[0]",
    "if t is not None and t[0] > x[0]:\n    return t[1]\nreturn x[1]",
    "if not t:\n    return x[0]\nreturn t[0] * t[1]",
    "return x[0] if t is None else t[0]",
    "if t and t[0] > x[0] or x[1] > 1:\n    return x[0]\nreturn x[1]",
    "s = 0.0\nfor v in x:\n    lo, hi = t if t else (v, 2 * v)\n    s += hi - lo\nreturn s",
)
LEFT = ("lo, hi = 0 or t or (0.0, 1.0)\nreturn hi - lo + x[0]",)
"""What stays Python's, for now."""

STATES = (
    "s = (x[0], 0.0)\nfor v in x:\n    s = tuple(a + v for a in s)\nreturn s",
    "s = (x[0], 0.0)\nfor v in x:\n    k = (s[1], -s[0])\n"
    "    s = tuple(a + 0.5 * b for a, b in zip(s, k))\nreturn s[0], s[1]",
    "s = (x[0], 0.0)\nfor v in x:\n    new = tuple([a * v for a in s])\n"
    "    if new[0] > s[1]:\n        s = new\nreturn s",
    "s = (x[0], 1.0, x[1])\nk = (1, 2)\nreturn tuple(a * b for a, b in zip(s, k))",
    "a = tuple(i * 2 for i in (1, 2, 3))\nreturn x[a[0]] + sum(a)",
    "n = tuple(a for a in x.shape)\nreturn np.zeros(n) + x",
    "a, b = tuple(v + 1 for v in (x[0], x[1]))\nreturn a * b",
)
ARRAYS = (
    "a, b = X.T\nreturn a * b",
    "a, b = np.radians(X).T\nreturn np.cos(a) - b",
    "a, b = X[:2] * 2\nreturn a + b",
    "a, b = X.T.copy()\na[0] = 5\nreturn a, b, X",
    "a, b = X.T\na += 1\nreturn X",
    "(a, b), c = X.T, x[0]\nreturn a * c - b",
    "a, b = X.sum(axis=0)\nreturn a - b",
)


def judged(tmp_path: Path, text: str, calls: list[tuple[Any, ...]]) -> int:
    lines = "\n".join(f"    {line}" for line in text.splitlines())
    function = written(tmp_path, f"import numpy as np\ndef f(x, t=None, X=None):\n{lines}\n").f
    fused = fuse(function, on_reject="silent")
    for args in calls:
        assert_same(outcome(fused, args), outcome(function, args), args, 4)
    assert not in_parts(fused)
    return fused.stats.compiled


@pytest.mark.parametrize("text", [*GIVEN, *LEFT])
def test_what_may_not_be_given(text: str, tmp_path: Path) -> None:
    x = np.array([0.5, 1.5, -2.0])
    calls = [(x,), (x, (0.25, 2.0)), (x, (1, 0)), (x, None), (x, (1, 2, 3)), (x, ())]
    assert judged(tmp_path, text, calls) >= 4 or text in LEFT


@pytest.mark.parametrize("text", STATES)
def test_states(text: str, tmp_path: Path) -> None:
    calls = [(np.arange(n) * 0.5 - 1,) for n in (5, 2, 3)]
    assert judged(tmp_path, text, calls) >= 2


@pytest.mark.parametrize("text", ARRAYS)
def test_of_arrays(text: str, tmp_path: Path) -> None:
    x = np.arange(4) + 0.5
    calls = [(x, None, np.arange(2.0 * n).reshape(n, 2)) for n in (4, 2, 1, 0)]
    calls.append((x, None, np.arange(12.0).reshape(4, 3)))
    assert judged(tmp_path, text, calls) >= 1


BEGIN = "l = []\nfor i in range(3):\n    l.append((i, 0.5 * i))\nfor i, v in enumerate(x):\n    "
PUT = (
    "l[i % 3] = (i, v)\nreturn l",
    "a, b = l[i % 3]\n    l[i % 3] = (a + 1, b + v)\nreturn [a * b for a, b in l], l[-1][0]",
    "if v > l[i % 3][1]:\n        l[i % 3] = (i, v)\nreturn [t[1] / (t[0] + 1) for t in l]",
    "l[-1 - i % 2] = (l[0][0] + i, l[1][1])\n    l.append((7, v))\nreturn l, len(l)",
    "l[i] = (i, v)\nreturn l",
    "l[i % 3] = l[i % 2]\n    l[0] = (l[1][0], l[0][1] + 1)\nreturn l",
)


@pytest.mark.parametrize("text", PUT)
def test_in_the_place_of_others(text: str, tmp_path: Path) -> None:
    """Tuples in lists: the items are known before any is stored."""
    calls = [(np.arange(n) * 0.5 - 1,) for n in (2, 3, 5, 0)]
    assert judged(tmp_path, f"{BEGIN}{text}", calls) >= 1


@pytest.mark.parametrize("line", ["l[i % 3] = (i, v, 1)", "l[i % 3:] = [(i, v)]", "l[i] = v"])
def test_others_in_their_place(line: str, tmp_path: Path) -> None:
    plain = written(tmp_path, f"def f(x):\n    {BEGIN.replace(chr(10), chr(10) + '    ')}{line}\n"
                              "    return l\n").f
    fused, args = fuse(plain, on_reject="silent"), (np.arange(3) * 0.5,)
    assert_same(outcome(fused, args), outcome(plain, args), line)


@pytest.mark.parametrize("start", ["(-1.0, None)", "(None, -1.0)", "(0.0, 'none')"])
def test_tuples_that_start_with_nothing(start: str, tmp_path: Path) -> None:
    place = 1 if start.startswith("(None") else 0
    pair = ("(i, v)", "(v, i)")[not place]
    text = (f"def f(x):\n    b = {start}\n    for i, v in enumerate(x):\n"
            f"        if v > b[{place}]:\n            b = {pair}\n    return b\n")
    f = written(tmp_path, text).f
    g = fuse(f, on_reject="silent")
    for x in ([], [-5.0], [1.0, 3.0, 2.0]):
        x = np.array(x)
        assert_same(outcome(g, (x,)), outcome(f, (x,)), f"{x}")
    assert g.stats.compiled or "'" in start, g.stats


def test_of_a_checked_loop(tmp_path: Path) -> None:
    """The code that replays where lengths differ reads the tuple; what is compiled does not."""
    loop = "for p in zip(x, y, strict=True): s += p[0] * p[1]"
    text = f"def f(x, y):\n    s = 0.0\n    {loop}\n    return s\n"
    f = written(tmp_path, text).f
    g = fuse(f, on_reject="raise", reassociate=False)
    for args in ((np.arange(4), np.arange(4) / 3), (np.arange(3), np.arange(4.0))):
        assert_same(outcome(g, args), outcome(f, args), f"{args}")
    assert g.stats.compiled == 1


def spread(grid: Any, start: Any, goal: Any, n: int) -> Any:
    """Tuples as subscripts and in comparisons."""
    p, steps = start, 0
    if start == goal or start > (n, n):
        return grid[start], grid
    for k in range(n):
        grid[start] = k
        grid[goal] += grid[start]
    for k in range(n):
        q = (k, n - k)
        grid[q] -= 1.5
        steps += grid[q] < 0
        if q != goal:
            grid[q] *= 2
    return grid[p], grid, steps


@pytest.mark.parametrize("dtype", [np.float64, np.int32])
def test_tuples_as_subscripts(dtype: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRANSPILE_FALLBACK", "error")
    fused = fuse(spread)
    for start, goal in (((0, 1), (2, 1)), ((1, 1), (1, 1)), ((2, 2), (3, 1)), ((0, 1), (0, 2))):
        args = np.arange(16).reshape(4, 4).astype(dtype), start, goal, 3
        wanted = outcome(spread, tuple(map(np.copy, args[:1])) + args[1:])
        assert_same(outcome(fused, args), wanted, f"{start} {goal}")


def pairs_of(n: int, edges: Any) -> Any:
    adjacent = [[] for _ in range(n)]
    for u, v, w in edges:
        adjacent[u].append((v, w))
    return adjacent


def test_a_list_with_tuples_that_cannot_be_returned_has_a_value() -> None:
    (rejection,) = fuse(pairs_of).report(3, [(0, 1, 2), (1, 2, 3)]).rejections
    assert rejection.message == "`adjacent`, which has tuples, is not compiled as a whole here"
    assert "a list of numbers for each item" in (rejection.help or "")
