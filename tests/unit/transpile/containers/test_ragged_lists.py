"""Lists of lists that are made here: of any lengths, and none of them is another's."""
from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from agree import assert_same, outcome
from written import written

from transpile import fuse

ROWS = {
    "collected": "out.append([v * k for v in x[:k]])",
    "filtered": "out.append([v for v in x if v > k])",
    "shown": "out.append([k, 2 * k])",
    "shown, mixed": "out.append([k, x[0] * k])",
    "one": "out.append([x[k % 3]])",
    "sums": "out.append([1] + [v + k for v in x[1:]] + [2])",
    "repeated": "out.append([x[0]] * k)",
    "a slice": "out.append(w[k:k + 2])",
    "a copy": "out.append(w[:])",
    "list()": "out.append(list(range(k)))",
    "sorted()": "out.append(sorted(w))",
    "by hand": "row = []\n        for j in range(k):\n            row.append(w[j % 3] * j)\n"
               "        out.append(row)",
    "changed": "row = [v * 2 for v in w]\n        row[0] = 7.5\n        row.append(k * 1.0)\n"
               "        out.append(row)\n        t += len(row) + row[0]",
    "of folds": "out.append([sum(w[:j]) for j in range(k)])",
    "two kinds": "out.append([max(v, 0) for v in w])",
    "three": "out.append([1, k])\n        out.append([])\n        out.append(w[k:])",
}
FILLED = {
    "for": "for k in range(n):\n        ROW",
    "while": "k = 0\n    while k < n:\n        ROW\n        k += 1",
    "if": "for k in range(n):\n        if k % 2:\n            ROW".replace("ROW", "ROW4"),
}
ENDS = ("out", "out, len(out)", "(t, out), n")
TEXT = """
import numpy as np
def f(x, w, n):
    out, t = [], 0.0
    FILLED
    return END
"""

WHOLE = (
    "return [[i * j for j in range(i)] for i in range(n)]",
    "return [[v if v > 0 else 0.0 for v in w if v < 2] for i in range(n)]",
    "return [[sum(a * b for a, b in zip(p, q)) for q in M] for p in M]",
    "return [[max(v, 0) for v in p] for p in M], n",
    "return [sorted(p) for p in M if p[0] > 0]",
    "out = [[i + j for j in range(n) if j != i] for i in range(n)]\nreturn out, len(out)",
    "out = [[1]]\nfor i in range(n):\n"
    "    out.append([1] + [out[-1][j] + out[-1][j + 1] for j in range(len(out[-1]) - 1)] + [1])\n"
    "return out",
    "out = [[1]]\nfor i in range(n):\n    last = out[-1]\n"
    "    out.append([1] + [last[j] + last[j + 1] for j in range(len(last) - 1)] + [1])\n"
    "return out",
    "out, run = [], []\nfor v in w:\n    if v > 0:\n        run.append(v)\n    elif run:\n"
    "        out.append(run)\n        run = []\nif run:\n    out.append(run)\nreturn out",
    "out = []\nrun = [w[0]]\nfor v in w[1:]:\n    if v - run[-1] < 2:\n        run.append(v)\n"
    "    else:\n        out.append(run)\n        run = [v]\nout.append(run)\nreturn out",
    "out = []\nfor i in range(0, len(w), 2):\n    out.append(w[i:i + 2])\nreturn out",
    "out = []\nfor p in M:\n    row = []\n    for v in p:\n        row.append(v * 2)\n"
    "    out.append(row)\nreturn out",
    "out = []\nfor i in range(n):\n    row = []\n    for j in range(n):\n        s = 0\n"
    "        for k in range(n):\n            s += M[i % 2][k % 2] * M[k % 2][j % 2]\n"
    "        row.append(s)\n    out.append(row)\nreturn out",
)
SHARED = (
    "out, row = [], []\nfor v in w:\n    row.append(v)\n    out.append(row)\nreturn out",
    "out = []\nfor v in w:\n    row = [v]\n    out.append(row)\n    out.append(row)\nreturn out",
    "out, b = [], []\nfor v in w:\n    row = [v]\n    out.append(row)\n    b.append(row)\n"
    "return out, b",
    "out = []\nfor v in w:\n    row = [v]\n    out.append(row)\n    row.append(n)\nreturn out",
    "out = []\nrow = []\nfor v in w:\n    row = row + [v]\n    out.append(row)\nreturn out, row",
    "out = []\nfor v in w:\n    row = [v]\n    out.append(row)\nreturn out, row",
    "out = [M[0], w]\nfor v in w:\n    out.append([v])\nreturn out",
    "out = [p for p in M]\nreturn out",
    "return [w[i:i + 2] for i in range(0, len(w), 2)]",
    "return [p[:] for p in M]",
    "out = [p for p in M]\nout.append([1.0])\nreturn out",
    "out = []\nfor v in w:\n    out.append([v])\n    out[-1].append(n)\nreturn out",
    "out = []\nfor v in w:\n    out.append([v])\n    out[0][0] += 1\nreturn out",
    "out = []\nfor v in w:\n    out.append([v])\nb = out\nb.append([1.0])\nreturn out",
    "out = []\nfor v in w:\n    out.append([v])\nreturn out, out",
    "out = []\nfor v in w:\n    out.append([v])\nreturn out, out[0]",
    "out = [[w[0]]] * 3\nout.append([1.0])\nreturn out",
    "out = [[]] * 2\nfor v in w:\n    out[0].append(v)\nreturn out",
    "out = []\nfor v in w:\n    row = [v]\n    again = row\n    out.append(row)\n"
    "    again.append(v)\nreturn out",
    "out = []\nfor i in range(n):\n    row = [i]\n    if i % 2:\n        out.append(row)\n"
    "    row.append(i)\nreturn out",
    "out = []\nfor i in range(n):\n    out.append([i])\n    if i == 2:\n        out.pop()\n"
    "return out",
    "out = []\nfor i in range(n):\n    out.append([w, i])\nreturn out",
    "out = [[1.0]]\nfor i in range(n):\n    last = out[-1]\n    last.append(i)\n"
    "    out.append([1.0])\nreturn out",
    "out = []\nfor i in range(n):\n    out.append(x[:2])\nreturn out",
    "out = []\nfor i in range(n):\n    out.append([v for v in x])\n    x[0] += 1\nreturn out",
    "out = [1.0]\nfor i in range(n):\n    out.append([i])\nreturn out",
    "out = []\nfor i in range(n):\n    out.append([w[i]])\nreturn out",
    "out = []\nfor i in range(n):\n    out.append([i])\nreturn out[9]",
    "out, run = [], []\nfor i in range(n):\n    run.append(i)\n    if i % 3 == 1:\n"
    "        out.append(run)\n        if i > 2:\n            continue\n        run = []\n"
    "return out",
    "out, run = [], []\nfor i in range(n):\n    run.append(i)\n    if i % 3 == 1:\n"
    "        out.append(run)\n        if i > 2:\n            break\n        run = []\n"
    "for i in range(n):\n    run.append(i)\nreturn out",
    "out = b = []\nfor i in range(n):\n    out.append([i])\n    b.append([n])\nreturn out, b",
    "out = b = []\nfor i in range(n):\n    out.append([i])\nreturn out",
    "out = b = [[i] for i in range(n) if i]\nreturn out, b",
    "out = []\nfor i in range(n):\n    out.append([i])\n    out.append(max(out[-1], [2]))\n"
    "return out",
    "out = []\nfor i in range(n):\n    row = [i]\n    while row[-1] < 3:\n"
    "        row.append(row[-1] + 1)\n    out.append(row)\n    row = row[:1]\n    row[0] = 9\n"
    "return out",
)


def arguments(n: int) -> tuple[Any, ...]:
    x = np.array([1.5, -2.0, 0.25, 4.0])
    return x, [1.0, -3.0, 2.5, 4.0, -0.0][: max(n, 3)], n, [[1.0, 2.0], [-3.0, 4.0]]


def identities(result: Any) -> list[int]:
    """Which of the lists in `result` are one."""
    found: list[int] = []

    def look(of: Any) -> None:
        if isinstance(of, (list, tuple)):
            found.append(id(of))
            for item in of:
                look(item)

    look(result)
    return [found.index(i) for i in found]


def agrees(function: Any, call: Any, *args: int) -> None:
    for n in (4, 0, 1, 5, *args):
        given = arguments(n)[: function.__code__.co_argcount]
        wanted, got = outcome(function, given), outcome(call, given)
        assert_same(got, wanted, f"at {n}")
        assert identities(got.value) == identities(wanted.value), n


@pytest.mark.share(122)
@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("filled", FILLED)
@pytest.mark.parametrize("row", ROWS)
def test_lists_of_new_lists(row: str, filled: str, end: str, tmp_path: Path) -> None:
    lines = ROWS[row]
    loop = FILLED[filled].replace("ROW4", lines.replace("\n", "\n    ")).replace("ROW", lines)
    text = TEXT.replace("FILLED", loop).replace("END", end)
    f = written(tmp_path, text).f
    g = fuse(f, on_reject="raise")
    agrees(f, g)
    assert g.stats.compiled >= 3, g.report(*arguments(4)[:3])


@pytest.mark.share(12)
@pytest.mark.parametrize("body", WHOLE)
def test_forms(body: str, tmp_path: Path) -> None:
    lines = "\n    ".join(body.split("\n"))
    f = written(tmp_path, f"def f(x, w, n, M):\n    {lines}\n").f
    g = fuse(f, on_reject="raise")
    agrees(f, g)
    assert g.stats.compiled >= 3, g.report(*arguments(4))


@pytest.mark.parametrize("body", SHARED)
def test_lists_that_are_shared_or_change(body: str, tmp_path: Path) -> None:
    lines = "\n    ".join(body.split("\n"))
    f = written(tmp_path, f"def f(x, w, n, M):\n    {lines}\n").f
    agrees(f, fuse(f, on_reject="silent"))


GROWING = (
    "for v in a[i:]:\n            a.append(v + i)",
    "b = a[i:]\n        for v in b:\n            a.append(v - i)",
    "b = a[:2]\n        a.append(b[0] + i)\n        a.append(len(b))",
    "b = a[-2:]\n        a.extend([v * 2 for v in b])",
    "for v in a[i:i + 2]:\n            a.append(v)\n            if len(a) > 40:\n"
    "                break",
    "b = a[i:]\n        a[0] = 7\n        a.append(b[0])",
)


@pytest.mark.parametrize("lines", GROWING)
def test_a_part_of_a_list_that_grows(lines: str, tmp_path: Path) -> None:
    text = f"def f(n):\n    a = [n, 2, 3]\n    for i in range(min(n, 4)):\n        {lines}\n"
    f = written(tmp_path, text + "    return a, len(a)\n").f
    g = fuse(f, on_reject="raise")
    for n in (3, 0, 1, 4):
        assert_same(outcome(g, (n,)), outcome(f, (n,)), f"at {n}")
    assert g.stats.compiled == 4


BEHIND = ("a = np.array(l)", "a = np.array(l) * 2", "a = sum(l)", "a = len(l)", "a = l[:2]")


@pytest.mark.share(10)
@pytest.mark.parametrize("then", ["l.append(5)", "l.pop()", "l[0] = 7", "l += [1, 2]"])
@pytest.mark.parametrize("asked", BEHIND)
def test_a_list_that_changes_behind_what_is_made_of_it(
    asked: str, then: str, tmp_path: Path
) -> None:
    text = f"import numpy as np\ndef f(n):\n    l = [1, 2, n]\n    {asked}\n    {then}\n"
    text += "    for i in range(n):\n        l.append(i)\n    return a, l\n"
    f = written(tmp_path, text).f
    g = fuse(f, on_reject="silent")
    for n in (3, 0):
        assert_same(outcome(g, (n,)), outcome(f, (n,)), f"at {n}")
    assert "BUILD_FAILED" not in g.stats.replays
