"""Work of loops, and after how many elements a loop has done an amount of it."""
from __future__ import annotations

import pytest

from loopir.analysis.work_estimate import elements_worth, total_additions, work_of
from loopir.ir_parser import parse
from loopir.ir_traversal import walk
from loopir.nodes import LoopLike

HEAD = "def k(n: i64, x: mut(f64[::1]), z: mut(f64[:, ::1])):\n"


def loops(body: str) -> list[LoopLike]:
    """The loops of a kernel, the outermost first."""
    text = HEAD + "".join(f"    {line}\n" for line in body.split("\n"))
    return [n for n in walk(parse(text)) if isinstance(n, LoopLike)]


@pytest.mark.parametrize(
    ("body", "work", "elements"),
    [
        ("for i in loop(0, n):\n    x[i] = x[i] + 1.0", 4, 250),
        ("for i in vec(0, n, width=8):\n    x[i:8] = x[i:8] + 1.0", 4, 2000),
        ("for i in loop(0, n):\n    for j in loop(0, 10):\n        z[i, j] = 1.0", 21, 480),
        ("for i in loop(0, n):\n    for j in loop(0, n):\n        z[i, j] = 1.0", 129, 500),
        ("for b in loop(range(0, n, 4)):\n    for i in loop(b, b + 4):\n        x[i] = 1.0",
         None, 450),
        ("for b in loop(range(0, n, 4)):\n    for j in loop(0, 9):\n        z[b, j] = 1.0\n"
         "        z[b + 1, j] = 1.0\n        z[b + 2, j] = 1.0\n        z[b + 3, j] = 1.0",
         73, 500),
        ("for i in loop(0, n):\n    while loop(v < 9.0, v=1.0):\n        v = step(v + 1.0)\n"
         "    x[i] = v", 194, 6),
    ],
)
def test_work(body: str, work: float | None, elements: int) -> None:
    """The work of an iteration, and the elements of 1,000 additions, for each listed loop."""
    outermost, *inner = loops(body)
    if work is not None:
        assert total_additions(work_of(outermost)) == work
    for listed in (outermost, *inner):
        assert elements_worth(outermost, listed, 1000) == elements


ROWS = """\
for i in loop(0, n):
    for b in loop(range(0, n, 4096), s=0.0):
        for j in loop(b, min(b + 4096, n), t=0.0):
            t = step(t + z[i, j])
        s = step(s + t)
    for j in loop(0, n):
        z[i, j] = z[i, j] / s"""


def test_rows_in_blocks_are_as_long_as_others() -> None:
    """A guess of the length of a row is one for all loops over it."""
    outermost, *inner = loops(ROWS)
    blocks, block, row = (elements_worth(outermost, listed, 1e6) for listed in inner)
    assert blocks == block
    assert block == pytest.approx(row, rel=0.05)
