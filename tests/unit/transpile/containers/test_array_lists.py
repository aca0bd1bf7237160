"""Lists of arrays that become one: in which form they are filled, of what, and what they become."""
from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from agree import assert_same, outcome
from staged import in_parts
from written import written

from transpile import fuse

FILLED = {
    "for": "for k in range(n):\n        ROW",
    "while": "t = 0.0\n    while t < n:\n        k = int(t)\n        t += 0.75\n        ROW",
    "if": "for k in range(n):\n        if k % 2:\n            ROW",
    "two": "for k in range(n):\n        ROW\n        k = k + 7\n        ROW",
    "rows": "for k in range(len(X)):\n        if n > 0:\n            ROW",
}
ITEMS = {
    "expression": "out.append(x * k + X[k % 3])",
    "copy": "u[k % 4] += k\n        out.append(u.copy())",
    "made anew": "u = u + 0.5 * k\n        out.append(u)",
    "written, then kept": (
        "v = np.zeros(len(x))\n        for j in range(len(x)):\n            v[j] = x[j] - k\n"
        "        out.append(v)\n        w = v * 2"
    ),
    "a row": "out.append(X[k % 3])",
    "a slice": "out.append(x[1:4] * k)",
    "numbers": "out.append(np.array([k, 2.0, k * 0.5]))",
    "of ints": "out.append(np.array([k, k + 1]))",
    "a matrix": "out.append(X * k)",
    "a turned one": "out.append(X.T + k)",
    "where": "out.append(np.where(x > k, x, 0.0))",
}
BECOMES = (
    "np.array(out)", "np.asarray(out) * 2, len(out)", "np.stack(out)", "np.vstack(out)",
    "np.column_stack(out)", "np.stack(out, axis=1)", "np.array(out).sum(), len(np.array(out))",
    "np.concatenate(out)",
)
PYTHON_S = (
    ("while", "a row"), ("if", "a slice"), ("rows", "a slice"), ("two", "written, then kept"),
)
"""What is not compiled yet; nor is a last axis of which only the kernel knows the length."""

TEXT = """
import numpy as np
def f(x, X, n):
    u = x.copy()
    out = []
    {}
    return {}
"""


def form(filled: str, item: str, becomes: str) -> str:
    """The text of one function."""
    depth = filled.split("ROW", maxsplit=1)[0].rpartition("\n")[2]
    return TEXT.format(filled.replace("ROW", item.replace("\n        ", "\n" + depth)), becomes)


def arguments(n: int) -> tuple[Any, ...]:
    return np.arange(5.0) - 1, np.arange(15.0).reshape(3, 5), n


@pytest.mark.share(364)
@pytest.mark.parametrize("becomes", BECOMES)
@pytest.mark.parametrize("item", ITEMS)
@pytest.mark.parametrize("filled", FILLED)
def test_as_python(filled: str, item: str, becomes: str, tmp_path: Path) -> None:
    plain = written(tmp_path, form(FILLED[filled], ITEMS[item], becomes)).f
    fused = fuse(plain, on_reject="silent")
    for n in (6, 1, 0, 2, 13):
        wanted = outcome(plain, arguments(n))
        assert_same(outcome(fused, arguments(n)), wanted, f"{n}")
    ordered = item == "a turned one" and "array" not in becomes
    columns = item == "a matrix" and "column" in becomes
    late = filled not in ("for", "two") and ("column" in becomes or "axis" in becomes)
    if not (ordered or columns or late or (filled, item) in PYTHON_S):
        assert not in_parts(fused)
        assert fused.stats.compiled > (1 if filled == "if" else 2)


CHANGED = """
    out.append(x); x[k % 5] = k
    out.append(u); u[0] += 1
    out.append(u); u += 1
    out.append(u[1:]); u[1] = k
    v = u; out.append(v); u[2] = k
    v = u[::-1]; out.append(v); u *= 2
    out.append(X[1]); X[1, 1] = k
    v = X[k % 3]; out.append(v); v[0] = k
    out.append(u); np.add(u, 1, out=u)
    out.append(u); np.add(u, 1, u)
    out.append(u); u.sort()
    out.append(u); u.fill(k)
    out.append(u.ravel()); u[0] += 1
    out.append(np.asarray(u)); u[0] += 1
    v = np.asarray(u); out.append(v); u[0] += 1
    v = u if k % 2 else x; out.append(v); u[0] += 1
    out.append(u.T); u[3] = 0
    out.append(u.reshape(5)); u[3] = 0
    v, w = u, x; out.append(v); u[3] = 0
    for v in X: out.append(v); X[k % 3] = k
    out.append(x); Y = X; Y[0] = 1; x[0] = 2
    v = np.zeros(5); out.append(v); v[k % 5] = 1
    v = np.zeros(5); v[0] = k; out.append(v); w = v; w[1] = k
    v = np.zeros(5); u[0] = k; out.append(v); u = v
    v = np.zeros(5); w = u; w[0] = k; out.append(v); u = v
    z = out; z.append(u + k); out.append(u * k)
    out.append(u + k); out.pop()
    out.append(u + k); out[0] = u
    out.append(u + k); out.insert(0, u)
    out.append(u[:k]); u[0] = 7
    out.append(u + k) if k else out.append(X)
    out.append(u + k); out = out[1:] if k > 3 else out
    out.extend([u + k, u])
"""


@pytest.mark.parametrize("line", [s.strip() for s in CHANGED.strip().splitlines()])
def test_what_changes_in_place(line: str, tmp_path: Path) -> None:
    body = line.replace("; ", "\n        ") if "for" not in line else line
    plain = written(tmp_path, TEXT.format(f"for k in range(n):\n        {body}", "np.array(out)")).f
    fused = fuse(plain, on_reject="silent")
    for n in (6, 1, 0):
        wanted = outcome(plain, arguments(n))
        assert_same(outcome(fused, arguments(n)), wanted, f"{line} at {n}")


def views_of_one_memory(x: Any, y: Any, n: int) -> Any:
    out = []
    for k in range(n):
        out.append(x[1:])
        y[k] = k * 10
    return np.array(out)


def test_arguments_that_share_memory() -> None:
    fused = fuse(views_of_one_memory, on_reject="silent")
    x, z = np.arange(5.0), np.arange(5.0)
    assert_same(outcome(fused, (x, x, 4)), outcome(views_of_one_memory, (z, z, 4)), "")
