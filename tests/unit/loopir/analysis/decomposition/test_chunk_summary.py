"""Chunk summaries: what is said of each axis of small kernels, and why others cannot be cut."""
from __future__ import annotations

import pytest

from loopir.analysis.decomposition.chunk_summary import chunk_summary
from loopir.ir_parser import parse

HEADER = (
    "def k(x: f64[::1], z: f64[:, ::1], n: i64[::1], y: mut(f64[::1]), w: mut(f64[:, ::1]), "
    "total: mut(f64[()]), count: mut(i64[()]), a: f64):\n"
)

FOUND = {
    "a map": ("for i in loop(0, x.shape[0]):\n    y[i] = x[i] * a", {"x.0, y.0": "pointwise"}),
    "two axes": (
        "for i in loop(0, z.shape[0]):\n    for j in loop(0, z.shape[1]):\n"
        "        w[i, j] = z[i, j] + x[j]",
        {"z.0, w.0": "pointwise", "z.1, w.1, x.0": "pointwise"},
    ),
    "a stencil": (
        "for i in loop(1, x.shape[0] - 1):\n    y[i] = x[i - 1] + x[i + 1]",
        {"x.0, y.0": "offset [-1, +1]"},
    ),
    "one that is shorter": (
        "for i in loop(0, max(x.shape[0] - 2, 0)):\n    y[i] = x[i + 2] - x[i]",
        {"x.0, y.0": "offset [0, +2]"},
    ),
    "a stencil of a stencil": (
        "for i in loop(1, x.shape[0] - 1):\n    w[i, 0] = x[i - 1] + x[i + 1]\n"
        "for j in loop(1, x.shape[0] - 1):\n    y[j] = w[j - 1, 0] + w[j + 1, 0]",
        {"x.0, w.0, y.0": "offset [-2, +2]"},
    ),
    "edges of their own": (
        "for i in loop(1, x.shape[0] - 1):\n    y[i] = x[i - 1]\n"
        "y[0] = x[2]\ny[x.shape[0] - 1] = x[x.shape[0] - 2]",
        {"x.0, y.0": "offset [-1, +1]"},
    ),
    "a sum": (
        "for i in loop(0, x.shape[0], s=0.0):\n    s = step(s + x[i])\ntotal[()] = s",
        {"x.0": "fold (add)"},
    ),
    "a sum over both axes": (
        "for i in loop(0, z.shape[0], s=0.0):\n    for j in loop(0, z.shape[1], t=s):\n"
        "        t = step(t + z[i, j])\n    s = step(t)\ntotal[()] = s",
        {"z.0": "fold (add)", "z.1": "fold (add)"},
    ),
    "sums of rows": (
        "for i in loop(0, z.shape[0]):\n    for j in loop(0, z.shape[1], t=0.0):\n"
        "        t = step(t + z[i, j])\n    y[i] = t",
        {"z.0, y.0": "pointwise", "z.1": "fold (add)"},
    ),
    "a sum of neighbours": (
        "for i in loop(0, x.shape[0] - 1, s=0.0):\n    s = step(s + x[i + 1] * x[i])\n"
        "total[()] = s",
        {"x.0": "fold (add), offset [0, +1]"},
    ),
    "a maximum from the first": (
        "for i in loop(0, x.shape[0], m=x[0]):\n    m = step(maximum(m, x[i]))\ntotal[()] = m",
        {"x.0": "fold (maximum)"},
    ),
    "a count": (
        "for i in loop(0, x.shape[0], c=0):\n    if x[i] > a:\n        c_1 = give(c + 1)\n"
        "    else:\n        c_1 = give(c)\n    c = step(c_1)\ncount[()] = c",
        {"x.0": "fold (add)"},
    ),
    "a place": (
        "for i in loop(0, x.shape[0], at=0, m=x[0]):\n    if x[i] > m:\n"
        "        at_1 = give(i)\n        m_1 = give(x[i])\n    else:\n        at_1 = give(at)\n"
        "        m_1 = give(m)\n    at = step(at_1)\n    m = step(m_1)\ncount[()] = at",
        {"x.0": "fold (place)"},
    ),
}
"""The body, and for axes that belong together what is said of them."""

OBSTACLES = {
    "an element of all": (
        "for i in loop(0, x.shape[0]):\n    y[i] = x[i] / x[0]", "needs one element of `x`"),
    "a recurrence": (
        "for i in loop(1, x.shape[0]):\n    y[i] = y[i - 1] + x[i]",
        "an iteration reads what another one has written to `y`"),
    "a running sum": (
        "for i in loop(0, x.shape[0], s=0.0):\n    t = s + x[i]\n    y[i] = t\n    s = step(t)",
        "`s` is carried from one iteration to the next"),
    "the position": (
        "for i in loop(0, x.shape[0]):\n    y[i] = x[i] * f64(i)", "computes with the position"),
    "the length": (
        "for i in loop(0, x.shape[0]):\n    y[i] = x[i] * f64(x.shape[0])",
        "computes with its length"),
    "a mean": (
        "for i in loop(0, x.shape[0], s=0.0):\n    s = step(s + x[i])\n"
        "for j in loop(0, x.shape[0]):\n    y[j] = x[j] - s",
        "computes with what a fold over it has given"),
    "a sum from elsewhere": (
        "for i in loop(0, x.shape[0], s=a):\n    s = step(s + x[i])\ntotal[()] = s",
        "`s` is carried"),
    "a maximum from another element": (
        "for i in loop(0, x.shape[0], m=x[5]):\n    m = step(maximum(m, x[i]))\ntotal[()] = m",
        "`m` is carried"),
    "pairs": (
        "for i in loop(0, x.shape[0], s=0.0):\n    for j in loop(0, x.shape[0], t=s):\n"
        "        t = step(t + x[i] * x[j])\n    s = step(t)\ntotal[()] = s",
        "a loop over it is in another loop over it"),
    "a triangle": (
        "for i in loop(0, x.shape[0]):\n    for j in loop(0, i, t=0.0):\n"
        "        t = step(t + x[j])\n    y[i] = t", "a loop runs over a part of it"),
    "a stride": ("for i in loop(0, n.shape[0]):\n    y[i] = x[2 * i]", "plus a constant"),
    "indices": ("for i in loop(0, n.shape[0]):\n    y[i] = x[n[i]]", "depends on data"),
    "a diagonal": (
        "for i in loop(0, min(z.shape[0], z.shape[1])):\n    y[i] = z[i, i]",
        "`z` has two axes that belong together"),
    "sweeps": (
        "for t in loop(0, 3):\n    for i in loop(1, y.shape[0] - 1):\n        w[i, 0] = y[i - 1]\n"
        "    for j in loop(1, y.shape[0] - 1):\n        y[j] = w[j, 0]",
        "it is computed again and again"),
    "appends": (
        "for i in loop(0, x.shape[0], c=0):\n    if x[i] > a:\n        append(y, c, x[i])\n"
        "count[()] = c", "it appends to `y`"),
    "the same elements": (
        "for i in loop(0, z.shape[0]):\n    for j in loop(0, z.shape[1]):\n        y[j] = z[i, j]",
        "all iterations write to the same elements of `y`"),
}


def axes_of(body: str) -> dict[str, str]:
    """For each chunk axis that a loop goes through, what is said of it."""
    kernel = parse(HEADER + "".join(f"    {line}\n" for line in body.splitlines()))
    found = {}
    for axis in chunk_summary(kernel).axes:
        text = str(axis).split(": ")[1]
        if axis.reason != "no loop goes through it":
            found[", ".join(f"{array}.{k}" for array, k in axis.members)] = text
    return found


@pytest.mark.share(1)
@pytest.mark.parametrize("name", FOUND)
def test_what_is_said_of_axes(name: str) -> None:
    body, wanted = FOUND[name]
    found = {frozenset(k.split(", ")): v for k, v in axes_of(body).items()}
    for members, said in wanted.items():
        assert found[frozenset(members.split(", "))] == said


@pytest.mark.share(1)
@pytest.mark.parametrize("name", OBSTACLES)
def test_why_axes_cannot_be_cut(name: str) -> None:
    body, reason = OBSTACLES[name]
    kernel = parse(HEADER + "".join(f"    {line}\n" for line in body.splitlines()))
    reasons = [axis.reason or "" for axis in chunk_summary(kernel).axes]
    assert any(reason in r for r in reasons), reasons


def test_folds_tell_the_order_of_their_terms() -> None:
    rows = FOUND["a sum over both axes"][0]
    columns = rows.replace("z.shape[0]", "z.shape[9]").replace("z.shape[1]", "z.shape[0]")
    columns = columns.replace("z.shape[9]", "z.shape[1]").replace("z[i, j]", "z[j, i]")
    orders = []
    for body in (rows, columns):
        kernel = parse(HEADER + "".join(f"    {line}\n" for line in body.splitlines()))
        axes = chunk_summary(kernel).axes
        orders.append([f.order for axis in axes for f in axis.folds])
    assert orders == [["items", "blocks"], ["unknown", "unknown"]]
