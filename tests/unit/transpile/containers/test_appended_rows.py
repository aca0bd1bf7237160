"""Rows that loops append, of which an array is made: stored by index where nothing can tell."""
from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from agree import assert_same, outcome
from staged import in_parts
from written import written

from transpile import fuse

LOOPS = {
    "ranges": ("i in range(n)", "j in range(m)"),
    "from one": ("i in range(1, n)", "j in range(2, m + 1)"),
    "an array": ("u in x", "j in range(m)"),
    "lengths": ("i in range(len(x))", "j in range(X.shape[1])"),
    "rows": ("p in X", "v in p"),
    "numbered rows": ("i, p in enumerate(X)", "j, v in enumerate(p)"),
    "two arrays": ("u in x", "v in x"),
    "a list": ("u in w", "k, v in enumerate(w)"),
}
ROWS = {
    "by hand": "row = []\n        for INNER:\n            row.append(E)\n        out.append(row)",
    "comprehension": "out.append([E for INNER])",
    "branches": (
        "row = []\n        s = 0.5\n        for INNER:\n            if s > 1.0:\n"
        "                row.append(E)\n            elif s > 0.0:\n                s = s + E\n"
        "                row.append(s)\n            else:\n                row.append(0.0)\n"
        "        t = t + s\n        out.append(row)"
    ),
}
ITEMS = {
    "ranges": "i * j * 0.5", "from one": "(x[0] + i) * j", "an array": "u * j",
    "lengths": "x[i] * j + m", "rows": "v * 2 - n", "numbered rows": "X[i, j] + v * j",
    "two arrays": "u * v", "a list": "u * v",
}
ENDS = {
    "returned": "return np.array(out)",
    "with others": "a = np.array(out)\n    return a, t, a.sum()",
    "computed with": "return np.asarray(out) * 2 + 1",
    "dtype": "return np.array(out, dtype=np.float64)",
}
TEXT = """
import numpy as np
def f(x, X, w, n, m):
    t = 0.0
    out = []
    for OUTER:
        ROW
    END
"""


def arguments(n: int, m: int) -> tuple[Any, ...]:
    x = np.array([1.5, -2.0, np.nan, 4.0, -0.0])
    X = np.arange(15.0).reshape(3, 5)
    return x[: n + 1], X[: max(n - 1, 0)], [1.0, -3.0, 2.5][:m], n, m


def agrees(f: Any, g: Any) -> None:
    for n, m in ((4, 3), (1, 2), (0, 3), (3, 0), (-1, 2), (2, -2), (2, 4), (4, 1)):
        assert_same(outcome(g, arguments(n, m)), outcome(f, arguments(n, m)), f"at {n}, {m}")


@pytest.mark.share(40)
@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("row", ROWS)
@pytest.mark.parametrize("loops", LOOPS)
def test_rows_of_one_length(loops: str, row: str, end: str, tmp_path: Path) -> None:
    outer, inner = LOOPS[loops]
    text = ROWS[row].replace("INNER", inner).replace("E", ITEMS[loops])
    f = written(
        tmp_path, TEXT.replace("OUTER", outer).replace("ROW", text).replace("END", ENDS[end])
    ).f
    g = fuse(f, on_reject="silent")
    agrees(f, g)
    assert g.stats.compiled >= 2, g.report(*arguments(4, 3))
    assert not in_parts(g)
    assert "resize" not in g.emit("python", *arguments(4, 3))


ITEM_TYPES = (
    "i", "i * j", "i > j", "x[i % 2]", "w[0]", "np.float32(i)", "i if j else 0.5", "x[0] > 0",
    "1 if i > j else x[0]", "True if i else 2", "np.int8(j)", "np.int16(i) if j else np.float32(2)",
    "x[0] + 1j", "np.uint64(i) if j else -1", "i / 2", "i // 2", "10 ** 15 + i if j else 0.5",
    "i if x[0] > 2 else 0.5", "2 ** 62 + i", "2 ** 63 + i", "(2 ** 53 + 1 if i else 0.5)",
)


@pytest.mark.parametrize("item", ITEM_TYPES)
def test_the_dtype_is_that_of_the_items_that_occur(item: str, tmp_path: Path) -> None:
    text = TEXT.replace("OUTER", "i in range(n)").replace("END", "return np.array(out)")
    f = written(
        tmp_path, text.replace("ROW", ROWS["by hand"].replace("INNER", "j in range(m)"))
        .replace("E)", f"{item})")
    ).f
    g = fuse(f, on_reject="silent")
    agrees(f, g)


ELSE = (
    # other lengths, or lengths that are not known before
    "for i in range(n):\n row = []\n for j in range(i):\n  row.append(j)\n out.append(row)",
    "for i in range(n):\n row = []\n for j in range(m):\n  if j != i:\n   row.append(j)\n"
    " out.append(row)",
    "for i in range(n):\n row = []\n for j in range(m):\n  row.append(j)\n  row.append(i)\n"
    " out.append(row)",
    "for i in range(n):\n row = []\n for j in range(m):\n  if j == 2:\n   break\n  row.append(j)\n"
    " out.append(row)",
    "for i in range(n):\n row = []\n for j in range(m):\n  if i == 1:\n   continue\n"
    "  row.append(j)\n out.append(row)",
    "for i in range(n):\n if i == 1:\n  continue\n row = []\n for j in range(m):\n  row.append(j)\n"
    " out.append(row)",
    "for i in range(n):\n row = []\n for j in range(m):\n  row.append(j)\n if i != 1:\n"
    "  out.append(row)",
    "for i in range(n):\n row = []\n for j in range(m):\n  row.append(j)\n out.append(row)\n"
    " if i == 1:\n  break",
    "for i in range(n):\n row = []\n for j in range(m):\n  row.append(j)\n out.append(row)\n"
    " m += 1",
    "for i in range(n):\n row = []\n for j in range(m):\n  row.append(j)\n  m = 2\n"
    " out.append(row)",
    "for i in range(n):\n row = []\n for j in range(len(w)):\n  row.append(j)\n w.append(1.0)\n"
    " out.append(row)",
    "b = w\nfor i in range(n):\n row = []\n for j in range(len(w)):\n  row.append(j)\n"
    " b.append(1.0)\n"
    " out.append(row)",
    "c = []\nfor i in range(n):\n row = []\n for j in range(len(c)):\n  row.append(j)\n"
    " c.append(i)\n"
    " out.append(row)",
    "for i in range(n):\n row = []\n for j in range(m):\n  row.append(j)\n  j = 7\n"
    " out.append(row)",
    "for i in range(n):\n k = i\n i = 0\n row = []\n for j in range(m):\n  row.append(j + k)\n"
    " out.append(row)",
    "for i in range(0, n, 2):\n row = []\n for j in range(m, 0, -1):\n  row.append(j)\n"
    " out.append(row)",
    "for i in range(n):\n row = []\n while len(row) < m:\n  row.append(i)\n out.append(row)",
    # what is read, shared or used again
    "for i in range(n):\n row = [0.5]\n for j in range(m):\n  row.append(row[-1] * j)\n"
    " out.append(row)",
    "for i in range(n):\n row = []\n for j in range(m):\n  row.append(j)\n out.append(row)\n"
    " row.append(3)",
    "row = []\nfor i in range(n):\n for j in range(m):\n  row.append(j)\n out.append(row)",
    "for i in range(n):\n row = []\n for j in range(m):\n  row.append(j)\n out.append(row)\n"
    " out.append(row)",
    "for i in range(n):\n row = []\n for j in range(m):\n  row.append(len(out))\n out.append(row)",
    "for i in range(n):\n row = []\n for j in range(m):\n  row.append(j)\n out.append(row)\n"
    "out.append([1] * m)",
    "for i in range(n):\n row = []\n for j in range(m):\n  row.append(j)\n out.append(row)\n"
    "out = out[1:]",
    "for i in range(n):\n row = []\n for j in range(m):\n  row.append(j)\n out.append(row)\n"
    "else:\n out.append([2] * m)",
    "for i in range(n):\n row = []\n for j in range(m):\n  row.append([j])\n out.append(row)",
    "for i in range(n):\n row = []\n for j in range(m):\n  row.append(x)\n out.append(row)",
    "for i in range(n):\n out.append([k for j in range(m) if (k := j) >= 0])",
    "for p in w:\n row = []\n for v in w:\n  row.append(v)\n out.append(row)\n w[0] = 2.5",
    "for p in X:\n row = []\n for v in p:\n  row.append(v)\n X[0] = 2.5\n out.append(row)",
    "for p in X:\n row = []\n p = x\n for v in p:\n  row.append(v)\n out.append(row)",
    "for p in x:\n row = []\n for v in x:\n  row.append(v)\n x = x[1:]\n out.append(row)",
    # an exception before the end
    "for i in range(n):\n row = []\n for j in range(m):\n  x[0] = i\n  row.append(1 / (i - 2))\n"
    " out.append(row)",
    "for i in range(n):\n row = []\n for j in range(m):\n  row.append(w[i])\n out.append(row)",
    "for i in range(n):\n row = []\n for j in range(m):\n  if i == 2:\n   raise ValueError(i)\n"
    "  row.append(i)\n out.append(row)",
    "for i in range(n):\n row = []\n for j in range(m):\n  row.append(2 ** 62 * (i + 1))\n"
    " out.append(row)",
)
AFTER = (
    "return np.array(out)", "return np.array(out), len(out)", "return np.array(out), out",
    "return [np.array(out) for _ in range(2)]", "a, b = np.array(out), np.array(out)\na[:] = 1\n"
    "return a, b", "return np.array(out, copy=True)", "return np.array(out, dtype=np.float32)",
    "return np.array(out, ndmin=3)", "if n > 2:\n return np.array(out)\nreturn x",
    "for k in range(2):\n a = np.array(out)\n a[0] = k\nreturn a", "out = np.array(out)\n"
    "return out",
    "return np.array(out).T, i, j", "return (lambda: np.array(out))()",
)
PLAIN = ELSE[0].replace("range(i)", "range(m)")


@pytest.mark.share(25)
@pytest.mark.parametrize(("body", "after"), [
    *((body, AFTER[0]) for body in ELSE), *((PLAIN, after) for after in AFTER),
    *((ELSE[-1].replace("2 ** 62 * (i + 1)", "x[i % 2]"), after) for after in AFTER),
])
def test_what_could_tell(body: str, after: str, tmp_path: Path) -> None:
    lines = "\n    ".join(f"{body}\n{after}".replace("\n ", "\n    ").split("\n"))
    text = f"import numpy as np\ndef f(x, X, w, n, m):\n    out = []\n    {lines}\n"
    f = written(tmp_path, text).f
    agrees(f, fuse(f, on_reject="silent"))


def test_a_list_in_a_loop(tmp_path: Path) -> None:
    f = written(tmp_path, """
import numpy as np
def f(x, X, w, n, m):
    s = 0.0
    for k in range(3):
        out = []
        for i in range(n):
            row = []
            for j in range(m):
                row.append(x[i % 2] * j + k)
            out.append(row)
        a = np.array(out)
        s += a.sum()
        a[0] = 7
    return s, a
""").f
    g = fuse(f, on_reject="silent")
    agrees(f, g)
    assert g.stats.compiled >= 3
