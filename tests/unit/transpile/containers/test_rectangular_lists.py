"""``np.array`` of a list of rows that the function makes: compiled, and as NumPy has it."""
from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from agree import assert_same, outcome
from written import written

from transpile import fuse

LOOPS = "for i in range(m):\n    for j in range(n):\n        "
FLOATS = f"t = [[0.0] * n for _ in range(m)]\n{LOOPS}t[i][j] = i * j * 0.5 - 1.0\n"
INTS = f"t = [[0 for _ in range(n)] for _ in range(m)]\n{LOOPS}t[i][j] += i * 7 - j\n"
COMPILED = {
    "returned": f"{FLOATS}return np.array(t)",
    "ints": f"{INTS}return np.asarray(t)",
    "bools": f"t = [[False] * n for _ in range(m)]\n{LOOPS}t[i][j] = i > j\nreturn np.array(t)",
    "as floats": f"{INTS}return np.array(t, dtype=float), np.array(t, np.float64)",
    "NumPy's floats": f"t = [[1.5] * n for _ in range(m)]\n{LOOPS}t[i][j] = x[i + j]\n"
                      "return np.array(t)",
    "of earlier items": f"t = [[1.0] * n for _ in range(m)]\n{LOOPS}"
                        "if i: t[i][j] = t[i - 1][j] + t[i][j] * 0.5\nreturn np.array(t)",
    "not stored to": "t = [[2] * n for _ in range(m)]\nfor i in range(m):\n    k += i\n"
                     "return np.array(t), k",
    "copied": f"{FLOATS}u = np.array(t)\nt[0][0] = 7.0\nu[0, -1] = 8.0\nreturn u, t",
    "an operand": f"{INTS}return np.array(t) * 2 + len(t), len(t[0])",
    "transposed": f"{FLOATS}return np.array(t).T, np.array(t).shape",
}
LEFT = {
    "two kinds": f"{FLOATS}t[0][0] = 3\nreturn np.array(t)",
    "ints that become floats": f"{INTS}t[0][0] = 0.5\nreturn np.array(t)",
    "bools among ints": f"{INTS}t[0][0] = True\nreturn np.array(t)",
    "narrowed": f"{FLOATS}return np.array(t, dtype=np.float32)",
    "a row of two names": f"{FLOATS}r = t[0]\nr[0] = 2\nreturn np.array(t)",
    "a row replaced": f"{FLOATS}t[0] = [1, 2, 3]\nreturn np.array(t)",
    "a slice stored": f"{FLOATS}t[0][:1] = [1, 2, 3]\nreturn np.array(t)",
    "grown": f"{FLOATS}t.append([5] * n)\nreturn np.array(t)",
    "one row": "r = [0.0] * n\nt = [r for _ in range(m)]\nr[0] = 5.0\nreturn np.array(t)",
    "large ints": f"{INTS}t[0][0] = 1 << (60 + 9 * m)\nreturn np.array(t)",
    "rows of several lengths": "t = [[0.0] * (i + 1) for i in range(m)]\nreturn np.array(t)",
    "given away": f"{FLOATS}f.kept = t\nt[0][0] = 3\nreturn np.array(t)",
}
SIZES = ((3, 4), (1, 1), (4, 2), (2, 9), (0, 3), (3, 0), (0, 0), (-1, 2))


def function(name: str, folder: Path) -> Any:
    lines = "".join(f"    {line}\n" for line in (COMPILED | LEFT)[name].splitlines())
    return written(folder, f"import numpy as np\n\ndef f(m, n, k, x):\n{lines}").f


@pytest.mark.share(9)
@pytest.mark.parametrize("name", [*COMPILED, *LEFT])
def test_array_of_a_table(name: str, tmp_path: Path) -> None:
    plain = function(name, tmp_path)
    fused = fuse(plain, on_reject="silent", reassociate=False)
    for m, n in SIZES:
        args = m, n, 2, np.linspace(-1, 2, 12)
        assert_same(outcome(fused, args), outcome(plain, args), f"{name} {m} {n}")
    if name in COMPILED:
        assert fused.report(*args).accepted, fused.report(*args).rejections
        assert fused.stats.compiled >= 3, fused.stats


ROWS = {
    "pairs": "t = [[0.0, 0.0] for _ in range(m)]\nfor i in range(m): t[i][1] = x[0] * i\nreturn t",
    "ints that become floats":
        "t = [[0, 0, 0] for _ in range(m)]\nfor i in range(m):\n    t[i][0] = i\n"
        "    t[i][2] = i * 0.5\nreturn t",
    "counted": "t = [[0, 0] for _ in range(4)]\nfor i in range(m * n):\n    t[i % 4][0] += 1\n"
               "    t[i % 4][1] += i\nreturn t, t[1][1]",
    "rows by name": "t = [[0.0] * n for _ in range(m)]\nfor i in range(m):\n    row = t[i]\n"
                    "    for j in range(n): row[j] = i * j * 0.5\nreturn t",
    "rows that become floats": "t = [[0] * n for _ in range(m)]\nfor i in range(m):\n"
                               "    row = t[i]\n    for j in range(0, n, 2): row[j] = j * 0.5\n"
                               "return t",
    "two rows": "t = [[1.0] * n for _ in range(m)]\nfor i in range(1, m):\n"
                "    row, above = t[i], t[i - 1]\n    for j in range(n): row[j] = above[j] + 0.5\n"
                "return t",
}
OTHER_ROWS = {
    "two constants": "t = [[0.0, -0.0] for _ in range(m)]\nfor i in range(m): t[i][1] += 0.0\n"
                     "return t",
    "of two types": "t = [[0, False] for _ in range(m)]\nfor i in range(m): t[i][1] = i\nreturn t",
    "replaced": "t = [[0, 0] for _ in range(m)]\nif m: t[0] = [1, 2]\n"
                "for i in range(m): t[i][1] += 1\nreturn t",
    "grown": "t = [[0, 0] for _ in range(m)]\nfor i in range(m):\n    t[i].append(i)\n"
             "    t[i][0] = 1\nreturn t",
    "no such row": "t = [[0.0] * n for _ in range(m)]\nrow = t[2]\n"
                   "for j in range(n): row[j] = 1.5\nreturn t",
}


@pytest.mark.parametrize("name", [*ROWS, *OTHER_ROWS])
def test_rows(name: str, tmp_path: Path) -> None:
    lines = "".join(f"    {line}\n" for line in (ROWS | OTHER_ROWS)[name].splitlines())
    plain = written(tmp_path, f"def f(m, n, k, x):\n{lines}").f
    fused = fuse(plain, on_reject="silent")
    for m, n in SIZES:
        args = m, n, 2, [0.25, 1.5]
        assert_same(outcome(fused, args), outcome(plain, args), (name, m, n))
    assert fused.stats.compiled or name in OTHER_ROWS, fused.report()
